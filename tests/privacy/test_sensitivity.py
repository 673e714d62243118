"""Every formula against every small table: the engine itself bounds them, so the proof covers code and
formula."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from leastnoise.curator.table import table
from leastnoise.errors import ContributionUnbounded, InvalidParameter, WrongType
from leastnoise.privacy.sensitivity import Limits, Sensitivity, l1_from_l2, of_mean, of_sum, of_vector_sum
from leastnoise.testing import aggregate

CASES = [(3, 1, 3, 6), (3, 2, 2, 4), (2, 2, 2, 4), (3, 3, 1, 2), (4, 2, 2, 4), (3, 3, 1, 1)]  # m, p, B, bins


def every_unit(bins: int, values: list[int], rows: int) -> pd.DataFrame:
    """One unit for every multiset of at most `rows` rows; each unit has bins of its own, to be seen apart."""
    kinds = list(itertools.product(range(bins), values))
    made: list[list[Any]] = [[]]
    made += [list(c) for n in range(1, rows + 1) for c in itertools.combinations_with_replacement(kinds, n)]
    return pd.DataFrame(
        [(unit, unit * bins + place, value) for unit, chosen in enumerate(made) for place, value in chosen],
        columns=["unit", "place", "value"],
    )


@cache
def contributions(kind: str, case: tuple[int, int, int, int], clip: tuple[int, int]) -> np.ndarray:
    """What each unit contributes, one row a unit, as the engine bounds it; the first row is the unit
    with nothing."""
    most, per_bin, max_bins, bins = case
    frame = every_unit(bins, sorted({*clip, 0} if clip[0] < 0 < clip[1] else set(clip)), most + 1)
    units = int(frame["unit"].max()) + 1
    limits = {"max_rows": most, "max_per_bin": per_bin, "max_bins": max_bins}
    rows, keys = table(frame, unit="unit"), range(units * bins)
    if kind == "count":
        return aggregate(rows.histogram("place", keys=keys, **limits)).values.reshape(units, bins)
    query = getattr(rows, kind)("value", clip=clip, by="place", keys=keys, **limits)
    found = aggregate(query).values
    return (
        found.reshape(-1, units, bins).transpose(1, 0, 2).reshape(units, -1)
        if kind == "mean"
        else found.reshape(units, bins)
    )


def largest(vectors: np.ndarray, neighbours: str) -> tuple[int, int, int]:
    """The largest L1, squared L2 and Linf of a unit that comes or goes, or that becomes another."""
    distinct = np.unique(vectors, axis=0)
    others = distinct[distinct.any(axis=1) == 0] if neighbours == "add-remove" else distinct
    moved = np.abs(distinct[:, np.newaxis, :] - others[np.newaxis, :, :])
    return int(moved.sum(-1).max()), int((moved**2).sum(-1).max()), int(moved.max())


def measured(
    kind: str, case: tuple[int, int, int, int], clip: tuple[int, int], neighbours: str
) -> tuple[Sensitivity, Sensitivity]:
    most, per_bin, max_bins, bins = case
    limits = Limits.of(max_rows=most, max_per_bin=per_bin, max_bins=max_bins, bins=bins)
    l1, squared, linf = largest(contributions(kind, case, clip), neighbours)
    if kind == "mean":
        centre = (clip[0] + clip[1]) // 2
        half = max(clip[1] - centre, centre - clip[0])
        claimed = of_mean(limits, half=half, bins=bins, neighbours=neighbours)
    else:
        claimed = of_sum(limits, low=clip[0], high=clip[1], bins=bins, neighbours=neighbours)
    return claimed, Sensitivity(l1=float(l1), l2=math.sqrt(squared), linf=float(linf))


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("kind", "clip"), [("count", (0, 1)), ("sum", (0, 3)), ("sum", (-1, 1)), ("mean", (-1, 1))])
def test_the_claim_is_exactly_the_worst_of_all_small_tables(kind, clip, case, neighbours):
    claimed, worst = measured(kind, case, clip, neighbours)
    assert claimed.l1 == worst.l1
    assert claimed.l2 == pytest.approx(worst.l2, rel=1e-15)
    assert claimed.l2 >= worst.l2
    assert claimed.linf == worst.linf


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("kind", "clip"), [("sum", (-2, 1)), ("sum", (-3, -1)), ("mean", (0, 2)), ("mean", (-1, 2))])
def test_the_claim_is_never_below_the_worst_of_all_small_tables(kind, clip, case, neighbours):
    claimed, worst = measured(kind, case, clip, neighbours)
    assert claimed.l1 >= worst.l1
    assert claimed.l2 >= worst.l2
    assert claimed.linf >= worst.linf


def test_the_values_of_the_note():
    limits = Limits.of(max_rows=5, max_per_bin=1, bins=1000)
    assert of_sum(limits, low=0, high=1, bins=1000, neighbours="add-remove") == Sensitivity(5.0, up(5), 1.0)
    assert of_sum(limits, low=0, high=1, bins=1000, neighbours="replace") == Sensitivity(10.0, up(10), 1.0)
    rows_only = Limits.of(max_rows=5, bins=1000)
    assert of_sum(rows_only, low=0, high=1, bins=1000, neighbours="add-remove").l2 == 5.0


def up(square: int) -> float:
    """The least double whose square, exactly, is at least `square`."""
    root = math.sqrt(square)
    while Fraction(root) ** 2 < square:
        root = math.nextafter(root, math.inf)
    return root


def test_interpolating_between_one_sign_and_two_would_be_too_little():
    """m = 3, p = 2, two bins, clip -0.6 .. 1: the truth is 3.677, beyond max(sqrt 2 V, V+ + V-) sqrt 5 =
    3.578."""
    limits = Limits.of(max_rows=3, max_per_bin=2, bins=2)
    claimed = of_sum(limits, low=Fraction(-3, 5), high=1, bins=2, neighbours="replace")
    truth = max(
        math.dist(a, b)
        for a in itertools.product([-1.2, -0.6, 0, 1, 2, 0.4], repeat=2)
        for b in itertools.product([-1.2, -0.6, 0, 1, 2, 0.4], repeat=2)
        if reachable(a) and reachable(b)
    )
    assert truth == pytest.approx(3.677, abs=1e-3)
    assert claimed.l2 >= truth


def reachable(pair: tuple[float, float]) -> bool:
    needed = {-1.2: 2, -0.6: 1, 0: 0, 1: 1, 2: 2, 0.4: 2}
    return needed[pair[0]] + needed[pair[1]] <= 3


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("counted", [False, True])
def test_vector_claims_hold_for_vectors_on_the_sphere(counted, neighbours):
    angles = np.linspace(0, 2 * np.pi, 64, endpoint=False)
    circle = 3.0 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    units = [np.zeros(3)] + [np.append(n * v, 3.0 * n * counted) for v in circle for n in (1, 2)]
    others = [np.zeros(3)] if neighbours == "add-remove" else units
    claimed = of_vector_sum(norm=3, length=2, max_rows=2, counted=counted, neighbours=neighbours)
    moved = np.array([a - b for a in units for b in others])
    assert claimed.l2 == pytest.approx(np.linalg.norm(moved, axis=1).max(), rel=1e-12)
    assert claimed.l1 >= np.abs(moved).sum(axis=1).max() - 1e-9
    assert claimed.linf == pytest.approx(np.abs(moved).max(), rel=1e-12)


@pytest.mark.parametrize("bins", [1, 2, 4, 10**9])
@pytest.mark.parametrize("l2", [1e-300, 0.1, 1.0, 1e200])
def test_l1_from_l2_is_the_least_double_not_below(l2, bins):
    bound = l1_from_l2(l2, bins)
    assert Fraction(bound) ** 2 >= bins * Fraction(l2) ** 2 > Fraction(math.nextafter(bound, 0.0)) ** 2


def test_limits_imply_one_another():
    assert Limits.of(max_rows=5, bins=3) == Limits(max_rows=5, max_per_bin=5, max_bins=3)
    assert Limits.of(max_rows=9, max_per_bin=2, bins=3) == Limits(max_rows=6, max_per_bin=2, max_bins=3)
    assert Limits.of(max_rows=None, max_per_bin=1, max_bins=1, bins=100) == Limits(1, 1, 1)
    assert Limits.of(max_rows=None, max_per_bin=2, bins=1) == Limits(2, 2, 1)


def test_a_missing_limit_is_named():
    with pytest.raises(ContributionUnbounded, match="Say max_rows=5"):
        Limits.of(max_rows=None, bins=10, unit="taxi", what='"junction"')
    with pytest.raises(ContributionUnbounded, match="Say max_bins=5"):
        Limits.of(max_rows=None, max_per_bin=1, bins=10)
    with pytest.raises(ContributionUnbounded, match="not the rows in one"):
        Limits.of(max_rows=None, max_bins=2, bins=10)


@pytest.mark.parametrize(
    ("limit", "error"), [(0, InvalidParameter), (-1, InvalidParameter), (1.5, WrongType), (True, WrongType)]
)
def test_limits_are_positive_whole_numbers(limit, error):
    with pytest.raises(error):
        Limits.of(max_rows=limit, bins=10)


def test_a_limit_beyond_the_largest_is_not_called_one_that_keeps_no_row() -> None:
    with pytest.raises(InvalidParameter, match=r"^max_rows must be at most 2147483647") as problem:
        Limits.of(max_rows=10**30, bins=1, unit="taxi")
    assert "no row kept" not in str(problem.value)
    with pytest.raises(InvalidParameter, match=r"^max_rows must be at least 1: with no row kept"):
        Limits.of(max_rows=0, bins=1, unit="taxi")
