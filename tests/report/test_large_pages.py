"""Pages of many bins: small files that say of what they show means, blocks or the largest."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np

import leastnoise as ln
from leastnoise import report
from leastnoise.domain import Domain, Lattice, product
from leastnoise.releases.average_coverage import NoiseKept
from leastnoise.report import contents
from page_parser import Page


def test_a_million_bins_are_told_in_a_small_page() -> None:
    release = ln.wrap(np.sin(np.arange(1_000_000) / 1e5), sigma=3.0)
    text = report.page(release, estimate=None)
    page = Page(text)
    assert len(text) < 3_000_000
    assert "the 200 largest, of which some are large by their noise" in page.text
    assert "means of 667 neighbouring bins" in page.text
    largest = np.argsort(release.values)[-200:].tolist()
    assert page.columns["bin"] == sorted({*range(0, 1_000_000, 200), *largest})
    chart = json.loads(page.data)["pictures"]["chart"]["columns"]
    np.testing.assert_allclose(chart["value"][0], release.values[:667].mean(), rtol=1e-12)
    width = 2 * release.distribution.sum_half_width(667, 0.95) / 667
    np.testing.assert_allclose(np.subtract(chart["high"], chart["low"])[:-1], width, rtol=1e-12)


def test_means_of_many_bins_have_no_interval_that_only_sums_have() -> None:
    """The noise of a centred sum says nothing about the mean of neighbouring means."""
    bins = contents.MAX_BINS_SHOWN + 1
    parts = ln.wrap(np.concatenate([np.zeros(bins), np.full(bins, 1_000.0)]), sigma=1.0)
    domain = product(["bin"], range(bins))
    made = ln.MeanRelease(components=parts, centre=5.0, half_range=5.0, within=(0.0, 10.0), domain=domain)
    page = Page(report.page(made))
    assert "means of 7 neighbouring bins each." in page.text
    assert "low" not in json.loads(page.data)["pictures"]["chart"]["columns"]


def test_a_large_lattice_is_shown_in_blocks() -> None:
    cells = Lattice("x", "y", 1.0).box(x=(0, 200), y=(0, 100))
    values = np.arange(20_000.0)
    page = Page(report.page(replace(ln.wrap(values, sigma=1.0), domain=Domain(("cell",), (cells,))), estimate=None))
    chart = json.loads(page.data)["pictures"]["chart"]["columns"]
    assert "means of blocks of 3 by 3 cells" in page.text
    np.testing.assert_allclose(chart["value"][0], values.reshape(100, 200)[:3, :3].mean(), rtol=1e-12)


def test_a_long_table_of_two_columns_keeps_as_many_of_the_short_side_as_can_be_seen() -> None:
    values = np.random.default_rng(1).normal(size=(1_000, 100))
    domain = product(["zone", "hour"], [range(1_000), range(100)])
    page = Page(report.page(replace(ln.wrap(values.ravel(), sigma=1.0), domain=domain), estimate=None))
    chart = json.loads(page.data)["pictures"]["chart"]["columns"]
    assert "means of blocks of 11 by 2 cells" in page.text
    assert (len(set(chart["along"])), len(set(chart["across"]))) == (91, 50)
    np.testing.assert_allclose(chart["value"][51], values[11:22, 2:4].mean(), rtol=1e-12)


def test_a_page_does_not_run_the_denoiser_again() -> None:
    """Intervals around denoised values need two more runs, and the page shows none: 15 s of 100,000 cells."""
    runs = []

    def measured() -> float:
        runs.append(1)
        return 0.5

    release = ln.wrap(np.random.default_rng(2).normal(size=500), sigma=1.0)
    estimate = replace(release.denoise(), noise_kept=NoiseKept(measured))
    report.page(release, estimate=estimate)
    report.page(estimate)
    assert not runs
    estimate.interval(0.95)
    assert runs
