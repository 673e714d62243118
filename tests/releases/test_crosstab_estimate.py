"""What a denoised set of tables tells of its errors: whether it is better than what was published, wherever said."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow as pa
import pytest

import leastnoise as ln
import table_pages
from leastnoise import errors, plot
from leastnoise.releases.crosstab_estimate import StatedRisk, StatedRisks
from leastnoise.testing import seeded

BETTER, NOT_BETTER = ("age", "job"), ("sex", "job")


def test_a_set_says_which_of_its_tables_are_not_better_beyond_chance() -> None:
    estimate = table_pages.denoised("people")
    assert estimate.better_than_raw is True
    assert (estimate[BETTER].better_than_raw, estimate[NOT_BETTER].better_than_raw) == (True, False)
    worse = estimate.tables_not_better
    assert worse == tuple(t for t in estimate.tables if not estimate[t].better_than_raw)
    assert f"{len(worse)} of the 16 tables are not better beyond chance (the total, district" in estimate.explain()
    assert "not better beyond chance" in estimate[NOT_BETTER].errors_in_words()
    kept = next(estimate[t] for t in worse if estimate[t].kept)  # one error is told of it, that of the noise
    assert "kept as they were published" in kept.errors_in_words()
    assert kept.rmse == kept.std <= kept.rmse_at_most(0.95).value
    assert "not better" not in estimate[BETTER].errors_in_words()


def test_the_error_as_published_is_that_of_the_noise() -> None:
    """Over all cells: the root of the mean of their variances."""
    release, estimate = table_pages.people(), table_pages.denoised("people")
    variances = np.concatenate([np.full(release[t].bins, release.std[t] ** 2) for t in release.tables])
    assert estimate.published_rmse == pytest.approx(np.sqrt(variances.mean()))


def test_large_counts_that_gain_nothing_are_recommended_as_published() -> None:
    rows = pa.table({"who": np.arange(4_000), "a": np.repeat(["x", "y"], [1_500, 2_500]), "b": ["u", "v"] * 2_000})
    keys = {"a": ["x", "y"], "b": ["u", "v"]}
    query = ln.table(rows, unit="who").crosstabs(ways=2, keys=keys, max_rows=1, other=False)
    with seeded(1):
        release = query.release(epsilon=5, delta=1e-6)
    assert isinstance(release, ln.CrosstabsRelease)
    estimate = release.denoise()
    assert estimate.better_than_raw is False
    assert "The tables are kept as they were published, and so is their error" in estimate.explain()
    assert "at most" not in estimate.errors_in_words()
    known = release.denoise(known={("a", "b"): [[750, 750], [1_250, 1_250]]})
    assert known.better_than_raw is True
    assert known.tables_not_better == ()


def test_a_file_keeps_the_verdicts(tmp_path: Path) -> None:
    estimate = table_pages.denoised("people")
    estimate.save(tmp_path / "new.parquet", allow_seeded=True)
    read = ln.load(tmp_path / "new.parquet")
    assert isinstance(read, ln.CrosstabsEstimate)
    assert read.errors_in_words() == estimate.errors_in_words()
    assert read.tables_not_better == estimate.tables_not_better
    assert read[BETTER].better_than_raw == estimate[BETTER].better_than_raw


@pytest.mark.parametrize("asked", [("a",), ()])
def test_a_sum_of_a_table_is_not_in_a_file_which_is_said(asked: tuple[str, ...], tmp_path: Path) -> None:
    """As denoised it has an error; the file has the errors of what was asked for."""
    rows = pa.table({"who": np.arange(600), "a": ["x", "y"] * 300, "b": ["u", "v", "v"] * 200})
    query = ln.table(rows, unit="who").crosstabs(("a", "b"), keys={"a": ["x", "y"], "b": ["u", "v"]}, max_rows=1)
    release = query.release(epsilon=1, delta=1e-6)
    assert isinstance(release, ln.CrosstabsRelease)
    estimate = release.denoise()
    estimate.save(tmp_path / "e.parquet")
    read = ln.load(tmp_path / "e.parquet")
    assert isinstance(read, ln.CrosstabsEstimate)
    assert read["a", "b"].std == estimate["a", "b"].std
    assert estimate[asked].std > 0
    with pytest.raises(errors.InvalidParameter, match=r"only a sum of one of them.*release\.denoise\(\)\["):
        read[asked]


def test_exported_files_have_the_limit_and_the_verdict_of_every_table(tmp_path: Path) -> None:
    release, estimate = table_pages.people(), table_pages.denoised("people")
    for folder in (
        estimate.to_csv(tmp_path / "alone", allow_seeded=True),
        release.to_csv(tmp_path / "beside", estimate=estimate, allow_seeded=True),
    ):
        for table in (BETTER, NOT_BETTER):
            assert estimate[table].errors_in_words() in (folder / f"{'-'.join(table)}.csv").read_text()
    path = release.to_excel(tmp_path / "tables.xlsx", estimate=estimate, allow_seeded=True)
    listed = [[cell.value for cell in row] for row in openpyxl.load_workbook(path)["About"].iter_rows()]
    said = {row[1]: row[4] for row in listed if row[1]}
    assert said.pop("table") == "error of a denoised cell"
    assert said == {" x ".join(t) or "the total": estimate[t].errors_in_words() for t in estimate.tables}


@pytest.mark.parametrize("table", [BETTER, NOT_BETTER])
def test_a_picture_has_them_in_its_caption(table: tuple[str, ...]) -> None:
    estimate = table_pages.denoised("people")[table]
    panels = plot.table(table_pages.people()[table], estimate=estimate)
    figure = panels[0].figure
    caption = " ".join(text.get_text() for text in (*figure.texts, figure._supxlabel))
    assert estimate.errors_in_words() in " ".join(caption.split())


def test_slices_are_of_what_was_published_where_denoising_is_not_better() -> None:
    release, estimate = table_pages.hostile(), table_pages.denoised("hostile")
    table = ("age", "sex", "__proto__")
    for better, name in ((True, "denoised"), (False, "published")):
        risk = StatedRisk(1.0, 2.0, better)
        stated = replace(estimate, risks=StatedRisks(0.95, risk, {table: risk}))
        drawn = plot.table(release[table], estimate=stated[table])
        assert {panel.get_title(loc="left").split(",")[0] for panel in drawn} == {name}
