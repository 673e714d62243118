"""Calibration beside the peers: is sigma enough, how much too large, and how long does it take?

The truth is a table of 170 points, epsilon 0 to 1e6 and delta 0.5 to 1e-300, certified by 3000-bit balls, in the data
folder (LEASTNOISE_DATA). A sigma below the truth by more than its own last bits breaks the promise.
"""

from __future__ import annotations

import csv
import math
import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import peers
from findings import Findings, Headline, Table, timings
from peers import Failed, Late, Peer
from stopwatch import Contestant, human, race

import leastnoise as ln

DATA = Path(os.environ.get("LEASTNOISE_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
PEERS = ("dp_accounting", "autodp", "diffprivlib", "pydp", "opendp")
GOALS = {"dp_accounting": 1.0}
PATIENCE = 1.5  # seconds of processor for one sigma
Points = list[tuple[float, float]]


def run(*, toy: bool = False) -> Findings:
    found, missing = peers.present(*PEERS)
    return [*_speed(found, missing, toy), *_accuracy(found, missing, toy), *([] if toy else _import_time())]


def _speed(found: dict[str, Peer], missing: dict[str, str], toy: bool) -> Findings:
    """Random everyday points: a Python loop for those who take one at a time, one call for arrays."""
    many, few = (1000, 3) if toy else (1_000_000, 200)
    rng = np.random.default_rng(1)
    epsilon, delta = 10 ** rng.uniform(-3, 2, many), 10 ** rng.uniform(-15, -1, many)
    points = list(zip(epsilon[:few].tolist(), delta[:few].tolist(), strict=True))
    contestants: dict[str, Contestant] = {
        "leastnoise, proved": lambda: [ln.sigma(epsilon=e, delta=d) for e, d in points],
        "leastnoise, array": lambda: ln.sigma(epsilon=epsilon, delta=delta),
    }
    units: dict[str, float] = {"leastnoise, proved": few, "leastnoise, array": many}
    for name, peer in found.items():
        taken = _answered(peer, points[: 2 if name == "opendp" else few])  # OpenDP takes half a second each
        contestants[name], units[name] = peer.job("sigma", points=taken), len(taken)
    seen = race(contestants, rounds=2 if toy else 7, units=units)
    proved = seen["leastnoise, proved"]
    heads: Findings = [
        Headline.between(f"one sigma: {name}'s time / ours", seen[name], proved, least=GOALS.get(name))
        for name in found
    ]
    if "dp_accounting" in seen:
        array = seen["leastnoise, array"]
        heads.append(
            Headline.between("sigma of arrays: dp_accounting's time / ours", seen["dp_accounting"], array, least=200)
        )
    rows = timings(seen, reference="leastnoise, proved", per="a point")
    return [*heads, Table("calibration_speed", "Sigma of random (epsilon, delta):", rows, missing=missing)]


def _answered(peer: Peer, points: Points) -> Points:
    return [point for point in points if math.isfinite(_one(peer, point))]


def _one(peer: Peer, point: tuple[float, float]) -> float:
    """Its sigma, NaN where it raises, infinity where it hangs."""
    try:
        answer = peer("sigma", points=[point], patience=PATIENCE).result[0]
    except Late:
        return math.inf
    except Failed:
        return math.nan
    return math.nan if answer is None else float(answer)


def _accuracy(found: dict[str, Peer], missing: dict[str, str], toy: bool) -> Findings:
    path = DATA / "calibration" / "sigma_truth.csv"
    if not path.is_file():
        return ["The certified sigmas are not there (set LEASTNOISE_DATA), so no accuracy was measured."]
    with path.open() as file:
        truth = [(float(row["epsilon"]), float(row["delta"]), Decimal(row["sigma"])) for row in csv.DictReader(file)]
    truth = truth[::40] if toy else truth
    points = [(epsilon, delta) for epsilon, delta, _ in truth]
    answers = {
        "leastnoise, proved": [ln.sigma(epsilon=e, delta=d) for e, d in points],
        "leastnoise, array": ln.sigma(epsilon=[e for e, _ in points], delta=[d for _, d in points]).tolist(),
    }
    answers |= {name: [_one(peer, point) for point in points] for name, peer in found.items()}
    rows = [{"what": name, **_judged(sigmas, truth)} for name, sigmas in answers.items()]
    ours = max(rows[0]["worst excess"], rows[1]["worst excess"])
    below = rows[0]["below the optimum"] + rows[1]["below the optimum"]
    return [
        Headline(f"our sigmas below the optimum, of {2 * len(truth)}", below, most=0),
        Headline("our worst excess over the optimal sigma, arrays included", ours, most=1e-11),
        Table(
            "calibration_accuracy",
            f"The {len(truth)} certified points (below the optimum: the guarantee is broken):",
            rows,
            "An answer that is within 1e-15 of the optimum counts as below it when it is below it: the promise is then "
            "broken in its last digits only, and the shortfall says so.",
            missing,
        ),
    ]


def _judged(sigmas: list[float], truth: list[tuple[float, float, Decimal]]) -> dict[str, Any]:
    answered = [(s, t) for s, (_, _, t) in zip(sigmas, truth, strict=True) if math.isfinite(s) and s > 0]
    off = [float(Decimal(s) / t - 1) for s, t in answered]
    return {
        "below the optimum": sum(o < 0 for o in off),
        "by more than 1e-9": sum(o < -1e-9 for o in off),
        "worst shortfall": max(0.0, -min(off, default=0.0)),
        "worst excess": max(0.0, *off, 0.0),
        "no answer": len(truth) - len(off),
    }


def _import_time() -> Findings:
    def python(code: str) -> Contestant:
        return lambda: subprocess.run([sys.executable, "-c", code], check=True)

    seen = race({"nothing": python(""), "numpy": python("import numpy"), "us": python("import leastnoise")})
    ours, numpys = (seen[name].median - seen["nothing"].median for name in ("us", "numpy"))
    times = f"{ours / numpys:.2g} times `import numpy` ({human(numpys)}; names are imported when they are first used)"
    return [f"`import leastnoise` takes {human(ours)} over a bare interpreter, {times}."]
