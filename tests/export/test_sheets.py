"""Numbers for spreadsheets: what stands in them is what was released, with its promise, and nothing in them runs."""

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pytest

import leastnoise as ln
from leastnoise import errors
from leastnoise.domain import Domain
from leastnoise.export import sheets
from leastnoise.releases.published import Published
from leastnoise.testing import seeded

HOSTILE = ["=1+1", "+cmd|' /C calc'!A0", "-2", "@sum", "a,b", 'say "x"', "#no comment", "two\nlines", " =2"]
HOSTILE += [
    "\uff1d1+1",
    "\uff0b1",
    "\uff0d1",
    "\uff20sum",
    "\ufeff=1",
    "\u200b=1",
]  # wide signs, and blanks that nobody sees
SIGNS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def drawn(keys: object = None) -> ln.Release:
    with seeded(3):
        listed = ["north", "south", "west"] if keys is None else keys
        table = ln.table(pa.table({"who": [1, 2, 3], "zone": ["north", "south", "south"]}), unit="who")
        made = table.histogram("zone", keys=listed, max_rows=1).release(epsilon=1, delta=1e-6)
    assert isinstance(made, ln.Release)
    return made


def rows_of(path: Path) -> tuple[list[str], list[list[str]]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    comments = [line for line in lines if line.startswith("#")]
    return comments, list(csv.reader(line for line in lines if not line.startswith("#")))


def test_a_csv_file_has_the_promise_and_the_frame(tmp_path: Path) -> None:
    r = drawn()
    e = r.denoise()
    comments, (names, *rows) = rows_of(r.to_csv(tmp_path / "numbers.csv", estimate=e, allow_seeded=True))
    assert any("epsilon = 1" in line for line in comments)
    assert any(
        "low and high are the ends of 95% intervals, each bin by itself. They cover" in line for line in comments
    )
    assert any(line.startswith("# denoised: ") and "at most" in line for line in comments)
    frame = r.to_pandas(estimate=e)
    assert frame["denoised_error"].tolist() == e.to_pandas()["denoised_error"].tolist() == [e.rmse] * 3
    assert names == list(frame.columns)
    for row, (_, expected) in zip(rows, frame.iterrows(), strict=True):
        assert row[0] == expected.iloc[0]
        assert [float(cell) for cell in row[1:]] == pytest.approx(expected.iloc[1:].astype(float).tolist(), rel=1e-11)


def test_numbers_of_cells_stay_whole_or_the_file_says_who_rounds_them(tmp_path: Path) -> None:
    """A spreadsheet rounds 19 digits in a CSV file whatever is typed around them; its middle stands beside."""
    cells = ln.lattice("lon", "lat", 0.01).box(x=(10, 10.02), y=(59.9, 59.92))
    made = replace(ln.wrap(np.arange(4.0), sigma=1.0), domain=Domain(("cell",), (cells,)))
    comments, (names, *rows) = rows_of(made.to_csv(tmp_path / "cells.csv"))
    assert names[:3] == ["cell", "lon", "lat"]
    assert [int(row[0]) for row in rows] == [cells.key(place) for place in range(4)]
    frame = pd.read_csv(tmp_path / "cells.csv", comment="#")
    assert frame["cell"].tolist() == made.to_pandas()["cell"].tolist()
    said = "# cell: numbers of more than 15 digits, which spreadsheets round."
    assert sum(line.startswith(said) for line in comments) == 1
    comments, _ = rows_of(drawn().to_csv(tmp_path / "numbers.csv", allow_seeded=True))
    assert not any("15 digits" in line for line in comments)


def test_every_kind_is_written_with_its_own_columns(tmp_path: Path) -> None:
    people = ln.table(pa.table({"who": np.arange(500), "age": np.arange(500) % 90}), unit="who")
    with seeded(4):
        kinds: dict[str, Published] = {
            "count": people.count(max_rows=1).release(epsilon=1, delta=1e-6),
            "mean": people.mean("age", clip=(0, 100), max_rows=1).release(epsilon=1, delta=1e-6),
            "quantile": people.quantile("age", [0.1, 0.9], clip=(0, 100), max_rows=1).release(epsilon=1, delta=1e-6),
            "unknown": people.histogram("age", max_rows=1).release(epsilon=20, delta=1e-6),
        }
    for name, made in kinds.items():
        path = made.to_csv(tmp_path / f"{name}.csv", allow_seeded=True)
        _, (names, *rows) = rows_of(path)
        assert names == list(made.to_pandas().columns), name
        assert {"low", "high"} <= set(names)
        assert len(rows) == made.bins
        book = openpyxl.load_workbook(made.to_excel(tmp_path / f"{name}.xlsx", allow_seeded=True))
        assert [cell.value for cell in book["Numbers"][1]] == names


def test_nothing_in_a_file_is_a_formula(tmp_path: Path) -> None:
    r = drawn(HOSTILE)
    comments, (_, *rows) = rows_of(r.to_csv(tmp_path / "numbers.csv", allow_seeded=True))
    assert len(rows) == len(HOSTILE)
    for row, key in zip(rows, HOSTILE, strict=True):
        assert not row[0].lstrip(" \ufeff\u200b").startswith(SIGNS), key
    for line in comments:
        assert not any(part.strip().startswith(SIGNS) for part in line.split(","))
    book = openpyxl.load_workbook(r.to_excel(tmp_path / "numbers.xlsx", allow_seeded=True))
    cells = [cell for sheet in book for row in sheet.iter_rows() for cell in row if cell.value is not None]
    assert {cell.data_type for cell in cells} == {"s", "n"}  # texts and numbers; a formula would be "f"
    assert [row[0].value for row in book["Numbers"].iter_rows(min_row=2)] == HOSTILE


def test_intervals_rounded_to_five_hold_as_before(tmp_path: Path) -> None:
    r = drawn()
    _, (names, *rows) = rows_of(r.to_csv(tmp_path / "numbers.csv", round_to=5, allow_seeded=True))
    low, high = r.interval(0.95)
    for row, below, above in zip(rows, low, high, strict=True):
        cells = dict(zip(names, row, strict=True))
        assert float(cells["low"]) <= below
        assert float(cells["high"]) >= above
        assert all(float(cells[name]) % 5 == 0 for name in ("value", "low", "high"))
    with pytest.raises(errors.InvalidParameter, match="above 0"):
        r.to_csv(tmp_path / "numbers.csv", round_to=0, allow_seeded=True)


def test_a_file_of_ours_is_replaced_and_nothing_else(tmp_path: Path) -> None:
    r = drawn()
    for name, write in (("numbers.csv", r.to_csv), ("numbers.xlsx", r.to_excel)):
        path = tmp_path / name
        write(path, allow_seeded=True)
        before = path.read_bytes()
        write(path, confidence=0.5, allow_seeded=True)
        assert path.read_bytes() != before
        path.write_bytes(b"PK\x03\x04 somebody's" if name.endswith("xlsx") else b"a,b\n1,2\n")
        with pytest.raises(errors.BadOutput, match="did not write"):
            write(path, allow_seeded=True)
        with pytest.raises(errors.BadOutput, match="is none"):
            write(tmp_path / "numbers.txt", allow_seeded=True)
    foreign = openpyxl.Workbook()
    foreign.save(tmp_path / "foreign.xlsx")
    with pytest.raises(errors.BadOutput, match="did not write"):
        r.to_excel(tmp_path / "foreign.xlsx", allow_seeded=True)


def test_seeded_noise_and_foreign_estimates_are_refused(tmp_path: Path) -> None:
    r, other = drawn(), drawn()
    with pytest.raises(errors.SeededRelease):
        r.to_csv(tmp_path / "numbers.csv")
    with pytest.raises(errors.SeededRelease):
        r.to_excel(tmp_path / "numbers.xlsx")
    for frame in (r.to_pandas, r.to_polars, r.to_arrow):
        with pytest.raises(errors.InvalidParameter, match="another release"):
            frame(estimate=other.denoise())
    with pytest.raises(errors.WrongType, match="denoise"):
        r.to_pandas(estimate=other)  # type: ignore[arg-type]


def test_a_set_of_tables_is_a_workbook(tmp_path: Path) -> None:
    people = ln.table(pa.table({"who": [1, 2], "a": ["x", "y"], "b": ["=1", "v/w"]}), unit="who")
    with seeded(6):
        r = people.crosstabs(ways=2, keys={"a": ["x", "y"], "b": ["=1", "v/w"]}, max_rows=1).release(
            epsilon=1, delta=1e-6
        )
    assert isinstance(r, ln.CrosstabsRelease)
    e = r.denoise()
    book = openpyxl.load_workbook(r.to_excel(tmp_path / "tables.xlsx", estimate=e, allow_seeded=True))
    assert book.sheetnames == ["About", "the total", "a", "b", "a x b"]
    every = [[cell.value for cell in row] for row in book["a x b"].iter_rows()]
    rows = [row[:7] for row in every]
    assert rows[0] == ["a", "b", "value", "low", "high", "denoised", "denoised_error"]
    assert np.array([row[6] for row in rows[1:]]) == pytest.approx(np.full(9, e["a", "b"].rmse))
    assert e["a", "b"].to_pandas()["denoised_error"].tolist() == [e["a", "b"].rmse] * 9
    assert np.array([row[2] for row in rows[1:]], dtype=float) == pytest.approx(r["a", "b"].values)
    assert np.array([row[5] for row in rows[1:]], dtype=float) == pytest.approx(e["a", "b"].values)
    two_way = [row[8:] for row in every]  # the same values, the second column across
    assert two_way[0] == ["a \\ b", "=1", "v/w", "missing or other"]
    assert [row[0] for row in two_way[1:4]] == ["x", "y", "missing or other"]
    assert np.array([row[1:] for row in two_way[1:4]], dtype=float) == pytest.approx(r["a", "b"].to_numpy())
    assert all(cell is None for row in two_way[4:] for cell in row)
    about = [cell.value for cell in book["About"]["A"] if cell.value]
    assert any("epsilon" in line or "mu = " in line for line in about)


def test_whole_numbers_are_shown_whole(tmp_path: Path) -> None:
    """A spreadsheet's own format writes 1.23457E+14 from twelve digits on, and knows no sixteenth digit."""
    exact = np.array([123_456_789_012_345, -123_456_789_012, 12_345, 1_234_567_890_123_456])
    with seeded(2):
        r = ln.release(exact, sensitivity=1, epsilon=1, delta=1e-6)
    values = np.asarray(r.values).tolist()
    page = openpyxl.load_workbook(r.to_excel(tmp_path / "long.xlsx", allow_seeded=True))["Numbers"]
    place = [cell.value for cell in page[1]].index("value")
    cells = [row[place] for row in page.iter_rows(min_row=2)]
    assert [cell.value for cell in cells] == [*values[:3], str(values[3])]
    assert [cell.number_format for cell in cells[:3]] == ["0", "0", "General"]
    assert page.column_dimensions[cells[0].column_letter].width > len(str(values[0]))
    _, (names, *rows) = rows_of(r.to_csv(tmp_path / "long.csv", allow_seeded=True))
    assert [row[names.index("value")] for row in rows] == list(map(str, values))
    real = [123_456_789_012_345.0, 0.123_456_789_012_345, float("nan")]
    assert sheets.cells("share", np.array(real), None) == [real[0], 0.123_456_789_012, None]


def test_numbers_are_shown_to_two_digits_of_their_error(tmp_path: Path) -> None:
    for sigma, pattern in ((0.004, "0.0000"), (4.2, "0.0"), (420.0, "0")):
        r = ln.wrap([1.23456, 2.5], sigma=sigma)  # 95% is about twice as much
        page = openpyxl.load_workbook(r.to_excel(tmp_path / "r.xlsx"))["Numbers"]
        shown = {cell.number_format for row in page.iter_rows(min_row=2) for cell in row[1:4]}
        assert shown == {pattern}
        assert page["B2"].value == 1.23456  # shown, and no less exact


def test_print_shows_the_values() -> None:
    r = drawn()
    lines = str(r).splitlines()
    assert lines[1].split() == ["zone", "value", "low", "high"]
    assert lines[2].split()[:2] == ["north", str(r.values[0])]
    assert repr(r).startswith("<Release of 3 counts")
