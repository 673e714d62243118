"""Limits proposed from arrays: what the query counts of them, a look with seeded noise, and the truth."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import leastnoise as ln
from leastnoise.domain.size_classes import BIN_STARTS, OCTAVES, ROW_STARTS, WIDE
from leastnoise.privacy.sensitivity import Limits
from leastnoise.releases.limit_errors import AskedNoise
from leastnoise.releases.limit_suggestion import WEIGHTS, Layout, LimitSuggestion
from leastnoise.testing import seeded

Array = np.ndarray[Any, Any]
NOISE = AskedNoise(4.2, math.sqrt(2))


def counted(unit: Array, place: Array, bins: int) -> Array:
    """What the query counts, of arrays: of each unit its first row."""
    layout = Layout(bins)
    found = np.zeros(layout.size, dtype=np.int64)
    units, first, total = np.unique(unit, return_index=True, return_counts=True)
    found[: len(ROW_STARTS)] = np.bincount(classes(total, ROW_STARTS), minlength=len(ROW_STARTS)) * WEIGHTS["rows"]
    np.add.at(found, layout.start("octaves") + classes(total, OCTAVES), WEIGHTS["octaves"])
    np.add.at(found, layout.start("wide") + classes(total, WIDE), WEIGHTS["wide"])
    if bins > 1:
        pairs, here = np.unique(np.column_stack([unit, place]), axis=0, return_counts=True)
        shared = {(int(u), int(b)): n for (u, b), n in zip(pairs, here, strict=True)}
        deep = np.array([shared[int(u), int(place[row])] for u, row in zip(units, first, strict=True)])
        wide, low = classes(total, OCTAVES), classes(deep, OCTAVES)
        np.add.at(found, layout.start("spread") + wide * (wide + 1) // 2 + low, WEIGHTS["spread"])
        np.add.at(found, layout.start("depths") + low, WEIGHTS["depths"])
        np.add.at(found, layout.start("shared") + classes(deep, BIN_STARTS), WEIGHTS["shared"])
        np.add.at(found, layout.start("bins") + place[first], WEIGHTS["bins"])
    return found


def classes(sizes: Array, starts: Any) -> Array:
    found: Array = np.searchsorted(starts, sizes, side="right") - 1
    return found


def suggestion(
    unit: Array,
    place: Array,
    bins: int,
    *,
    sigma: float,
    noise: AskedNoise = NOISE,
) -> LimitSuggestion:
    """What one look proposes."""
    layout = Layout(bins)
    with seeded(1):
        released = ln.release(counted(unit, place, bins), sensitivity=3, sigma=sigma)
    return LimitSuggestion(components=released, layout=layout, asked=noise, by=("zone",))


def light(seed: int = 0, units: int = 4000, bins: int = 20, rows: float = 8) -> tuple[Array, Array, int]:
    chance = np.random.default_rng(seed)
    unit = np.repeat(np.arange(units), 1 + chance.poisson(rows, units))
    return unit, chance.integers(0, bins, unit.size), bins


def true_error(unit: Array, place: Array, bins: int, limits: Limits, noise: AskedNoise = NOISE) -> float:
    """Of a histogram: what limits leave out on average, and noise."""
    pairs, rows = np.unique(unit * bins + place, return_counts=True)
    owner = pairs // bins
    kept = np.minimum(rows, limits.max_per_bin).astype(float)
    kept *= np.minimum(1, limits.max_rows / np.bincount(owner, weights=kept))[owner]
    lost = np.bincount(pairs % bins, weights=rows - kept, minlength=bins)
    return math.hypot(np.sqrt((lost**2).mean()), noise.std(limits, bins))
