"""Limits proposed privately: ours beside PipelineDP's, on tables in which a unit has one row in a bin.

PipelineDP proposes how many bins of a unit may count (an exponential mechanism, epsilon-DP), and no more than that: so
rows of one unit in one bin are made one, and a limit of bins is a limit of rows. Its tuner, which looks at the rows
without privacy, is not part of its package. Both proposals are epsilon-DP, for a histogram at (1, 1e-6) with Gaussian
noise; both are judged by that histogram's error, over the least error of any limit in hindsight.
"""

from __future__ import annotations

import math
import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import limits
import limits_tables
import numpy as np
import pandas as pd
import peers
from findings import Findings, Headline, Seconds, Table
from limits import Counts
from stopwatch import Lap, Unanswered, lap

import leastnoise as ln
from leastnoise.curator.request import PrivacyRequest
from leastnoise.curator.suggest import asked_noise

EPSILONS = (0.01, 0.1)  # of the proposal
LATER = 1.0  # epsilon of the histogram
DRAWS = 3
PEERS = ("pipeline_dp",)


def run(*, toy: bool = False) -> Findings:
    found, missing = peers.present(*PEERS)
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(dir=os.environ.get("SCRATCH")) as folder:
        for name, table in limits_tables.tables("judged", toy=toy):
            counts = Counts.of(table)
            counts = replace(counts, rows=np.ones_like(counts.rows))
            path = Path(folder) / "rows.parquet"
            pd.DataFrame({"unit": counts.unit, "bin": counts.bin}).to_parquet(path)
            try:
                rows += [_beside(name, path, counts, epsilon, found, toy) for epsilon in EPSILONS]
            except Unanswered as why:
                missing[f"pipeline_dp on {name}"] = str(why)
            print(name, flush=True)
    heads: Findings = []
    for what in ("ours", "pipeline_dp") if found else ("ours",):
        for epsilon in EPSILONS:
            mine = [row[f"regret, {what}"] for row in rows if row["epsilon"] == epsilon]
            heads.append(
                Headline(f"mean regret of limits proposed at epsilon {epsilon:g}: {what}", float(np.mean(mine)))
            )
    title = "Proposed limits of bins a unit, for a histogram at (1, 1e-6):"
    note = f"Medians of {DRAWS} draws. Regret: the error over the least of any limit in hindsight, less one."
    return [*heads, Table("limits_peers", title, rows, note, missing)]


def _beside(
    name: str, path: Path, counts: Counts, epsilon: float, found: dict[str, peers.Peer], toy: bool
) -> dict[str, Any]:
    draws = 1 if toy else DRAWS
    asked = asked_noise(PrivacyRequest(epsilon=LATER, delta=limits.DELTA), "add-remove")
    most = int(np.bincount(counts.unit).max())
    errors = {
        kept: math.hypot(counts.bias(kept, 1, kept), limits._noise(asked, (kept, 1, kept), counts.bins))
        for kept in range(1, most + 1)
    }
    least = min(errors.values())
    seen = {"ours": [lap(lambda: ours(path, counts.bins, epsilon)) for _ in range(draws)]}
    if found:
        given = {"path": str(path), "bins": counts.bins, "epsilon": epsilon, "draws": draws}
        told = found["pipeline_dp"]("suggested", **given, later_epsilon=LATER, later_delta=limits.DELTA)
        seen["pipeline_dp"] = [Lap(told.seconds / draws, told.processor / draws, kept) for kept in told.result]
    row: dict[str, Any] = {"table": name, "bins": counts.bins, "epsilon": epsilon}
    row["best"] = min(errors, key=errors.__getitem__)
    for what, laps in seen.items():
        row[what] = "/".join(str(one.result) for one in laps)
        row[f"regret, {what}"] = float(np.median([errors[min(one.result, most)] for one in laps])) / least - 1
        row[f"time, {what}"] = Seconds(np.median([one.seconds for one in laps]))
    return row


def ours(path: Path, bins: int, epsilon: float) -> int:
    rows = ln.table(path, unit="unit")
    later = {"for_epsilon": LATER, "for_delta": limits.DELTA}
    proposed = rows.suggest_limits("bin", keys=range(bins), epsilon=epsilon, delta=0, **later).limits
    return int(proposed["max_rows"])
