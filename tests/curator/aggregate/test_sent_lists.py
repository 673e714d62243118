"""Rows that are sent in parts, and drawn where they come together: what is kept of all, however they are divided."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from leastnoise.curator.aggregate import sent_lists
from leastnoise.curator.aggregate.row_keeper import RowKeeper
from leastnoise.curator.aggregate.sent_lists import Rule
from leastnoise.curator.aggregate.unit_lists import random_factors


def batch(unit: NDArray[np.int64], code: NDArray[np.int64]) -> pa.RecordBatch:
    return pa.record_batch({"unit": unit, "code": code})


def in_parts(keeper: RowKeeper, tasks: list[pa.RecordBatch]) -> Counter[int]:
    """What is kept where every batch is a task's, and the chunks of a group come in any order."""
    rule = Rule(keeper, random_factors())
    sent = pa.Table.from_batches(
        [chunks for task in tasks for chunks in rule.send(iter([task]))],
        pa.schema([("group", pa.int32()), ("packed", pa.binary())]),
    )
    groups = sent["group"].to_numpy()
    order = np.random.default_rng(len(groups)).permutation(len(groups))
    kept: Counter[int] = Counter()
    for group in np.unique(groups):
        taken = sent.take(order[groups[order] == group])
        chunks = pa.concat_tables([taken.slice(0, 1), taken.slice(1)])  # in several arrays, as engines have them
        kept.update(rule.receive(chunks)["code"].to_pylist())
    return kept


def kept_of(keeper: RowKeeper, whole: pa.RecordBatch) -> Counter[int]:
    passes = Rule(keeper, random_factors()).passes(rows=len(whole), threads=2, memory=0)
    return Counter(passes.kept(iter([whole])).tolist())


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_lists_in_parts_keep_what_one_list_does(data: st.DataObject) -> None:
    bits, most = data.draw(st.sampled_from([0, 2, 40])), data.draw(st.integers(1, 6))
    in_bin, low = data.draw(st.integers(1, most)), max(0, bits - 28)
    keeper = RowKeeper(max_rows=most, max_per_bin=in_bin, value_bits=bits, low_bits=low, key=7)
    random = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    rows, tasks = data.draw(st.integers(0, 300)), data.draw(st.integers(1, 5))
    unit = random.integers(0, data.draw(st.integers(1, 40)), rows) - 2**62
    whole = batch(unit, random.integers(0, 12 << bits, rows))
    bounds = np.sort(random.integers(0, rows + 1, tasks - 1)).tolist()
    parts = [whole.slice(a, b - a) for a, b in zip([0, *bounds], [*bounds, rows], strict=True)]
    assert in_parts(keeper, parts) == kept_of(keeper, whole)


def test_a_task_with_little_memory_sends_more_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a unit with nine tenths of the rows, all alike in one of two ways, it sends two a block."""
    random = np.random.default_rng(3)
    rows = 40_000
    unit = np.where(random.random(rows) < 0.9, -1, random.integers(0, 1000, rows))
    whole = batch(unit, np.where(unit == -1, random.integers(0, 2, rows), random.integers(0, 2**32, rows)))
    keeper = RowKeeper(max_rows=5, max_per_bin=5, value_bits=0, low_bits=0, key=1)
    monkeypatch.setattr(sent_lists, "BLOCK_ROWS", 4_000)
    monkeypatch.setattr(sent_lists, "MAX_BYTES", 0)
    monkeypatch.setattr(sent_lists, "CHUNK_ROWS", 3)
    blocks = [whole.slice(begin, 4_000) for begin in range(0, rows, 4_000)]
    sent = list(Rule(keeper, random_factors()).send(iter(blocks)))
    assert len(sent) > 1
    packed = [chunk for each in sent for chunk in each["packed"].to_pylist()]
    assert {len(chunk) % 16 for chunk in packed} == {0}
    assert max(map(len, packed)) == 3 * 16
    others = int(np.count_nonzero(unit != -1))
    assert others * 0.9 < sum(map(len, packed)) / 16 <= others + 2 * rows / 4_000
    assert in_parts(keeper, [whole]) == kept_of(keeper, whole)
