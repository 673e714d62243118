"""A summary's intervals hold as often as they say, its file says what it was, and its page and words are right."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import leastnoise as ln
from leastnoise import errors, report
from leastnoise._support.text import rounded
from leastnoise.domain import Domain, IntegerRange
from leastnoise.privacy.distributions import Gaussian, Laplace
from leastnoise.releases.block import Block
from leastnoise.releases.measure import Measure
from leastnoise.releases.measured import ROWS, Figure, Measured, part_name
from leastnoise.releases.provenance import Provenance
from leastnoise.releases.ratio import RatioRelease, Share
from leastnoise.releases.summary import SummaryRelease
from leastnoise.testing import seeded
from page_parser import Page, decoded

DRAWS = 20_000
# 95% of 20,000: five standard errors are 0.77%, a false alarm of 3e-7 on each side.
FIVE_STANDARD_ERRORS = 0.0077
COLUMN = Measured("delay", -30.0, 170.0, 1.0, -30, 170)
FIGURES = (
    Figure("n", "count"),
    Figure("mean", "mean", 0),
    Figure("var", "variance", 0),
    Figure("sd", "std", 0),
    Figure("part", "share"),
)


def draws(mechanism: str, scale: float, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    if mechanism == "gaussian":
        return np.rint(scale * rng.standard_normal(DRAWS)).astype(np.int64)
    success = -np.expm1(-1 / scale)
    return rng.geometric(success, DRAWS) - rng.geometric(success, DRAWS)


def many(
    values: np.ndarray[Any, Any], missing: int, mechanism: str, rows_scale: float, seed: int = 5
) -> SummaryRelease:
    """One bin's numbers with noise, drawn many times: every draw is a bin."""
    rng = np.random.default_rng(seed)
    centred = 2 * values - COLUMN.lowest - COLUMN.highest
    squares = ((2 * centred**2) >> COLUMN.square_shift) - COLUMN.square_centre
    exact = {ROWS: len(values) + missing, "sum 0": centred.sum(), "squares 0": squares.sum(), "missing 0": missing}
    sizes = {ROWS: 1, "sum 0": COLUMN.span, "squares 0": COLUMN.largest_square, "missing 0": 1}
    scales = {name: rows_scale * size for name, size in sizes.items()}
    return SummaryRelease.of(
        domain=Domain(("draw",), (IntegerRange(0, DRAWS),)),
        figures=FIGURES,
        columns=(COLUMN,),
        integers={name: exact[name] + draws(mechanism, scale, rng) for name, scale in scales.items()},
        scales=scales,
        mechanism=mechanism,  # type: ignore[arg-type]
        provenance=Provenance(),
    )


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
@pytest.mark.parametrize(("rows", "missing"), [(3000, 500), (300, 0), (40, 10), (0, 5)])
def test_means_and_spreads_lie_in_their_intervals(mechanism: str, rows: int, missing: int) -> None:
    values = np.random.default_rng(1).gamma(1.5, 30, rows).astype(int).clip(-30, 170)
    made = many(values, missing, mechanism, rows_scale=8.0)
    truth = {"n": rows + missing, "mean": values.mean(), "var": values.var(), "sd": values.std()} if rows else {"n": 5}
    for name, value in truth.items():
        low, high = made[name].interval(0.95)
        held = float(((low <= value) & (value <= high)).mean())
        print(f"{mechanism}, {rows} rows: {name} {100 * held:.2f}%, mean length {(high - low).mean():.4g}")
        assert held >= 0.95 - FIVE_STANDARD_ERRORS
        if rows == 3000 and name in (
            "mean",
            "var",
        ):  # and hardly more often: half a step of the grid, and the mean's part
            assert held <= 0.972


def test_a_variance_is_hardly_wider_than_by_the_delta_method() -> None:
    values = np.random.default_rng(2).integers(-30, 171, 200_000)
    made = many(values, 0, "gaussian", rows_scale=8.0)["var"]
    assert isinstance(made, Measure)
    spread = float(made.values.std())
    low, high = made.interval(0.95)
    assert float((high - low).mean()) < 1.08 * 2 * 1.96 * spread
    assert abs(made.values.mean() / values.var() - 1) < 0.01


def test_too_few_rows_have_no_mean_and_any_variance() -> None:
    made = many(np.array([50] * 3), 0, "gaussian", rows_scale=8.0)
    for name in ("mean", "var", "sd"):
        one: Any = made[name]
        assert 0.9 < (~one.enough).mean() <= 1
        assert np.isnan(one.values[~one.enough]).all()
    low, high = made["var"].interval(0.95)
    assert (low == 0).mean() > 0.95
    assert high.max() <= 100**2 * (1 + 1e-12)


def shared(release: ln.Release, **facts: Any) -> Measure:
    """What each number of a release has of all of them."""
    blocks = {"rows": Block(release.values.copy(), ("bin",), release.noise)}
    return Measure(blocks=blocks, reading=Share(shared="rows", **facts), provenance=release.provenance)


def test_shares_lie_in_their_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in (Gaussian, Laplace):  # proved anew for every release, and the same for all of these
        for name in ("half_width", "sum_half_width"):
            monkeypatch.setattr(kind, name, functools.cache(getattr(kind, name)))
    rng = np.random.default_rng(9)
    truth = np.array([500, 300, 40, 5, 0])
    for mechanism in ("gaussian", "laplace"):
        held, length = np.zeros(5), 0.0
        for _ in range(4000):
            noise = np.array([draw_one(mechanism, rng) for _ in truth])
            release = ln.Release.of(truth + noise, ln.releases.Noise(mechanism, 8.0, 1.0), provenance=Provenance())
            low, high = shared(release).interval(0.95)
            held += (low <= truth / 845) & (truth / 845 <= high)
            length += float((high - low).mean()) / 4000
        # 4,000 draws: five standard errors are 1.7%
        assert (held / 4000 >= 0.95 - 0.017).all()
        assert length < 0.09


def draw_one(mechanism: str, rng: np.random.Generator) -> int:
    if mechanism == "gaussian":
        return int(np.rint(8.0 * rng.standard_normal()))
    success = -np.expm1(-1 / 8.0)
    return int(rng.geometric(success) - rng.geometric(success))


def test_shares_of_sums_of_both_signs_are_enclosed() -> None:
    noise = ln.releases.Noise("laplace", 2.0, 1.0)
    release = ln.Release.of(np.array([50, -20, 70]), noise, provenance=Provenance())
    made = shared(release, column="v", one_sign=False)
    low, high = made.interval(0.95)
    assert (low < made.values).all()
    assert (made.values < high).all()
    assert made.values[1] < 0
    negative = ln.Release.of(np.array([-50, -30]), noise, provenance=Provenance())
    np.testing.assert_allclose(shared(negative, column="v", negative=True).values, [0.625, 0.375])
    nothing = ln.Release.of(np.array([-3, 2]), noise, provenance=Provenance())
    assert np.isnan(shared(nothing).values).all()


@pytest.fixture(scope="module")
def made() -> SummaryRelease:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "plane": np.arange(4000) % 2500,
            "carrier": rng.choice(["AA", "DL", "<UA>"], 4000, p=[0.7, 0.299, 0.001]),
            "delay": np.where(rng.random(4000) < 0.1, np.nan, rng.normal(10, 30, 4000)),
            "hours": np.where(rng.random(4000) < 0.1, np.nan, rng.gamma(3, 1, 4000)),
        }
    )
    query = ln.table(frame, unit="plane").summarize(
        "carrier",
        keys=["AA", "DL", "<UA>"],
        max_rows=2,
        flights=ln.stats.count(),
        delay=ln.stats.mean("delay", clip=(-30, 170)),
        spread=ln.stats.std("delay", clip=(-30, 170)),
        late=ln.stats.rate("delay > 15"),
        lost=ln.stats.sum("delay", clip=(0, 170)),
        part=ln.stats.share("delay", clip=(0, 170)),
        hourly=ln.stats.ratio("delay", "hours", clip=(0, 170), over_clip=(0, 10)),
    )
    with seeded(4):
        release = query.release(epsilon=1, delta=1e-6)
    assert isinstance(release, SummaryRelease)
    return release


def test_each_statistic_is_a_release_of_its_kind(made: SummaryRelease) -> None:
    assert list(made) == ["flights", "delay", "spread", "late", "lost", "part", "hourly"]
    assert isinstance(made["flights"], ln.Release)
    assert isinstance(made["delay"], ln.MeanRelease)
    assert isinstance(made["hourly"], RatioRelease)
    assert (made["late"].kind, made["delay"].kind, made["spread"].kind) == ("rate", "mean", "std")
    for name in made:
        one = made[name]
        assert one.guarantee == made.guarantee
        assert one.id == made.id
        assert one.bins == 3
        assert one.to_pandas().shape[0] == 3
        assert "released" in one.explain() or "noise" in one.explain()
    with pytest.raises(errors.UnknownColumn, match="flights"):
        made["nothing"]


def test_intervals_that_hold_together_are_wider(made: SummaryRelease) -> None:
    alone, together = made.interval(0.95), made.interval(0.95, simultaneous=True)
    for name in made:
        assert (together[name].low <= alone[name].low).all()
        assert (together[name].high >= alone[name].high).all()
    assert (together["flights"].high > alone["flights"].high).all()


def test_all_intervals_together_hold_as_often_as_is_said() -> None:
    values = np.random.default_rng(1).integers(-30, 171, 400)
    made = many(values, 100, "laplace", rows_scale=8.0)
    truth = {"n": 500, "mean": values.mean(), "var": values.var(), "sd": values.std()}
    confidence = 1 - 0.05 / 4  # what `simultaneous` takes for four statistics of one bin
    held = np.ones(DRAWS, dtype=bool)
    for name, value in truth.items():
        low, high = made[name].interval(confidence)
        held &= (low <= value) & (value <= high)
    assert held.mean() >= 0.95 - FIVE_STANDARD_ERRORS


def test_a_part_can_be_saved_where_its_kind_has_a_file(made: SummaryRelease, tmp_path: Path) -> None:
    for name in ("flights", "delay", "late", "lost"):
        path = tmp_path / f"{name}.parquet"
        made[name].save(path, allow_seeded=True)
        again = ln.load(path)
        np.testing.assert_array_equal(again.interval(0.9), made[name].interval(0.9))
        assert again.kind == made[name].kind
    for name in ("spread", "part", "hourly"):
        with pytest.raises(errors.InvalidParameter, match="summary"):
            made[name].save(tmp_path / "part.parquet", allow_seeded=True)


def test_an_interval_without_an_end_is_an_empty_cell(made: SummaryRelease, tmp_path: Path) -> None:
    assert not made["hourly"].enough[2]  # type: ignore[union-attr]
    assert np.isinf(made["hourly"].interval(0.95).high[2])
    lines = made["hourly"].to_csv(tmp_path / "hourly.csv", round_to=5, allow_seeded=True).read_text().splitlines()
    assert lines[-1].startswith('"<UA>",,0,,"False",')
    assert lines[-3].startswith('"AA",')
    assert ",," not in lines[-3]
    assert made.to_csv(tmp_path / "all.csv", allow_seeded=True).read_text().endswith(",,0,\n")


def test_print_shows_values(made: SummaryRelease) -> None:
    lines = str(made).splitlines()
    assert len(lines) == 5
    assert "[" in lines[2]
    assert "too few to tell" in lines[4]
    assert "AA" in made._repr_html_()
    assert "&lt;UA&gt;" in made._repr_html_()


def test_what_cannot_be_denoised_says_why(made: SummaryRelease) -> None:
    assert made["flights"].denoise().bins == 3  # type: ignore[union-attr]
    reasons = {
        "spread": "three",
        "part": "divide by their sum",
        "delay": "A mean is",
        "late": "A rate is",
        "hourly": "A ratio is a noisy sum over another noisy sum",
    }
    for name, reason in reasons.items():
        with pytest.raises(errors.InvalidParameter, match=reason):
            made[name].denoise()
        assert reason in Page(report.page(made[name], estimate=None)).text
    with pytest.raises(errors.InvalidParameter, match=r'release\["flights"\].denoise'):
        made.denoise()
    assert made.why_not_denoised in Page(report.page(made)).text


def test_the_words_tell_the_typical_bin_and_the_least_accurate(made: SummaryRelease) -> None:
    """From the value to the farther end: intervals of means and spreads do not have it in the middle."""
    told = made.errors_in_words()
    delay = made["delay"]
    low, high = (np.asarray(end) for end in delay.interval(0.95))
    far = np.maximum(delay.values - low, high - delay.values)[delay.enough]  # type: ignore[union-attr]
    assert far.max() > ((high - low)[delay.enough] / 2).max()  # type: ignore[union-attr]
    typical, most = rounded(float(np.median(far)), 3), rounded(float(far.max()), 3)
    assert f"; delay ±{typical} in a typical bin, ±{most} in the least accurate (1 of 3 too few to tell);" in told
    alike = rounded(float(made["flights"].interval(0.95).high[0] - made["flights"].values[0]), 3)
    assert f"off by at most: flights ±{alike}; delay" in told


def test_the_page_has_every_statistic_and_escapes_keys(made: SummaryRelease, tmp_path: Path) -> None:
    page = made.report(tmp_path / "page.html", allow_seeded=True).read_text()
    measures = Page(page).found["tables"][0]["measures"]
    assert [measure["title"] for measure in measures] == list(made)
    for measure in measures:
        np.testing.assert_array_equal(decoded(measure["values"]), made[measure["title"]].values)
    assert "sum of delay over sum of hours, of rows with both" in page
    assert "both of the rows in which neither column is missing" in page
    assert "\\u003cUA\\u003e" in page
    assert "<UA>" not in page
    assert re.findall("<script[^>]*>", page) == ['<script type="application/json" id="data">', "<script>"]
    assert "too few to tell" in page
    assert part_name("sum", 0) not in page
    with pytest.raises(errors.SeededRelease):
        made.report(tmp_path / "page.html")
    assert report.page(made, title="Late <flights>").count("Late &lt;flights&gt;") >= 2


def test_a_part_has_a_page_of_its_own(made: SummaryRelease, tmp_path: Path) -> None:
    for name in made:
        page = made[name].report(tmp_path / f"{name}.html", allow_seeded=True).read_text()
        assert "sensitivity=None" not in page
        made[name].plot()
