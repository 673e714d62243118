"""DuckDB, embedded: the default engine. Rows that do not fit into memory are in a temporary folder of its own, which
only its user may read. It goes with the engine; that of a process that was killed stays until the system empties its
folder of temporary files.

*Ctrl-C.* Python delivers a signal to the main thread alone, and only between two of its own instructions. DuckDB's
client does not look for signals while it runs a query there: Ctrl-C is never seen, and the query runs on. So the query
runs in a thread of its own, and the thread that asked for it waits in Python.
"""

from __future__ import annotations

import contextvars
import fcntl
import glob
import os
import shutil
import stat
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from itertools import chain
from typing import Any, TypeVar

import duckdb
import ibis
import ibis.expr.operations as ops
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa
from pyarrow import dataset

from leastnoise._support import files, progress
from leastnoise.curator.engines.engine import BatchWork, builtin, redact_errors, unique
from leastnoise.curator.engines.files import (
    PLAIN,
    CsvLayout,
    has_odd_times,
    header,
    is_parquet,
    partition_base,
    partition_columns,
    verify,
)
from leastnoise.curator.engines.frames import zoneless
from leastnoise.curator.engines.given_table import GivenTable
from leastnoise.errors import EngineUnavailable, InvalidParameter

T = TypeVar("T")
SECONDS_BETWEEN_INTERRUPTS = 0.05  # one that comes before the engine has begun a statement has no effect
MAX_SECONDS_TO_STOP = 5.0  # what the engine itself waits for (a relation of another connection) may not stop
MIN_BLOCK_ROWS = 2**14  # of a vector query, in memory at once
BLOCK_VALUES = 2**20  # of sorted rows, in memory at once
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


class DuckDB:
    """An Ibis connection to a DuckDB of our own, with its own temporary folder."""

    name = "duckdb"
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
        folders = partition_columns(files)
        hive = {"hive_partitioning": bool(folders), "hive_types_autocast": False}
        paths = [glob.escape(file) for file in files]
        if not is_parquet(files[0]):
            cells = as_text(header(files[0], layout), layout.separator(files[0]))
            return redact_errors(lambda: self.backend.read_csv(paths, **hive, **cells), files)
        if redact_errors(lambda: has_odd_times(files[0]), files):
            return redact_errors(lambda: self._through_arrow(files, folders), files)
        return redact_errors(lambda: self.backend.read_parquet(paths, **hive), files)

    def _through_arrow(self, files: list[str], folders: tuple[str, ...]) -> ir.Table:
        """Times as they are: DuckDB's own reader makes microseconds of milliseconds, and fails where that overflows."""
        named = pa.schema([(name, pa.string()) for name in folders])
        how: dict[str, Any] = {
            "format": "parquet",
            "partitioning": dataset.partitioning(named, flavor="hive") if folders else None,
            "partition_base_dir": partition_base(files[0]) if folders else None,
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
        bytes_of, text_of = builtin("encode", "string", "binary"), builtin("decode", "binary", "string")
        texts = [name for name, kind in rows.schema().items() if kind.is_string()]
        made = {name: text_of(bytes_of(rows[name])) for name in texts} | _of_38_digits(rows)
        return rows.mutate(made) if made else rows

    def apply_settings(self) -> None:
        """The settings by which our SQL means what it says, and by which it fits into memory."""
        self._refuse_while_busy()
        others = PLAIN_WINDOWS if self.given is None else f"{PLAIN_WINDOWS},{AS_WRITTEN}"
        redact_errors(lambda: self._set(SETTINGS | {"disabled_optimizers": others}))

    def sql(self, expression: Callable[[], ir.Table]) -> str:
        return str(self.backend.compile(expression(), pretty=True))

    def fetch(self, expression: ir.Table) -> pa.Table:
        self.apply_settings()
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

        return redact_errors(lambda: run_interruptibly(run, self._interrupt, clean_up), self.files)

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

    def verify(self, files: tuple[str, ...]) -> None:
        redact_errors(lambda: verify(files, self.layout), files)

    def text_hash(self, text: ir.StringValue) -> ir.IntegerValue:
        """Of the last eight bytes of the MD5 as an integer, the first of them the lowest."""
        lower = builtin("md5_number_lower", "string", "uint64")(text)
        return (lower & ibis.literal(0xFFFFFFFF, "uint64")).cast("int64")

    def exact_sum(self, column: ir.IntegerColumn) -> ir.Value:
        # DuckDB adds BIGINT in 128 bits; the cast keeps Ibis from squeezing the total into 64 again.
        return column.sum().cast("decimal(38, 0)")

    def map_points(self, function: Any, x: ir.Value, y: ir.Value, *, result: str) -> ir.Value:
        def points(x: Any, y: Any) -> Any:
            made = function(x.to_numpy(zero_copy_only=False), y.to_numpy(zero_copy_only=False))
            return pa.array(list(made), pa.list_(pa.int64())) if made.ndim == 2 else pa.array(made)

        signature = (("float64", "float64"), result)
        return ibis.udf.scalar.pyarrow(points, name=unique("points"), signature=signature)(x, y)

    def size(self, rows: ir.Table) -> int:
        """Known to Parquet files and to tables without reading them."""
        if self.given is not None and (known := self.given.estimated_rows()):
            return known

        tables = [table.to_expr() for table in rows.op().find(ops.PhysicalTable)]
        return sum(int(self.fetch(table.aggregate(rows=table.count()))["rows"][0].as_py()) for table in tables)

    def summed(self, rows: ir.Table, count: Callable[[Iterator[pa.RecordBatch]], np.ndarray], size: int) -> np.ndarray:
        return self._streamed(rows, MIN_BLOCK_ROWS, count)

    def _streamed(
        self,
        rows: ir.Table,
        size: int,
        work: Callable[[Iterator[pa.RecordBatch]], T],
        clean_up: Callable[[], object] = lambda: None,
    ) -> T:
        """`work` over the rows in batches of this size."""
        self.apply_settings()
        self.backend._run_pre_execute_hooks(rows)  # it makes the tables of keys known that the text names
        text = self.backend.compile(rows)
        # It reads ahead by itself.
        read = lambda: work(self.backend.con.sql(text).to_arrow_reader(size))  # noqa: E731
        return self._read(lambda: dropped_after(self.backend, rows, read), clean_up)

    @contextmanager
    def sorted_through(
        self, rows: ir.Table, *, unit: Sequence[str], order: Sequence[str], keep: Sequence[str], work: BatchWork
    ) -> Iterator[ir.Table]:
        """A sort spills by itself, and so does the table that its rows come into: by a connection of its own, since
        they stream on the other."""
        name, writer = unique("kept"), self.backend.con.cursor()
        schema = rows.select(*keep).schema()

        def write(batches: Iterator[pa.RecordBatch]) -> None:
            made = work(batches)
            if (first := next(made, None)) is None:
                return
            writer.register(f"{name}_rows", pa.RecordBatchReader.from_batches(first.schema, chain([first], made)))
            writer.execute(f"INSERT INTO memory.main.{name} SELECT * FROM {name}_rows")

        def drop() -> None:
            writer.close()
            self.backend.con.execute(f"DROP TABLE IF EXISTS memory.main.{name}")

        size = max(MIN_BLOCK_ROWS, BLOCK_VALUES // len(rows.columns))
        try:
            table = self.backend.create_table(name, schema=schema)
            self._streamed(rows.order_by(list(order)), size, write, drop)
            yield table
        finally:
            with suppress(Exception):  # after an interruption the connection may be busy: then the query's thread drops
                drop()


def run_interruptibly(
    work: Callable[[], T], interrupt: Callable[[], None], clean_up: Callable[[], object] = lambda: None
) -> T:
    """`work()`. A KeyboardInterrupt in this thread calls `interrupt`, waits for the work to end, and is raised.

    So is whatever else arises in this thread (a signal handler's TimeoutError), as the cause of a KeyboardInterrupt: it
    is the caller's doing, and no failure to read rows. `clean_up` is called once the work has ended after that. The
    work sees this thread's context variables. Starting it takes less than a millisecond.
    """
    task: Future[T] = Future()
    context = contextvars.copy_context()
    try:
        threading.Thread(target=_run, args=(task, context, work), name="leastnoise-query", daemon=True).start()
        wait([task])
    except BaseException as asked:
        _cancel(task, interrupt, clean_up)
        if isinstance(asked, (KeyboardInterrupt, SystemExit, GeneratorExit)):
            raise
        raise KeyboardInterrupt from asked
    try:
        return task.result()
    finally:
        del task  # a failure's traceback has this frame: nothing of a row lives on in a cycle


def _run(task: Future[T], context: contextvars.Context, work: Callable[[], T]) -> None:
    if not task.set_running_or_notify_cancel():
        return
    try:
        task.set_result(context.run(work))
    except BaseException as problem:  # raised again in the thread that asked
        task.set_exception(problem)
    finally:
        del task


def _cancel(task: Future[T], interrupt: Callable[[], None], clean_up: Callable[[], object]) -> None:
    """Stop the work, or keep it from beginning. An interrupt may come while the thread is being started."""
    if task.cancel():
        return
    for _ in range(round(MAX_SECONDS_TO_STOP / SECONDS_BETWEEN_INTERRUPTS)):
        if task.done():
            break
        interrupt()
        wait([task], SECONDS_BETWEEN_INTERRUPTS)

    def ended(_: object) -> None:
        with suppress(Exception):
            clean_up()

    task.add_done_callback(ended)


def dropped_after(backend: Any, rows: ir.Table, work: Callable[[], T]) -> T:
    """`work()`, which runs a query over `rows`. The tables of keys that it names are views of the connection meanwhile,
    and no longer: it would keep every one of them in memory for as long as it lives."""
    try:
        return work()
    finally:
        with suppress(Exception):  # the connection may be gone
            for table in rows.op().find(ops.InMemoryTable):
                if table in backend._memtables:
                    backend._memtables.discard(table)  # first: what Ibis takes for registered is not registered again
                    backend.con.unregister(table.name)


def _of_38_digits(rows: ir.Table) -> dict[str, ir.Value]:
    """HUGEINT columns, which Ibis takes for decimals of 38 digits: a number of 39 is null, where it would make a copy
    fail. By way of text, because a cast to the type that Ibis sees already is left out."""
    decimals = {name: kind for name, kind in rows.schema().items() if kind.is_decimal()}
    wide = [name for name, kind in decimals.items() if (kind.precision, kind.scale) == (38, 0)]
    return {name: rows[name].cast("string").try_cast("decimal(38, 0)") for name in wide}


def connect(*, memory_limit: str | None = None, threads: str | None = None) -> DuckDB:
    """A fresh in-memory DuckDB in UTC that spills into a folder of its own, removed with it."""
    limits = {"memory_limit": memory_limit, "threads": threads}
    folder, lock = make_spill_folder()
    try:
        given = {name: str(value) for name, value in limits.items() if value is not None}
        backend = ibis.duckdb.connect(temp_directory=folder, **given)
    except duckdb.ParserException:
        remove_spill_folder(folder, lock)
        raise InvalidParameter(
            f"memory_limit must be a size, a number and its unit. Got {memory_limit!r} instead.",
            parameter="memory_limit",
            value=memory_limit,
            example=[{"memory_limit": "1GB"}, {"memory_limit": "512MiB"}],
        ) from None
    backend.raw_sql("SET TimeZone = 'UTC'")
    backend.raw_sql("SET autoinstall_known_extensions = false")  # nothing is fetched behind anybody's back
    engine = DuckDB(backend)
    weakref.finalize(engine, remove_spill_folder, folder, lock)
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


def make_spill_folder() -> tuple[str, int]:
    """A temporary folder that others can see is in use; those of killed processes hold people's rows, and are removed.

    The lock is the kernel's, on a file inside: it ends with the process, however that ends.
    """
    for left in glob.glob(os.path.join(glob.escape(tempfile.gettempdir()), "leastnoise-*", "in-use")):
        with suppress(OSError):
            _remove_left(left)
    # Until its lock is held, a folder has a name that no other process cleans up.
    made = tempfile.mkdtemp(prefix="starting-leastnoise-")
    folder = os.path.join(os.path.dirname(made), os.path.basename(made).removeprefix("starting-"))
    files.temporary.update((made, folder))
    held = os.open(os.path.join(made, "in-use"), os.O_CREAT | os.O_WRONLY, 0o600)
    fcntl.flock(held, fcntl.LOCK_EX)
    os.rename(made, folder)
    files.temporary.discard(made)
    return folder, held


def _remove_left(name: str) -> None:
    """Remove a folder whose lock nobody holds. Others may put anything there: a pipe would be waited for, and another
    user's file is none of ours."""
    lock = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        found = os.fstat(lock)
        if stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid():
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(os.path.dirname(name), ignore_errors=True)
    finally:
        os.close(lock)


def remove_spill_folder(folder: str, held: int) -> None:
    """The folder and its lock, when it is no longer needed."""
    shutil.rmtree(folder, ignore_errors=True)
    files.temporary.discard(folder)
    os.close(held)
