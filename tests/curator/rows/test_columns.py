"""A CSV: nothing about it is guessed from people's rows."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leastnoise import errors
from leastnoise.curator.budget import Budget
from leastnoise.curator.column_files import read_column
from leastnoise.curator.engines import duckdb
from leastnoise.curator.engines.files import header
from leastnoise.curator.table import table
from leastnoise.testing import aggregate

LINES = 'name,"a ""q"", x",age,when\n'
ROWS = [
    'alice,"two\nlines",3,2013-01-01 10:00',
    "bob,x,2.5,2013-02-30 10:00",
    '"c","","",',
    "d,é,99999999999999999999,2013-01-01T10:00:01.5",
    "e,f,-7,never",
    "f,f, 7,never",
    ",f,7,never",
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    place = tmp_path / "rows.csv"
    place.write_text(LINES + "\n".join(ROWS) + "\n")
    return place


def test_the_schema_does_not_depend_on_the_rows(tmp_path: Path) -> None:
    """Every column is text, and the first line the header, whatever follows it."""
    for number, content in enumerate(["", "1,2\n", "a,b\n", "n,v\n", "1;2,3\n", "2013-01-01,true\n"]):
        place = tmp_path / f"{number}.csv"
        place.write_text("n,v\n" + content)
        rows = table(place, unit="n")
        assert rows.columns == ("n", "v")
        assert all(kind.is_string() for kind in rows.rows.schema().values())
        assert aggregate(rows.count(max_rows=1)).values.tolist() == [1 if content else 0]


def test_declared_types_are_read_and_what_is_none_is_null(path: Path) -> None:
    rows = table(path, unit="name", types={"age": "int", "when": "timestamp"})
    ages = aggregate(rows.histogram("age", keys=range(-10, 10), max_rows=1)).values
    assert [key for key, value in zip(range(-10, 10), ages, strict=True) if value] == [-7, 3]
    assert aggregate(rows.where("\"when\" > '2013-01-01'").count(max_rows=1)).values.tolist() == [2]
    assert aggregate(rows.count_units()).values.tolist() == [6]  # an empty name is nobody


def test_whole_numbers_may_have_zeros_after_the_point_and_nothing_else(tmp_path: Path) -> None:
    """pandas writes a column of whole numbers so where one of them is missing."""
    written = ["3", "3.0", "-3.00", "+4.000", "999999999999999999.0"]
    odd = [".0", "3.", "3.5", "3.01", " 3", "3.0 ", "3e0", "9999999999999999999", "3.0\n", "\u0663"]
    place = tmp_path / "whole.csv"
    place.write_text("u,x\n" + "".join(f'a,"{cell}"\n' for cell in [*written, *odd]))
    rows = table(place, unit="u", types={"x": "int"})
    read = rows._data.engine.fetch(rows.rows.select("x"))["x"].to_pylist()
    assert read == [3, 3, -3, 4, 999999999999999999, *[None] * len(odd)]


def test_truth_values_may_be_digits_and_other_words_are_missing(tmp_path: Path) -> None:
    """A flag of a survey is mostly 1 or 0; read as missing it would cost its share and tell nothing."""
    words = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
    written = words | {"1": True, "1.0": True, "0": False, "0.0": False}
    odd = ["", "1.", "1.5", "1.00", "2", "-1", "01", " 1", "yes", "T", "t", "on", "tRUE"]
    place = tmp_path / "flags.csv"
    place.write_text("u,x\n" + "".join(f'a,"{cell}"\n' for cell in [*written, *odd]))
    rows = table(place, unit="u", types={"x": "bool"})
    read = rows._data.engine.fetch(rows.rows.select("x"))["x"].to_pylist()
    assert read == [*written.values(), *[None] * len(odd)]


DIGITS = st.text("0123456789", min_size=1, max_size=100)
DECIMALS = st.builds("{}{}".format, DIGITS, st.one_of(st.just(""), st.just("."), DIGITS.map(".{}".format)))
EXPONENTS = st.one_of(st.just(""), st.builds("{}{}".format, st.sampled_from(["e", "E-", "e+"]), st.integers(0, 999)))
FLOATS = st.builds(
    "{}{}{}{}{}".format,
    st.sampled_from(["", " ", "   "]),
    st.sampled_from(["", "-", "+"]),
    st.one_of(DECIMALS, DIGITS.map(".{}".format), st.floats(0, allow_infinity=False).map(repr)),
    EXPONENTS,
    st.sampled_from(["", " "]),
).filter(lambda text: text.lower().count("e") <= 1)
NO_FLOATS = [
    "", " ", ".", "-.", "+", "e5", ".e5", "1e", "1e1000", "1.2.3", "1 2", "- 1", "1,5", "0x1", "1d", "1f", "nan", "inf",
]  # fmt: skip


def read_floats(cells: list[str], folder: Path) -> list[float | None]:
    place = folder / "floats.csv"
    place.write_text("u,x\n" + "".join(f'a,"{cell}"\n' for cell in cells))
    rows = table(place, unit="u", types={"x": "float"})
    return rows._data.engine.fetch(rows.rows.select("x"))["x"].to_pylist()


@settings(max_examples=10, deadline=None)
@given(cells=st.lists(FLOATS, min_size=1, max_size=50))
def test_a_float_is_the_nearest_double_to_what_is_written(
    cells: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert read_floats(cells, tmp_path_factory.getbasetemp()) == [float(cell) for cell in cells]


def test_floats_may_be_written_short_with_blanks_and_with_long_exponents(tmp_path: Path) -> None:
    written = [".5", "-.25", " 0.5", "0.5  ", "5.", "1e-100", "1E+300", "1e-400", "1e999"]
    assert read_floats(written, tmp_path) == [0.5, -0.25, 0.5, 0.5, 5.0, 1e-100, 1e300, 0.0, float("inf")]
    assert read_floats(NO_FLOATS, tmp_path) == [None] * len(NO_FLOATS)


def test_a_row_of_some_megabytes_is_read_and_the_limit_is_public(tmp_path: Path) -> None:
    place = tmp_path / "long.csv"
    place.write_text("u,v\na,1\nb," + "x" * 16_000_000 + "\nc,2\n")
    assert aggregate(table(place, unit="u").count_units()).values.tolist() == [3]
    assert duckdb.as_text(["u"], ",")["max_line_size"] == duckdb.MAX_LINE_BYTES


@pytest.mark.parametrize("size", [17, 40])
def test_a_longer_row_is_refused_without_a_word_of_it_and_closes_the_budget(tmp_path: Path, size: int) -> None:
    place = tmp_path / "long.csv"
    place.write_text("u,v\na,1\nb," + "Zebra7c4n4ry" * (size * 2**20 // 12) + "\nc,2\n")
    budget = Budget.open(tmp_path / "city.ledger", epsilon=1, delta=1e-6)
    with pytest.raises(errors.ReadingFailed) as refused:
        table(place, unit="u").count_units().release(budget=budget, share=0.5)
    assert "Zebra" not in str(refused.value)
    assert len(str(refused.value)) < 900
    assert refused.value.__context__ is None
    assert budget.remaining.share == 0.5
    assert budget.closed


def test_packed_and_tabbed_files_are_the_same_table(path: Path, tmp_path: Path) -> None:
    packed = tmp_path / "rows.csv.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert aggregate(table(packed, unit="name").count_units()).values.tolist() == [6]
    tabbed = tmp_path / "rows.tsv"
    tabbed.write_text("a\tb\nx\t1,5\n")
    assert header(str(tabbed)) == ["a", "b"]
    assert aggregate(table(tabbed, unit="a").histogram("b", keys=["1,5"], max_rows=1)).values.tolist() == [1]


@pytest.mark.parametrize("line", ["", "a,,b", "a,A", "a,a", "\xff\xfe", '"a', "x" * 2**20])
def test_a_first_line_that_is_no_header_is_refused(line: str, tmp_path: Path) -> None:
    place = tmp_path / "rows.csv"
    place.write_bytes(line.encode("latin-1") + b"\nSECRET,1\n")
    with pytest.raises(errors.UnknownSource, match="no header") as caught:
        table(place, unit="a")
    assert "SECRET" not in str(caught.value)
    assert caught.value.__context__ is None


def test_a_forgotten_header_is_not_read_out(tmp_path: Path) -> None:
    """The first line would be somebody's row."""
    place = tmp_path / "rows.csv"
    place.write_text("SECRET,1\nb,2\n")
    with pytest.raises(errors.UnknownColumn) as caught:
        table(place, unit="SECRETS")
    assert "SECRET," not in str(caught.value)
    assert "Did you mean" not in str(caught.value)
    with pytest.raises(errors.UnknownColumn) as caught:
        read_column(str(place), column="n", kind="int")
    assert "SECRET" not in str(caught.value)
