"""An opened table: schemas have been read, and no row."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from leastnoise.curator.engines.csv_layout import PLAIN, CsvLayout
from leastnoise.curator.engines.engine import Engine
from leastnoise.curator.engines.file_status import Status, check_unchanged

if TYPE_CHECKING:
    import ibis.expr.types as ir


_locks: WeakValueDictionary[int, Any] = WeakValueDictionary()  # of connections that may have several tables


def lock_of(connection: Any) -> Any:
    """The lock of a connection of somebody else's: one for all of its tables."""
    return _locks.setdefault(id(connection), threading.RLock())


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """An opened table: its engine, and its rows as a lazy expression."""

    engine: Engine
    rows: ir.Table
    name: str
    files: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()  # columns that the names of folders hold, as text
    declared: tuple[str, ...] = ()  # columns of Python objects that `types` declared
    undeclared: tuple[str, ...] = ()  # those that it did not: nothing can be asked of them
    index: tuple[str, ...] = ()  # names of a pandas index, which are no columns
    layout: CsvLayout = PLAIN  # of CSV files
    opened_status: tuple[Status | None, ...] = field(default=(), repr=False)  # of the files, when they were opened
    fixed: bool = False  # rows in memory that were read already: nobody else can change them
    lock: Any = field(default_factory=threading.RLock, repr=False)  # held by the thread that asks DuckDB

    @property
    def rereadable(self) -> bool:
        """Whether a second query sees the same rows as the first, or else `check_unchanged` raises."""
        return self.fixed or bool(self.files)

    def turn(self) -> AbstractContextManager[object]:
        """Within the block no other thread asks: a DuckDB connection has one query at a time, which another one would
        make fail, and a failure closes a budget. A Spark session has as many as are asked."""
        return nullcontext() if self.engine.sends_rows else self.lock

    def check_unchanged(self) -> None:
        """Raise TableChanged if the files are not those that were opened."""
        check_unchanged(self.files, self.opened_status)
