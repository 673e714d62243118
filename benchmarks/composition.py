"""What a hundred Gaussian releases promise together: epsilon at delta = 1e-6, and the time to say so.

The truth is one closed form, mu^2 = sum of (1/sigma_i)^2; ours is rounded up from balls. Privacy-loss distributions
discretise and Renyi bounds lose, so the excess over ours is what they cost in epsilon.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import peers
from findings import Findings, Headline, Table, timings
from stopwatch import Contestant, race

import leastnoise as ln

DELTA = 1e-6
JOBS = {
    "dp_accounting": {"dp_accounting, PLD": "composed", "dp_accounting, Renyi": "composed_renyi"},
    "autodp": {"autodp, ComposeGaussian": "composed"},
}


def run(*, toy: bool = False) -> Findings:
    sigmas = [20.0 + i / 2 for i in range(100)]
    contestants: dict[str, Contestant] = {"leastnoise": lambda: ours(sigmas)}
    answers: dict[str, Any] = {"leastnoise": ours(sigmas)}
    found, missing = peers.present(*JOBS)
    for name, peer in found.items():
        for label, job in JOBS[name].items():
            contestants[label] = peer.job(job, sigmas=sigmas, delta=DELTA)
            answers[label] = partial(peer, job, sigmas=sigmas, delta=DELTA)().result
    seen = race(contestants, rounds=2 if toy else 5)
    rows = timings(seen, reference="leastnoise")
    for row in rows:
        row["epsilon"] = f"{answers[row['what']]:.10f}"
        row["excess"] = answers[row["what"]] / answers["leastnoise"] - 1
    heads: Findings = [
        Headline.between(f"epsilon of 100 releases: {name}'s time / ours", seen[name], seen["leastnoise"])
        for name in seen
        if name != "leastnoise"
    ]
    title = "A hundred Gaussian releases, sigma 20 to 69.5, at delta = 1e-6:"
    return [*heads, Table("composition", title, rows, missing=missing)]


def ours(sigmas: list[float]) -> float:
    return ln.compose(*[ln.GaussianDP.of(sigma=sigma) for sigma in sigmas]).to_approx(delta=DELTA).epsilon
