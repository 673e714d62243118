"""Rows counted in many tables from their packed positions."""

from __future__ import annotations

import itertools
import math

import ibis
import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from leastnoise.curator.rows.crosstab_rows import WEIGHT, CellCounter
from leastnoise.curator.rows.placing import WORD_BITS, Packing

SIZES = st.lists(st.integers(1, 2**31), min_size=1, max_size=12).map(tuple)


@given(SIZES)
def test_every_axis_has_bits_of_its_own_in_one_word(sizes: tuple[int, ...]) -> None:
    packing = Packing(sizes)
    taken: set[tuple[int, int]] = set()
    for size, bits, (word, shift) in zip(sizes, packing.bits, packing.places, strict=True):
        assert size <= 2**bits
        assert shift + bits <= WORD_BITS
        own = {(word, bit) for bit in range(shift, shift + bits)}
        assert not own & taken
        taken |= own
    assert len(packing.words) == packing.places[-1][0] + 1


@settings(max_examples=12, deadline=None)
@given(
    st.lists(st.sampled_from([1, 2, 3, 7, 100, 2**9, 2**14, 2**31]), min_size=1, max_size=9).map(tuple),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_cells_are_those_of_the_positions(sizes: tuple[int, ...], weighted: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    positions = np.array([rng.integers(0, size, 9_000) for size in sizes])
    positions[:, 0] = np.array(sizes) - 1
    names = [f"p{column}" for column in range(len(sizes))]
    packing = Packing(sizes)
    rows = ibis.memtable(pa.table(dict(zip(names, positions, strict=True))))
    words = packing.pack(rows, names).select(*packing.words).to_pyarrow()
    weights = rng.integers(-5, 5, 9_000)
    tables = tuple(
        chosen
        for ways in (1, 2, 3)
        for chosen in itertools.combinations(range(len(sizes)), ways)
        if math.prod(sizes[column] for column in chosen) <= 10_000
    )
    if not tables:
        return
    counter = CellCounter(sizes, tables, weighted)
    batches = words.append_column(WEIGHT, pa.array(weights)).to_batches(max_chunksize=8_500)
    for table, found in zip(tables, counter.split(counter(iter(batches))), strict=True):
        want = np.zeros([sizes[column] for column in table], np.int64)
        np.add.at(want, tuple(positions[list(table)]), weights if weighted else 1)
        np.testing.assert_array_equal(found, want)
