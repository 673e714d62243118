"""Spark, when one machine is not enough. Only the aggregate reaches the driver."""

from __future__ import annotations

import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from itertools import islice
from typing import Any, TypeVar

import ibis
import ibis.expr.operations as ops
import ibis.expr.types as ir
import numpy as np
import pyarrow as pa
from ibis.common.exceptions import IbisTypeError
from ibis.expr.operations.udf import InputType

from leastnoise._support import progress
from leastnoise.curator.engines import spark_session, spark_sources, spark_tasks
from leastnoise.curator.engines.engine import BatchWork, Source, attempt, check_names, redact_errors, unique
from leastnoise.curator.engines.files import PLAIN, CsvLayout
from leastnoise.curator.engines.spark_session import applied, is_gone, is_remote, silent
from leastnoise.curator.engines.spark_sources import opening
from leastnoise.curator.engines.spark_workers import check_workers, wait_for_workers
from leastnoise.errors import EngineUnavailable, ReadingFailed, UnknownSource

T = TypeVar("T")
ROW_BYTES = 16  # of a table, where its bytes are all that is known
MANY = 2**62


class Spark:
    """An Ibis connection to a Spark session of our own, beside the one that was given: there, somebody may have put
    functions in the place of Spark's."""

    name = "spark"
    sends_rows = True

    def __init__(self, given: Any) -> None:
        spark_session.check_answers(given)
        self.given, self.session = given, spark_session.own_of(given)
        if is_remote(given):
            weakref.finalize(self, spark_session.end, self.session).atexit = False
        self.files: list[str] = []
        self._frames: dict[str, Any] = {}  # views that our tables are read from
        self._sizes: dict[str, int] = {}  # of these, in bytes
        self._uses: Counter[str] = Counter()  # of tables of keys, by queries that run
        self._naming = threading.Lock()
        self._runs_python: bool | None = None  # None: the workers were not asked
        spark_session.set_interpreter(self.session)
        with self._applied():
            self.backend = redact_errors(lambda: ibis.pyspark.connect(self.session))

    def _applied(self) -> AbstractContextManager[None]:
        return applied(self.session, self.given)

    def check_ready(self, rows: ir.Table, *, in_python: bool) -> None:
        """The session answers, with functions of Spark's own; and its workers have what is needed where Python runs
        there."""
        with self._applied():
            if not is_remote(self.session):
                spark_session.check_functions(self.session)
            wait_for_workers(self.session)
        if not self._runs_python and (in_python or _has_python(rows)):
            check_workers(self.session)
            self._runs_python = True

    def runs_python(self) -> bool:
        """Asked of the workers once; who ships the package later opens the table again. Where it failed, for want of
        memory perhaps, it is not tried a second time."""
        if self._runs_python is None:
            self._runs_python = False
            with suppress(EngineUnavailable):
                check_workers(self.session)
                self._runs_python = True
        return self._runs_python

    def read_files(self, files: list[str], layout: CsvLayout = PLAIN) -> ir.Table:
        """The rows of Parquet or CSV files; folders named column=value are columns."""
        self.files = files
        return self._opened(
            lambda: redact_errors(lambda: spark_sources.frame_of_files(self.session, files, layout), files)
        )

    def _opened(self, frame: Callable[[], Any]) -> ir.Table:
        with self._applied():
            wait_for_workers(self.session)
            return self.view(frame())

    def taken(self, frame: Any) -> Any:
        """A frame of the given session as one of ours. What it computes is its author's; a server resolves its names
        in our session, so that it may use no temporary view or function."""
        if is_remote(frame.sparkSession):
            return self._taken_from_server(frame)
        name = unique("given")
        frame.createGlobalTempView(name)  # the only names that sessions share
        try:
            return self.session.table(f"{self.session.conf.get('spark.sql.globalTempDatabase')}.{name}")
        finally:
            self.session.catalog.dropGlobalTempView(name)

    def _taken_from_server(self, frame: Any) -> Any:
        from pyspark.sql.connect.dataframe import DataFrame

        taken = DataFrame(frame._plan, self.session)
        if not attempt(lambda: taken.schema == frame.schema):
            raise UnknownSource(
                "this DataFrame of Spark Connect uses a temporary view or function of its session, or rows that were "
                "sent to it, and queries run in a session of our own. Write it to a table of the catalogue or to "
                'Parquet, and open that: frame.write.saveAsTable("name").'
            )
        return taken

    def view(self, frame: Any) -> ir.Table:
        """A Spark DataFrame as an Ibis table. Texts are equal where their bytes are: a collation takes A for a, and one
        person's own spelling would stand for everybody's."""
        from pyspark.sql.types import StringType

        sql = spark_sources.functions_of(self.session)
        kinds = {field.name: field.dataType for field in frame.schema}
        collated = [name for name in kinds if isinstance(kinds[name], StringType) and kinds[name] != StringType()]
        if collated:
            plain = {name: sql.col(spark_sources.quoted(name)).cast(StringType()) for name in collated}
            frame = frame.withColumns(plain)
        name = unique("rows")
        self._frames[name] = frame
        frame.createOrReplaceTempView(name)
        with suppress(IbisTypeError):
            return self.backend.table(name)
        raise UnknownSource(
            "a column of this table has a type that is not known here, such as an interval. Drop it first: "
            'frame.drop("column").'
        )

    def sql(self, expression: Callable[[], ir.Table]) -> str:
        return str(self.backend.compile(expression(), pretty=True))

    def fetch(self, expression: ir.Table) -> pa.Table:
        return self._read(expression, lambda frame: frame.toArrow())

    def map_batches(self, expression: ir.Table, size: int, work: Callable[[pa.Table], T]) -> list[T]:
        """One partition of the answer is in the driver at a time; of its rows here, `size`."""
        schema = expression.schema().to_pyarrow()

        def run(frame: Any) -> list[T]:
            rows, made = frame.toLocalIterator(), []
            while some := list(islice(rows, size)):
                columns = map(pa.array, zip(*some, strict=True), schema.types)
                made.append(work(pa.Table.from_arrays(list(columns), schema=schema)))
            return made

        return self._read(expression, run)

    def _read(self, expression: ir.Table, answer: Callable[[Any], T]) -> T:
        """The answer from the Spark frame of an expression. Ibis itself would bring it here through pandas, where a
        whole number beside a null becomes a double and a day after 2262 fails."""

        def run() -> T:
            with progress.watched("reading", _percent_done(self.session)), self._named(expression):
                return answer(self.session.sql(self.backend.compile(expression)))

        with self._applied():
            return redact_errors(run, self.files)

    @contextmanager
    def _named(self, expression: ir.Table) -> Iterator[None]:
        """What the text of the expression names beside our views: functions; and tables of keys. The session would keep
        these in memory for as long as it lives, so they go with the last query, of any thread, that names them."""
        made: list[str] = []
        try:
            with self._naming:
                for keys in expression.op().find(ops.InMemoryTable):
                    if not self._uses[keys.name]:
                        self.backend._register_in_memory_table(keys)
                    self._uses[keys.name] += 1
                    made.append(keys.name)
                self.backend._register_udfs(expression)
            yield
        finally:
            with self._naming:
                self._uses.subtract(made)
                unused = [name for name in made if not self._uses[name]]
                if unused and not is_gone(self.session):
                    self._drop(*unused)

    def _drop(self, *views: str) -> None:
        for name in views:
            with suppress(Exception):  # with the session, its views are gone as well
                self.session.catalog.dropTempView(name)

    def verify(self, files: tuple[str, ...]) -> None:
        """Spark sees it while it reads."""

    def text_hash(self, text: ir.StringValue) -> ir.IntegerValue:
        digits = text.hexdigest("md5")
        word = digits.substr(22, 2) + digits.substr(20, 2) + digits.substr(18, 2) + digits.substr(16, 2)
        convert = ibis.udf.scalar.builtin(_conv, name="conv", signature=(("string", "int32", "int32"), "string"))
        return convert(word, ibis.literal(16, "int32"), ibis.literal(10, "int32")).cast("int64")

    def exact_sum(self, column: ir.IntegerColumn) -> ir.Value:
        # Spark raises when a BIGINT sum overflows; 38 digits hold 2^63 times 10^19 rows.
        return column.cast("decimal(38, 0)").sum()

    def map_points(self, function: Any, x: ir.Value, y: ir.Value, *, result: str) -> ir.Value:
        signature = (("float64", "float64"), result)
        task = spark_tasks.points(function)
        return ibis.udf.scalar.pandas(task, name=unique("points"), signature=signature)(x, y)

    def size(self, rows: ir.Table) -> int:
        """By Spark's estimate of the bytes of its tables. A server does not tell: its tables are taken for large."""
        if is_remote(self.session):
            return MANY
        return sum(self._bytes_of(table.name) for table in rows.op().find(ops.DatabaseTable)) // ROW_BYTES

    def _bytes_of(self, name: str) -> int:
        def estimate() -> int:
            plan = self._frames[name]._jdf.queryExecution().optimizedPlan()
            return int(str(plan.stats().sizeInBytes()))

        if name not in self._sizes:
            with self._applied():
                self._sizes[name] = redact_errors(estimate, self.files)
        return self._sizes[name]

    def summed(
        self, rows: ir.Table, count: Callable[[Iterator[pa.RecordBatch]], np.ndarray[Any, Any]], size: int
    ) -> np.ndarray[Any, Any]:
        """`count` runs in the executors, once a partition; the cells that are not zero are added up there as well, in
        38 digits."""

        def run(frame: Any) -> np.ndarray[Any, Any]:
            parts = frame.mapInArrow(spark_tasks.filled_cells(count), "cell bigint, total bigint")
            added = parts.withColumn("total", parts.total.cast("decimal(38, 0)")).groupBy("cell").sum("total").toArrow()
            try:
                totals = added.column(1).cast(pa.int64()).to_numpy()
            except pa.ArrowInvalid:  # more than 64 bits
                totals = np.array([int(total) for total in added.column(1).to_pylist()], object)
            made = np.zeros(size, totals.dtype)
            made[added["cell"].to_numpy()] = totals
            return made

        return self._read(rows, run)

    @contextmanager
    def sorted_through(
        self, rows: ir.Table, *, unit: Sequence[str], order: Sequence[str], keep: Sequence[str], work: BatchWork
    ) -> Iterator[ir.Table]:
        """`work` runs in the executors, as a part of the query about this table. Rows are sent once, by unit, and then
        sorted: so partitions that Spark puts together on the way are one run of each unit as well."""

        def view(frame: Any) -> ir.Table:
            parts = frame.repartition(*unit).sortWithinPartitions(*order)
            return self.view(parts.mapInArrow(spark_tasks.through(work), frame.select(*keep).schema))

        with ExitStack() as open_names, self._next_time_without_python():
            open_names.enter_context(self._applied())  # a server looks names up when it reads
            redact_errors(lambda: open_names.enter_context(self._named(rows)), self.files)
            table = redact_errors(lambda: view(self.session.sql(self.backend.compile(rows))), self.files)
            try:
                yield table
            finally:
                if self._frames.pop(table.get_name(), None) is not None and not is_gone(self.session):
                    self._drop(table.get_name())

    @contextmanager
    def _next_time_without_python(self) -> Iterator[None]:
        """Where Python fails in the executors, or on its way there, the next attempt goes by SQL."""
        try:
            yield
        except ReadingFailed:
            self._runs_python = False
            raise


def connect(engine: str, config: Mapping[str, str]) -> Spark:
    """The session that `engine` names: spark://host:7077, local[2], or sc://host of Spark Connect."""
    return Spark(spark_session.session_of(engine, config))


def open_frame(frame: Any, *, name: str) -> Source:
    """A Spark DataFrame."""
    if type(frame).__name__ != "DataFrame" or not hasattr(frame, "sparkSession"):
        raise UnknownSource(f"a Spark DataFrame is needed. Got {type(frame).__name__}.")
    engine = Spark(frame.sparkSession)  # first: nothing can be asked of a frame whose session has ended
    if frame.isStreaming:
        raise UnknownSource("a stream has no end, so nothing can be released of it. Give the table that it writes to.")
    check_names(frame.columns)
    return Source(engine=engine, rows=engine._opened(lambda: redact_errors(lambda: engine.taken(frame))), name=name)


def open_named(text: str, *, engine: str, config: Mapping[str, str], name: str, layout: CsvLayout = PLAIN) -> Source:
    """What an address or a name means to the session: it is read by the session alone."""
    if "${" in text:
        raise UnknownSource(f'in "{text}" Spark may replace what stands after ${{. Give the DataFrame itself.')
    layout.check_is_csv(spark_sources.is_address(text) and spark_sources.is_csv_address(text))
    opened = connect(engine, config)

    def frame() -> Any:
        if spark_sources.is_address(text):
            return spark_sources.frame_of_uri(opened.session, text, layout)
        return opened.taken(opened.given.sql(spark_sources.statement(text)))

    def checked() -> Any:
        found = opening(frame, text)
        check_names(opening(lambda: found.columns, text))  # of Spark Connect, the first that is asked
        return found

    return Source(engine=opened, rows=opened._opened(checked), name=name, layout=layout)


def _percent_done(session: Any) -> Callable[[], float]:
    """A function that says how much of the running stages is done; always 0 where that is not known."""
    if is_remote(session):
        return lambda: 0.0
    tracker = session.sparkContext.statusTracker()

    def percent() -> float:
        with silent():
            stages = [stage for number in tracker.getActiveStageIds() if (stage := tracker.getStageInfo(number))]
        tasks = sum(stage.numTasks for stage in stages)
        return 100.0 * sum(stage.numCompletedTasks for stage in stages) / tasks if tasks else 0.0

    return lambda: attempt(percent) or 0.0  # the session may be ending


def _has_python(rows: ir.Table) -> bool:
    return any(udf.__input_type__ != InputType.BUILTIN for udf in rows.op().find(ops.ScalarUDF))


def _conv(text: Any, source: Any, target: Any) -> Any:
    """Spark's own: a number in text from one base to another."""
