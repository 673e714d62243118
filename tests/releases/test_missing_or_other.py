"""The key for missing and unlisted values in frames, files, pages and denoised tables, for columns of every type."""

from __future__ import annotations

import csv
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import leastnoise as ln
from leastnoise import errors, testing
from leastnoise.releases.crosstabs import CrosstabsRelease

openpyxl = pytest.importorskip("openpyxl")
DAYS = [date(2026, 1, 1), date(2026, 1, 2)]
KEYS: dict[str, Any] = {
    "sex": ["f", "m"],
    "grade": [9, 10],
    "smokes": [True, False],
    "day": DAYS,
    "code": ln.domain.Labelled(ln.domain.Keys((1, 2)), ("one", "two")),
}


def made(label: str | None = None, rows: int = 900) -> CrosstabsRelease:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "who": range(rows),
            "sex": pd.array(rng.choice(np.array(["f", "m", None], object), rows), "string"),
            "grade": pd.array(rng.choice(np.array([9, 10, None], object), rows), "Int64"),
            "smokes": pd.array(rng.choice(np.array([True, False, None], object), rows), "boolean"),
            "day": pd.array(rng.choice(np.array([*DAYS, None], object), rows), pd.ArrowDtype(pa.date32())),
            "code": pd.array(rng.choice(np.array([1, 2, 7], object), rows), "Int64"),
        }
    )
    with testing.seeded(4):
        found: Any = (
            ln.table(frame, unit="who")
            .crosstabs(ways=2, keys=KEYS, max_rows=1, other=label)
            .release(epsilon=2, delta=1e-6)
        )
    assert isinstance(found, CrosstabsRelease)
    return found


@pytest.mark.parametrize("label", [None, "no answer"])
def test_a_file_brings_back_every_key_and_the_label(label: str | None, tmp_path: Path) -> None:
    release, shown = made(label), label or "missing or other"
    release.save(tmp_path / "set.parquet", allow_seeded=True)
    release.denoise().save(tmp_path / "denoised.parquet", allow_seeded=True)
    for path in ("set.parquet", "denoised.parquet"):
        loaded: Any = ln.load(tmp_path / path)
        assert loaded.axes == release.axes
        assert {axis.key(axis.size - 1) for axis in loaded.axes.values()} == {shown}
    back: Any = ln.load(tmp_path / "set.parquet")
    pd.testing.assert_frame_equal(back["grade", "sex"].to_pandas(), release["grade", "sex"].to_pandas())


def test_columns_of_frames_keep_their_type_and_have_null_or_the_label() -> None:
    release = made()
    want = {"sex": "missing or other", "grade": None, "smokes": None, "day": None, "code": "missing or other"}
    for column, last in want.items():
        arrow = release[column].to_arrow()
        assert arrow[column].to_pylist()[-1] == last
        assert release[column].to_polars()[column].to_list()[-1] == last
        assert release[column].to_pandas().shape == (3, 4)
    assert str(release["grade"].to_pandas()["grade"].dtype) == "Int64"
    assert release.denoise().integers()["grade"].to_pandas()["grade"].isna().tolist() == [False, False, True]


def test_people_read_the_label_in_every_column(tmp_path: Path) -> None:
    release = made("no answer")
    release.to_csv(tmp_path / "csv", allow_seeded=True)
    book = openpyxl.load_workbook(release.to_excel(tmp_path / "set.xlsx", allow_seeded=True))
    page = release.report(tmp_path / "set.html", allow_seeded=True, estimate="auto").read_text()
    assert page.count('"no answer"') == len(KEYS)
    for column in KEYS:
        lines = (tmp_path / "csv" / f"{column}.csv").read_text().splitlines()
        rows = list(csv.reader(line for line in lines if not line.startswith("#")))
        assert rows[-1][0] == "no answer"
        cells = [cell.value for sheet in book for cell in sheet["A"]]
        assert cells.count("no answer") >= len(KEYS)


def test_cells_are_found_by_the_label_and_a_mistyped_key_is_refused() -> None:
    release = made()
    for column in KEYS:
        table = release[column]
        assert table.total({column: "missing or other"}).value == pytest.approx(table.values[-1])
        assert table.total({column: [None, "missing or other"]}).value == pytest.approx(table.values[-1])
        for wrong in ("other", "Missing or other", "x", 77):
            with pytest.raises(errors.BadDomain, match=r"has no key"):
                table.total({column: wrong})
    pair = release["grade", "sex"]
    missing = pair.ratio({"grade": "missing or other"})
    assert missing.value == pytest.approx(pair.to_numpy()[:, 2].sum() / pair.values.sum())
    assert pair.difference({"sex": "missing or other"}, {"sex": "f"}).std > 0


def test_tables_with_the_key_are_drawn() -> None:
    import matplotlib.pyplot as plt

    release = made()
    for table in (("grade",), ("smokes",), ("day", "sex"), ("grade", "code")):
        axes = release[table].plot()
        assert axes is not None
        plt.close("all")


def test_a_known_table_says_how_many_have_no_listed_value() -> None:
    release = made(rows=600)
    with pytest.raises(errors.InvalidParameter, match=r"'missing or other' is the key of rows with.*say 0 if"):
        release.denoise(known={"sex": {"f": 200, "m": 200}})
    with pytest.raises(errors.InvalidParameter, match=r"array of 3 numbers.*Got 2 instead.*say 0 if"):
        release.denoise(known={"sex": [200, 200]})
    with pytest.raises(errors.InvalidParameter, match=r"no value for 'm'. Give one for each cell, by its key[^']*$"):
        release.denoise(known={"sex": {"f": 200}})
    for known in ({"f": 210, "m": 190, "missing or other": 200}, [210, 190, 200]):
        assert release.denoise(known={"sex": known})["sex"].values.tolist() == pytest.approx([210, 190, 200])
    numbers = {9: 210, 10: 190, None: 200}  # as a column of numbers has it
    assert release.denoise(known={"grade": numbers})["grade"].values.tolist() == pytest.approx([210, 190, 200])
    pairs = {(g, s): 60 for g in (9, 10, None) for s in ("f", "m", "missing or other")}
    assert release.denoise(known={("grade", "sex"): pairs})["grade", "sex"].rmse == 0


def test_a_histogram_finds_no_bin_for_a_mistyped_key() -> None:
    frame = pd.DataFrame({"who": range(50), "zone": pd.array(["port", "park"] * 25, "string")})
    query = ln.table(frame, unit="who").histogram("zone", keys=ln.domain.with_other(["port", "park"]), max_rows=1)
    with testing.seeded(1):
        found: Any = query.release(epsilon=1, delta=0)
    assert found.total(["missing or other"]).value == found.values[-1]
    with pytest.raises(errors.BadDomain, match=r"no bin 'prot'"):
        found.total(["prot"])
