"""Intervals of means hold as often as they say, and hardly more often; groups too small for a mean have none."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import leastnoise as ln
from leastnoise import plot, report
from leastnoise._support.validation import Floats
from leastnoise.cli.shown import facts_of, numbers
from leastnoise.graphs import Graph
from leastnoise.privacy.distributions import Distribution, Gaussian, Laplace
from leastnoise.releases import ratio_interval
from leastnoise.releases.display import TOO_FEW
from leastnoise.releases.mean import MeanRelease
from page_parser import Page, decoded

DRAWS = 40_000
# Of 40,000 draws 95% hold: a share that is 0.55% away from the chance is five standard errors of it, a false alarm of
# 3e-7 on each side.
FIVE_STANDARD_ERRORS = 0.0055
COARSE = [Gaussian(0.7, 1.0), Laplace(0.7, 1.0), Gaussian(3.0, 1.0), Laplace(3.0, 1.0), Laplace(9.0, 3.0)]
MIDDLING = [Gaussian(31.0, 1.0), Laplace(31.0, 1.0), Gaussian(33.0, 1.0), Laplace(33.0, 1.0)]
FINE = [Gaussian(1e4, 1.0), Laplace(1e4, 1.0), Gaussian(1.0), Laplace(1.0)]


def draw(law: Distribution, rng: np.random.Generator) -> Floats:
    """Draws of this distribution, by NumPy."""
    if isinstance(law, Gaussian):
        continuous = law.sigma * rng.standard_normal(DRAWS)
        return np.rint(continuous / law.grid) * law.grid if law.grid else continuous
    if not law.grid:
        return law.width * rng.laplace(size=DRAWS)
    success = -np.expm1(-law.grid / law.width)  # the difference of two geometric draws
    return np.asarray(rng.geometric(success, DRAWS) - rng.geometric(success, DRAWS), float) * law.grid


def coverage(law: Distribution, ratio: float, size: float) -> tuple[float, float]:
    """How often the interval holds the ratio of `size * ratio` and `size`, and its mean length against the box's."""
    rng = np.random.default_rng(17)
    s, m = ratio * size + draw(law, rng), size + draw(law, rng)
    low, high = ratio_interval.ends(s, m, law, 0.95)
    with np.errstate(divide="ignore", invalid="ignore"):
        box = _box(s, m, law)
    return float(((low <= ratio) & (ratio <= high)).mean()), float((high - low).mean() / box.mean())


def _box(s: Floats, m: Floats, law: Distribution) -> Floats:
    """The length of the interval that encloses both numbers, each at 97.5%: what was done before."""
    reach = law.half_width(0.975)
    low, high, least, most = s - reach, s + reach, m - reach, m + reach
    ends = low / np.where(low < 0, least, most), high / np.where(high > 0, least, most)
    return np.asarray(np.clip(ends[1], -1, 1) - np.clip(ends[0], -1, 1))


@pytest.mark.parametrize("ratio", [0.0, 0.3771, -0.8123, 1.0])
@pytest.mark.parametrize("law", [*COARSE, *MIDDLING, *FINE])
def test_a_ratio_lies_in_its_interval_as_often_as_is_said(law: Distribution, ratio: float) -> None:
    held, length = coverage(law, ratio, size=40 * law.std + 5 * law.grid)
    print(f"{law} at {ratio}: {100 * held:.2f}%, length {length:.3f} of the box's")
    assert held >= 0.95 - FIVE_STANDARD_ERRORS
    on_atoms = law in COARSE and (ratio in (0.0, 1.0) or law.std < 1.5)  # there a step of h is worth more than 1%
    most = 0.98 if ratio == 1 else 0.96  # at the clip's end noise can carry a mean beyond it on one side only
    assert on_atoms or held <= most + FIVE_STANDARD_ERRORS
    assert length < 1


@pytest.mark.parametrize("ratio", [0.0, 0.3771, 1.0])
@pytest.mark.parametrize("law", [COARSE[3], MIDDLING[3], *FINE])
@pytest.mark.parametrize("reaches", [0.0, 0.5, 1.2, 3.0])
def test_a_ratio_of_little_more_than_noise_lies_in_its_interval(
    law: Distribution, ratio: float, reaches: float
) -> None:
    held, _ = coverage(law, ratio, size=reaches * law.half_width(0.95))
    assert held >= 0.95 - FIVE_STANDARD_ERRORS


def test_laplace_intervals_are_far_shorter_than_boxes() -> None:
    """0.57 of the box where the ratio is 0.8, and 0.82 where it is 0 and only the numerator matters."""
    law = Laplace(1e4, 1.0)
    assert coverage(law, 0.8, size=100 * law.std)[1] < 0.6
    assert coverage(law, 0.0, size=100 * law.std)[1] < 0.85


@pytest.mark.parametrize("law", [*COARSE[2:], *MIDDLING])
def test_a_half_width_of_two_draws_holds_for_every_ratio_between_its_ends(law: Distribution) -> None:
    """By summing the exact probabilities of all pairs."""
    reach = int(30 * law.std / law.grid)
    span = np.arange(-reach, reach + 1) * law.grid
    chance = np.array([law.cell(k) for k in range(-reach, reach + 1)])
    edges = np.linspace(0, 1, 9)
    halves = law.pair_half_widths(edges[:-1], edges[1:], 0.95)
    for low, high, half in zip(edges[:-1], edges[1:], halves, strict=True):
        for ratio in (low, low + 0.377 * (high - low), high):
            assert chance @ (np.abs(span[:, None] - ratio * span) <= half) @ chance >= 0.95


@pytest.mark.parametrize("confidence", [1e-12, 0.5, 0.999, 1 - 1e-12])
@pytest.mark.parametrize("ratio", [1e-9, 0.5, 1 - 1e-9, 1.0, 1 + 1e-9, 1e6])
def test_two_laplace_draws_have_the_half_width_of_the_textbook(ratio: float, confidence: float) -> None:
    """The chance beyond h in 60 digits; a ratio and its inverse mean the same."""
    from mpmath import mp, mpf

    law = Laplace(scale=1.0)
    h, inverse = law.pair_half_width(ratio, confidence), law.pair_half_width(1 / ratio, confidence)
    assert inverse * ratio == pytest.approx(h, rel=1e-8)
    with mp.workdps(60):
        r = mpf(ratio)
        inside = 1 - _beyond(mpf(h), r)
        assert inside >= mpf(confidence)
        assert 1 - _beyond(mpf(h) * (1 - mpf(10) ** -5), r) <= mpf(confidence) + mpf(10) ** -15


def _beyond(h: object, r: object) -> object:
    from mpmath import mp

    if r == 1:
        return mp.exp(-h) * (1 + h / 2)  # type: ignore[operator]
    return (mp.exp(-h) - r**2 * mp.exp(-h / r)) / (1 - r**2)  # type: ignore[operator]


def few(counts: list[float]) -> MeanRelease:
    """Means of ages from 0 to 100 over groups of these noisy counts, whose count has noise of standard deviation 10."""
    sums = np.full(len(counts), 300.0)
    parts = ln.wrap(np.concatenate([sums, 50 * np.array(counts)]), sigma=500.0)
    domain = ln.domain.product(["town"], [f"town {i}" for i in range(len(counts))])
    return MeanRelease.of(parts, centre=50.0, half_range=50.0, within=(0.0, 100.0), domain=domain)


def page_data(made: MeanRelease) -> dict[str, Any]:
    """What the page's tables and charts are drawn from."""
    data: dict[str, Any] = json.loads(report.page(made).split('id="data">', 1)[1].split("</script>", 1)[0])
    return data


def test_a_group_whose_count_may_be_zero_has_no_mean() -> None:
    made = few([-241.0, 0.0, 19.5, 19.7, 1_000.0])
    assert made.enough.tolist() == [False, False, False, True, True]
    assert np.isnan(made.values).tolist() == [True, True, True, False, False]
    low, high = made.interval()
    assert (low[:3] == 0).all()
    assert (high[:3] == 100).all()
    assert low[4] > 45


def test_every_table_tells_which_means_are_too_few(tmp_path: Path) -> None:
    made = few([-241.0, 1_000.0])
    frame, arrow = made.to_pandas(), made.to_arrow()
    assert list(frame.columns) == ["town", "mean", "low", "high", "enough", "sum", "count"]
    assert frame["enough"].tolist() == [False, True]
    assert arrow["mean"].null_count == 1
    assert made.to_polars()["mean"].null_count() == 1
    made.save(tmp_path / "few.parquet")
    assert ln.load(tmp_path / "few.parquet").to_arrow().equals(arrow)
    assert TOO_FEW in made._repr_html_()


def test_the_command_line_says_too_few_and_writes_null() -> None:
    made = few([-241.0, 1_000.0])
    rows = json.loads(json.dumps(facts_of(made, "mean age by town", "few.parquet"), allow_nan=False))["rows"]
    assert (rows[0]["mean"], rows[0]["enough"]) == (None, False)
    assert (rows[1]["mean"], rows[1]["enough"]) == (pytest.approx(50.3), True)
    console = Console(width=200)
    with console.capture() as shown:
        console.print(numbers(made))
    assert TOO_FEW in shown.get()


def test_words_pages_and_pictures_say_too_few_and_show_no_number(tmp_path: Path) -> None:
    made = few([-241.0, 1_000.0, 2_000.0])
    assert "1 of 3 groups is too few to tell: the noisy count is not above 19.6" in made.explain()
    data = page_data(made)
    mean = data["tables"][0]["measures"][0]
    assert mean["missing"] == TOO_FEW
    assert np.isnan(decoded(mean["values"])[0])
    drawn = made.plot()
    assert TOO_FEW in [text.get_text() for text in drawn.texts]
    drawn.figure.savefig(tmp_path / "few.png")
    none = few([-3.0, 1.0])
    assert np.isnan(none.overall().value)
    assert np.isnan(decoded(page_data(none)["tables"][0]["measures"][0]["values"])).all()
    none.plot().figure.savefig(tmp_path / "none.png")
    single = few([4.0])
    assert "The rows are too few to tell" in single.explain()
    assert "the mean lies between" not in single.explain()
    assert "the noisy count is not above" in Page(report.page(single)).text


@pytest.mark.parametrize("bins", [60, 20_000])
def test_many_means_some_of_them_too_few_are_drawn_with_gaps(bins: int, tmp_path: Path) -> None:
    counted = few([0.0 if i < 30 else 500.0 for i in range(bins)])
    made = replace(counted, domain=ln.domain.product(["town"], range(bins)))  # names would get bars
    values = decoded(page_data(made)["tables"][0]["measures"][0]["values"])
    assert np.isnan(values[0])
    assert values[-1] == pytest.approx(50.6)
    made.plot().figure.savefig(tmp_path / "gaps.png")


def test_images_and_maps_leave_out_means_that_cannot_be_told(tmp_path: Path) -> None:
    counts = np.where(np.arange(12) < 5, 0.0, 400.0)
    plane = ln.domain.product(["row", "column"], [range(3), range(4)])
    made = replace(few(counts.tolist()), domain=plane)
    assert "too few to tell" in report.page(made)
    made.plot().figure.savefig(tmp_path / "image.png")
    graph = Graph.from_edges(12, [(i, i + 1) for i in range(11)], coordinates=np.random.default_rng(1).random((12, 2)))
    assert "too few to tell" in report.page(made, graph=graph)
    drawn = plot.release(made, graph=graph)
    assert len(drawn.collections[-1].get_offsets()) == 7
