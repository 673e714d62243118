"""Clips for means that `Table.suggest_limits` proposes, against the best clip in hindsight.

A look of a tenth of a budget of (epsilon, 1e-6) proposes limits and, from the same counts, a clip for a sum and one for
a mean; a mean of each bin is then asked with the rest. Its error under a clip is the root mean square, over the bins
with enough rows for a mean to be told, of what the clip changes of the mean of the rows that are kept (exactly, each
row weighed by its chance to be kept) and of the noise, to first order. Regret is the error under the proposed clip over
that of the best of all pairs of ends (the public classes, and quantiles of the values), less one; those are chosen with
the table in hand: so that what they cut off on both sides is equal, or even so that they hold little but the answer.
The clip of the least error that counts on no such balance is beside it (the squares of both cuts add up), and regret is
against the error of either. Before there were clips for means, `a.clips` was the clip for a sum. Where noise hides how
large values are, no clip is proposed; such draws are counted, and a question counts if two of its three have a clip.
"""

from __future__ import annotations

import math
import zlib
from dataclasses import replace
from typing import Any

import limits_mean_tables
import numpy as np
import pandas as pd
from findings import Findings, Headline, Table

import leastnoise as ln
from leastnoise.curator.request import PrivacyRequest
from leastnoise.curator.suggest import limit_question
from leastnoise.domain.size_classes import VALUE_ENDS
from leastnoise.releases.limit_errors import AskedNoise
from leastnoise.releases.limit_suggestion import LimitSuggestion
from leastnoise.releases.mean_clip_errors import ENOUGH
from leastnoise.testing import aggregate, seeded

EPSILONS = (0.3, 1.0, 3.0)
SHARE, DELTA, DRAWS, QUANTILES = 0.1, 1e-6, 3, 60
KINDS = ("sum", "mean", "sum, against balanced ones", "mean, against balanced ones")
Array = np.ndarray[Any, Any]


def run(*, toy: bool = False) -> Findings:
    """Regret on tables by which the rule was settled, and on those that have judged it."""
    findings: Findings = []
    for which in ("newest", "judged", "tuned"):
        rows = [row for name, frame in limits_mean_tables.tables(which, toy=toy) for row in of_table(name, frame, toy)]
        findings += findings_of(which, [{"set": which, **row} for row in rows])
    return findings


def findings_of(which: str, rows: list[dict[str, Any]]) -> Findings:
    """Median and worst regret before and after, and all of them."""
    found: Findings = []
    hidden = sum(row["draws without a clip"] for row in rows)
    part = hidden / max(1, DRAWS * len(rows))
    found.append(Headline(f"part of looks whose noise hid how large values are, {len(rows)} questions, {which}", part))
    for kind in KINDS:
        regrets = [regret for row in rows if not math.isnan(regret := row[f"regret, clip for a {kind}"])]
        if not regrets:
            continue
        what = f"regret of means under the clip proposed for a {kind}, {len(regrets)} questions on {which} tables"
        found.append(Headline(f"median {what}", float(np.median(regrets))))
        found.append(Headline(f"worst {what}, of each the median draw", max(regrets)))
    title = f"Clips for means against the best in hindsight, {which} tables:"
    note = f"{DRAWS} draws each, of which the middle one counts; a look of {SHARE:g} of the budget, delta {DELTA:g}."
    return [*found, Table(f"limits_mean_clips_{which}", title, rows, note=note, folded=which != "newest")]


def of_table(name: str, frame: pd.DataFrame, toy: bool = False) -> list[dict[str, Any]]:
    """The regrets of one table: columns unit, bin and value."""
    frame = frame.assign(unit=pd.factorize(frame["unit"])[0], bin=pd.factorize(frame["bin"])[0])
    bins = int(frame["bin"].max()) + 1
    later = {"for_epsilon": None, "for_delta": None, "for_share": None}  # its noise is not used
    request = PrivacyRequest(epsilon=1, delta=DELTA)
    data = ln.table(frame, unit="unit")._data
    question = limit_question(
        data, ("bin",), keys=range(bins), values=(), means="value", nulls="drop", request=request, **later
    )
    exact: Array = aggregate(question).values
    found = []
    for epsilon in EPSILONS[:1] if toy else EPSILONS:
        one = ln.sigma(epsilon=epsilon, delta=DELTA, sensitivity=1)
        sigma = one * question.sensitivity.l2 / math.sqrt(SHARE)
        asked, draws = AskedNoise(per_l2=one / math.sqrt(1 - SHARE), per_l1=None), []
        for draw in range(1 if toy else DRAWS):
            with seeded(zlib.crc32(f"{name} mean {epsilon} {draw}".encode())):
                noisy = ln.release(exact, sensitivity=question.sensitivity.l2, sigma=sigma)
            look = LimitSuggestion(components=noisy, layout=question.layout, asked=asked, means=("value",))
            draws.append(_regrets(look, frame, bins))
        found.append({"table": name, "units": int(frame["unit"].max()) + 1, "bins": bins, "epsilon": epsilon})
        told = [draw for draw in draws if draw["bins told"] and draw["last for a mean"]]
        found[-1]["draws without a clip"] = sum(not draw["last for a mean"] for draw in draws)
        for kind in KINDS:
            enough = 2 * len(told) > len(draws)
            found[-1][f"regret, clip for a {kind}"] = (
                float(np.median([draw[kind] for draw in told])) if enough else math.nan
            )
        found[-1] |= {key: value for key, value in (told or draws)[-1].items() if key not in KINDS}
    print(name, flush=True)
    return found


def _regrets(look: LimitSuggestion, frame: pd.DataFrame, bins: int) -> dict[str, Any]:
    kept = _chances(frame, look)
    values, place = frame["value"].to_numpy(dtype=float), frame["bin"].to_numpy()
    rows = np.bincount(place, weights=kept, minlength=bins)
    std = look.asked.std_beside_sums(look._limits, bins)
    told = np.flatnonzero(rows > ENOUGH * std)
    if look.clips.hidden or not told.size:
        nothing = {"bins told": int(told.size), "best clip": "", "last for a sum": ""}
        last = "" if look.clips.hidden else _words(look.clips["value"])
        return dict.fromkeys(KINDS, math.nan) | nothing | {"last for a mean": last}
    for_mean, for_sum = look.clips["value"], _with_sums(look).clips["value"]
    classes = np.array(VALUE_ENDS)[np.array(VALUE_ENDS) <= 2 * np.abs(values).max()]
    ends = np.concatenate([-classes, classes, [0.0], np.quantile(values, np.linspace(0, 1, QUANTILES))])
    ends = np.unique(np.concatenate([ends, for_mean, for_sum]))
    above = np.array([np.bincount(place, weights=kept * np.maximum(values - end, 0), minlength=bins) for end in ends])
    below = np.array([np.bincount(place, weights=kept * np.maximum(end - values, 0), minlength=bins) for end in ends])
    up, down = (part[:, told] / rows[told] for part in (above, below))
    means = (np.bincount(place, weights=kept * values, minlength=bins) / np.maximum(rows, 1e-300))[told]
    squares, weighed = np.full((2, ends.size, ends.size), np.inf)
    for low in range(ends.size):
        cut = down[low] - up[low + 1 :]
        half, middle = (ends[low + 1 :] - ends[low]) / 2, (ends[low + 1 :] + ends[low]) / 2
        noise = (std / rows[told]) ** 2 * (half[:, None] ** 2 + (means + cut - middle[:, None]) ** 2)
        squares[low, low + 1 :] = (cut**2 + noise).mean(axis=1)
        weighed[low, low + 1 :] = (down[low] ** 2 + up[low + 1 :] ** 2 + noise).mean(axis=1)
    balanced, best = (np.unravel_index(np.argmin(part), part.shape) for part in (squares, weighed))

    def regret(clip: tuple[float, float], against: Any) -> float:
        at = tuple(np.searchsorted(ends, clip))
        return float(np.sqrt(squares[at] / squares[against]) - 1)

    shown = {"best clip": _words(ends[list(best)]), "last for a sum": _words(for_sum)}
    shown["last for a mean"] = _words(for_mean)
    found = [regret(clip, against) for against in (best, balanced) for clip in (for_sum, for_mean)]
    return dict(zip(KINDS, found, strict=True)) | {"bins told": int(told.size), **shown}


def _words(clip: Any) -> str:
    return f"{clip[0]:.4g} to {clip[1]:.4g}"


def _with_sums(look: LimitSuggestion) -> LimitSuggestion:
    """The same look, whose clip is for a sum; what its counts may be need not be found again."""
    found = replace(look, means=())
    for name in ("_fit", "_spread", "_concentrations", "errors"):
        found.__dict__[name] = getattr(look, name)
    return found


def _chances(frame: pd.DataFrame, look: LimitSuggestion) -> Array:
    """The chance of every row to be kept: in its bin, and then of all that remain of its unit."""
    limits = look._limits
    in_bin = frame.groupby(["unit", "bin"])["value"].transform("size").to_numpy()
    chance = np.minimum(1.0, limits.max_per_bin / in_bin)
    unit = frame["unit"].to_numpy()
    chances: Array = chance * np.minimum(1.0, limits.max_rows / np.bincount(unit, weights=chance))[unit]
    return chances
