"""What separates the cells of a CSV and its decimals is declared: the same cells are read, and nothing is guessed."""

from __future__ import annotations

import csv
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leastnoise import errors
from leastnoise.curator.table import table
from leastnoise.testing import aggregate

SIGNS = [",", ";", "|", "\t"]
CELLS = st.text(st.sampled_from('a5 ;,|\t"\n.'), max_size=6)


def cells_of(path: Path, kind: str = "text", **layout: Any) -> list[Any]:
    rows = table(path, unit="u", types={"x": kind}, **layout)
    return rows._data.engine.fetch(rows.rows.select("x"))["x"].to_pylist()


@settings(max_examples=25, deadline=None)
@given(cells=st.lists(CELLS, min_size=1, max_size=8))
def test_the_same_cells_are_read_whatever_separates_them(
    cells: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "cells.csv"
    for sign in SIGNS:
        with path.open("w", newline="") as file:
            csv.writer(file, delimiter=sign, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(
                [["u", "x"], *(["a", cell] for cell in cells)]
            )
        assert cells_of(path, delimiter=sign) == [cell or None for cell in cells]


@pytest.mark.parametrize(
    ("kind", "points"), [("float", ["3.5", ".5", "-2.", "1e-3", "+1.5E3"]), ("int", ["3", "-3.00"]), ("bool", ["1.0"])]
)
def test_decimals_are_read_by_the_declared_sign_and_no_other(kind: str, points: list[str], tmp_path: Path) -> None:
    path = tmp_path / "numbers.csv"
    commas = [cell.replace(".", ",") for cell in points]
    path.write_text("u;x\n" + "".join(f"a;{cell}\n" for cell in [*points, *commas]))
    numbers = [float(cell) for cell in points]
    plain = [float(cell) if "." not in cell else None for cell in points]
    assert cells_of(path, kind, delimiter=";") == [*numbers, *plain]
    assert cells_of(path, kind, delimiter=";", decimal=",") == [*plain, *numbers]


def test_signs_between_thousands_are_no_numbers(tmp_path: Path) -> None:
    path = tmp_path / "numbers.csv"
    path.write_text('u,x\na,"1.234,5"\nb,"1,234.5"\nc,"1 234,5"\nd,"1,5,5"\ne,"1,5"\n')
    assert cells_of(path, "float", decimal=",") == [None, None, None, None, 1.5]
    assert cells_of(path, "float") == [None] * 5


def test_a_time_may_say_that_it_is_in_utc(tmp_path: Path) -> None:
    seven = datetime(2013, 1, 31, 7)
    read = {
        "2013-01-31 07:00": seven,
        "2013-01-31T07:00Z": seven,
        "2013-01-31T07:00:00Z": seven,
        "2013-01-31T07:00:00.250Z": seven.replace(microsecond=250_000),
        "2013-01-31 07:00:00+00:00": seven,
        "2013-01-31 07:00:00+00": seven,
        "2013-01-31T07:00:00+0000": seven,
    }
    odd = ["07:00Z", "2013-01-31Z", "2013-01-31T07:00z", "2013-01-31T07:00 Z", "2013-01-31T07:00ZZ"]
    odd += ["2013-01-31T07:00+01:00", "2013-01-31T07:00-00:00", "2013-01-31T07:00+00:30", "2013-01-31T07:00 UTC"]
    path = tmp_path / "times.csv"
    path.write_text("u,x\n" + "".join(f"a,{cell}\n" for cell in [*read, *odd]))
    assert cells_of(path, "timestamp") == [*read.values(), *[None] * len(odd)]


def test_what_separates_is_never_guessed(tmp_path: Path) -> None:
    """However clear the rows make it: what is read of one row would be what others have."""
    path = tmp_path / "rows.csv"
    path.write_text("u;x\n" + "1;2\n" * 50)
    assert table(path, unit="u;x").columns == ("u;x",)
    with pytest.raises(errors.UnknownColumn) as refused:
        table(path, unit="u")
    assert "separated by commas" in str(refused.value)
    assert str(refused.value).endswith('declare it. Say delimiter=";".')
    assert "u;x" not in str(refused.value)  # without a header it would be somebody's row
    with pytest.raises(errors.UnknownColumn, match=r'separated by semicolons.* Say delimiter=","\.'):
        table(path, unit="z", delimiter=";")


def test_an_open_quote_behind_the_declared_sign_is_found(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text('u;x\n1;2\n3;"secret\n4;5\n')
    with pytest.raises(errors.ReadingFailed) as refused:
        aggregate(table(path, unit="u", delimiter=";").count(max_rows=1))
    assert "secret" not in str(refused.value)


def test_files_of_one_table_are_separated_alike(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("u;x\n1;2\n")
    (tmp_path / "2.csv").write_text("u,x\n1,2\n")
    with pytest.raises(errors.UnknownSource, match="different headers"):
        table(str(tmp_path / "*.csv"), unit="u", delimiter=";")
    (tmp_path / "2.csv").write_text("u;x\n2;2\n")
    assert aggregate(table(str(tmp_path / "*.csv"), unit="u", delimiter=";").count_units()).values.tolist() == [2]


@pytest.mark.parametrize("sign", ["", '"', "\n", "\r", " ", "a", ";;", "\0", 5])
def test_signs_that_a_cell_may_need_separate_nothing(sign: Any, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("u,x\n1,2\n")
    with pytest.raises(errors.InvalidParameter, match="delimiter must be one of"):
        table(tmp_path / "rows.csv", unit="u", delimiter=sign)
    with pytest.raises(errors.InvalidParameter, match="decimal must be"):
        table(tmp_path / "rows.csv", unit="u", decimal=sign)


@pytest.mark.parametrize("layout", [{"delimiter": ";"}, {"decimal": ","}])
def test_what_is_no_csv_has_no_layout(layout: dict[str, str], tmp_path: Path) -> None:
    rows = pa.table({"u": [1]})
    pq.write_table(rows, tmp_path / "rows.parquet")
    for source in (rows, rows.to_pandas(), tmp_path / "rows.parquet"):
        with pytest.raises(errors.InvalidParameter, match="how a CSV is written"):
            table(source, unit="u", **layout)


@pytest.mark.parametrize("frame", ["pandas", "polars", "arrow", "parquet"])
def test_text_in_any_table_is_read_as_its_type_is_declared(frame: str, tmp_path: Path) -> None:
    """What an error advises must work where it is advised."""
    import polars as pl

    rows = pa.table({"u": [1, 2, 3], "x": ["3.5", "n/a", ""]})
    pq.write_table(rows, tmp_path / "rows.parquet")
    sources: dict[str, Any] = {
        "pandas": rows.to_pandas().astype({"x": "string"}),
        "polars": pl.from_arrow(rows),
        "arrow": rows,
        "parquet": tmp_path / "rows.parquet",
    }
    with pytest.raises(errors.WrongType) as refused:
        table(sources[frame], unit="u").sum("x", clip=(0, 9), max_rows=1)
    types = next(example["types"] for example in refused.value.examples if isinstance(example, dict))
    opened = table(sources[frame], unit="u", types=types)
    assert opened._data.engine.fetch(opened.rows.select("x"))["x"].to_pylist() == [3.5, None, None]
    assert "cells of x that are not written like float: 1" in str(opened.private_check())
    derived = table(sources[frame], unit="u").derive(as_float='CAST("x" AS DOUBLE)')
    for query in (opened.sum("x", clip=(0, 9), max_rows=1), derived.sum("as_float", clip=(0, 9), max_rows=1)):
        assert float(aggregate(query).values[0]) * query.grid == 3.5


def test_a_type_of_its_own_is_kept(tmp_path: Path) -> None:
    with pytest.raises(errors.InvalidParameter, match=r'"x" holds int64 as it is\. Leave it out'):
        table(pa.table({"u": [1], "x": [2]}), unit="u", types={"x": "float"})


def test_a_unit_with_decimals_is_refused_with_what_to_type() -> None:
    import polars as pl

    frame = pd.DataFrame({"taxi": [1.0, None, 2.0]})
    with pytest.raises(errors.WrongType, match="decimals") as refused:
        table(frame, unit="taxi")
    code = str(refused.value).rpartition(" Say ")[2].removesuffix(".")
    assert code == 'df["taxi"] = df["taxi"].astype("Int64")'
    exec(code, {"df": frame})
    assert aggregate(table(frame, unit="taxi").count_units()).values.tolist() == [2]
    names = {"df": pl.DataFrame({"taxi": [1.0, None, 2.0]}), "pl": pl}
    with pytest.raises(errors.WrongType) as refused:
        table(names["df"], unit="taxi")
    exec(str(refused.value).rpartition(" Say ")[2].removesuffix("."), names)
    assert aggregate(table(names["df"], unit="taxi").count_units()).values.tolist() == [2]


def test_a_unit_of_a_csv_with_decimals_is_declared_again(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("taxi\n1.0\n2\n")
    with pytest.raises(errors.WrongType, match=r'Say types=\{"taxi": "int"\}\.'):
        table(tmp_path / "rows.csv", unit="taxi", types={"taxi": "float"})
    pq.write_table(pa.table({"taxi": [1.0]}), tmp_path / "rows.parquet")
    with pytest.raises(errors.WrongType, match=r"before the table is opened; a missing one stays missing\.$"):
        table(tmp_path / "rows.parquet", unit="taxi")


def test_names_in_the_index_of_a_frame_are_made_columns_first() -> None:
    frame = pd.DataFrame({"taxi": [1, 2], "hour": [3, 4], "fare": [5.0, 6.0]})
    for ask in (
        lambda: table(frame.set_index("taxi"), unit="taxi"),
        lambda: table(frame.set_index(["hour", "fare"]), unit="taxi").histogram("hour", keys=[3], max_rows=1),
        lambda: table(frame.set_index("hour"), unit="taxi", types={"hour": "int"}),
    ):
        with pytest.raises(errors.UnknownColumn, match=r"is in the index.* Say df = df\.reset_index\(\)\."):
            ask()
