"""Keys as columns are the keys as values, and a few of them are made without the rest."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa

from leastnoise.curator.aggregate import found_keys
from leastnoise.curator.aggregate.found_keys import FoundKeys, counts


def test_keys_are_values_or_tuples_of_them(monkeypatch) -> None:
    monkeypatch.setattr(found_keys, "BATCH", 2)
    one, two = pa.chunked_array([["a", None], ["b"]]), pa.chunked_array([[1, 2, 3]])
    single, pairs = FoundKeys(pa.table({"k": one})), FoundKeys(pa.table({"k": one, "n": two}))
    assert single == ("a", None, "b")
    assert (single[1], single[2], pairs[1]) == (None, "b", (None, 2))
    assert list(pairs) == [("a", 1), (None, 2), ("b", 3)]
    assert pairs[1:] == ((None, 2), ("b", 3))
    assert single != ("a", None)
    assert len(FoundKeys(pa.table({"k": pa.array([], pa.string())}))) == 0


def test_counts_are_integers_of_any_size() -> None:
    kind = pa.decimal128(38, 0)
    small = counts(pa.chunked_array([pa.array([Decimal(7), Decimal(-1)], kind)]))
    assert (small.dtype.kind, small.tolist()) == ("i", [7, -1])
    assert counts(pa.chunked_array([pa.array([Decimal(2**70)], kind)])).tolist() == [2**70]
