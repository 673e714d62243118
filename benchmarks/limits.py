"""`Table.suggest_limits` against the best limits in hindsight: what its proposals cost in accuracy.

The question is a histogram of the table's rows. Either a budget of (epsilon, 1e-6) pays for both, the look with a share
of 0.2, 0.1 or 0.02 and the question with what is left: both have Gaussian noise, as from every budget with a delta. Or
the question is asked alone at (epsilon, 1e-6), with Laplace noise where that has less, after the same look: no budget
of (epsilon, 1e-6) would pay for both. The question's error under given limits is the root mean square over the bins of
what the limits leave out (exactly) and of the noise. Regret is the error under the proposed limits over the least error
of all limits (max_rows with max_per_bin, or max_per_bin with max_bins), less one; those are chosen with the table in
hand. The integers come from the library's query, the noise from `ln.release`, the proposal from `LimitSuggestion`.

A look that goes on takes a share of 0.02, and then more while it says itself that the limits are open, up to 0.2 in all
(`most_share`): the counts of all looks are put together by the library. Its regret is against the best limits for what
is left of the budget then. Beside it stands its error over the least error of a question that had all but 0.02: so what
the further looks took from the question is counted.

Two things say how much of a regret is the method's fault. An oracle gets the same noisy counts and the same rule, and
knows the true distribution of the units' rows but for its scale and the number of units. And below some share no look
can promise a regret of half for every table with so few bins, whatever it counts (`limits_bound`).

Tables that were looked at while the method was made, and others that were not, are told apart (`limits_tables`). The
newest ones (`limits_newest`) judge when a look goes on, which was settled after the others had judged.
"""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import limits_bound
import limits_newest
import limits_tables
import numpy as np
import pandas as pd
from findings import Findings, Headline, Table

import leastnoise as ln
from leastnoise.curator.queries.unit_counts import UnitCounts
from leastnoise.curator.request import PrivacyRequest
from leastnoise.curator.suggest import asked_noise, limit_question, next_share
from leastnoise.domain.size_classes import BIN_STARTS, MOST_ROWS, OCTAVES, ROW_STARTS, WIDE
from leastnoise.privacy.sensitivity import Limits
from leastnoise.releases.limit_errors import AskedNoise
from leastnoise.releases.limit_suggestion import OPEN, RISKY, LimitSuggestion
from leastnoise.releases.unit_counts import WEIGHTS
from leastnoise.releases.unit_size_fit import DRAWN, FEWEST_UNITS, Fit
from leastnoise.testing import aggregate, seeded

EPSILONS = (0.1, 0.3, 1.0, 3.0)
SHARES = (0.2, 0.1, 0.02)
FIRST, LAST = Fraction(1, 50), Fraction(1, 5)  # of a look that goes on: the least of SHARES, and the most in all
GOING_ON = "0.02 to 0.2"
DELTA = 1e-6
DRAWS = 3
MOST = 0.5  # regret
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

    def kept(self, limits: Limits) -> float:
        """The share of the rows that these limits keep."""
        in_bins = np.bincount(self.unit, weights=np.minimum(self.rows, limits.max_per_bin))
        return float(np.minimum(in_bins, limits.max_rows).sum() / self.rows.sum())


def run(*, toy: bool = False) -> Findings:
    """Regret on the sets of tables; the goals are about those that were not looked at."""
    findings: Findings = []
    for which in ("judged", "tuned") if toy else ("newest", "judged", "seen", "tuned"):  # the toy is the same in all
        together, apart = _regrets(which, toy)
        findings += findings_of(which, together, False) + findings_of(which, apart, True)
    return findings


def findings_of(which: str, rows: list[dict[str, Any]], alone: bool) -> Findings:
    """Median and worst regret of a set of tables, and all of them."""
    findings: Findings = []
    for share in SHARES if alone else (*SHARES, GOING_ON):
        asked = [row for row in rows if row["share"] == share]
        largest = float(LAST) if share == GOING_ON else share
        enough = [row for row in asked if limits_bound.least_share(row["bins"], MOST) <= largest]
        few = [row for row in asked if row not in enough]
        goals = (0.15, MOST) if which in ("judged", "newest") else (None, None)
        every = [(asked, f"{which} tables")]
        if few and not alone:  # the bound is not about a question asked alone
            every += [(enough, f"{which} tables with bins enough for it"), (few, f"{which} tables with too few bins")]
        for some, kind in every:
            regrets = [row["median regret"] for row in some]
            after = ", question alone" if alone else ""
            what = f"regret of limits proposed with a share of {share}{after}, {len(regrets)} questions on {kind}"
            findings.append(Headline(f"median {what}", float(np.median(regrets)), most=goals[0]))
            findings.append(Headline(f"worst {what}, of each the median draw", max(regrets), most=goals[1]))
        if alone:
            continue
        every, (bad, told, both, meant) = (
            DRAWS * len(asked),
            (sum(row[name] for row in asked) for name in ("bad draws", "warned", "both", "predicted bad draws")),
        )
        what = f"a share of {share}, {which} tables"
        findings += [
            Headline(f"part of {every} proposals with a regret over {MOST:g}, {what}", bad / every),
            Headline(f"the same as the looks themselves predict, {what}", meant / every),
            Headline(f"part of the {told} with a warning, {what}", both / max(told, 1)),
            Headline(f"part of those without, {what}", (bad - both) / max(every - told, 1)),
            *_held(asked, what),
        ]
        above = sum(row["median regret"] > MOST for row in asked)
        findings.append(Headline(f"questions of {len(asked)} with a median regret over {MOST:g}, {what}", above))
        if share == GOING_ON:
            findings += [
                Headline(f"mean share that it took, {what}", float(np.mean([row["mean share"] for row in asked]))),
                Headline(f"part of questions that took {float(LAST):g}, {what}", _part_of_largest(asked)),
            ]
            over = [row["above the least at 0.02"] for row in asked]
            against = f"error over the least of a question that has all but {float(FIRST):g}, less one, {what}"
            findings.append(Headline(f"median {against}", float(np.median(over))))
            findings.append(Headline(f"worst {against}, of each the median draw", max(over)))
        if oracles := [row["oracle regret"] for row in asked if "oracle regret" in row]:
            what = f"regret with a share of {share} of one who knows the shape of the units' rows, {which} tables"
            findings.append(Headline(f"worst {what}, of each the median draw", max(oracles)))
    asked_how = "asked alone" if alone else "from the same budget"
    title = f"Proposed limits against the best in hindsight, {which} tables, question {asked_how}:"
    note = f"{DRAWS} draws each, delta {DELTA:g}. Limits: max_rows/max_per_bin/max_bins."
    if alone:
        return [*findings, Table(f"limits_{which}_alone", title, rows, note=note, folded=True)]
    note += (
        f" Predicted: the mean regret that the look itself gives, median of the draws. Bad: of a regret over {MOST:g}; "
        f"warned: the look itself gives that a chance of {RISKY:g} or more; the sum of these chances is beside. Oracle "
        "regret: of one who knows the shape of the distribution of rows, not its scale nor the number of units. Least "
        f"share: below it no look, whatever it counts, can promise a median regret under {MOST:g} for every table with "
        "so many bins. Held: in how many draws the ends that are told around the share of rows kept, and around the "
        "error, hold the truth."
    )
    once, several = ([row for row in rows if (row["share"] == GOING_ON) == on] for on in (False, True))
    also = f"{title.removesuffix(':')}, a look that goes on:"
    more = (
        f"{note} Shares: what all looks took. Above the least at {float(FIRST):g}: the question's error over the least "
        f"one of a question that had all of the budget but {float(FIRST):g}, less one, median of the draws."
    )
    return [
        *findings,
        Table(f"limits_{which}", title, once, note=note, folded=which != "judged"),
        *([Table(f"limits_{which}_going_on", also, several, note=more, folded=True)] if several else []),
    ]


def _held(asked: list[dict[str, Any]], what: str) -> Findings:
    """How often the ends that are told around the rows kept, and around the error, hold the truth."""
    names = {"kept held": "the share of rows kept", "error held": "the error"}
    told = {words: sum(row[name] for row in asked) / (DRAWS * len(asked)) for name, words in names.items()}
    return [
        Headline(f"part of the ends around {words} that hold, {what}", part, least=0.95) for words, part in told.items()
    ]


def _part_of_largest(asked: list[dict[str, Any]]) -> float:
    return float(np.mean([row["largest share"] == float(LAST) for row in asked]))


def _regrets(which: str, toy: bool) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Of questions from the same budget, and of questions asked alone, after the same looks."""
    found: tuple[list[dict[str, Any]], list[dict[str, Any]]] = ([], [])
    newest = which == "newest" and not toy
    for name, rows in limits_newest.tables() if newest else limits_tables.tables(which, toy=toy):
        for kind, some in zip(found, of_table(name, rows, toy=toy, oracle=which == "judged"), strict=True):
            kind += [{"set": which, "table": name, **row} for row in some]
        print(f"{which}: {name}", flush=True)
    return found


def of_table(
    name: str, rows: limits_tables.Rows, *, toy: bool = False, oracle: bool = True
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The same of one table."""
    counts = Counts.of(rows)
    frame = pd.DataFrame({"unit": counts.unit.repeat(counts.rows), "bin": counts.bin.repeat(counts.rows)})
    question = _question(frame, counts.bins)
    exact: Array = aggregate(question).values
    hindsight = [(limits, counts.bias(*limits)) for limits in _worth_trying(counts)]
    together, apart = [], []
    for epsilon in EPSILONS[1:2] if toy else EPSILONS:
        for share in SHARES:
            looks = [_look(name, question, exact, epsilon, share, draw) for draw in range(1 if toy else DRAWS)]
            together.append(_regret(looks, counts, hindsight, epsilon, share, oracle))
            alone = asked_noise(PrivacyRequest(epsilon=epsilon, delta=DELTA), "add-remove")
            again = [_asked(look, alone) for look in looks]
            apart.append(_regret(again, counts, hindsight, epsilon, share, False, alone=True))
        went_on = [_going_on(name, question, exact, epsilon, draw, first) for draw, first in enumerate(looks)]
        together.append(_after_several(went_on, counts, hindsight, epsilon))
    return together, apart


def _going_on(
    name: str, question: UnitCounts, exact: Array, epsilon: float, draw: int, first: LimitSuggestion
) -> tuple[LimitSuggestion, Fraction]:
    """Looks at the same while the last one says that the limits are open, and what they took in all; the first is the
    one of that share alone."""
    paid, found = FIRST, first
    while found.risk >= OPEN and paid < LAST:
        share = next_share(paid, LAST)
        paid += share
        further = _look(f"{name} {len(found.looks)}", question, exact, epsilon, float(share), draw)
        found = replace(further, asked=_left(epsilon, float(paid)), earlier=found)
    return found, paid


def _after_several(
    went_on: list[tuple[LimitSuggestion, Fraction]],
    counts: Counts,
    hindsight: list[tuple[tuple[int, int, int], float]],
    epsilon: float,
) -> dict[str, Any]:
    """The same columns; each draw has a question of its own, for each paid what it had to."""
    every = [_regret([found], counts, hindsight, epsilon, GOING_ON, False) for found, _ in went_on]
    regrets, paid = [row["median regret"] for row in every], [float(share) for _, share in went_on]
    first = _left(epsilon, float(FIRST))
    least = min(math.hypot(bias, _noise(first, limits, counts.bins)) for limits, bias in hindsight)
    errors = [row["least error"] * (1 + row["median regret"]) / least - 1 for row in every]
    found = dict(every[-1])
    found |= {
        "median regret": float(np.median(regrets)),
        "90 % regret": float(np.quantile(regrets, 0.9)),
        "worst regret": max(regrets),
        "predicted regret": float(np.median([row["predicted regret"] for row in every])),
        "mean share": float(np.mean(paid)),
        "largest share": max(paid),
        "above the least at 0.02": float(np.median(errors)),
    }
    added = ("warned", "bad draws", "both", "predicted bad draws", "kept held", "error held")
    return found | {name: sum(row[name] for row in every) for name in added}


def _question(frame: pd.DataFrame, bins: int) -> UnitCounts:
    later = {"for_epsilon": None, "for_delta": None, "for_share": None}  # its noise is not used: see `_regret`
    by, keys = (("bin",), range(bins)) if bins > 1 else ((), None)
    request, table = PrivacyRequest(epsilon=1, delta=DELTA), ln.table(frame, unit="unit")
    return limit_question(table._data, by, keys=keys, nulls="drop", request=request, **later)


def _look(name: str, question: UnitCounts, exact: Array, epsilon: float, share: float, draw: int) -> LimitSuggestion:
    """One look from a budget that pays for the question, too."""
    one = ln.sigma(epsilon=epsilon, delta=DELTA, sensitivity=1)
    sensitivity = question.sensitivity.l2
    with seeded(zlib.crc32(f"{name} {epsilon} {share} {draw}".encode())):
        noisy = ln.release(exact, sensitivity=sensitivity, sigma=one * sensitivity / math.sqrt(share))
    return LimitSuggestion(components=noisy, layout=question.layout, asked=_left(epsilon, share))


def _left(epsilon: float, paid: float) -> AskedNoise:
    """The noise of a question that takes all that is left."""
    one = ln.sigma(epsilon=epsilon, delta=DELTA, sensitivity=1)
    return AskedNoise(per_l2=one / math.sqrt(1 - paid), per_l1=None)


def _asked(look: LimitSuggestion, asked: AskedNoise) -> LimitSuggestion:
    """The same look, for a question with another noise: what its counts may be need not be found again."""
    found = LimitSuggestion(components=look.components, layout=look.layout, asked=asked)
    for name in ("_fit", "_concentrations", *(("_spread",) if look.layout.bins > 1 else ())):
        found.__dict__[name] = getattr(look, name)  # in place of the cached property
    return found


def _regret(
    looks: list[LimitSuggestion],
    counts: Counts,
    hindsight: list[tuple[tuple[int, int, int], float]],
    epsilon: float,
    share: float | str,
    oracle: bool,
    *,
    alone: bool = False,
) -> dict[str, Any]:
    asked = looks[0].asked
    errors = {limits: math.hypot(bias, _noise(asked, limits, counts.bins)) for limits, bias in hindsight}
    best = min(errors, key=errors.__getitem__)

    def regret(proposed: Limits) -> float:
        limits = (proposed.max_rows, proposed.max_per_bin, proposed.max_bins)
        return math.hypot(counts.bias(*limits), _noise(asked, limits, counts.bins)) / errors[best] - 1

    regrets, predicted = [regret(look._limits) for look in looks], [look.regret for look in looks]
    chosen = (looks[-1]._limits.max_rows, looks[-1]._limits.max_per_bin)
    found = {
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
        "predicted regret": float(np.median(predicted)),
    }
    if alone:
        return found
    risks, bad = np.array([look.risk for look in looks]), np.array(regrets) > MOST
    told = risks >= RISKY
    found |= {"warned": int(told.sum()), "bad draws": int(bad.sum()), "both": int((told & bad).sum())}
    found["predicted bad draws"] = float(risks.sum())
    for name, ends, truth in (
        ("kept held", [look.kept_interval for look in looks], [counts.kept(look._limits) for look in looks]),
        ("error held", [look.error_interval for look in looks], [errors[best] * (1 + one) for one in regrets]),
    ):
        off = 1e-9 * np.array(truth)  # of rounding
        found[name] = int(
            sum(low - o <= true <= high + o for (low, high), true, o in zip(ends, truth, off, strict=True))
        )
    if oracle:
        known = [regret(_oracle(look, counts)._limits) for look in looks]
        found["oracle regret"] = max(0.0, float(np.median(known)))
    return {**found, "least share": limits_bound.least_share(counts.bins, MOST)}


def _oracle(looked: LimitSuggestion, counts: Counts) -> LimitSuggestion:
    """The same look, read by one who knows the units' numbers of rows up to one factor, and not how many units."""
    sizes = np.bincount(counts.unit, weights=counts.rows)
    factors = [factor for factor in 2.0 ** np.arange(-20, 20.5, 0.5) if 1 <= np.median(sizes) * factor <= MOST_ROWS]
    scaled = [np.maximum(np.rint(sizes * factor), 1) for factor in factors]
    places = [np.searchsorted(ROW_STARTS, rows, side="right") - 1 for rows in scaled]
    shapes = np.stack([np.bincount(place, minlength=len(ROW_STARTS)) / sizes.size for place in places])
    numbers = np.geomspace(FEWEST_UNITS, 1e6, 120)  # equally likely beforehand, like the factors
    tables = (numbers[:, None, None] * shapes).reshape(-1, len(ROW_STARTS))
    logs = np.zeros(len(tables))
    for kind, starts in (("rows", ROW_STARTS), ("octaves", OCTAVES), ("wide", WIDE)):
        expected = np.add.reduceat(tables, np.flatnonzero(np.isin(ROW_STARTS, starts)), axis=1)
        seen, std = looked.layout.part(looked.components.values, kind), looked.noise.std / WEIGHTS[kind]
        logs -= (((seen - expected) / std) ** 2).sum(axis=1) / 2
    weights = np.exp(logs - logs.max())
    found = LimitSuggestion(components=looked.components, layout=looked.layout, asked=looked.asked)
    ends = np.cumsum(weights / weights.sum())
    drawn = np.searchsorted(ends, (np.arange(DRAWN) + 0.5) / DRAWN)
    fit = Fit(tables[np.minimum(drawn, len(tables) - 1)], np.full(DRAWN, 1 / DRAWN))
    found.__dict__["_fit"] = fit  # in place of the cached property
    return found


def _worth_trying(counts: Counts) -> list[tuple[int, int, int]]:
    """Limits up to the largest unit, at the ends of the public classes and at the largest numbers themselves."""
    most, deepest = int(np.bincount(counts.unit, weights=counts.rows).max()), int(counts.rows.max())
    ends, coarse = ([start - 1 for start in starts if start > 1] for starts in (ROW_STARTS, BIN_STARTS))
    ends = coarse if most > 2000 else ends  # where there are thousands of pairs
    in_rows = sorted({end for end in ends if end < most} | {most})
    in_bin = sorted({end for end in coarse if end < deepest} | {deepest})
    widest = min(counts.bins, int(np.bincount(counts.unit).max()))
    in_bins = sorted({end for end in coarse if end < widest} | {widest})
    pairs = [(m, min(p, m), min(m, counts.bins)) for m in in_rows for p in in_bin if min(p, m) * counts.bins >= m]
    return list(dict.fromkeys([*pairs, *((p * b, p, b) for p in in_bin for b in in_bins)]))


def _noise(asked: AskedNoise, limits: tuple[int, int, int], bins: int) -> float:
    return asked.std(Limits(*limits), bins)
