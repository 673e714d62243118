"""Published quantiles and their intervals, which have noise of their own."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import leastnoise as ln
from drawing import drawer
from leastnoise.testing import seeded


@pytest.mark.parametrize("mechanism", ["exponential", "gaussian", "laplace"])
def test_a_quantile_lies_inside_its_own_interval(mechanism: str) -> None:
    """In 30 draws at every confidence; and the interval is no shorter than the noise alone has it."""
    rows = pd.DataFrame({"who": range(3000), "x": np.random.default_rng(3).gamma(0.7, 40, 3000)})
    query = ln.table(rows, unit="who").quantile("x", [0.1, 0.25, 0.5, 0.75, 0.9], clip=(0, 400), bins=400, max_rows=1)
    draw = drawer(query, epsilon=0.5, delta=1e-6, mechanism=mechanism)
    outside = 0
    with seeded(7):
        for made in (draw() for _ in range(30)):
            for confidence in (0.5, 0.95):
                low, high = made.interval(confidence)
                first, last = (end[0] for end in made.reading.ends(made.blocks, confidence))
                assert ((low <= made.values) & (made.values <= high)).all()
                assert ((low <= first) & (last <= high)).all()
                outside += int(((made.values < first) | (made.values > last)).sum())
    assert outside > 0  # so it was needed
