"""What is said about errors is true of the columns that are published, before a row is read and after."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leastnoise as ln
from leastnoise import plot, report
from leastnoise._support.text import about, rounded
from leastnoise.domain import Steps
from leastnoise.privacy.distributions import Gaussian, Laplace
from leastnoise.releases.mean import MeanRelease, half_widths
from leastnoise.releases.quantile_readings import HistogramQuantiles, moments, rank_error
from leastnoise.testing import seeded
from leastnoise.workload.ordered import prefix_strategy

BINS = 4_000
# Of 4,000 independent bins, 95% hold; fewer than 93.28%, or more than 96.72%, by chance once in 1e-6 (five standard
# errors of 0.34%, both sides together 6e-7).
SLACK = 0.0172
CENTRE, HALF = 53, 37  # ages from 16 to 90
LAWS = ["gaussian", "laplace"]


def means(mechanism: str, rows: int, value: int) -> MeanRelease:
    """So many rows of one value in each of many bins."""
    exact = np.concatenate([np.full(BINS, rows * (value - CENTRE)), np.full(BINS, rows * HALF)])
    with seeded(5):
        parts = ln.release(
            exact,
            sensitivity=HALF * 2**0.5,
            l1_sensitivity=2 * HALF,
            epsilon=0.5,
            delta=1e-6,
            mechanism=mechanism,  # type: ignore[arg-type]
        )
    domain = ln.domain.product(["bin"], range(BINS))
    return MeanRelease.of(parts, centre=CENTRE, half_range=HALF, within=(16.0, 90.0), domain=domain)


@pytest.mark.parametrize("mechanism", LAWS)
def test_a_published_sum_and_count_are_off_by_what_is_told(mechanism: str) -> None:
    made = means(mechanism, 1_000, 40)
    columns, told = made.to_pandas(), made.half_widths()
    for name, truth, most in (("sum", 40_000, told.sum), ("count", 1_000, told.count)):
        within = float((np.abs(columns[name] - truth) <= most).mean())
        assert abs(within - 0.95) < SLACK, name
        assert f"{name} is off by at most" in made.explain() or f"{name} by at most" in made.explain()
        assert rounded(most) in made.explain()
    assert rounded(made.distribution.half_width(0.95)) not in made.explain()  # of the centred sum, which is not shown


@pytest.mark.parametrize("mechanism", LAWS)
@pytest.mark.parametrize("rows", [40, 200, 5_000])
@pytest.mark.parametrize("value", [16, 53, 60, 90])
def test_a_mean_over_n_rows_is_off_by_no_more_than_was_expected(mechanism: str, rows: int, value: int) -> None:
    made = means(mechanism, rows, value)
    off = np.abs(made.values[made.enough] - value)  # what is too few to tell is not off
    assert (off > made.half_widths().mean_times_rows / rows).sum() < (0.05 + SLACK) * BINS


@pytest.mark.parametrize("mechanism", LAWS)
@pytest.mark.parametrize("rows", [0, 3, 500])
def test_the_mean_over_all_bins_lies_in_its_interval(mechanism: str, rows: int) -> None:
    """At a confidence of 1 - 1e-7, which is the chance of a false alarm; and the interval is as narrow as it can be."""
    made = means(mechanism, rows, 60)
    found, usual = made.overall(1 - 1e-7), made.overall()
    assert found.low <= usual.low <= usual.high <= found.high
    if rows:
        assert usual.low <= usual.value == found.value <= usual.high
        assert found.low <= 60 <= found.high
        noise = made.std * BINS**0.5 / (BINS * rows)  # of the mean of all, at the clip's centre
        assert usual.high - usual.low < 2 * 2.5 * 2 * noise
    else:
        assert (usual.low, usual.high) == made.within
        assert np.isnan(usual.value)


@pytest.mark.parametrize("law", [Gaussian(40.0, 1.0), Laplace(40.0, 1.0), Gaussian(2.0, 1.0), Laplace(2.0, 1.0)])
@pytest.mark.parametrize("ratio", [0.0, 0.3, 1.0, 1.4459, 30.0])
def test_two_noises_together_stay_within_their_half_width(law: Gaussian | Laplace, ratio: float) -> None:
    """By summing the exact probabilities of all pairs."""
    span = np.arange(-1_000, 1_001) if law.std > 10 else np.arange(-100, 101)
    chance = np.array([law.cell(int(k)) for k in span])
    half = law.pair_half_width(ratio, 0.95)
    within = np.abs(span[:, None] + ratio * span[None, :]) <= half
    covered = float(chance @ within @ chance)
    assert covered > 0.949
    if law.std > 10:
        assert covered < 0.96  # the half-width's own grid: a step has about 1%


@pytest.mark.parametrize("level", [0.1, 0.5, 0.75])
@pytest.mark.parametrize("spread", ["one", "thirty", "ends"])
@pytest.mark.parametrize("mechanism", LAWS)
def test_the_rank_of_a_quantile_is_off_by_no_more_than_is_told(level: float, spread: str, mechanism: str) -> None:
    """Of 400 releases 95% hold; fewer than 89.5% by chance less than once in 1e-6. Rows at the two ends alone leave a
    long way in which the noise decides where the quantile is."""
    steps, tries, held = 500, 400, 0
    kind: Any = {"delta": 1e-6, "mechanism": mechanism}
    rows = {"one": np.full(steps, 1), "thirty": np.full(steps, 30), "ends": np.zeros(steps, dtype=int)}[spread]
    law = ln.release(rows, sensitivity=1, l1_sensitivity=1, epsilon=0.5, **kind).distribution
    most = rank_error(law, moments(steps), level=level)
    if spread == "ends":  # just beyond what is told, so that stopping on the way is a miss
        rows[0], rows[-1] = level * 10_000 - most - 5, (1 - level) * 10_000 + most + 5
    below = np.concatenate([[0], np.cumsum(rows)])
    wanted = level * below[-1]
    with seeded(3):
        for _ in range(tries):
            parts = ln.release(rows, sensitivity=1, l1_sensitivity=1, epsilon=0.5, **kind)
            found = HistogramQuantiles(levels=(level,), steps=Steps(0.0, float(steps), steps))
            place = min(int(found.found({"counts": parts.blocks["value"]})[0, 0]), steps - 1)
            held += bool(below[place] - wanted <= most and wanted - below[place + 1] <= most)
    assert held > 0.895 * tries


def test_what_to_expect_of_a_mean_and_a_quantile_is_told_before_a_row_is_read() -> None:
    import pyarrow as pa

    table = ln.table(pa.table({"who": [1, 2], "age": [20, 30]}), unit="who")
    asked = {"epsilon": 0.5, "delta": 1e-6, "mechanism": "gaussian"}
    expected = table.mean("age", clip=(16, 90), max_rows=1).expect(**asked)  # type: ignore[arg-type]
    law = Gaussian(expected.sigma, 1.0)
    want = half_widths(law, centre=53.0, half_range=37.0)
    assert expected.half_width is None
    assert expected.half_widths == {"sum": want.sum, "count": want.count, "mean_times_rows": want.mean_times_rows}
    told = str(expected)
    for number in expected.half_widths.values():
        assert rounded(number) in told
    assert f"{rounded(want.mean_times_rows / 1_000, 3)} for 1,000" in told
    ranked = table.quantile("age", [0.5], clip=(16, 90), bins=100, max_rows=1).expect(**asked)  # type: ignore[arg-type]
    rows = rank_error(Gaussian(ranked.sigma, 1.0), moments(prefix_strategy(100)), level=0.5)
    assert ranked.half_widths == {"rank at 0.5": rows}
    assert f"{rounded(rows, 3)} rows at level 0.5" in str(ranked)


def test_the_page_of_a_mean_tells_the_error_of_the_sum_that_it_shows() -> None:
    made = means("gaussian", 1_000, 40)
    text = report.page(made)
    assert f"a sum is off by at most {rounded(made.half_widths().sum)}" in text
    assert f"off by at most {made.distribution.half_width(0.95):,.4g}" not in text


def test_an_estimated_error_is_told_to_two_digits_and_kept_to_all(tmp_path: Path) -> None:
    release = ln.release(np.arange(400) % 7, sensitivity=1, epsilon=0.2, delta=1e-6)
    estimate = release.denoise()
    assert estimate.rmse is not None
    told, every = about(estimate.rmse), f"{estimate.rmse:.3g}"
    candidates = [e for name, e in estimate.parameters["errors"].items() if name != "raw"]
    for text in (
        estimate.explain(),
        report.page(release, estimate=estimate),
        *(child.get_text() for child in estimate.plot().figure.texts),
        *(child.get_text() for child in plot.weights(estimate).figure.texts if "error" in child.get_text()),
    ):
        assert told in " ".join(text.split())
        assert every == told.removeprefix("about ") or f" {every}" not in text
    for error in candidates:
        assert about(error) in estimate.explain()
    estimate.save(tmp_path / "e.parquet")
    assert ln.load(tmp_path / "e.parquet").rmse == estimate.rmse


@given(number=st.floats(1e-300, 1e300), size=st.integers(2, 6))
def test_digits_are_rounded_not_lost(number: float, size: int) -> None:
    shown = float(rounded(number, size).replace(",", ""))
    assert shown == float(f"{number:.{size - 1}e}")
