"""The classes by arithmetic are those by a search through their ends."""

from __future__ import annotations

import ibis
import numpy as np
import pyarrow as pa

from leastnoise.curator.aggregate.size_class import with_bin_class, with_octave, with_row_class
from leastnoise.domain.size_classes import BIN_STARTS, MOST_ROWS, OCTAVES, ROW_STARTS


def test_numbers_of_rows_are_in_the_class_that_begins_last_before_them() -> None:
    near = {start + step for start in (*ROW_STARTS, *BIN_STARTS) for step in (-1, 0, 1)} - {0}
    counts = np.array(sorted(near | {2 * MOST_ROWS, 10**12, 2**62}))
    rows = with_octave(ibis.memtable(pa.table({"n": counts})), "n", "octave")
    found = with_bin_class(with_row_class(rows, "n", "class"), "n", "in bin").order_by("n").to_pyarrow()
    assert found["class"].to_pylist() == (np.searchsorted(ROW_STARTS, counts, side="right") - 1).tolist()
    assert found["in bin"].to_pylist() == (np.searchsorted(BIN_STARTS, counts, side="right") - 1).tolist()
    assert found["octave"].to_pylist() == (np.searchsorted(OCTAVES, counts, side="right") - 1).tolist()
