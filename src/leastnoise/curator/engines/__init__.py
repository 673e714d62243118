"""What differs between DuckDB and Spark, behind one small interface; everything else is one Ibis expression."""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from leastnoise.curator.engines.file_status import Status, check_unchanged
from leastnoise.errors import LeastnoiseError, ReadingFailed

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import numpy as np
    import pyarrow as pa

T = TypeVar("T")


class Engine(Protocol):
    """Where expressions run. Every method but `fetch`, `copied` and `vector_sums` only builds expressions."""

    name: str
    copies: bool  # whether it can keep rows aside; without, everything about them is asked in one query

    def read_files(self, files: list[str]) -> ir.Table:
        """The rows of Parquet or CSV files, lazily."""

    def sql(self, expression: ir.Table) -> str:
        """The SQL that would run."""

    def fetch(self, expression: ir.Table) -> pa.Table:
        """Run, and bring the answer here."""

    def copied(self, rows: ir.Table) -> AbstractContextManager[ir.Table]:
        """The rows, read once and kept aside: all queries about them see the same, whatever happens to the source."""

    def verify(self, files: tuple[str, ...], columns: list[str]) -> None:
        """Raise where a page of these columns does not match its checksum."""

    def text_hash(self, text: ir.StringValue) -> ir.IntegerValue:
        """Bytes 8 to 11 of the MD5 of a text, the lowest first, as an integer below 2^32."""

    def exact_sum(self, column: ir.IntegerColumn) -> ir.Value:
        """A sum that cannot overflow."""

    def smallest(self, rows: ir.Table, *, unit: list[str], column: str, count: int) -> ir.Table:
        """The `count` smallest values of an integer column in each unit, as a table of that one column."""

    def map_points(self, function: Any, x: ir.Value, y: ir.Value, *, result: str) -> ir.Value:
        """A NumPy function of two columns of doubles, applied to blocks of rows where the rows are."""

    def passes(self, rows: ir.Table, *, unit: list[str], kept: int) -> int:
        """In how many passes over classes of units the work fits into memory, a power of two. Of each unit so many
        integers are `kept`."""

    def vector_sums(self, rows: ir.Table, reduce: Callable[[Iterator[pa.RecordBatch]], np.ndarray]) -> list[np.ndarray]:
        """`reduce` over the rows, once for each part of the table, where the parts are."""


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
    opened_status: tuple[Status | None, ...] = ()  # of the files, when they were opened
    fixed: bool = False  # rows in memory that were read already: nobody else can change them

    @property
    def rereadable(self) -> bool:
        """Whether a second query sees the same rows as the first, or else `check_unchanged` raises."""
        return self.fixed or bool(self.files)

    def check_unchanged(self) -> None:
        """Raise TableChanged if the files are not those that were opened."""
        check_unchanged(self.files, self.opened_status)


def unique(word: str) -> str:
    """A name that nothing else in a session has."""
    return f"leastnoise_{word}_{uuid.uuid4().hex}"


def reading(work: Callable[[], T], files: Sequence[str] = ()) -> T:
    """`work()`; whatever an engine raises becomes one sentence that is the same for every failure with these files.

    An engine's message may quote a private value, and the kind of failure may tell of one. Our error is
    raised after the handler has ended, so that neither __cause__ nor __context__ keeps the original.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a warning may quote a value as well
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
