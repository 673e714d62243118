"""Rows in memory: types are declared, by the frame or by `types`, and never looked for in cells."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import leastnoise as ln
from leastnoise import errors
from leastnoise.curator.engines.frames import frame_of
from leastnoise.testing import aggregate

ROWS = pa.table({"who": [1, 2], "zone": ["a", None]})


@pytest.mark.parametrize("form", ["table", "batch", "reader"])
def test_arrows_own_tables_come_with_their_types(form: str) -> None:
    source = {"table": ROWS, "batch": ROWS.to_batches()[0], "reader": ROWS.to_reader()}[form]
    frame = frame_of(source, {})
    assert frame is not None
    assert frame.rows == ROWS


class Stream:
    """Some library's frame: nobody knows where its types come from."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        pytest.fail("a stream was read")


def test_a_stream_of_another_library_is_not_taken() -> None:
    assert frame_of(Stream(), {}) is None


@pytest.mark.parametrize("cells", [["1", "2"], [1, 2], [1, "2"]], ids=repr)
def test_an_object_column_has_no_type_whatever_is_in_it(cells: list[Any]) -> None:
    frames = [
        pd.DataFrame({"who": [1, 2], "x": pd.Series(cells, dtype=object)}),
        pl.DataFrame({"who": [1, 2], "x": pl.Series(cells, dtype=pl.Object)}),
    ]
    for source in frames:
        frame = frame_of(source, {})
        assert frame is not None
        assert (frame.names, frame.undeclared) == (("who",), ("x",))
        declared = frame_of(source, {"x": "int"})
        assert declared is not None
        assert declared.rows.schema.field("x").type == pa.int64()


def test_a_frame_of_objects_alone_says_how_to_declare_one() -> None:
    with pytest.raises(errors.UnknownSource) as refused:
        frame_of(pd.DataFrame({"x": pd.Series(["a"], dtype=object)}), {})
    assert refused.value.examples == ({"types": {"x": "text"}},)


WHOLE = [1.0, 2.0]
ODD: dict[str, tuple[Any, str]] = {
    "decimal256": (ROWS.append_column("odd", pa.array([1, 2]).cast(pa.decimal256(50, 2))), "decimal256"),
    "halves in a list": (ROWS.append_column("odd", pa.array([None, None], pa.list_(pa.float16()))), "list"),
    "complex": (pd.DataFrame({"who": [1, 2], "odd": [1j, 2]}), "complex128"),
    "sparse": (pd.DataFrame({"who": [1, 2], "odd": pd.arrays.SparseArray(WHOLE)}), "sparse"),
    "polars": (pl.DataFrame({"who": [1, 2], "odd": pl.Series([1, 2], dtype=pl.Int128)}), "int128"),
    "lazy": (pl.DataFrame({"who": [1, 2], "odd": pl.Series([1, 2], dtype=pl.Int128)}).lazy(), "int128"),
}


@pytest.mark.parametrize("kind", ODD)
def test_a_column_of_a_type_that_is_not_read_is_refused_by_name_and_not_by_its_rows(kind: str) -> None:
    source, name = ODD[kind]
    nobody = source.limit(0) if kind == "lazy" else source[:0]
    for rows in (source, nobody):
        with pytest.raises(errors.UnknownSource, match=f'the column "odd" holds {name}, a type that is not read'):
            ln.table(rows, unit="who")


def test_halves_are_numbers() -> None:
    halves = np.array([0.5, np.nan], np.float16)
    for source in (pd.DataFrame({"who": [1, 2], "x": halves}), pa.table({"who": [1, 2], "x": halves})):
        question = ln.table(source, unit="who").histogram("x", keys=ln.domain.Edges((0, 1)), max_rows=1)
        assert aggregate(question).values.tolist() == [1]
