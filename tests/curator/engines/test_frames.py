"""Rows in memory: types are declared, by the frame or by `types`, and never looked for in cells."""

from __future__ import annotations

from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from leastnoise import errors
from leastnoise.curator.engines.frames import frame_of

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
