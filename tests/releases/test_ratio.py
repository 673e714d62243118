"""Ratios of two noisy sums: intervals that hold as often as they say, whatever the scales, and what has no ratio."""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq

from leastnoise.curator.noise.gaussian import rounded_gaussian
from leastnoise.curator.noise.laplace import two_sided_geometric
from leastnoise.domain import Domain, IntegerRange
from leastnoise.privacy.distributions import Gaussian, Laplace
from leastnoise.privacy.noise_sums import RatioNoise
from leastnoise.releases import ratio_interval
from leastnoise.releases.measured import Figure, Measured
from leastnoise.releases.provenance import Provenance
from leastnoise.releases.ratio import RatioRelease, public_ends
from leastnoise.releases.summary import SummaryRelease
from leastnoise.testing import seeded

DRAWS = 20_000
# 95% of 20,000: five standard errors are 0.77%, a false alarm of 3e-7 on each side.
FIVE_STANDARD_ERRORS = 0.0077
FARE, MILES = Measured("fare", 0.0, 100.0, 0.25, 0, 400), Measured("miles", 0.0, 50.0, 0.125, 0, 400)
DELAY, MINUTES = Measured("delay", -30.0, 170.0, 1.0, -30, 170), Measured("minutes", 20.0, 500.0, 1.0, 20, 500)


def many(
    columns: tuple[Measured, Measured],
    sums: tuple[int, int],
    scales: tuple[float, float],
    mechanism: str,
    seed: int = 3,
) -> RatioRelease:
    """Two sums in steps of their grids with exact noise, drawn many times: every draw is a bin."""
    draw = rounded_gaussian if mechanism == "gaussian" else two_sided_geometric
    names = Figure("per", "ratio", 0, over=1).paired
    with seeded(seed):
        noisy = {name: exact + draw(scale, DRAWS) for name, exact, scale in zip(names, sums, scales, strict=True)}
    made = SummaryRelease.of(
        domain=Domain(("draw",), (IntegerRange(0, DRAWS),)),
        figures=(Figure("per", "ratio", 0, over=1),),
        columns=columns,
        integers=noisy,
        scales=dict(zip(names, scales, strict=True)),
        mechanism=mechanism,  # type: ignore[arg-type]
        provenance=Provenance(),
    )["per"]
    assert isinstance(made, RatioRelease)
    return made


SHAPES = {
    "many rows": ((FARE, MILES), (90_000, 60_000), (400.0, 400.0)),
    "noise above": ((FARE, MILES), (90_000, 60_000), (1_500.0, 40.0)),
    "noise below": ((FARE, MILES), (90_000, 60_000), (40.0, 1_500.0)),
    "hardly enough": ((FARE, MILES), (3_000, 1_200), (400.0, 400.0)),
    "nothing above": ((DELAY, MINUTES), (0, 1_700), (200.0, 500.0)),
    "less than nothing": ((DELAY, MINUTES), (-900, 3_000), (200.0, 500.0)),
    "at its public end": ((DELAY, MINUTES), (170 * 40, 20 * 40), (170.0, 100.0)),
    "not at all enough": ((FARE, MILES), (500, 300), (400.0, 400.0)),
}


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
@pytest.mark.parametrize("shape", SHAPES)
def test_ratios_lie_in_their_intervals(shape: str, mechanism: str) -> None:
    columns, sums, scales = SHAPES[shape]
    made = many(columns, sums, scales, mechanism)
    truth = sums[0] * columns[0].grid / (sums[1] * columns[1].grid)
    low, high = made.interval(0.95)
    held = float(((low <= truth) & (truth <= high)).mean())
    print(f"{shape}, {mechanism}: {100 * held:.2f}%, too few {100 * (~made.enough).mean():.1f}%")
    assert held >= 0.95 - FIVE_STANDARD_ERRORS
    if shape in ("many rows", "noise above", "noise below"):  # and hardly more often, nor wider
        assert held <= 0.957 + FIVE_STANDARD_ERRORS
        # what the delta method has of the noise, its own tails included
        near = (made.above.values - truth * made.below.values) / made.below.values.mean()
        least, most = np.quantile(near, [0.025, 0.975])
        assert float((high - low).mean()) < 1.05 * (most - least)


def test_the_interval_is_fiellers_of_gaussian_noise() -> None:
    """Against the roots of (S - t M)^2 = z^2 (a^2 + t^2 b^2): never within them, and within 1% of their distance where
    M is 3 half-widths or more."""
    rng, z = np.random.default_rng(5), 1.959963984540054
    a, b = 3.0, 0.2
    s, m = rng.normal(0, 60, 3_000), rng.uniform(1.02, 20, 3_000) * z * b
    noise = RatioNoise(Gaussian(a), ((a / b, Gaussian(b)),))
    low, high = (end * a / b for end in ratio_interval.unlimited_ends(s, m * a / b, noise, 0.95))
    p, q, r = m**2 - (z * b) ** 2, -s * m, s**2 - (z * a) ** 2
    root = np.sqrt(q**2 - p * r)
    first, last = (-q - root) / p, (-q + root) / p
    assert (low <= first).all()
    assert (last <= high).all()
    far = m > 3 * z * b
    assert far.sum() > 1_000
    assert ((high - low) / (last - first))[far].max() < 1.01


def test_no_ratio_of_laplace_noise_that_suits_is_left_out() -> None:
    """Against the law of X - t Y itself, at every one of 2,000 ratios."""
    noise = RatioNoise(Laplace(2.0), ((2.0 / 7.0, Laplace(7.0)),))
    ratios = np.concatenate([-np.geomspace(1e-3, 1e3, 1000)[::-1], np.geomspace(1e-3, 1e3, 1000)])
    half = np.array([_two_laplace(2.0, 2.0 * abs(t), 0.95) for t in ratios])  # of scales 2 and 2, both measured alike
    for s, m in ((30.0, 9.0), (-4.0, 20.0), (1.0, 7.5), (400.0, 8.0), (-300.0, 7.0)):
        (low,), (high,) = ratio_interval.unlimited_ends(np.array([s]), np.array([m]), noise, 0.95)
        suits = ratios[np.abs(s - ratios * m) <= half]
        assert low <= suits.min()
        assert suits.max() <= high
        assert (low > ratios.min()) or (high < ratios.max())  # and not the whole line


def _two_laplace(one: float, other: float, confidence: float) -> float:
    """The half-width of the sum of two draws, by the law of a sum of two (equal scales are a limit of it)."""
    if abs(one / other - 1) < 1e-3:
        other = 1.001 * one

    def missed(u: float) -> float:
        return (one**2 * math.exp(-u / one) - other**2 * math.exp(-u / other)) / (one**2 - other**2) - (1 - confidence)

    return float(brentq(missed, 0.0, 60 * (one + other)))


def test_a_ratio_beyond_the_last_edge_has_an_end_on_one_side() -> None:
    noise = RatioNoise(Gaussian(1.0), ((1.0, Gaussian(1.0)),))
    s = np.array([1e12, -1e12, 1.0, 1.0])
    low, high = ratio_interval.unlimited_ends(s, np.array([10.0, 10.0, 10.0, 1.0]), noise, 0.95)
    assert (low[0], high[0]) == (ratio_interval.LAST, math.inf)
    assert (low[1], high[1]) == (-math.inf, -ratio_interval.LAST)
    assert -1 < low[2] < 0.1 < high[2] < 1
    assert (low[3], high[3]) == (-math.inf, math.inf)


def test_public_ends_hold_for_all_rows_and_are_reached() -> None:
    rng = np.random.default_rng(2)
    for a, b in itertools.product([(-30, 170), (3, 9), (-9, -3), (0, 5), (-4, 0)], [(0, 50), (2, 40)]):
        above = Measured("a", a[0] * 0.5, a[1] * 0.5, 0.5, *a)
        below = Measured("b", b[0] * 2.0, b[1] * 2.0, 2.0, *b)
        low, high = public_ends(above, below)
        tops, bottoms = (rng.integers(ends[0], ends[1] + 1, (2_000, 3)) for ends in (a, b))
        some = bottoms.sum(axis=1) > 0
        ratios = tops.sum(axis=1)[some] * 0.5 / (bottoms.sum(axis=1)[some] * 2.0)
        assert (low <= ratios).all()
        assert (ratios <= high).all()
        corners = [x * 0.5 / (y * 2.0) for x in a for y in b if y]
        if b[0]:
            assert (low, high) == pytest.approx((min(corners), max(corners)), rel=1e-12)
        else:  # a sum below of nearly nothing
            assert high == (math.inf if a[1] > 0 else 0.0 if a[1] == 0 else pytest.approx(max(corners)))
            assert low == (-math.inf if a[0] < 0 else 0.0 if a[0] == 0 else pytest.approx(min(corners)))


def test_a_sum_below_within_its_noise_has_no_ratio() -> None:
    made = many((FARE, MILES), (500, 300), (400.0, 400.0), "gaussian")
    few = ~made.enough
    assert few.mean() > 0.8
    np.testing.assert_array_equal(few, made.below.values <= made.below.distribution.half_width(0.95))
    assert np.isnan(made.values[few]).all()
    low, high = made.interval(0.95)
    assert (low[few] == 0).all()
    assert np.isinf(high[few]).all()
    assert "the noisy sum of miles is within its noise" in made.explain()
    bounded = many((DELAY, MINUTES), (500, 300), (170.0, 500.0), "gaussian")
    low, high = bounded.interval(0.95)
    assert low.min() == pytest.approx(-1.5)
    assert high.max() == pytest.approx(8.5)
    inside = bounded.values[bounded.enough]
    assert ((inside >= -1.5) & (inside <= 8.500001)).all()


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_the_ratio_over_all_bins_lies_in_its_interval(mechanism: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """2,000 releases of four bins: five standard errors are 2.5%, a false alarm of 3e-7."""
    for kind in (Gaussian, Laplace):  # proved anew for every release, and the same for all of these
        monkeypatch.setattr(kind, "sum_half_width", functools.cache(kind.sum_half_width))
    drawn = many((FARE, MILES), (9_000, 6_000), (400.0, 300.0), mechanism)
    held = 0
    for first in range(0, 8_000, 4):
        four = {name: replace(each, numbers=each.numbers[first : first + 4]) for name, each in drawn.blocks.items()}
        made = replace(drawn, domain=None, blocks=four, reading=replace(drawn.reading, within=(0.0, math.inf)))
        one = made.overall()
        held += one.low <= 3.0 <= one.high
        assert one.value == pytest.approx(made.above.values.sum() / made.below.values.sum())
    assert held / 2_000 >= 0.95 - 0.025
    nothing = many((FARE, MILES), (0, 0), (4e6, 4e6), mechanism, seed=5).overall()
    assert math.isnan(nothing.value) or nothing.high > 1e3
