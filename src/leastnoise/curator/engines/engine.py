"""What differs between DuckDB and Spark, behind one small interface; everything else is one Ibis expression."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from leastnoise.curator.engines.csv_layout import PLAIN, CsvLayout

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import numpy as np
    import pyarrow as pa

T = TypeVar("T")


class RowPasses(Protocol):
    """Some rows that are kept after others, from the same batches each time."""

    @property
    def remain(self) -> bool:
        """Whether there is another pass to be made."""

    @property
    def block(self) -> int:
        """Of how many rows a batch is at best."""

    @property
    def full(self) -> bool:
        """Whether some unit's rows did not fit into memory: then nothing of what was kept counts."""

    def kept(self, batches: Iterator[pa.RecordBatch]) -> np.ndarray:
        """The codes of some units' rows that are kept, in one pass over all rows."""


class RowRule(Protocol):
    """Which rows of a unit are kept: batches of `unit` and `code` in, codes out."""

    def passes(self, *, rows: int, threads: int, memory: float) -> RowPasses:
        """Over all rows, about so many, with so many bytes of memory for everything."""

    def send(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Of a part of the rows, batches of `group` and `packed`, an integer and bytes."""

    def receive(self, chunks: pa.Table) -> pa.Table:
        """A table of `code`: what is kept of one group, from all that was sent of it."""


class Engine(Protocol):
    """Where expressions run. Every method but `fetch`, `map_batches`, `copied`, `vector_sums`, `kept_rows` and
    `summed_cells` only builds expressions."""

    name: str
    copies: bool  # whether it can keep rows aside; without, everything about them is asked in one query
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

    def copied(self, rows: ir.Table) -> AbstractContextManager[ir.Table]:
        """The rows, read once and kept aside: all queries about them see the same, whatever happens to the source."""

    def verify(self, files: tuple[str, ...], columns: list[str]) -> None:
        """Raise where a page of these columns does not match its checksum, or a quote of a CSV is not closed."""

    def text_hash(self, text: ir.StringValue) -> ir.IntegerValue:
        """Bytes 8 to 11 of the MD5 of a text, the lowest first, as an integer below 2^32."""

    def exact_sum(self, column: ir.IntegerColumn) -> ir.Value:
        """A sum that cannot overflow."""

    def smallest(self, rows: ir.Table, *, unit: list[str], column: str, count: int) -> ir.Table:
        """The `count` smallest values of an integer column in each unit, as a table of that one column."""

    def smallest_distinct(
        self, rows: ir.Table, *, unit: list[str], column: str, count: int, different: int
    ) -> ir.Table:
        """The `count` smallest different values of an integer column in each unit, as a table of that one column. There
        are at most `different` in a unit."""

    def row_number(self, *, unit: list[str], order: list[str]) -> ir.Value:
        """1, 2, 3 ... for the rows of each unit in the order of these columns."""

    def first(self, rows: ir.Table, *, unit: list[str], order: list[str], count: int, keep: list[str]) -> ir.Table:
        """Of the first `count` rows of each unit in this order, the columns `keep`. Without nulls in `order`: engines
        have them first or last; and rows that tie are equal in `keep`."""

    def map_points(self, function: Any, x: ir.Value, y: ir.Value, *, result: str) -> ir.Value:
        """A NumPy function of two columns of doubles, applied to blocks of rows where the rows are."""

    def size(self, rows: ir.Table) -> int:
        """How many rows the tables below have together, or about how many. Only time may depend on it."""

    def passes(self, rows: ir.Table, *, size: int, kept: int) -> int:
        """In how many passes over classes of units the engine's own work on so many rows fits into memory, a power of
        two. Of each unit so many integers are `kept`."""

    def holds(self, size: int) -> bool:
        """Whether so many bytes fit into the memory for rows, or the engine spills: then no pass is a second one."""

    def vector_sums(self, rows: ir.Table, reduce: Callable[[Iterator[pa.RecordBatch]], np.ndarray]) -> list[np.ndarray]:
        """`reduce` over the rows, once for each part of the table, where the parts are."""

    def kept_rows(
        self, rows: ir.Table, rule: RowRule, answer: Callable[[ir.Table], ir.Table], *, size: int
    ) -> list[pa.Table] | None:
        """The answers to the tables of codes that the rule keeps of about so many rows: a table for each pass. None
        where the rows of one unit do not fit into memory."""

    def summed_cells(
        self, rows: ir.Table, count: Callable[[Iterator[pa.RecordBatch]], np.ndarray], cells: int
    ) -> np.ndarray:
        """The sum of `count` over all parts of the rows: a vector of so many integers, most of which may be zero."""
