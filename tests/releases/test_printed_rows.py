"""Rows in a terminal: no number is broken, whatever the width, and no column is left out without a word."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from rich.console import Console

import leastnoise as ln
from leastnoise.cli.shown import numbers
from leastnoise.releases.display import PrintedRows
from leastnoise.testing import seeded

FLOATS = [4568.25, 0.0123456, 1234567.0, -3.25e-7, 123456789.0]


def printed(what: Any, width: int) -> str:
    console = Console(width=width)
    with console.capture() as caught:
        console.print(what)
    return caught.get()


def columns(text: str) -> list[list[str]]:
    """The cells of every line, by column."""
    lines = [line.strip("│").split("│") for line in text.splitlines() if line.startswith("│")]
    return [[cell.strip() for cell in column] for column in zip(*lines, strict=True)]


@pytest.mark.parametrize("width", range(24, 140, 7))
def test_no_number_is_broken_and_every_column_is_there_or_named(width: int) -> None:
    names = ["cell", *(f"kept_{i}" for i in range(len(FLOATS))), "count"]
    rows = [[4611686018427387904 + i, *FLOATS, 98765] for i in range(3)]
    text = printed(PrintedRows(names=names, rows=rows), width)
    assert max(map(len, text.splitlines())) <= width
    shown = columns(text)
    assert shown[0] == [str(row[0]) for row in rows]
    for column, value in zip(shown[1:], [*FLOATS, 98765], strict=False):
        assert [float(cell.replace(",", "")) for cell in column] == pytest.approx([value] * 3, rel=1e-3)
    said = " ".join(text.split())
    left = names[len(shown) :]
    assert (f"no room here for {', '.join(left)}: the file has them" in said) == bool(left)


def test_a_summary_breaks_between_numbers_alone() -> None:
    rows = [["a", "1,234.5 [1,200.25, 1,300.75]", "0.014479 [0.012345, 0.016789]"]]
    for width in (40, 50, 80):
        cells = [
            " ".join(filter(None, column)) for column in columns(printed(PrintedRows(names="xyz", rows=rows), width))
        ]
        assert cells == rows[0]


def test_headings_break_behind_underscores() -> None:
    text = printed(PrintedRows(names=["max_per_bin", "kept_high"], rows=[[1, 2.0]]), 20)
    assert re.findall(r"\w+", text) == ["max_", "per_", "kept_", "bin", "high", "1", "2"]


@pytest.mark.parametrize("show", [numbers, lambda made: made])
def test_a_mean_by_cell_has_whole_numbers_at_eighty_columns(show: Any) -> None:
    lattice = ln.lattice("lon", "lat", 0.01)
    cells = lattice.box(x=(10, 10.02), y=(59.9, 59.92))
    who = np.arange(4000)
    rows = pa.table({"who": who, "lon": 10 + who % 40 / 2000, "lat": 59.9 + who % 37 / 1850, "fare": who % 20 + 900.0})
    asked = (
        ln.table(rows, unit="who").derive(cell=lattice).mean("fare", by="cell", keys=cells, clip=(0, 1e3), max_rows=1)
    )
    with seeded(1):
        made = asked.release(epsilon=2, delta=1e-6)
    text = printed(show(made), 80)
    assert columns(text)[0] == [str(cells.key(place)) for place in range(4)]
    assert columns(text)[1:3] == [["10.005", "10.015"] * 2, ["59.905"] * 2 + ["59.915"] * 2]
    np.testing.assert_allclose([float(cell) for cell in columns(text)[3]], made.values, rtol=1e-3)
