"""DuckDB, embedded: the default engine."""

from __future__ import annotations

import glob
import math
import re
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from leastnoise._support import progress
from leastnoise.curator.engines import checksums, open_quotes, partitions, spill_folder
from leastnoise.curator.engines.csv_layout import PLAIN, CsvLayout
from leastnoise.curator.engines.engine import RowRule
from leastnoise.curator.engines.frames import zoneless
from leastnoise.curator.engines.headers import header
from leastnoise.curator.engines.interruption import run_interruptibly
from leastnoise.curator.engines.key_views import dropped_after
from leastnoise.curator.engines.temporary_names import unique
from leastnoise.curator.engines.time_units import has_odd_times
from leastnoise.curator.engines.withheld_errors import reading
from leastnoise.errors import EngineUnavailable, InvalidParameter

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import numpy as np
    import pyarrow as pa

    from leastnoise.curator.engines.given_table import GivenTable

T = TypeVar("T")
MIN_BLOCK_ROWS = 2**14  # of a vector query, in memory at once
# What DuckDB needs for a group, and for an integer it has room for: when room is doubled, the old is not given back.
GROUP_BYTES, INTEGER_BYTES = 128, 16
USABLE_MEMORY = 0.6  # of the memory limit
# Bytes of a row of a CSV, and of the part of a file that is in memory at once: DuckDB reads on in the next part only,
# and left to itself takes 16 times the longest row for each. A longer row is an error.
MAX_LINE_BYTES, CSV_BUFFER_BYTES = 2**24, 2**25
# Hours and days are those of UTC; texts are equal where their bytes are.
SETTINGS = {"TimeZone": "UTC", "default_collation": "", "arrow_lossless_conversion": "false"}
MEASURED = {"enable_progress_bar": "true", "enable_progress_bar_print": "false"}  # else its progress is always -1
# Its plan for "the first n rows of a group" keeps a state for every group and cannot spill; the plain window is a sort
# that can, and is faster where groups are many.
PLAIN_WINDOWS = "top_n_window_elimination"
# It takes rows that stream for few, and would hold all of them in memory to look public keys up in them.
AS_WRITTEN = "join_order,build_side_probe_side"
BYTES_PER_UNIT = {
    "B": 1,
    "KB": 1e3,
    "MB": 1e6,
    "GB": 1e9,
    "TB": 1e12,
    "KIB": 2**10,
    "MIB": 2**20,
    "GIB": 2**30,
    "TIB": 2**40,
}


class DuckDB:
    """An Ibis connection to a DuckDB of our own, with its own temporary folder."""

    name = "duckdb"
    copies = True
    sends_rows = False

    def __init__(self, backend: Any) -> None:
        self.backend = backend
        self.files: list[str] = []
        self.given: GivenTable | None = None  # of somebody else's connection, where the rows come from there
        self.layout = PLAIN
        self._running: list[threading.Event] = []  # queries that have begun

    def check_ready(self, rows: ir.Table, *, in_python: bool) -> None:
        """An interrupted query may still have the connection."""
        self._refuse_while_busy()
        if self.given is not None:
            self.given.check_unchanged()

    def runs_python(self) -> bool:
        return True

    def read_files(self, files: list[str], layout: CsvLayout = PLAIN) -> ir.Table:
        """The rows of Parquet or CSV files; folders named column=value are columns."""
        self.files, self.layout = files, layout
        folders = partitions.columns(files)
        hive = {"hive_partitioning": bool(folders), "hive_types_autocast": False}
        paths = [glob.escape(file) for file in files]
        if not files[0].lower().endswith(".parquet"):
            cells = as_text(header(files[0], layout), layout.separator(files[0]))
            return reading(lambda: self.backend.read_csv(paths, **hive, **cells), files)
        if reading(lambda: has_odd_times(files[0]), files):
            return reading(lambda: self._through_arrow(files, folders), files)
        return reading(lambda: self.backend.read_parquet(paths, **hive), files)

    def _through_arrow(self, files: list[str], folders: tuple[str, ...]) -> ir.Table:
        """Times as they are: DuckDB's own reader makes microseconds of milliseconds, and fails where that overflows."""
        import pyarrow as pa
        from pyarrow import dataset

        named = pa.schema([(name, pa.string()) for name in folders])
        how: dict[str, Any] = {
            "format": "parquet",
            "partitioning": dataset.partitioning(named, flavor="hive") if folders else None,
            "partition_base_dir": partitions.base(files[0]) if folders else None,
        }
        found = dataset.dataset(files, **how).schema
        plain = pa.schema([field.with_type(zoneless(field.type)) for field in found])
        name = unique("rows")
        self.backend.con.register(name, dataset.dataset(files, schema=plain, **how))
        return self.binary(self.backend.table(name))

    def binary(self, rows: ir.Table) -> ir.Table:
        """`rows` with texts that are equal where their bytes are: a collation takes A for a, and one person's own
        spelling would stand for everybody's. A column's collation is not in its type, but does not outlive its bytes.
        """
        import ibis

        bytes_of = _builtin(ibis.udf.scalar, _recoded, "encode", ("string",), "binary")
        text_of = _builtin(ibis.udf.scalar, _recoded, "decode", ("binary",), "string")
        texts = [name for name, kind in rows.schema().items() if kind.is_string()]
        made = {name: text_of(bytes_of(rows[name])) for name in texts} | _of_38_digits(rows)
        return rows.mutate(made) if made else rows

    def settle(self) -> None:
        """The settings by which our SQL means what it says, and by which it fits into memory."""
        self._refuse_while_busy()
        others = PLAIN_WINDOWS if self.given is None else f"{PLAIN_WINDOWS},{AS_WRITTEN}"
        reading(lambda: self._set(SETTINGS | {"disabled_optimizers": others}))

    def sql(self, expression: Callable[[], ir.Table]) -> str:
        return str(self.backend.compile(expression(), pretty=True))

    def fetch(self, expression: ir.Table) -> pa.Table:
        self.settle()
        return self._read(lambda: dropped_after(self.backend, expression, lambda: self.backend.to_pyarrow(expression)))

    def map_batches(self, expression: ir.Table, size: int, work: Callable[[pa.Table], T]) -> list[T]:
        whole = self.fetch(expression)
        return [work(whole.slice(begin, size)) for begin in range(0, whole.num_rows, size)]

    def _read(self, work: Callable[[], T], clean_up: Callable[[], object] = lambda: None) -> T:
        """`work()`, which Ctrl-C ends and after which the connection can be used again."""
        self._refuse_while_busy()

        def run() -> T:
            ended = threading.Event()
            self._running.append(ended)
            try:
                if progress.on_terminal():
                    self._set(MEASURED)
                if self.given is not None:
                    self.given.begin()
                with progress.watched("reading", self._percent):
                    return work()
            finally:
                ended.set()

        return reading(lambda: run_interruptibly(run, self._interrupt, clean_up), self.files)

    def _percent(self) -> float:
        return float(self.backend.con.query_progress()) if self.given is None else self.given.percent_read()

    def _interrupt(self) -> None:
        self.backend.con.interrupt()
        if self.given is not None:
            self.given.connection.interrupt()

    def _set(self, settings: Mapping[str, object]) -> None:
        for name, value in settings.items():
            self.backend.con.execute(f"SET {name} = '{value}'")

    def _refuse_while_busy(self) -> None:
        """An interrupted query that did not stop still has the connection. That is no failure to read rows."""
        self._running = [ended for ended in self._running if not ended.is_set()]
        if self._running:
            raise EngineUnavailable(
                "an earlier query on this connection still runs: it was interrupted and has not ended yet, or runs in "
                "another thread. Nothing was released. Wait for it, or open the table again."
            )

    @contextmanager
    def copied(self, rows: ir.Table) -> Iterator[ir.Table]:
        """A temporary table, which is of this connection alone; one statement fills it, so it is one snapshot."""
        name = unique("copy")

        def copy() -> ir.Table:
            return dropped_after(self.backend, rows, lambda: self.backend.create_table(name, rows, temp=True))

        def drop() -> None:
            self.backend.con.execute(f"DROP TABLE IF EXISTS temp.main.{name}")

        try:
            yield self._read(copy, drop)
        finally:
            with suppress(Exception):  # an interrupted statement may have made none
                drop()

    def verify(self, files: tuple[str, ...], columns: list[str]) -> None:
        if files and files[0].lower().endswith(".parquet"):
            reading(lambda: checksums.verify(files, columns), files)
        elif files:
            reading(lambda: open_quotes.verify(files, self.layout), files)

    def text_hash(self, text: ir.StringValue) -> ir.IntegerValue:
        import ibis

        lower = _builtin(ibis.udf.scalar, _md5_lower, "md5_number_lower", ("string",), "uint64")
        return (lower(text) & ibis.literal(0xFFFFFFFF, "uint64")).cast("int64")

    def exact_sum(self, column: ir.IntegerColumn) -> ir.Value:
        # DuckDB adds BIGINT in 128 bits; the cast keeps Ibis from squeezing the total into 64 again.
        return column.sum().cast("decimal(38, 0)")

    def smallest(self, rows: ir.Table, *, unit: list[str], column: str, count: int) -> ir.Table:
        import ibis

        smallest = _builtin(ibis.udf.agg, _smallest, "min", ("int64", "int64"), "array<int64>")
        lists = rows.group_by(unit).aggregate(**{column: smallest(rows[column], count)})
        return lists.select(**{column: lists[column].unnest()})

    def smallest_distinct(
        self, rows: ir.Table, *, unit: list[str], column: str, count: int, different: int
    ) -> ir.Table:
        """Equal values follow each other in their order: `row_number` less `rank` is 0 for one of them."""
        import ibis

        within = ibis.window(group_by=unit, order_by=[column])
        copy = ibis.row_number().over(within) - ibis.rank().over(within)
        rows = rows.mutate(_copy=copy, _place=ibis.dense_rank().over(within))  # together: apart they would be two sorts
        return rows.filter((rows["_copy"] == 0) & (rows["_place"] < count)).select(column)

    def row_number(self, *, unit: list[str], order: list[str]) -> ir.Value:
        import ibis

        return ibis.row_number().over(ibis.window(group_by=unit, order_by=order)) + 1

    def first(self, rows: ir.Table, *, unit: list[str], order: list[str], count: int, keep: list[str]) -> ir.Table:
        import ibis

        ranked = rows.mutate(_rank=ibis.row_number().over(ibis.window(group_by=unit, order_by=order)))
        return ranked.filter(ranked["_rank"] < count).select(keep)

    def map_points(self, function: Any, x: ir.Value, y: ir.Value, *, result: str) -> ir.Value:
        import ibis

        def points(x: Any, y: Any) -> Any:
            import pyarrow as pa

            made = function(x.to_numpy(zero_copy_only=False), y.to_numpy(zero_copy_only=False))
            return pa.array(list(made), pa.list_(pa.int64())) if made.ndim == 2 else pa.array(made)

        signature = (("float64", "float64"), result)
        return ibis.udf.scalar.pyarrow(points, name=unique("points"), signature=signature)(x, y)

    @property
    def threads(self) -> int:
        return int(self._setting("threads"))

    def passes(self, rows: ir.Table, *, size: int, kept: int) -> int:
        """Only time depends on this choice: the classes of units add up to the same integers."""
        need = self._bytes_of_groups(kept)
        limit = self._setting("memory_limit") * USABLE_MEMORY
        if need(size, size) <= limit:
            return 1
        found = self.fetch(rows.aggregate(units=rows["_unit"].approx_nunique()))
        return int(2 ** math.ceil(math.log2(max(need(int(found["units"][0].as_py()), size) / limit, 1.0))))

    def _bytes_of_groups(self, kept: int) -> Callable[[int, int], int]:
        """Every thread keeps a state for every unit it meets, with room for the integers that are `kept`, or for twice
        as many as there are: room is doubled."""
        threads, room = self.threads, 1 << (kept - 1).bit_length()

        def need(units: int, rows: int) -> int:
            states = min(units * threads, rows)
            return states * GROUP_BYTES + min(states * room, 2 * rows) * INTEGER_BYTES

        return need

    def _setting(self, name: str) -> float:
        value = reading(lambda: self.backend.con.sql(f"SELECT current_setting('{name}')").fetchall()[0][0])
        return in_bytes(str(value))

    def size(self, rows: ir.Table) -> int:
        """Known to Parquet files and to tables without reading them."""
        import ibis.expr.operations as ops

        if self.given is not None and (known := self.given.estimated_rows()):
            return known

        tables = [table.to_expr() for table in rows.op().find(ops.PhysicalTable)]
        return sum(int(self.fetch(table.aggregate(rows=table.count()))["rows"][0].as_py()) for table in tables)

    def vector_sums(self, rows: ir.Table, reduce: Callable[[Iterator[pa.RecordBatch]], np.ndarray]) -> list[np.ndarray]:
        return [self._streamed(rows, MIN_BLOCK_ROWS, reduce)]

    def _streamed(self, rows: ir.Table, size: int, work: Callable[[Iterator[pa.RecordBatch]], T]) -> T:
        """`work` over the rows in batches of this size."""
        self.settle()
        self.backend._run_pre_execute_hooks(rows)  # it makes the tables of keys known that the text names
        text = self.backend.compile(rows)
        # It reads ahead by itself.
        read = lambda: work(self.backend.con.sql(text).to_arrow_reader(size))  # noqa: E731
        return self._read(lambda: dropped_after(self.backend, rows, read))

    def holds(self, size: int) -> bool:
        return size <= self._setting("memory_limit") * USABLE_MEMORY

    def kept_rows(
        self, rows: ir.Table, rule: RowRule, answer: Callable[[ir.Table], ir.Table], *, size: int
    ) -> list[pa.Table] | None:
        import ibis
        import pyarrow as pa

        passes = rule.passes(rows=size, threads=self.threads, memory=self._setting("memory_limit"))
        answers = []
        while passes.remain:
            codes = self._streamed(rows, passes.block, passes.kept)
            if passes.full:
                return None
            kept = ibis.memtable(pa.table({"code": codes}))
            answers.append(self.fetch(answer(kept.select(code=kept["code"].cast("int64")))))
        return answers

    def summed_cells(
        self, rows: ir.Table, count: Callable[[Iterator[pa.RecordBatch]], np.ndarray], cells: int
    ) -> np.ndarray:
        (total,) = self.vector_sums(rows, count)
        return total


def _of_38_digits(rows: ir.Table) -> dict[str, ir.Value]:
    """HUGEINT columns, which Ibis takes for decimals of 38 digits: a number of 39 is null, where it would make a copy
    fail. By way of text, because a cast to the type that Ibis sees already is left out."""
    decimals = {name: kind for name, kind in rows.schema().items() if kind.is_decimal()}
    wide = [name for name, kind in decimals.items() if (kind.precision, kind.scale) == (38, 0)]
    return {name: rows[name].cast("string").try_cast("decimal(38, 0)") for name in wide}


def connect(*, memory_limit: str | None = None, threads: str | None = None) -> DuckDB:
    """A fresh in-memory DuckDB in UTC that spills into a folder of its own, removed with it."""
    import ibis

    folder, lock = spill_folder.make()
    backend = ibis.duckdb.connect(temp_directory=folder)
    backend.raw_sql("SET TimeZone = 'UTC'")
    backend.raw_sql("SET autoinstall_known_extensions = false")  # nothing is fetched behind anybody's back
    if memory_limit is not None:
        in_bytes(memory_limit)
        backend.raw_sql(f"SET memory_limit = '{memory_limit}'")
    if threads is not None:
        backend.raw_sql(f"SET threads = {int(threads)}")
    engine = DuckDB(backend)
    weakref.finalize(engine, spill_folder.remove, folder, lock)
    return engine


def as_text(names: list[str], delimiter: str) -> dict[str, Any]:
    """How a CSV is read when nothing is guessed from its rows: one header line, and every cell is text."""
    return {
        "auto_detect": False,
        "columns": dict.fromkeys(names, "VARCHAR"),
        "header": True,
        "delim": delimiter,
        "quote": '"',
        "escape": '"',
        "max_line_size": MAX_LINE_BYTES,
        "buffer_size": CSV_BUFFER_BYTES,
        "parallel": False,  # readers that begin inside a file take lines of a quoted cell for rows, and fail
    }


def in_bytes(text: str) -> float:
    """A size such as 1GB or 1.5 GiB; a bare number is itself."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", text) if isinstance(text, str) else None
    if found is None or (found.group(2).upper() or "B") not in BYTES_PER_UNIT:
        raise InvalidParameter(
            f"memory_limit must be a size, a number and its unit. Got {text!r} instead.",
            parameter="memory_limit",
            value=text,
            example=[{"memory_limit": "1GB"}, {"memory_limit": "512MiB"}],
        )
    return float(found.group(1)) * BYTES_PER_UNIT[found.group(2).upper() or "B"]


def _md5_lower(text: Any) -> Any:
    """DuckDB's own: the last eight bytes of the MD5 as an integer, the first of them the lowest."""


def _recoded(text: Any) -> Any:
    """DuckDB's own: a text as the bytes of its UTF-8, and back."""


def _smallest(column: Any, count: Any) -> Any:
    """DuckDB's own `min(column, count)`: the smallest values, as a list."""


def _builtin(kind: Any, function: Any, name: str, arguments: tuple[str, ...], result: str) -> Any:
    return kind.builtin(function, name=name, signature=(arguments, result))
