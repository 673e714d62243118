"""Weighted sums of draws lie within their half-width as often as is said, and hardly more often."""

from __future__ import annotations

import numpy as np
import pytest

from leastnoise.privacy.distributions import Distribution, Gaussian, Laplace
from leastnoise.privacy.noise_sums import RatioNoise, half_widths

DRAWS = 200_000
# 95 % of 200,000: five standard errors are 0.25 %, a false alarm of 3e-7 on each side.
FIVE_STANDARD_ERRORS = 0.0025


def draw(noise: Distribution, rng: np.random.Generator) -> np.ndarray:
    if isinstance(noise, Gaussian):
        made = noise.sigma * rng.standard_normal(DRAWS)
        return np.rint(made / noise.grid) * noise.grid if noise.grid else made
    if not noise.grid:
        return noise.width * rng.laplace(size=DRAWS)
    success = -np.expm1(-noise.grid / noise.width)
    return (rng.geometric(success, DRAWS) - rng.geometric(success, DRAWS)) * noise.grid


@pytest.mark.parametrize(
    ("noises", "factors"),
    [
        ([Laplace(1.0), Laplace(1.0)], [1.0, 1.0]),
        ([Laplace(1.0), Laplace(1.0), Laplace(1.0), Laplace(1.0)], [1.0, 1.0, 1.0, 1.0]),
        ([Laplace(3.0), Laplace(0.2), Laplace(40.0)], [1.0, -5.0, 0.01]),
        ([Laplace(2.0), Laplace(9.0)], [1.0, 0.0]),
        ([Laplace(50.0, 1.0), Laplace(30.0, 1.0), Laplace(30.0, 1.0)], [1.0, 0.7, 0.7]),
        ([Gaussian(4.0), Gaussian(3.0)], [0.5, 2.0]),
        ([Gaussian(50.0, 1.0), Gaussian(30.0, 1.0), Gaussian(10.0, 0.5)], [1.0, -0.3, 2.0]),
    ],
)
def test_a_weighted_sum_is_within_its_half_width(noises: list[Distribution], factors: list[float]) -> None:
    rng = np.random.default_rng(11)
    total = sum(factor * draw(noise, rng) for factor, noise in zip(factors, noises, strict=True))
    half = float(half_widths(list(zip(factors, noises, strict=True)), 0.95))
    held = float((np.abs(total) <= half).mean())
    assert 0.95 - FIVE_STANDARD_ERRORS <= held <= 0.962 + FIVE_STANDARD_ERRORS


def test_one_laplace_draw_has_its_own_half_width() -> None:
    found = half_widths([(np.array([1.0, 2.0, 0.0]), Laplace(3.0))], 0.99)
    np.testing.assert_allclose(found, [3 * np.log(100), 6 * np.log(100), 0.0], rtol=1e-6)


def test_it_grows_with_every_factor_and_with_the_confidence() -> None:
    rng = np.random.default_rng(2)
    for kind in (Laplace, Gaussian):
        noises = [kind(1.0, 1.0), kind(4.0), kind(0.3)]
        low = rng.uniform(0, 3, (3, 500))
        high = low + rng.uniform(0, 1, (3, 500)) * (rng.random((3, 500)) < 0.5)
        halves = [half_widths(list(zip(a, noises, strict=True)), 0.95) for a in (low, high)]
        # Laplace scales within 3 % of one another are raised, so that a larger one may gain a little less.
        assert (halves[1] >= halves[0] * (0.97 if kind is Laplace else 1 - 1e-12)).all()
        surer = half_widths(list(zip(low, noises, strict=True)), 0.999)
        assert (surer > halves[0]).all()


def test_draws_of_two_kinds_are_refused() -> None:
    with pytest.raises(ValueError, match="two kinds"):
        half_widths([(1.0, Gaussian(1.0)), (1.0, Laplace(1.0))], 0.95)


NARROW = [(Laplace(6.0, 1.0), Laplace(2.0, 1.0)), (Gaussian(5.0, 1.0), Gaussian(1.5, 1.0)), (Laplace(1.0, 1.0),)]


def chances(noise: Distribution, reach: int) -> np.ndarray:
    return np.array([noise.cell(k) for k in range(-reach, reach + 1)])


@pytest.mark.parametrize("below", NARROW)
@pytest.mark.parametrize("above", [Laplace(3.0, 0.5), Gaussian(40.0, 0.25)])
@pytest.mark.parametrize("ratio", [0.0, 0.3, 1.0, 7.0])
def test_a_ratio_of_narrow_noise_holds_and_hardly_more(
    below: tuple[Distribution, ...], above: Distribution, ratio: float
) -> None:
    """Against all probabilities, added up: X + 2 ratio (Y + Z) with Y and Z in whole numbers."""
    if isinstance(above, Gaussian) != isinstance(below[0], Gaussian):
        above = Gaussian(3.0, 0.5) if isinstance(below[0], Gaussian) else Laplace(40.0, 0.25)
    noise = RatioNoise(above, tuple((2.0, each) for each in below))
    reach, own = 400, 8000
    total = chances(below[0], reach)
    for each in below[1:]:
        total = np.convolve(total, chances(each, reach))
    sizes = np.arange(total.size) - total.size // 2
    places = np.arange(-own, own + 1) * above.grid
    held_by = np.cumsum(chances(above, own))

    def coverage(half: float) -> float:
        ends = [
            np.searchsorted(places, side * half - 2 * ratio * sizes, how) for side, how in ((-1, "left"), (1, "right"))
        ]
        low, high = (np.where(end > 0, held_by[np.maximum(end - 1, 0)], 0.0) for end in ends)
        return float(total @ (high - low))

    half = noise.pair_half_width(ratio, 0.95)
    assert coverage(half) >= 0.95 - 1e-12
    step = max(above.grid, 2 * ratio if ratio and above.width < ratio else 0.0)
    assert coverage(half * (1 - 1e-6) - step) < 0.95
    alone = noise.half_width(0.95)
    assert total[np.abs(2 * sizes) <= alone].sum() >= 0.95 > total[np.abs(2 * sizes) <= alone - 2].sum()


def test_a_ratio_of_narrow_noise_is_shorter_than_by_rounding() -> None:
    noise = RatioNoise(Laplace(2.0, 1.0), ((1.0, Laplace(2.0, 1.0)), (1.0, Laplace(2.0, 1.0))))
    rounded = float(half_widths([(1.0, Laplace(2.0, 1.0))] * 3, 0.95))
    assert noise.pair_half_width(1.0, 0.95) < 0.9 * rounded
