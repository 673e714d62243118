"""Mixtures of products: their tables, what they are fitted to, and the rows that are drawn from them."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from leastnoise import errors
from leastnoise.synthetic.choosing import SPLIT, halves, strongest
from leastnoise.synthetic.drawing import draw, hold, systematic, without
from leastnoise.synthetic.fitting import Targets, _misfit, fit, misfit
from leastnoise.synthetic.mixture import Mixture
from leastnoise.synthetic.swapping import swap
from leastnoise.workload.residuals import integer_residual, project

SIZES = {"a": 3, "b": 2, "c": 4}


def mixture_at_random(seed: int, groups: int = 3) -> Mixture:
    rng = np.random.default_rng(seed)
    columns = tuple(rng.dirichlet(np.ones(size), groups) for size in SIZES.values())
    return Mixture(rng.dirichlet(np.ones(groups)), columns)


def joint(mixture: Mixture) -> np.ndarray:
    """Every cell by the definition, one after the other."""
    shape = tuple(column.shape[1] for column in mixture.columns)
    cells = np.zeros(shape)
    for k, weight in enumerate(mixture.weights):
        for cell in product(*map(range, shape)):
            cells[cell] += weight * np.prod([column[k, i] for column, i in zip(mixture.columns, cell, strict=True)])
    return cells


def blocks_of(counts: np.ndarray, ways: int) -> dict[tuple[str, ...], np.ndarray]:
    """The residual of every block of at most so many columns."""
    names = list(SIZES)
    found = {}
    for many in range(ways + 1):
        for block in combinations(names, many):
            table = counts.sum(axis=tuple(i for i, name in enumerate(names) if name not in block))
            found[block] = project(integer_residual(table) / table.size)
    return found


def counts_at_random(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).poisson(20, tuple(SIZES.values())).astype(np.int64)


def test_tables_are_sums_of_the_joint_distribution() -> None:
    mixture = mixture_at_random(1)
    cells = joint(mixture)
    for many in range(4):
        for axes in combinations(range(3), many):
            rest = tuple(i for i in range(3) if i not in axes)
            assert np.allclose(mixture.table(axes), cells.sum(axis=rest), atol=1e-14)


def test_information_bounds_the_total_correlation() -> None:
    for seed in range(20):
        mixture = mixture_at_random(seed)
        cells = joint(mixture)
        a, b, c = (mixture.table((i,)) for i in range(3))
        independent = a[:, None, None] * b[None, :, None] * c[None, None, :]
        total_correlation = float(np.sum(cells * np.log(cells / independent)))
        assert -1e-12 <= total_correlation <= mixture.information() + 1e-12


@pytest.mark.parametrize("ways", [2, 3])
def test_the_misfit_is_that_of_the_residuals(ways: int) -> None:
    counts, mixture = counts_at_random(2), mixture_at_random(3)
    blocks = blocks_of(counts, ways)
    variances = {block: 1.0 + len(block) for block in blocks}
    targets = Targets.of(blocks, variances, SIZES)
    wanted, free = 0.0, 0
    for block, residual in blocks.items():
        if block:
            axes = [list(SIZES).index(name) for name in block]
            wanted += float(np.sum((project(counts.sum() * mixture.table(axes)) - residual) ** 2)) / variances[block]
            free += int(np.prod([SIZES[name] - 1 for name in block]))
    found, numbers = misfit(targets, mixture)
    assert found == pytest.approx(wanted, rel=1e-4)
    assert numbers == free


@pytest.mark.parametrize("ways", [2, 3])
def test_derivatives_are_those_of_the_misfit(ways: int) -> None:
    """Against differences, in double precision: the third derivative makes them differ by a millionth."""
    mixture = mixture_at_random(5)
    blocks = blocks_of(counts_at_random(4), ways)
    targets = Targets.of(blocks, dict.fromkeys(blocks, 1.0), SIZES)
    weights, columns = mixture.weights, np.hstack(mixture.columns)
    _, by_weights, by_columns = _misfit(targets, weights, columns)
    for k in range(len(weights)):
        step = np.zeros_like(weights)
        step[k] = 1e-5
        slope = (_misfit(targets, weights + step, columns)[0] - _misfit(targets, weights - step, columns)[0]) / 2e-5
        assert by_weights[k] == pytest.approx(slope, rel=1e-5, abs=1e-3)
    for k, i in product(range(columns.shape[0]), range(columns.shape[1])):
        step = np.zeros_like(columns)
        step[k, i] = 1e-5
        slope = (_misfit(targets, weights, columns + step)[0] - _misfit(targets, weights, columns - step)[0]) / 2e-5
        assert by_columns[k, i] == pytest.approx(slope, rel=1e-5, abs=1e-3)


def test_a_fit_reaches_tables_that_a_mixture_has() -> None:
    blocks = blocks_of(np.rint(10_000 * joint(mixture_at_random(7))).astype(np.int64), 2)
    targets = Targets.of(blocks, dict.fromkeys(blocks, 100.0), SIZES)
    found = fit(targets, 6, 0.0, steps=1500, rng=np.random.default_rng(0))
    value, numbers = misfit(targets, found)
    assert value < 0.1 * numbers


def test_the_pull_takes_information_out() -> None:
    blocks = blocks_of(counts_at_random(8), 2)
    targets = Targets.of(blocks, dict.fromkeys(blocks, 4.0), SIZES)
    found = [fit(targets, 6, pull, steps=400, rng=np.random.default_rng(0)) for pull in (0.0, 10.0, 1000.0)]
    information = [each.information() for each in found]
    assert information[0] > information[1] > information[2]


def test_halves_are_independent_and_have_the_variances_that_are_stated() -> None:
    """40,000 pairs: a variance is off by 0.7% and a correlation by 0.005 (one deviation); the limits are six."""
    rng = np.random.default_rng(1)
    truth, variance, side = 50.0, 9.0, 200
    residual = truth + project(rng.normal(0, np.sqrt(variance), (side, side)))
    split = halves({(): np.array(5.0), ("a", "b"): residual}, {(): 1.0, ("a", "b"): variance}, rng)
    first = split.fitted["a", "b"] - truth
    second = split.held_out["a", "b"] - truth
    assert first.var() == pytest.approx((1 + SPLIT**2) * variance, rel=0.05)
    assert second.var() == pytest.approx((1 + 1 / SPLIT**2) * variance, rel=0.05)
    assert abs(np.corrcoef(first.ravel(), second.ravel())[0, 1]) < 0.03
    assert split.fitted_variances["a", "b"] == (1 + SPLIT**2) * variance


def test_the_strongest_pull_that_is_not_seen_to_be_worse_is_taken() -> None:
    """Of four mixtures: the truth, one that is alike but for a thousandth, and two that are seen to be worse."""
    truth, other = mixture_at_random(1), mixture_at_random(2)

    def between(part: float) -> Mixture:
        pairs = zip(truth.columns, other.columns, strict=True)
        return Mixture(truth.weights, tuple((1 - part) * a + part * b for a, b in pairs))

    blocks = blocks_of(np.rint(1e6 * joint(truth)).astype(np.int64), 2)
    held_out = Targets.of(blocks, dict.fromkeys(blocks, 1e6), SIZES)
    mixtures = [truth, between(1e-3), between(0.1), between(0.5)]
    assert strongest([0.0, 1.0, 2.0, 3.0], mixtures, held_out) == 1.0
    assert strongest([5.0, 1.0, 2.0, 3.0], mixtures, held_out) == 5.0


def test_systematic_numbers_are_expected_numbers_rounded() -> None:
    rng = np.random.default_rng(3)
    for count in (0, 1, 7, 1000):
        probabilities = rng.dirichlet(np.ones(9))
        found = systematic(probabilities, count, rng)
        assert found.sum() == count
        assert (np.abs(found - count * probabilities) < 1).all()


def test_systematic_numbers_are_right_on_average() -> None:
    """4,000 draws of numbers within 1 of p: the mean of each is off by at most 0.5/sqrt(4000) = 0.008 (one standard
    deviation); the limit is six of them."""
    rng = np.random.default_rng(4)
    probabilities = np.array([0.05, 0.15, 0.3, 0.5])
    mean = np.mean([systematic(probabilities, 7, rng) for _ in range(4000)], axis=0)
    assert np.abs(mean - 7 * probabilities).max() < 0.048


def test_rows_have_the_columns_of_their_mixture_to_one_row() -> None:
    """However many groups round them."""
    mixture = mixture_at_random(10, groups=200)
    rows = draw(mixture, 3001, np.random.default_rng(9))
    for axis in range(3):
        wanted = 3001 * mixture.table((axis,))
        assert np.abs(np.bincount(rows[:, axis], minlength=wanted.size) - wanted).max() < 1


def test_rows_have_the_tables_of_their_mixture() -> None:
    """60,000 rows; a cell of a pair is off by at most sqrt(60000/4) = 122 (one deviation); the limit is six."""
    mixture = mixture_at_random(11)
    rows = draw(mixture, 60_000, np.random.default_rng(5))
    for axes in combinations(range(3), 2):
        wanted = 60_000 * mixture.table(axes)
        cells = np.ravel_multi_index([rows[:, axis] for axis in axes], wanted.shape)
        assert np.abs(np.bincount(cells, minlength=wanted.size) - wanted.ravel()).max() < 734


def test_swaps_bring_pairs_nearer_and_change_no_column() -> None:
    """A swap within a group changes no table of one column, and never those of pairs for worse."""
    mixture, rng = mixture_at_random(15, groups=4), np.random.default_rng(8)
    counts = systematic(mixture.weights, 2000, rng)
    ends = np.cumsum(counts)
    rows = np.stack(
        [np.concatenate([rng.choice(p.shape[1], n, p=p[k]) for k, n in enumerate(counts)]) for p in mixture.columns], 1
    )

    def off(rows: np.ndarray) -> float:
        found = 0.0
        for axes in combinations(range(3), 2):
            wanted = 2000 * mixture.table(axes)
            cells = np.ravel_multi_index([rows[:, axis] for axis in axes], wanted.shape)
            found += float(np.sum((np.bincount(cells, minlength=wanted.size) - wanted.ravel()) ** 2))
        return found

    swapped = swap(rows.copy(), ends, mixture, rng)
    assert off(swapped) < 0.5 * off(rows)
    for begin, end in zip([0, *ends[:-1]], ends, strict=True):
        assert (np.sort(swapped[begin:end], axis=0) == np.sort(rows[begin:end], axis=0)).all()


def test_forbidden_rows_are_drawn_anew() -> None:
    mixture, rng = mixture_at_random(12), np.random.default_rng(6)

    def bad(rows: np.ndarray) -> np.ndarray:
        return (rows[:, 0] == 0) & (rows[:, 1] == 1)

    rows = without(draw(mixture, 5000, rng), bad, mixture, rng)
    assert len(rows) == 5000
    assert not bad(rows).any()
    with pytest.raises(errors.InvalidParameter, match="forbidden"):
        without(rows, lambda rows: np.ones(len(rows), dtype=bool), mixture, rng)


def test_known_tables_are_held_exactly_also_where_they_overlap() -> None:
    rng = np.random.default_rng(7)
    rows, others = (draw(mixture_at_random(seed), 3000, rng) for seed in (13, 14))

    def table(rows: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
        shape = tuple(list(SIZES.values())[axis] for axis in axes)
        cells = np.ravel_multi_index([rows[:, axis] for axis in axes], shape)
        return np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape)

    known = {axes: table(others, axes) for axes in ((0, 1), (1, 2))}
    found = hold(rows.copy(), known, rng)
    for axes, wanted in known.items():
        assert (table(found, axes) == wanted).all()
    one = hold(rows.copy(), {(0, 1): known[0, 1]}, rng)
    moved = np.maximum(table(rows, (0, 1)) - known[0, 1], 0).sum()  # the fewest rows that must change
    assert (one != rows).any(axis=1).sum() == moved
    with pytest.raises(errors.InvalidParameter, match="known"):
        hold(rows.copy(), {(0,): np.array([1, 1, 1])}, rng)
