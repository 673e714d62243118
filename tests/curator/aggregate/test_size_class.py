"""The classes by arithmetic are those by a search through their ends."""

from __future__ import annotations

import ibis
import numpy as np
import pyarrow as pa

from leastnoise.curator.aggregate.size_class import with_bin_class, with_octave, with_row_class, with_value_class
from leastnoise.domain.size_classes import BIN_STARTS, MOST_ROWS, OCTAVES, ROW_STARTS, VALUE_ENDS


def test_numbers_of_rows_are_in_the_class_that_begins_last_before_them() -> None:
    near = {start + step for start in (*ROW_STARTS, *BIN_STARTS) for step in (-1, 0, 1)} - {0}
    counts = np.array(sorted(near | {2 * MOST_ROWS, 10**12, 2**62}))
    rows = with_octave(ibis.memtable(pa.table({"n": counts})), "n", "octave")
    found = with_bin_class(with_row_class(rows, "n", "class"), "n", "in bin").order_by("n").to_pyarrow()
    assert found["class"].to_pylist() == (np.searchsorted(ROW_STARTS, counts, side="right") - 1).tolist()
    assert found["in bin"].to_pylist() == (np.searchsorted(BIN_STARTS, counts, side="right") - 1).tolist()
    assert found["octave"].to_pylist() == (np.searchsorted(OCTAVES, counts, side="right") - 1).tolist()


def test_sizes_of_values_are_in_the_class_that_begins_last_before_them() -> None:
    ends = np.array(VALUE_ENDS)
    sizes = np.concatenate([[0.0, 5e-324, 0.1, 17.3], ends, np.nextafter(ends, 0), np.nextafter(ends[:-1], np.inf)])
    rows = ibis.memtable(pa.table({"place": np.arange(len(sizes)), "size": sizes}))
    found = with_value_class(rows, "size", "class").order_by("place").to_pyarrow()
    expected = np.minimum(np.searchsorted([0.0, *VALUE_ENDS], sizes, side="right") - 1, len(VALUE_ENDS) - 1)
    assert found["class"].to_pylist() == expected.tolist()
    missing = ibis.memtable(pa.table({"size": [None, 1.0]}))
    assert set(with_value_class(missing, "size", "class").to_pyarrow()["class"].to_pylist()) == {None, 29}
