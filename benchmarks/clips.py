"""Clips that `Table.suggest_clip` proposes: how far off means by group are under them, and what their intervals hold.

A tenth of a budget of (epsilon, 1e-6) proposes limits and a clip, half of it each, and a mean of each bin is asked with
the rest. Of the bins with enough rows for a mean this has, for the rows that the limits keep: the error under
the proposed clip, which is the root mean square of what the clip changes and of the noise, to first order, over the
error under the public ends; in which part of the draws 95 % intervals hold the true mean; and in which they do when
they are widened by `ClipSuggestion.mean_shift` of each bin's rows. Public ends are 0, or a round number below all
values, and the first of 1, 2, 5, 10 ... that no value exceeds.
"""

from __future__ import annotations

import math
import tempfile
import zlib
from typing import Any

import clip_tables
import numpy as np
import pandas as pd
from findings import Findings, Headline, Table
from scipy.special import ndtr, ndtri

import leastnoise as ln
from leastnoise.privacy import sensitivity as sensitivities
from leastnoise.testing import seeded

EPSILONS = (0.3, 1.0, 3.0)
SHARE, DELTA, DRAWS = 0.1, 1e-6, 2
REACH = float(ndtri(0.975))
Array = np.ndarray[Any, Any]


def run(*, toy: bool = False) -> Findings:
    """All tables, at several epsilons."""
    sets = ("newest",) if toy else ("newest", "judged", "tuned")
    rows = [
        row
        for which in sets
        for name, frame in clip_tables.tables(which, toy=toy)
        for row in of_table(name, frame, toy)
    ]
    return findings_of(rows)


def findings_of(rows: list[dict[str, Any]]) -> Findings:
    """The medians and means over all questions, and all of them."""
    what = f"means of {len(rows)} questions under a proposed clip"
    errors, held, widened = (
        np.array([row[name] for row in rows]) for name in ("error over public ends", "held", "held when widened")
    )
    note = f"{DRAWS} draws each; limits and clip from {SHARE:g} of the budget, delta {DELTA:g}; levels 0.005 and 0.995."
    return [
        Headline(f"median error of {what}, over that under the public ends", float(np.median(errors))),
        Headline(f"part of 95 % intervals that hold the {what}", float(held.mean())),
        Headline(f"the same, widened by mean_shift, of {what}", float(widened.mean()), least=0.95),
        Table("clips", "Means by bin under proposed clips:", rows, note=note),
    ]


def of_table(name: str, frame: pd.DataFrame, toy: bool = False) -> list[dict[str, Any]]:
    """One table: columns unit, bin and value."""
    frame = frame.assign(unit=pd.factorize(frame["unit"])[0], bin=pd.factorize(frame["bin"])[0])
    bins, within, found = int(frame["bin"].max()) + 1, public_ends(frame["value"].to_numpy(dtype=float)), []
    for epsilon in EPSILONS[-1:] if toy else EPSILONS:
        judged = [one for draw in range(DRAWS) if (one := _draw(name, frame, bins, within, epsilon, draw)) is not None]
        if judged:
            mean = {key: float(np.mean([one[key] for one in judged])) for key in judged[0] if key != "last clip"}
            facts = {"table": name, "units": int(frame["unit"].max()) + 1, "bins": bins, "epsilon": epsilon}
            ends = {"public ends": _words(within), "last clip": judged[-1]["last clip"]}
            found.append({**facts, **ends, **mean})
    print(name, flush=True)
    return found


def public_ends(values: Array) -> tuple[float, float]:
    """What somebody who knows about how large values are might type."""
    return (-_round_above(-values.min()) if values.min() < 0 else 0.0), max(_round_above(values.max()), 1e-9)


def _round_above(size: float) -> float:
    if size <= 0:
        return 0.0
    power = 10.0 ** math.floor(math.log10(size))
    return next(part * power for part in (1, 2, 5, 10) if part * power >= size)


def _draw(
    name: str, frame: pd.DataFrame, bins: int, within: tuple[float, float], epsilon: float, draw: int
) -> dict[str, Any] | None:
    """One draw of limits and a clip; None where no bin has enough rows."""
    table, keys = ln.table(frame, unit="unit", name="rows"), range(bins)
    with tempfile.TemporaryDirectory() as folder, seeded(zlib.crc32(f"{name} {epsilon} {draw}".encode())):
        budget = ln.Budget.open(f"{folder}/b.ledger", epsilon=epsilon, delta=DELTA)
        limits = table.suggest_limits("bin", keys=keys, budget=budget, share=SHARE / 2)._limits
        clip = table.suggest_clip("value", within=within, max_rows=limits.max_rows, budget=budget, share=SHARE / 2)
    kept, place = _chances(frame, limits.max_rows, limits.max_per_bin), frame["bin"].to_numpy()
    rows = np.bincount(place, weights=kept, minlength=bins)
    one = ln.sigma(epsilon=epsilon, delta=DELTA, sensitivity=1) / math.sqrt(1 - SHARE)
    std = one * sensitivities.of_mean(limits, half=1, bins=bins, neighbours="add-remove").l2
    told = np.flatnonzero(rows > REACH * std)
    if not told.size:
        return None
    error, held, widened = _judged(tuple(clip.clip), frame, kept, rows, std, told, clip.mean_shift(rows[told]))
    public, _, _ = _judged(within, frame, kept, rows, std, told, (0.0, 0.0))
    return {
        "error over public ends": error / public,
        "held": held,
        "held when widened": widened,
        "last clip": _words(clip.clip),
    }


def _judged(
    clip: Any, frame: pd.DataFrame, kept: Array, rows: Array, std: float, told: Array, shift: Any
) -> tuple[float, float, float]:
    """The error over the bins, and in which part of the draws intervals hold the mean, as they are and widened."""
    values, place, (low, high) = frame["value"].to_numpy(dtype=float), frame["bin"].to_numpy(), clip

    def means(of: Array) -> Array:
        found: Array = np.bincount(place, weights=kept * of, minlength=rows.size)[told] / rows[told]
        return found

    clipped = means(np.clip(values, low, high))
    noise = std / rows[told] * np.hypot((high - low) / 2, clipped - (low + high) / 2)
    off = means(values) - clipped
    held = ndtr(REACH + off / noise) - ndtr(-REACH + off / noise)
    widened = ndtr(REACH + (off - shift[0]) / noise) - ndtr(-REACH + (off - shift[1]) / noise)
    return float(np.sqrt((off**2 + noise**2).mean())), float(held.mean()), float(widened.mean())


def _chances(frame: pd.DataFrame, max_rows: int, max_per_bin: int) -> Array:
    """The chance of every row to be kept: in its bin, and then of all that remain of its unit."""
    in_bin = frame.groupby(["unit", "bin"])["value"].transform("size").to_numpy()
    chance, unit = np.minimum(1.0, max_per_bin / in_bin), frame["unit"].to_numpy()
    chances: Array = chance * np.minimum(1.0, max_rows / np.bincount(unit, weights=chance))[unit]
    return chances


def _words(clip: Any) -> str:
    return f"{clip[0]:.4g} to {clip[1]:.4g}"
