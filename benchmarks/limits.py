"""`Table.suggest_limits` against the best limits in hindsight: what its proposals cost in accuracy.

A question is a histogram of a table's rows, asked at (epsilon, 1e-6). Its error under given limits is the root mean
square over the bins of what the limits leave out (exactly) and of the noise (by the library's own choice). Regret is
the error under the proposed limits over the least error of all limits (max_rows with max_per_bin, or max_per_bin with
max_bins), less one; those are chosen with the table in hand. The proposal is made from a release of its own: with
Gaussian noise worth a tenth or a fiftieth of the mu^2 of (epsilon, 1e-6), as a budget's share of 0.1 or 0.02 buys. The
integers come from the library's query, the noise from `ln.release`, the proposal from `LimitSuggestion`.

Tables that were looked at while the method was made, and others that were not, are told apart (`limits_tables`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import limits_tables
import numpy as np
import pandas as pd
from findings import Findings, Headline, Table

import leastnoise as ln
from leastnoise.curator.queries.unit_counts import UnitCounts
from leastnoise.curator.request import PrivacyRequest
from leastnoise.curator.suggest import limit_question
from leastnoise.domain.size_classes import ROW_STARTS
from leastnoise.privacy.sensitivity import Limits
from leastnoise.releases.limit_errors import AskedNoise
from leastnoise.releases.limit_suggestion import LimitSuggestion
from leastnoise.testing import aggregate, seeded

EPSILONS = (0.1, 0.3, 1.0, 3.0)
SHARES = (0.1, 0.02)
DELTA = 1e-6
DRAWS = 5
Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Counts:
    """The rows of each unit in each bin: unit, bin and number."""

    unit: Array
    bin: Array
    rows: Array
    bins: int

    @classmethod
    def of(cls, rows: limits_tables.Rows) -> Counts:
        unit, place, bins = rows
        codes = pd.factorize(unit)[0].astype(np.int64) * bins + place
        found, number = np.unique(codes, return_counts=True)
        return cls(found // bins, found % bins, number, bins)

    def bias(self, max_rows: int, max_per_bin: int, max_bins: int) -> float:
        """Root mean square over the bins of the rows left out, on average over which rows are kept."""
        kept = np.minimum(self.rows, max_per_bin).astype(np.float64)
        if max_bins < self.bins:
            kept *= np.minimum(1.0, max_bins / np.bincount(self.unit))[self.unit]
        if max_rows < max_per_bin * max_bins:
            kept *= np.minimum(1.0, max_rows / np.bincount(self.unit, weights=kept))[self.unit]
        lost = np.bincount(self.bin, weights=self.rows - kept, minlength=self.bins)
        return float(np.sqrt((lost**2).mean()))


def run(*, toy: bool = False) -> Findings:
    """Regret on both sets of tables; the goals are about those that were not looked at."""
    return [finding for which in ("judged", "tuned") for finding in findings_of(which, _regrets(which, toy))]


def findings_of(which: str, rows: list[dict[str, Any]]) -> Findings:
    """Median and worst regret of a set of tables, and all of them."""
    findings: Findings = []
    for share in SHARES:
        regrets = [row["median regret"] for row in rows if row["share"] == share]
        what = f"regret of limits proposed with a share of {share:g}, {len(regrets)} questions on {which} tables"
        goals = (0.15, 0.5) if which == "judged" else (None, None)
        findings.append(Headline(f"median {what}", float(np.median(regrets)), most=goals[0]))
        findings.append(Headline(f"worst {what}, of each the median draw", max(regrets), most=goals[1]))
    title = f"Proposed limits against the best in hindsight, {which} tables:"
    note = f"{DRAWS} draws each, delta {DELTA:g}. Limits: max_rows/max_per_bin/max_bins."
    return [*findings, Table(f"limits_{which}", title, rows, note=note)]


def _regrets(which: str, toy: bool) -> list[dict[str, Any]]:
    found = []
    for name, rows in limits_tables.tables(which, toy=toy):
        counts = Counts.of(rows)
        frame = pd.DataFrame({"unit": counts.unit.repeat(counts.rows), "bin": counts.bin.repeat(counts.rows)})
        hindsight = [(limits, counts.bias(*limits)) for limits in _worth_trying(counts)]
        exact: Array | None = None
        for epsilon in EPSILONS[1:2] if toy else EPSILONS:
            question = _question(frame, counts.bins, epsilon)
            exact = aggregate(question).values if exact is None else exact  # the same for every epsilon
            errors = {
                limits: math.hypot(bias, _noise(question.asked, limits, counts.bins)) for limits, bias in hindsight
            }
            draws = 2 if toy else DRAWS
            found += [
                {"set": which, "table": name, **_regret(question, exact, counts, errors, epsilon, share, draws)}
                for share in SHARES
            ]
        print(f"{which}: {name}", flush=True)
    return found


def _question(frame: pd.DataFrame, bins: int, epsilon: float) -> UnitCounts:
    later = {"for_epsilon": epsilon, "for_delta": DELTA, "for_share": None}
    by, keys = (("bin",), range(bins)) if bins > 1 else ((), None)
    request, table = PrivacyRequest(epsilon=1, delta=DELTA), ln.table(frame, unit="unit")
    return limit_question(table._data, by, keys=keys, values=(), nulls="drop", request=request, **later)


def _regret(
    question: UnitCounts, exact: Array, counts: Counts, errors: Any, epsilon: float, share: float, draws: int
) -> dict[str, Any]:
    sigma = ln.sigma(epsilon=epsilon, delta=DELTA, sensitivity=question.sensitivity.l2) / math.sqrt(share)
    best = min(errors, key=errors.__getitem__)
    regrets, chosen = [], (0, 0)
    for draw in range(draws):
        with seeded(draw):
            noisy = ln.release(exact, sensitivity=question.sensitivity.l2, sigma=sigma)
        proposed = LimitSuggestion(components=noisy, layout=question.layout, asked=question.asked)._limits
        chosen = (proposed.max_rows, proposed.max_per_bin)
        limits = (proposed.max_rows, proposed.max_per_bin, proposed.max_bins)
        error = math.hypot(counts.bias(*limits), _noise(question.asked, limits, counts.bins))
        regrets.append(error / errors[best] - 1)
    return {
        "units": int(counts.unit[-1]) + 1,
        "bins": counts.bins,
        "epsilon": epsilon,
        "share": share,
        "best limits": "/".join(map(str, best)),
        "least error": errors[best],
        "last proposed": "/".join(map(str, chosen)),
        "median regret": max(0.0, float(np.median(regrets))),
        "90 % regret": max(0.0, float(np.quantile(regrets, 0.9))),
        "worst regret": max(0.0, max(regrets)),
    }


def _worth_trying(counts: Counts) -> list[tuple[int, int, int]]:
    """Limits up to the largest unit, at the ends of the public classes and at the largest numbers themselves."""
    most, deepest = int(np.bincount(counts.unit, weights=counts.rows).max()), int(counts.rows.max())
    ends = [start - 1 for start in ROW_STARTS if start > 1]
    ends = ends[:12] + ends[12::2] if most > 10_000 else ends  # every other class, where there are thousands of pairs
    in_rows = sorted({end for end in ends if end < most} | {most})
    in_bin = sorted({end for end in ends if end < deepest} | {deepest})
    widest = min(counts.bins, int(np.bincount(counts.unit).max()))
    in_bins = sorted({end for end in ends if end < widest} | {widest})
    pairs = [(m, min(p, m), min(m, counts.bins)) for m in in_rows for p in in_bin if min(p, m) * counts.bins >= m]
    return list(dict.fromkeys([*pairs, *((p * b, p, b) for p in in_bin for b in in_bins)]))


def _noise(asked: AskedNoise, limits: tuple[int, int, int], bins: int) -> float:
    return asked.std(Limits(*limits), bins)
