"""The parts of the estimate: sights of a block, predictions, posterior means, the limit of James and Stein."""

import numpy as np
import pytest

from leastnoise.denoise.tables import mixture, prediction
from leastnoise.denoise.tables.denoise_tables import _limited
from leastnoise.denoise.tables.mixture import Cells, Uncertain, posteriors
from leastnoise.denoise.tables.repeated import _repeats, sights
from leastnoise.workload.residuals import project
from made_up_tables import survey


def test_an_independent_column_shows_the_block_again():
    shares, other = np.array([0.7, 0.2, 0.1]), np.array([50.0, 10.0, 5.0, 35.0])
    pair = np.multiply.outer(other, shares)
    tables = {(): np.array(100.0), ("a",): other, ("c",): 100 * shares}
    above = {("a", "c"): Uncertain(project(pair), np.full(pair.shape, 9.0 * (3 / 4) * (2 / 3)))}
    (again,) = _repeats(("a",), above, tables, ["a", "c"])
    assert again.value == pytest.approx(project(other))
    contrast = shares - 1 / 3
    assert again.variance == pytest.approx(9.0 * (3 / 4) / (contrast @ contrast))


def test_sights_have_the_variance_they_claim():
    """1,000 draws of a pair whose columns are independent, so that repeats are unbiased: the mean square of the
    averaged error over the claimed variance is below one (the claim allows for departures that are not there)."""
    rng = np.random.default_rng(2)
    shares, other = np.array([0.8, 0.1, 0.1]), np.array([40.0, 10.0, 5.0, 35.0, 1, 1, 1, 1, 1, 5])
    pair = np.multiply.outer(other, shares)
    tables = {(): np.array(100.0), ("a",): other, ("c",): 100 * shares}
    ratios = []
    for _ in range(1000):
        direct = {("a",): Uncertain(project(other + rng.normal(0, 30, 10)), np.full(10, 900 * 0.9))}
        above = {("a", "c"): Uncertain(project(pair + rng.normal(0, 30, pair.shape)), np.full(pair.shape, 540.0))}
        sight = sights(direct, above, tables, ["a", "c"])["a",]
        assert (sight.variance <= direct["a",].variance).all()
        ratios.append(float(np.mean((sight.value - project(other)) ** 2 / sight.variance)))
    assert 0.7 < np.mean(ratios) < 1.05  # its standard error is 0.015
    assert np.mean(sight.variance) < 0.8 * 810


def test_a_column_with_even_shares_shows_nothing():
    tables = {(): np.array(90.0), ("a",): np.array([60.0, 30.0]), ("c",): np.array([30.0, 30.0, 30.0])}
    direct = {("a",): Uncertain(np.array([15.0, -15.0]), np.full(2, 4.0))}
    above = {("a", "c"): Uncertain(np.zeros((2, 3)), np.full((2, 3), 4.0))}
    assert sights(direct, above, tables, ["a", "c"]) == direct


def test_fitting_keeps_margins_and_a_product():
    rng = np.random.default_rng(0)
    a, b, c = rng.random(3), rng.random(4), rng.random(5)
    joint = 1000 * a[:, None, None] * b[:, None] * c
    tables = {("a", "b"): joint.sum(2), ("a", "c"): joint.sum(1), ("b", "c"): joint.sum(0)}
    tables |= {("a",): joint.sum((1, 2)), ("b",): joint.sum((0, 2)), ("c",): joint.sum((0, 1)), (): joint.sum()}
    assert prediction.fitted(tables, ("a", "b", "c")) == pytest.approx(joint)


def test_a_third_column_predicts_what_it_explains():
    """a and b are independent given c in these made-up tables; noise drowns their own table."""
    rng = np.random.default_rng(3)
    pairs, sizes = [], {f"x{i}": 8 for i in range(6)}
    given = {x: rng.dirichlet(np.full(8, 0.3), 5) for x in sizes}
    hidden = np.full(5, 2000.0)
    tables = {(): np.array(10_000.0), ("c",): hidden} | {(x,): hidden @ given[x] for x in sizes}
    for i, x in enumerate(sizes):
        tables["c", x] = hidden[:, None] * given[x]
        for y in list(sizes)[i + 1 :]:
            tables[x, y] = given[x].T @ (hidden[:, None] * given[y])
    pairs = [t for t in tables if len(t) == 2]
    noise = dict.fromkeys(pairs, 300.0**2)
    seen = {p: project(tables[p] + rng.normal(0, 300.0, tables[p].shape)) for p in pairs}
    made = prediction.mediated(tables, seen, noise)
    inner = [p for p in pairs if p[0] != "c"]
    error = sum(float(((made[p] - tables[p]) ** 2).sum()) for p in inner)
    base = sum(float(((prediction.independent(tables, p) - tables[p]) ** 2).sum()) for p in inner)
    assert error < 0.25 * base


def test_posterior_means_are_those_of_the_mixture(monkeypatch):
    """Against the sum over components, written out."""
    weights = np.zeros((mixture.KNOTS, 1 + mixture.SPREADS.size + mixture.LEVELS.size))
    weights[:, [0, 1, 5, 12]] = 0.1, 0.4, 0.3, 0.2  # nothing; the prediction; 0.25 of it around; level 2^3
    seen, predicted, variance = np.array([-3.0, 0.0, 9.0, 60.0]), np.array([0.5, 4.0, 64.0, 64.0]), np.full(4, 16.0)
    mean, spread = mixture._means(seen, predicted, variance, weights)
    shares = np.zeros(4)
    for i in range(4):
        p = predicted[i]
        components = [(0.1, 0.0, 0.0), (0.4, p, 0.0), (0.3, p, (0.25 * p) ** 2), (0.2, 8.0, (0.35 * 8) ** 2)]
        density = [w * np.exp(-0.5 * (seen[i] - m) ** 2 / (v + 16)) / np.sqrt(v + 16) for w, m, v in components]
        means = [m + v / (v + 16) * (seen[i] - m) for _, m, v in components]
        assert mean[i] == pytest.approx(np.dot(density, means) / np.sum(density))
        shares += density / np.sum(density)
    monkeypatch.setattr(mixture, "TILTS", 1)
    own = weights[0, [0, 1, 5, 12]]
    tilt = mixture._tilt(seen, predicted, variance, 1.0, weights)[[0, 1, 5, 12]]
    assert tilt == pytest.approx((shares + mixture.PRIOR_CELLS * own) / ((4 + mixture.PRIOR_CELLS) * own))
    step = 1e-4  # Tweedie: the slope of the mean is the posterior variance over that of the noise
    up, _ = mixture._means(seen + step, predicted, variance, weights)
    assert (up - mean) / step == pytest.approx(spread / variance, rel=1e-3)


def test_plain_counts_are_shrunk_to_where_they_are():
    rng = np.random.default_rng(4)
    truth = np.r_[np.zeros(900), np.full(100, 500.0)]
    seen = truth + rng.normal(0, 20, 1000)
    (made,) = posteriors([Cells(seen, np.zeros(1000), np.full(1000, 400.0), 0.999)])
    assert np.mean((made.value - truth) ** 2) < 0.3 * 400


def test_one_and_two_degrees_of_freedom_are_left_alone():
    unbiased = project(np.array([[3.0, 1.0], [2.0, 9.0], [4.0, 0.5]]))
    shrunk = Uncertain(np.zeros((3, 2)), np.zeros((3, 2)))
    assert _limited(unbiased, shrunk, np.full((3, 2), 1 / 3)).value == pytest.approx(unbiased)


def test_a_fixed_point_is_james_stein():
    rng = np.random.default_rng(6)
    y = rng.normal(0, 3.0, 40)
    unbiased, noise = y - y.mean(), 2.0
    made = _limited(unbiased, Uncertain(np.zeros(40), np.zeros(40)), np.full(40, noise * (1 - 1 / 40)))
    factor = 1 - (39 - 2) * noise / float(unbiased @ unbiased)
    assert made.value == pytest.approx(factor * unbiased)


def test_predictions_come_from_smaller_tables_alone():
    made = survey()
    tables = {t: made.truth[t] for t in made.truth if len(t) < 2}
    product = prediction.independent(tables, ("age", "sex"))
    assert product.sum(axis=1) == pytest.approx(made.truth["age",])
