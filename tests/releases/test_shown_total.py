"""The total of bins that show by their noise."""

from dataclasses import replace

import numpy as np
import pytest

import leastnoise as ln
from leastnoise.releases.noise import Noise
from leastnoise.releases.selected import total_of
from leastnoise.testing import seeded


@pytest.mark.parametrize(("mechanism", "scale", "threshold"), [("gaussian", 4.2, 22), ("laplace", 0.96, 15)])
def test_the_total_of_bins_that_show_holds_and_is_narrower_than_their_intervals(
    mechanism: str, scale: float, threshold: int
) -> None:
    """Of 60 tables at 95% more than 12 miss with probability below 1e-5, however the truth lies to the threshold."""
    chance = np.random.default_rng(7)
    for truth in (np.full(100, threshold - 2), np.full(100, 20 * threshold), np.round(500 / np.arange(1, 100))):
        missed = 0
        for _ in range(60):
            odds = -np.expm1(-1 / scale)
            noise = (
                np.rint(chance.normal(0, scale, truth.size))
                if mechanism == "gaussian"
                else chance.geometric(odds, truth.size) - chance.geometric(odds, truth.size)
            )
            shown = truth + noise >= threshold
            values = (truth + noise)[shown].astype(np.int64)
            kind = Noise(mechanism, scale, 1.0)  # type: ignore[arg-type]
            total = ln.Release.of(values, kind, threshold=threshold).total()
            missed += not total.low <= truth[shown].sum() <= total.high
        assert missed <= 12
    low, high = ln.Release.of(values, kind, threshold=threshold).interval(0.95, simultaneous=True)
    assert total.high - total.low < 0.6 * (high - low).sum()


LAWS = [Noise("gaussian", 0.4, 1.0), Noise("gaussian", 4.2, 1.0), Noise("laplace", 0.96, 1.0)]


@pytest.mark.parametrize("noise", LAWS)
def test_noise_of_what_shows_varies_no_more_than_noise(noise: Noise) -> None:
    """On the grid, wherever the threshold lies; and so the others and the total are told with a standard deviation."""
    places = np.arange(-80.0, 81.0)
    chances = noise.distribution.at_or_above(places) - noise.distribution.at_or_above(places + 1)
    for start in range(40, 82 + int(6 * noise.std)):
        weights = chances[start:] / chances[start:].sum()
        mean = weights @ places[start:]
        assert np.sqrt(weights @ (places[start:] - mean) ** 2) <= noise.std * (1 + 1e-9)
    with seeded(1):
        whole = ln.release(np.array([900]), sensitivity=1, epsilon=1, delta=1e-6)
    shown = ln.Release.of(np.array([40, 50, 60]), noise, threshold=22, kind="count", provenance=whole.provenance)
    assert shown.total().std == pytest.approx(noise.std * np.sqrt(3))
    others = shown.others(replace(whole, provenance=replace(whole.provenance, query=total_of(""))))
    assert others.std == pytest.approx(np.hypot(whole.std, shown.total().std))
