"""What differs between DuckDB and Spark, behind one small interface; everything else is one Ibis expression.

Of an opened table, schemas have been read, and no row. A release may read its rows more than once (a check, a sum), and
its sensitivity holds for one state of the table only. So device, number, size and times of each file are kept, from the
file system. The time of the last change of status cannot be set back by a program, so an edit shows in it.

*Names.* To engines Taxi and taxi are one name, a name ends at a NUL, and of two that they take for one they rename the
second to something that may be a third column's. A query would then be about another column than the one that was
named: with another unit nobody would be protected.

*Errors.* An engine's own is withheld: ours takes its place, and says nothing about rows.
"""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar
from weakref import WeakValueDictionary

import ibis
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from leastnoise._support import library_warnings
from leastnoise.curator.engines.files import PLAIN, CsvLayout
from leastnoise.errors import LeastnoiseError, ReadingFailed, TableChanged, UnknownSource

T = TypeVar("T")
BatchWork = Callable[["Iterator[pa.RecordBatch]"], "Iterator[pa.RecordBatch]"]


class Engine(Protocol):
    """Where expressions run. Every method but `fetch`, `map_batches`, `summed` and `sorted_through` only builds
    expressions."""

    name: str
    sends_rows: bool  # whether the rows of a unit are brought together from several machines

    def check_ready(self, rows: ir.Table, *, in_python: bool) -> None:
        """Raise EngineUnavailable unless the engine can be asked now, also what runs `in_python` where the rows are.
        Nothing is read, so it is done before anything is paid."""

    def runs_python(self) -> bool:
        """Whether Python with this package and its compiler runs where the rows are."""

    def read_files(self, files: list[str], layout: CsvLayout = PLAIN) -> ir.Table:
        """The rows of Parquet or CSV files, lazily."""

    def sql(self, expression: Callable[[], ir.Table]) -> str:
        """The SQL of an expression, which is made here, with no function but the engine's own."""

    def fetch(self, expression: ir.Table) -> pa.Table:
        """Run, and bring the answer here."""

    def map_batches(self, expression: ir.Table, size: int, work: Callable[[pa.Table], T]) -> list[T]:
        """Run, and bring the answer here in its order, `size` rows at a time: what `work` makes of each part of it. A
        distributed answer is never here whole."""

    def verify(self, files: tuple[str, ...]) -> None:
        """Raise where a quote of a CSV is not closed."""

    def text_hash(self, text: ir.StringValue) -> ir.IntegerValue:
        """Bytes 8 to 11 of the MD5 of a text, the lowest first, as an integer below 2^32."""

    def exact_sum(self, column: ir.IntegerColumn) -> ir.Value:
        """A sum that cannot overflow."""

    def map_points(self, function: Any, x: ir.Value, y: ir.Value, *, result: str) -> ir.Value:
        """A NumPy function of two columns of doubles, applied to blocks of rows where the rows are."""

    def size(self, rows: ir.Table) -> int:
        """How many rows the tables below have together, or about how many. Only time may depend on it."""

    def summed(self, rows: ir.Table, count: Callable[[Iterator[pa.RecordBatch]], np.ndarray], size: int) -> np.ndarray:
        """The exact sum of `count` over all parts of the rows, run where the parts are: a vector of so many integers of
        64 bits each, most of which may be zero. The sum has Python integers where 64 bits do not hold one."""

    def sorted_through(
        self, rows: ir.Table, *, unit: Sequence[str], order: Sequence[str], keep: Sequence[str], work: BatchWork
    ) -> AbstractContextManager[ir.Table]:
        """What `work` makes of the rows in this order, those of one unit in one place: a table with the columns `keep`,
        which is there while the block lasts."""


Status = tuple[int, int, int, int, int]


def status(file: str) -> Status | None:
    """What shows a change of a file; None where there is none."""
    found = attempt(os.stat, file)
    return found and (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


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
        """Whether a second query sees the same rows as the first, or else `check_unchanged` raises. Where it may not,
        and on several machines, everything about them is asked in one query."""
        return (self.fixed or bool(self.files)) and not self.engine.sends_rows

    def exclusive(self) -> AbstractContextManager[object]:
        """Within the block no other thread asks: a DuckDB connection has one query at a time, which another one would
        make fail, and a failure closes a budget. A Spark session has as many as are asked."""
        return nullcontext() if self.engine.sends_rows else self.lock

    def check_unchanged(self) -> None:
        """Raise TableChanged unless every file is there and is what it was when it was opened."""
        for file, then in zip(self.files, self.opened_status, strict=True):
            now = status(file)
            if now is None or now != then:
                raise TableChanged(
                    f'"{os.path.basename(file)}" was replaced or written to after the table was opened, so rows of two '
                    "states could be mixed, and the noise is enough for one. Nothing is released. Open the table "
                    "again, ln.table(...), once nobody writes to it; or copy the files and open the copy."
                )


def check_names(names: Iterable[object]) -> None:
    """Refuse columns that an engine cannot tell apart by their names."""
    seen: dict[str, str] = {}
    for name in names:
        if not isinstance(name, str) or not name or "\0" in name:
            raise UnknownSource("a column has no name, or one that is no text. Name every column.")
        twin = seen.get(name.casefold())
        if twin is not None:
            raise UnknownSource(
                f'two columns are named "{twin}" and "{name}", which engines take for one: which of them is meant '
                "would not be clear. Rename one."
            )
        seen[name.casefold()] = name


def unique(word: str) -> str:
    """A name that nothing else in a session has."""
    return f"leastnoise_{word}_{uuid.uuid4().hex}"


def redact_errors(work: Callable[[], T], files: Sequence[str] = ()) -> T:
    """`work()`; whatever an engine raises becomes one sentence that is the same for every failure with these files.

    An engine's message may quote a private value, and the kind of failure may tell of one. Our error is
    raised after the handler has ended, so that neither __cause__ nor __context__ keeps the original.
    """
    try:
        # A warning may quote a value as well; and a caller's numpy.seterr must not make an error of one.
        with library_warnings.withheld(), np.errstate(all="ignore"):
            return work()
    except LeastnoiseError:
        raise
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as problem:  # what Polars raises in a panic is no Exception
        # What DuckDB makes of Ctrl-C; what a row causes is one of its own errors.
        interrupted = type(problem) is RuntimeError and str(problem) == "Query interrupted"
        failed: BaseException = KeyboardInterrupt() if interrupted else ReadingFailed(_unreadable(files))
    raise failed


def attempt(work: Callable[..., T], *arguments: Any) -> T | None:
    """`work(*arguments)`, or None where it fails: an error that is raised after that keeps nothing of the failure."""
    try:
        return work(*arguments)
    except Exception:
        return None


def builtin(name: str, argument: Any, result: str) -> Callable[[Any], Any]:
    """A function of one argument that the engine has itself."""
    made: Callable[[Any], Any] = ibis.udf.scalar.builtin(_own, name=name, signature=((argument,), result))
    return made


def _own(value: Any) -> Any:
    """Built into the engine."""


def _unreadable(files: Sequence[str]) -> str:
    """What the names of the files, which are public, let one say."""
    more = f" and {len(files) - 1} more" if len(files) > 1 else ""
    rows = f'the rows of "{Path(files[0]).name}"{more}' if files else "the rows"
    sentence = (
        f"{rows} could not be read. Nothing was released. The engine's own message is withheld because it may quote "
        "private values. "
    )
    if not files or files[0].lower().endswith(".parquet"):
        return sentence + "See that the files are whole, and that memory and the temporary disk have room."
    return sentence + (
        "Look for a row with more or fewer fields than the header, a quote that is not closed, another encoding than "
        "UTF-8, and for room on the temporary disk. For your own eyes, pyarrow.csv.read_csv(...) shows the row."
    )
