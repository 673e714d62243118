"""In what order a release pays, reads and draws: the one place that knows where each of them can be seen.

- "debit": somebody else who opens the ledger finds a further release in it. What is not committed nobody else finds, so
  that neither a store nor its commit is touched.
- "read": the rows' own source is asked for them: a lazy frame, or a number of a list, which says so.
- "noise": random words are asked for, from the source that `leastnoise.testing.seeded` puts in place, too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import polars as pl

import leastnoise as ln
from leastnoise.curator.noise import entropy


class Order:
    """What happened, in its order; what is repeated at once is there once, but for debits."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self._ledger, self._debits, self._draws = "", 0, 0

    @contextmanager
    def of(self, ledger: str) -> Iterator[list[str]]:
        """What happens within the block to this ledger, and to rows and noise."""
        self._ledger, self._debits, self.events = ledger, _debits(ledger), []
        with entropy.source(self._draw):
            try:
                yield self.events
            finally:
                self._look()

    def rows(self, frame: pl.DataFrame) -> pl.LazyFrame:
        """The same rows, whose reading is an event."""

        def asked(_: pl.DataFrame) -> pl.DataFrame:
            self._add("read")
            return frame

        whole = {"predicate_pushdown": False, "projection_pushdown": False, "slice_pushdown": False}
        return pl.LazyFrame(schema=frame.schema).map_batches(asked, schema=frame.schema, **whole)

    def numbers(self, *values: int) -> list[Any]:
        """The same numbers, a look at which is an event."""
        return [_Number(value, self) for value in values]

    def _draw(self, size: int) -> bytes:
        self._add("noise")
        self._draws += 1
        return hashlib.shake_256(str(self._draws).encode()).digest(size)

    def _add(self, event: str) -> None:
        if self.events[-1:] != [event]:
            self._look()
            self.events.append(event)

    def _look(self) -> None:
        found = _debits(self._ledger)
        self.events += ["debit"] * (found - self._debits)
        self._debits = found


class _Number:
    def __init__(self, value: int, order: Order) -> None:
        self._value, self._order = value, order

    def __index__(self) -> int:
        self._order._add("read")
        return self._value

    def __float__(self) -> float:
        return float(self.__index__())


def _debits(ledger: str) -> int:
    return sum(entry.kind == "release" for entry in ln.Budget.open(ledger).history())
