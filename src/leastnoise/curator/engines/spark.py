"""Spark, when one machine is not enough. Only the aggregate reaches the driver."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from leastnoise._support import progress
from leastnoise.curator.engines import (
    spark_files,
    spark_first_rows,
    spark_names,
    spark_server,
    spark_session,
    spark_tasks,
)
from leastnoise.curator.engines.column_names import check_names
from leastnoise.curator.engines.csv_layout import PLAIN, CsvLayout
from leastnoise.curator.engines.engine import RowRule
from leastnoise.curator.engines.opened_table import Source
from leastnoise.curator.engines.spark_errors import opening
from leastnoise.curator.engines.spark_progress import percent_done
from leastnoise.curator.engines.spark_server import is_gone, is_remote
from leastnoise.curator.engines.spark_settings import applied
from leastnoise.curator.engines.spark_workers import check_workers, wait_for_workers
from leastnoise.curator.engines.temporary_names import unique
from leastnoise.curator.engines.withheld_errors import reading
from leastnoise.errors import EngineUnavailable, ReadingFailed, UnknownSource

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import numpy as np
    import pyarrow as pa

T = TypeVar("T")
MAX_SET = 2**17  # different values of one unit that are in memory at once, as objects of Java
ROW_BYTES = 16  # of a table, where its bytes are all that is known
MANY = 2**62
_naming = threading.Lock()  # threads of one session share its names: none drops what another is about to look up


class Spark:
    """An Ibis connection to a Spark session of our own, beside the one that was given: there, somebody may have put
    functions in the place of Spark's."""

    name = "spark"
    copies = False  # what Spark keeps may be lost with an executor, and is then computed again
    sends_rows = True

    def __init__(self, given: Any) -> None:
        import ibis

        spark_session.check_answers(given)
        self.given, self.session = given, spark_session.own_of(given)
        if is_remote(given):
            weakref.finalize(self, spark_server.end, self.session).atexit = False
        self.files: list[str] = []
        self._frames: dict[str, Any] = {}  # views that our tables are read from
        self._sizes: dict[str, int] = {}  # of these, in bytes
        self._workers_checked = False
        self._workers_failed = False
        self._smallest = spark_first_rows.builder_in(self.session)
        spark_session.set_interpreter(self.session)
        with self._applied():
            self.backend = reading(lambda: ibis.pyspark.connect(self.session))

    def _applied(self) -> AbstractContextManager[None]:
        return applied(self.session, self.given)

    def _check_answers(self) -> None:
        spark_session.check_answers(self.given)
        if is_remote(self.session):
            spark_session.check_answers(self.session)

    def check_ready(self, rows: ir.Table, *, in_python: bool) -> None:
        """The session answers, with functions of Spark's own; and its workers have what is needed where Python runs
        there."""
        self._check_answers()
        if not is_remote(self.session):
            spark_session.check_functions(self.session)
        wait_for_workers(self.session)
        if not self._workers_checked and (in_python or _has_python(rows)):
            check_workers(self.session)
            self._workers_checked = True

    def runs_python(self) -> bool:
        """Asked of the workers once; who ships the package later opens the table again. Where it failed, for want of
        memory perhaps, it is not tried a second time."""
        if not self._workers_checked and not self._workers_failed:
            try:
                check_workers(self.session)
            except EngineUnavailable:
                self._workers_failed = True
            else:
                self._workers_checked = True
        return not self._workers_failed

    def read_files(self, files: list[str], layout: CsvLayout = PLAIN) -> ir.Table:
        """The rows of Parquet or CSV files; folders named column=value are columns."""
        self.files = files
        return self._opened(lambda: reading(lambda: spark_files.frame_of_files(self.session, files, layout), files))

    def _opened(self, frame: Callable[[], Any]) -> ir.Table:
        self._check_answers()
        wait_for_workers(self.session)
        with self._applied():
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
        try:
            same = taken.schema == frame.schema
        except Exception:
            same = False
        if not same:
            raise UnknownSource(
                "this DataFrame of Spark Connect uses a temporary view or function of its session, or rows that were "
                "sent to it, and queries run in a session of our own. Write it to a table of the catalogue or to "
                'Parquet, and open that: frame.write.saveAsTable("name").'
            )
        return taken

    def view(self, frame: Any) -> ir.Table:
        """A Spark DataFrame as an Ibis table. Texts are equal where their bytes are: a collation takes A for a, and one
        person's own spelling would stand for everybody's."""
        from ibis.common.exceptions import IbisTypeError
        from pyspark.sql.types import StringType

        sql = spark_files.functions_of(self.session)

        def plain(field: Any) -> Any:
            column = sql.col(spark_files.quoted(field.name))
            collated = isinstance(field.dataType, StringType) and field.dataType != StringType()
            return column.cast(StringType()).alias(field.name) if collated else column

        if any(isinstance(field.dataType, StringType) and field.dataType != StringType() for field in frame.schema):
            frame = frame.select(*[plain(field) for field in frame.schema])
        name = unique("rows")
        self._frames[name] = frame
        frame.createOrReplaceTempView(name)
        try:
            return self.backend.table(name)
        except IbisTypeError:
            unknown = UnknownSource(
                "a column of this table has a type that is not known here, such as an interval. Drop it first: "
                'frame.drop("column").'
            )
        finally:
            self._drop(name)
        raise unknown

    def sql(self, expression: Callable[[], ir.Table]) -> str:
        """With windows, where a query of ours would name a function that Spark's SQL has no name for."""
        with spark_first_rows.written_out():
            return str(self.backend.compile(expression(), pretty=True))

    def fetch(self, expression: ir.Table) -> pa.Table:
        return self._read(expression, lambda frame: frame.toArrow())

    def map_batches(self, expression: ir.Table, size: int, work: Callable[[pa.Table], T]) -> list[T]:
        """One partition of the answer is in the driver at a time; of its rows here, `size`."""
        import pyarrow as pa

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
        self._check_answers()

        def run() -> T:
            with progress.watched("reading", percent_done(self.session)):
                if is_remote(self.session):  # a server looks names up when it reads
                    with self._named(expression):
                        return answer(self.session.sql(self.backend.compile(expression)))
                with _naming, self._named(expression):
                    frame = self.session.sql(self.backend.compile(expression))
                return answer(frame)

        with self._applied():
            return reading(run, self.files)

    @contextmanager
    def _named(self, expression: ir.Table) -> Iterator[None]:
        """Everything that the text of the expression names: our views, tables of keys, functions."""
        import ibis.expr.operations as ops

        node, made = expression.op(), []
        try:
            for table in node.find(ops.DatabaseTable):
                if table.name in self._frames:
                    made.append(table.name)
                    self._frames[table.name].createOrReplaceTempView(table.name)
            for public in node.find(ops.InMemoryTable):
                made.append(public.name)
                self.backend._register_in_memory_table(public)
            self.backend._register_udfs(expression)
            if spark_first_rows.is_used(expression):
                spark_first_rows.register(self.session, self._smallest)
            yield
        finally:
            if not is_gone(self.session):
                self._drop(*made)
                self._drop_functions(expression)
                if spark_first_rows.is_used(expression):
                    spark_first_rows.drop(self.session)

    def _drop(self, *views: str) -> None:
        for name in views:
            with suppress(Exception):  # with the session, its views are gone as well
                self.session.catalog.dropTempView(name)

    def _drop_functions(self, expression: ir.Table) -> None:
        for function in _python_functions(expression):
            with suppress(Exception):
                name = spark_files.quoted(self.backend.compiler.__sql_name__(function))
                self.session.sql(f"DROP TEMPORARY FUNCTION IF EXISTS {name}")

    def copied(self, rows: ir.Table) -> AbstractContextManager[ir.Table]:
        raise NotImplementedError("Spark reads rows in one query")

    def verify(self, files: tuple[str, ...], columns: list[str]) -> None:
        """Spark checks both while it reads."""

    def text_hash(self, text: ir.StringValue) -> ir.IntegerValue:
        import ibis

        digits = text.hexdigest("md5")
        word = digits.substr(22, 2) + digits.substr(20, 2) + digits.substr(18, 2) + digits.substr(16, 2)
        convert = ibis.udf.scalar.builtin(_conv, name="conv", signature=(("string", "int32", "int32"), "string"))
        return convert(word, ibis.literal(16, "int32"), ibis.literal(10, "int32")).cast("int64")

    def exact_sum(self, column: ir.IntegerColumn) -> ir.Value:
        # Spark raises when a BIGINT sum overflows; 38 digits hold 2^63 times 10^19 rows.
        return column.cast("decimal(38, 0)").sum()

    @property
    def _has_smallest(self) -> bool:
        return self._smallest is not None and not spark_first_rows.is_written_out()

    def smallest(self, rows: ir.Table, *, unit: list[str], column: str, count: int) -> ir.Table:
        if count == 1:
            return spark_first_rows.least_value(rows, unit, column)
        if self._has_smallest and spark_first_rows.fits(rows, [column], count):
            return spark_first_rows.least_values(rows, unit, column, count)
        return self.first(rows, unit=unit, order=[column], count=count, keep=[column])

    def smallest_distinct(
        self, rows: ir.Table, *, unit: list[str], column: str, count: int, different: int
    ) -> ir.Table:
        """As a set, which every part of the table makes of a unit's rows before they are sent. Where it may be large,
        the pairs of unit and value are sent once more."""
        if different <= MAX_SET:
            lists = rows.group_by(unit).aggregate(**{column: _set_of(rows[column])})
            values = spark_first_rows.sorted_list(lists[column])
            return lists.select(**{column: (values[:count] if count < different else values).unnest()})
        return self.smallest(rows.select(*unit, column).distinct(), unit=unit, column=column, count=count)

    def first(self, rows: ir.Table, *, unit: list[str], order: list[str], count: int, keep: list[str]) -> ir.Table:
        if count == 1:
            return spark_first_rows.least_row(rows, unit, order, keep)
        if self._has_smallest and spark_first_rows.fits(rows, [*order, *keep], count):
            return spark_first_rows.least_rows(rows, unit, order, count, keep)
        ranked = rows.mutate(_rank=self.row_number(unit=unit, order=order))
        return ranked.filter(ranked["_rank"] <= count).select(keep)

    def row_number(self, *, unit: list[str], order: list[str]) -> ir.Value:
        """Compared with a constant and nothing in between, it lets Spark keep the first rows of a unit in every part of
        the table before they are sent: the heaviest unit is no more work than others."""
        import ibis

        number = ibis.udf.agg.builtin(_row_number, name="row_number", signature=((), "int64"))
        return number().over(ibis.window(group_by=unit, order_by=order, rows=(None, 0)))

    def map_points(self, function: Any, x: ir.Value, y: ir.Value, *, result: str) -> ir.Value:
        import ibis

        signature = (("float64", "float64"), result)
        task = spark_tasks.points(function)
        return ibis.udf.scalar.pandas(task, name=unique("points"), signature=signature)(x, y)

    def size(self, rows: ir.Table) -> int:
        """By Spark's estimate of the bytes of its tables. A server does not tell: its tables are taken for large."""
        import ibis.expr.operations as ops

        if is_remote(self.session):
            return MANY
        return sum(self._bytes_of(table.name) for table in rows.op().find(ops.DatabaseTable)) // ROW_BYTES

    def _bytes_of(self, name: str) -> int:
        def estimate() -> int:
            plan = self._frames[name]._jdf.queryExecution().optimizedPlan()
            return int(str(plan.stats().sizeInBytes()))

        if name not in self._sizes:
            with self._applied():
                self._sizes[name] = reading(estimate, self.files)
        return self._sizes[name]

    def passes(self, rows: ir.Table, *, size: int, kept: int) -> int:
        return 1  # Spark spills to disk by itself

    def holds(self, size: int) -> bool:
        return True

    def vector_sums(
        self, rows: ir.Table, reduce: Callable[[Iterator[pa.RecordBatch]], np.ndarray[Any, Any]]
    ) -> list[np.ndarray[Any, Any]]:
        """`reduce` runs in the executors, once a partition; its integers come back as decimals in text."""
        import numpy as np

        def run(frame: Any) -> list[np.ndarray[Any, Any]]:
            answer = frame.mapInArrow(spark_tasks.totals(reduce), "total array<string>").collect()
            return [np.array([int(value) for value in row.total], dtype=object) for row in answer]

        return self._read(rows, run)

    def kept_rows(
        self, rows: ir.Table, rule: RowRule, answer: Callable[[ir.Table], ir.Table], *, size: int
    ) -> list[pa.Table]:
        """The rule runs in the executors. That a group comes to one call whole is what Spark's `applyInArrow` means,
        however its plan is changed while it runs."""

        def run(frame: Any) -> pa.Table:
            chunks = frame.mapInArrow(spark_tasks.sent(rule), "group int, packed binary")
            groups = chunks.groupBy("group").applyInArrow(spark_tasks.received(rule), "code bigint")
            codes = self.view(groups)
            try:
                with self._named(codes):
                    answered = self.session.sql(self.backend.compile(answer(codes)))
                    return answered.toArrow()
            finally:
                self._frames.pop(codes.get_name())

        try:
            return [self._read(rows, run)]
        except ReadingFailed:
            self._workers_failed = True
            raise

    def summed_cells(
        self,
        rows: ir.Table,
        count: Callable[[Iterator[pa.RecordBatch]], np.ndarray[Any, Any]],
        cells: int,
    ) -> np.ndarray[Any, Any]:
        """`count` runs in the executors, once a partition; the cells that are not zero are added up there as well."""
        import numpy as np

        def run(frame: Any) -> np.ndarray[Any, Any]:
            parts = frame.mapInArrow(spark_tasks.filled_cells(count), "cell bigint, total bigint")
            answer = parts.groupBy("cell").sum("total").toArrow()
            made = np.zeros(cells, np.int64)
            made[answer["cell"].to_numpy()] = answer["sum(total)"].to_numpy()
            return made

        return self._read(rows, run)


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
    return Source(engine=engine, rows=engine._opened(lambda: reading(lambda: engine.taken(frame))), name=name)


def open_named(text: str, *, engine: str, config: Mapping[str, str], name: str, layout: CsvLayout = PLAIN) -> Source:
    """What an address or a name means to the session: it is read by the session alone."""
    if "${" in text:
        raise UnknownSource(f'in "{text}" Spark may replace what stands after ${{. Give the DataFrame itself.')
    layout.check_is_csv(spark_names.is_address(text) and spark_files.is_csv_address(text))
    opened = connect(engine, config)

    def frame() -> Any:
        if spark_names.is_address(text):
            return spark_files.frame_of_uri(opened.session, text, layout)
        return opened.taken(opened.given.sql(spark_names.statement(text)))

    def checked() -> Any:
        found = opening(frame, text)
        check_names(opening(lambda: found.columns, text))  # of Spark Connect, the first that is asked
        return found

    return Source(engine=opened, rows=opened._opened(checked), name=name, layout=layout)


def _python_functions(rows: ir.Table) -> list[Any]:
    import ibis.expr.operations as ops
    from ibis.expr.operations.udf import InputType

    return [udf for udf in rows.op().find(ops.ScalarUDF) if udf.__input_type__ != InputType.BUILTIN]


def _has_python(rows: ir.Table) -> bool:
    return bool(_python_functions(rows))


def _row_number() -> Any:
    """Spark's own: 1, 2, 3 ... in the order of the window."""


def _set_of(column: ir.IntegerColumn) -> ir.ArrayValue:
    import ibis

    return ibis.udf.agg.builtin(_collected, name="collect_set", signature=(("int64",), "array<int64>"))(column)


def _collected(column: Any) -> Any:
    """Spark's own: the different values of a column, as a list."""


def _conv(text: Any, source: Any, target: Any) -> Any:
    """Spark's own: a number in text from one base to another."""
