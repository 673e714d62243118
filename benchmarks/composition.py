"""What many releases promise together: epsilon, and the time to say so.

A hundred Gaussian ones: the truth is one closed form, mu^2 = sum of (1/sigma_i)^2; ours is rounded up from balls.
Privacy-loss distributions discretise and Renyi bounds lose, so the excess over ours is what they cost in epsilon.

Steps with Poisson sampling: ours is proved from both sides to 0.1 %. dp-accounting runs at its default step, which
proves no error, and prv-accountant at the same 0.1 %.
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
ACCURACY = 1e-3
LONG_RUNS = (100, 1000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
TINY = (1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12)
RUNS = {  # sigma, rate, steps, delta, and about epsilon: what prv-accountant's absolute error is taken from
    "sigma 1.1, rate 256/60000, 2,340 steps": (1.1, 256 / 60000, 2340, 1e-5, 0.918),
    "sigma 1, rate 0.01, 1,000 steps": (1.0, 0.01, 1000, 1e-6, 2.124),
    "sigma 1, rate 0.01, 10,000 steps": (1.0, 0.01, 10_000, 1e-6, 6.907),
}


def run(*, toy: bool = False) -> Findings:
    """All of it; the toy has one run with sampling, of ten steps."""
    return [*hundred_releases(toy=toy), *with_sampling(toy=toy), *below_the_truth(toy=toy)]


def hundred_releases(*, toy: bool) -> Findings:
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


def with_sampling(*, toy: bool) -> Findings:
    """Beside accountants of the same runs."""
    found, missing = peers.present("dp_accounting", "prv_accountant")
    findings: Findings = []
    rows: list[dict[str, Any]] = []
    runs = {"sigma 1, rate 0.1, 10 steps": (1.0, 0.1, 10, 1e-5, 3.0)} if toy else RUNS
    for title, (sigma, rate, steps, delta, about) in runs.items():
        given = {"sigma": sigma, "rate": rate, "steps": steps, "delta": delta}
        step = ln.SampledGaussianDP.of(sigma=sigma, sampling=rate) * steps
        contestants: dict[str, Contestant] = {"leastnoise": partial(step.to_approx, delta=delta)}
        made = step.to_approx(delta=delta)
        answers: dict[str, float] = {"leastnoise": made.epsilon}
        for name, peer in found.items():
            asked = given | ({"error": ACCURACY * about} if name == "prv_accountant" else {})
            contestants[name] = peer.job("sampled", **asked)
            answers[name] = peer("sampled", **asked).result
        seen = race(contestants, rounds=2 if toy else 3)
        for row in timings(seen, reference="leastnoise"):
            rows.append({"run": title, **row, "epsilon": f"{answers[row['what']]:.6f}", "lower": f"{made.lower:.6f}"})
        findings += [
            Headline.between(f"{title}: {name}'s time / ours", seen[name], seen["leastnoise"])
            for name in seen
            if name != "leastnoise"
        ]
    return [*findings, Table("accounting", "Steps with Poisson sampling:", rows, missing=missing)]


def below_the_truth(*, toy: bool) -> Findings:
    """One Gaussian release again and again: how often a peer answers less than the truth, which has a closed form."""
    found, missing = peers.present("dp_accounting")
    runs = [(steps, mu) for steps in LONG_RUNS for mu in (0.5, 2.0, 10**0.5)][: 2 if toy else None]
    below: dict[float, list[tuple[float, str]]] = {delta: [] for delta in TINY}
    for steps, mu in runs if found else ():
        sigma = float(f"{steps**0.5 / mu:.3g}")
        answers = found["dp_accounting"]("repeated", sigma=sigma, steps=steps, deltas=list(TINY)).result
        for delta, answer in zip(TINY, answers, strict=True):
            if answer < ln.epsilon(sigma=sigma, delta=delta, steps=steps) * (1 - 1e-9):
                true = ln.delta(sigma=sigma, epsilon=answer, steps=steps)
                below[delta].append((true / delta, f"sigma {sigma:g}, {steps:,} steps: {answer:.4f}"))
    rows = [
        {"delta": f"{delta:g}", "below": len(some), "true delta / claimed": max(some, default=(1.0, ""))[0]}
        | {"worst": max(some, default=(1.0, ""))[1]}
        for delta, some in below.items()
    ]
    if not found:
        return []
    title = f"dp-accounting below the truth, of {len(runs)} runs of Gaussian releases:"
    return [Table("below_the_truth", title, rows, missing=missing)]


def ours(sigmas: list[float]) -> float:
    return ln.compose(*[ln.GaussianDP.of(sigma=sigma) for sigma in sigmas]).to_approx(delta=DELTA).epsilon
