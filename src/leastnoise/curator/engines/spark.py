"""Spark, when one machine is not enough. Only the aggregate reaches the driver."""

from __future__ import annotations

import importlib.util
import logging
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, TypeVar

from leastnoise.curator.engines import partitions, spark_master, withheld_errors
from leastnoise.curator.engines.column_names import check_names
from leastnoise.curator.engines.headers import header, separator
from leastnoise.curator.engines.opened_table import Source
from leastnoise.curator.engines.temporary_names import unique
from leastnoise.curator.engines.time_units import units
from leastnoise.errors import EngineUnavailable, UnknownSource

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import numpy as np
    import pyarrow as pa

T = TypeVar("T")
MALFORMED = "a row of the CSV has more or fewer fields than its header"  # in the logs of Spark, so without a cell
# By these our SQL means what it says, and the same as on DuckDB. A session may be somebody else's, and it may change.
SETTINGS = {
    "spark.sql.variable.substitute": "false",  # ${env:HOME} in a text or in a name is replaced after our checks
    "spark.sql.parser.escapedStringLiterals": "false",  # how a backslash in a text is read
    "spark.sql.parser.quotedRegexColumnNames": "false",  # `a.*` names one column, not all that match
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.ansi.enabled": "true",  # arithmetic and casts do not wrap around in silence
    "spark.sql.caseSensitive": "false",  # as in DuckDB; names that differ in case alone are refused
    "spark.sql.groupByOrdinal": "true",  # Ibis writes GROUP BY 1
    "spark.sql.orderByOrdinal": "true",
    "spark.sql.session.timeZone": "UTC",  # hours and days are those of UTC
    "spark.sql.timestampType": "TIMESTAMP_LTZ",  # what CAST(... AS TIMESTAMP) makes
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",  # days before 1582 are not moved
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96TimestampConversion": "false",
    "spark.sql.legacy.parquet.nanosAsLong": "true",  # nanoseconds are read, and cut by our own rule
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",  # no folder decides about a type
    "spark.sql.csv.filterPushdown.enabled": "false",  # a malformed row is noticed also where a filter drops it
    "spark.sql.files.ignoreCorruptFiles": "false",  # rows are not lost in silence
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.files.ignoreInvalidPartitionPaths": "false",
}
CELLS_SENT = 2**20  # of a count, in one batch
LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")  # PySpark's own: they quote what failed
_silence = threading.local()  # `active` while this thread reads rows


def reading(work: Callable[[], T], files: Sequence[str] = ()) -> T:
    """As for every engine, and PySpark's own loggers are silent meanwhile in this thread."""
    from pyspark.logger import PySparkLogger

    for name in LOGGERS:
        PySparkLogger.getLogger(name).addFilter(_is_logged)  # a second time changes nothing
    before, _silence.active = getattr(_silence, "active", False), True
    try:
        return withheld_errors.reading(work, files)
    finally:
        _silence.active = before


def _is_logged(record: logging.LogRecord) -> bool:
    return not getattr(_silence, "active", False)


class Spark:
    """An Ibis connection to a Spark session, whose settings become those above."""

    name = "spark"
    copies = False  # what Spark keeps may be lost with an executor, and is then computed again

    def __init__(self, backend: Any) -> None:
        self.backend = backend
        self.files: list[str] = []
        self.settle()

    def settle(self) -> None:
        """Set what our SQL relies on, and read it back; raises before any row is read."""
        conf = self.backend._session.conf
        for name, value in SETTINGS.items():
            try:
                conf.set(name, value)
                is_set = conf.get(name) == value
            except Exception:
                is_set = False
            if not is_set:
                raise EngineUnavailable(
                    f"this Spark session does not let {name} be {value}, and without that a query may mean something "
                    "else than was checked. Use another session, or let us open one: name the master as the engine.",
                    parameter="engine",
                    example={"engine": "spark://host:7077"},
                )

    def read_files(self, files: list[str]) -> ir.Table:
        """The rows of Parquet or CSV files; folders named column=value are columns."""
        self.files = files
        return reading(lambda: self.view(self._reader(files)), files)

    def view(self, frame: Any) -> ir.Table:
        """A Spark DataFrame as an Ibis table. Texts are equal where their bytes are: a collation takes A for a, and one
        person's own spelling would stand for everybody's."""
        from ibis.common.exceptions import IbisTypeError
        from pyspark.sql import functions as sql
        from pyspark.sql.types import StringType

        def plain(field: Any) -> Any:
            column = sql.col(_quoted(field.name))
            collated = isinstance(field.dataType, StringType) and field.dataType != StringType()
            return column.cast(StringType()).alias(field.name) if collated else column

        if any(isinstance(field.dataType, StringType) and field.dataType != StringType() for field in frame.schema):
            frame = frame.select(*[plain(field) for field in frame.schema])
        name = unique("rows")
        frame.createOrReplaceTempView(name)
        try:
            return self.backend.table(name)
        except IbisTypeError:
            unknown = UnknownSource(
                "a column of this table has a type that is not known here, such as an interval. Drop it first: "
                'frame.drop("column").'
            )
        raise unknown

    def _reader(self, files: list[str]) -> Any:
        folders = partitions.columns(files)
        read = self._parquet if files[0].lower().endswith(".parquet") else self._csv
        return self._decoded(read(files, folders), files, folders)

    def _paths(self, files: list[str], folders: tuple[str, ...]) -> tuple[Any, list[str]]:
        """A reader that takes paths by their letters, and the paths: Spark does not undo the %3D of a URI."""
        reader = self.backend._session.read.option("__globPaths__", "false")
        if folders:
            reader = reader.option("basePath", "file:" + os.path.abspath(partitions.base(files[0]) or "/"))
        else:
            reader = reader.option("recursiveFileLookup", "true")
        return reader, ["file:" + os.path.abspath(file) for file in files]

    def _parquet(self, files: list[str], folders: tuple[str, ...]) -> Any:
        """With the schema of the first file, the folders as text, and times that are not in microseconds as integers:
        Spark fails where milliseconds overflow, and does not know nanoseconds."""
        from pyspark.sql import functions as sql
        from pyspark.sql.types import LongType, StringType, StructField, StructType

        reader, paths = self._paths(files[:1], ())
        odd = units(files[0])
        kinds = {field.name: field.dataType for field in reader.parquet(*paths).schema}
        replaced = [name for name in kinds if re.search(r"\$\{[^}:$ ]+\}", name)]
        if replaced:  # by Hadoop, through whose settings the names of the columns go
            raise UnknownSource(
                f'Spark would put the value of a setting into the name of the column "{replaced[0]}", and read another '
                "one. Rename the column, or use DuckDB."
            )
        kinds |= dict.fromkeys((name for name in odd if name in kinds), LongType())
        kinds |= dict.fromkeys(folders, StringType())
        reader, paths = self._paths(files, folders)
        reader = reader.option("parquet.page.verify-checksum.enabled", "true")
        frame = reader.schema(StructType([StructField(name, kind) for name, kind in kinds.items()])).parquet(*paths)
        times = {name: sql.expr(_time(_quoted(name), odd[name])) for name in odd if name in kinds}
        return frame.withColumns(times) if times else frame

    def _csv(self, files: list[str], folders: tuple[str, ...]) -> Any:
        """Every cell reads the mark of a malformed row, which is an error without a word of the row."""
        from pyspark.sql import functions as sql

        mark, names = unique("malformed"), header(files[0])
        reader, paths = self._paths(files, folders)
        for option, value in {
            "escape": '"',
            "multiLine": "true",
            "sep": separator(files[0]),
            "maxColumns": str(2**20),  # beyond this Spark fails in words that quote the row
            "columnPruning": "false",  # with it, a row with too few fields is taken where the rest is not asked for
            "columnNameOfCorruptRecord": mark,
        }.items():
            reader = reader.option(option, value)
        schema = ", ".join(f"{_quoted(name)} STRING" for name in (*names, mark, *folders))
        frame = reader.csv(paths, header=True, schema=schema, mode="PERMISSIVE", enforceSchema=True)
        # Spark does not let a query read the mark and folders alone, so the first cell is read as well.
        intact = sql.col(mark).isNull() & (sql.coalesce(sql.length(sql.col(_quoted(names[0]))), sql.lit(0)) >= 0)
        failed = sql.raise_error(sql.lit(MALFORMED)).cast("string")
        cells = [sql.when(intact, sql.col(_quoted(name))).otherwise(failed).alias(name) for name in (*names, *folders)]
        return frame.select(*cells)

    def _decoded(self, frame: Any, files: list[str], folders: tuple[str, ...]) -> Any:
        """Values of folders as on DuckDB."""
        from pyspark.sql import functions as sql

        for name in folders:
            wrong = partitions.misread(files, name)
            if wrong:
                column = sql.col(_quoted(name))
                pairs = [sql.lit(text) for pair in wrong.items() for text in pair]
                frame = frame.withColumn(name, sql.coalesce(sql.create_map(*pairs)[column], column))
        return frame

    def sql(self, expression: ir.Table) -> str:
        return str(self.backend.compile(expression, pretty=True))

    def fetch(self, expression: ir.Table) -> pa.Table:
        self.settle()
        return reading(lambda: self._run(expression).toArrow(), self.files)

    def _run(self, expression: ir.Table) -> Any:
        """The Spark frame of an expression. Ibis itself would bring it here through pandas, where a whole number beside
        a null becomes a double and a day after 2262 fails."""
        self.backend._run_pre_execute_hooks(expression)
        return self.backend._session.sql(self.backend.compile(expression))

    def copied(self, rows: ir.Table) -> AbstractContextManager[ir.Table]:
        raise NotImplementedError("Spark reads rows in one query")

    def verify(self, files: tuple[str, ...], columns: list[str]) -> None:
        """Spark checks checksums while it reads."""

    def text_hash(self, text: ir.StringValue) -> ir.IntegerValue:
        import ibis

        digits = text.hexdigest("md5")
        word = digits.substr(22, 2) + digits.substr(20, 2) + digits.substr(18, 2) + digits.substr(16, 2)
        convert = ibis.udf.scalar.builtin(_conv, name="conv", signature=(("string", "int32", "int32"), "string"))
        return convert(word, ibis.literal(16, "int32"), ibis.literal(10, "int32")).cast("int64")

    def exact_sum(self, column: ir.IntegerColumn) -> ir.Value:
        # Spark raises when a BIGINT sum overflows; 38 digits hold 2^63 times 10^19 rows.
        return column.cast("decimal(38, 0)").sum()

    def smallest(self, rows: ir.Table, *, unit: list[str], column: str, count: int) -> ir.Table:
        import ibis

        within = ibis.window(group_by=unit, order_by=[column])
        ranked = rows.mutate(_rank=ibis.row_number().over(within))
        return ranked.filter(ranked["_rank"] < count).select(column)

    def map_points(self, function: Any, x: ir.Value, y: ir.Value, *, result: str) -> ir.Value:
        import ibis

        def points(x: Any, y: Any) -> Any:
            import pandas as pd

            return pd.Series(list(function(x.to_numpy(), y.to_numpy())))

        signature = (("float64", "float64"), result)
        return ibis.udf.scalar.pandas(points, name=unique("points"), signature=signature)(x, y)

    def passes(self, rows: ir.Table, *, unit: list[str], kept: int) -> int:
        return 1  # Spark spills to disk by itself

    def vector_sums(
        self, rows: ir.Table, reduce: Callable[[Iterator[pa.RecordBatch]], np.ndarray[Any, Any]]
    ) -> list[np.ndarray[Any, Any]]:
        """`reduce` runs in the executors, once a partition; its integers come back as decimals in text."""
        import numpy as np

        def part(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            import pyarrow as pa

            yield pa.RecordBatch.from_pydict({"total": [[str(value) for value in reduce(batches)]]})

        def run() -> list[np.ndarray[Any, Any]]:
            frame = self._run(rows)
            answer = frame.mapInArrow(part, "total array<string>").collect()
            return [np.array([int(value) for value in row.total], dtype=object) for row in answer]

        self.settle()
        return reading(run, self.files)

    def summed_cells(
        self,
        rows: ir.Table,
        count: Callable[[Iterator[pa.RecordBatch]], np.ndarray[Any, Any]],
        cells: int,
    ) -> np.ndarray[Any, Any]:
        """`count` runs in the executors, once a partition; the cells that are not zero are added up there as well."""
        import numpy as np

        def part(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            import numpy as np
            import pyarrow as pa

            total = count(batches)
            (filled,) = np.nonzero(total)
            for begin in range(0, filled.size, CELLS_SENT):
                some = filled[begin : begin + CELLS_SENT]
                yield pa.RecordBatch.from_pydict({"cell": some.astype(np.int64), "total": total[some]})

        def run() -> np.ndarray[Any, Any]:
            parts = self._run(rows).mapInArrow(part, "cell bigint, total bigint")
            answer = parts.groupBy("cell").sum("total").toArrow()
            made = np.zeros(cells, np.int64)
            made[answer["cell"].to_numpy()] = answer["sum(total)"].to_numpy()
            return made

        self.settle()
        return reading(run, self.files)


def connect(master: str) -> Spark:
    """A session on a master such as spark://host:7077 or local[2]; a running session of that master is
    used."""
    import ibis

    spark_master.check_java()
    spark_master.check_answers(master)
    if importlib.util.find_spec("pyspark") is None:
        raise EngineUnavailable("Spark is not installed. Type pip install 'leastnoise[spark]'.")
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    running = SparkSession.getActiveSession()
    if running is not None and running.sparkContext.master != master:
        raise EngineUnavailable(
            f"a Spark session on {running.sparkContext.master} is running, and a process has one. "
            f"Stop it to use {master}, or pass one of its DataFrames to table()."
        )
    builder = SparkSession.builder.master(master).appName("leastnoise")
    builder = builder.config("spark.ui.enabled", "false").config("spark.sql.session.timeZone", "UTC")
    # What Spark logs of a task that failed may quote a cell, here and on the workers.
    builder = builder.config("spark.log.level", "OFF").config("spark.executor.syncLogLevel.enabled", "true")
    try:
        session = builder.getOrCreate()
    except Exception:
        session = None
    if session is None:
        raise EngineUnavailable(f"Spark could not be started on {master}. Try `pyspark --master {master}` by hand.")
    return Spark(reading(lambda: ibis.pyspark.connect(session)))


def open_frame(frame: Any, *, name: str) -> Source:
    """A Spark DataFrame, in its own session."""
    import ibis

    if type(frame).__name__ != "DataFrame":
        raise UnknownSource(f"a Spark DataFrame is needed. Got {type(frame).__name__}.")
    check_names(frame.columns)
    engine = Spark(ibis.pyspark.connect(frame.sparkSession))
    return Source(engine=engine, rows=reading(lambda: engine.view(frame)), name=name)


def is_catalogue_name(text: str) -> bool:
    """`table`, `database.table` or `catalogue.database.table`, and no file of that name."""
    return re.fullmatch(r"\w+(\.\w+){0,2}", text) is not None and not os.path.exists(text)


def open_catalogue(table: str, *, master: str, name: str) -> Source:
    """A table of the session's catalogue."""
    engine = connect(master)
    if not reading(lambda: engine.backend._session.catalog.tableExists(table)):
        raise UnknownSource(f'there is neither a file nor a table "{table}" in the catalogue of {master}.')
    return Source(engine=engine, rows=reading(lambda: engine.view(engine.backend._session.table(table))), name=name)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _time(count: str, unit: str) -> str:
    """A time from its milliseconds or nanoseconds; the least integers, and what DuckDB takes for infinity, are null."""
    if unit == "milliseconds":
        return f"timestamp_millis(IF({count} BETWEEN -62135596800000 AND 253402300799999, {count}, NULL))"
    inside = f"IF({count} BETWEEN -9223372036854774807 AND 9223372036854775806, {count}, NULL)"
    return f"timestamp_micros(({inside} - pmod({inside}, 1000L)) DIV 1000L)"


def _conv(text: Any, source: Any, target: Any) -> Any:
    """Spark's own: a number in text from one base to another."""
