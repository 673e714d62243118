"""Spark, when one machine is not enough. Only the aggregate reaches the driver."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leastnoise.engines import Source, reading, unique
from leastnoise.engines.headers import header, separator
from leastnoise.errors import EngineUnavailable, UnknownSource

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import numpy as np
    import pyarrow as pa

PATIENCE = 5.0  # seconds to wait for a master to answer


class Spark:
    """An Ibis connection to a Spark session. Ibis sets that session's time zone to UTC, on which hours
    rely."""

    name = "spark"
    copies = False  # what Spark keeps may be lost with an executor, and is then computed again

    def __init__(self, backend: Any) -> None:
        self.backend = backend
        self.files: list[str] = []

    def read_files(self, files: list[str]) -> ir.Table:
        """The rows of Parquet or CSV files; folders named column=value are columns."""
        self.files = files
        return reading(lambda: self.view(self._reader(files)), files)

    def view(self, frame: Any) -> ir.Table:
        """A Spark DataFrame as an Ibis table."""
        from ibis.common.exceptions import IbisTypeError

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
        paths = [Path(file).absolute().as_uri() for file in files]
        reader = self.backend._session.read
        root = re.match(r"(.*?)/[^/=]+=[^/]*/", paths[0])
        if root:
            reader = reader.option("basePath", root.group(1))
        if files[0].lower().endswith(".parquet"):
            return reader.option("parquet.page.verify-checksum.enabled", "true").parquet(*paths)
        names = ", ".join("`" + name.replace("`", "``") + "` STRING" for name in header(files[0]))
        reader = reader.option("escape", '"').option("multiLine", "true").option("sep", separator(files[0]))
        return reader.csv(paths, header=True, schema=names, mode="FAILFAST", enforceSchema=True)

    def sql(self, expression: ir.Table) -> str:
        return str(self.backend.compile(expression, pretty=True))

    def fetch(self, expression: ir.Table) -> pa.Table:
        return reading(lambda: self.backend.to_pyarrow(expression), self.files)

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
            frame = self.backend._session.sql(self.backend.compile(rows))
            answer = frame.mapInArrow(part, "total array<string>").collect()
            return [np.array([int(value) for value in row.total], dtype=object) for row in answer]

        return reading(run, self.files)


def connect(master: str) -> Spark:
    """A session on a master such as spark://host:7077 or local[2]; a running session of that master is
    used."""
    import ibis

    _find_java()
    _knock(master)
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
    engine = Spark(ibis.pyspark.connect(frame.sparkSession))
    return Source(engine=engine, rows=engine.view(frame), name=name)


def is_catalogue_name(text: str) -> bool:
    """`table`, `database.table` or `catalogue.database.table`, and no file of that name."""
    return re.fullmatch(r"\w+(\.\w+){0,2}", text) is not None and not os.path.exists(text)


def open_catalogue(table: str, *, master: str, name: str) -> Source:
    """A table of the session's catalogue."""
    engine = connect(master)
    if not reading(lambda: engine.backend._session.catalog.tableExists(table)):
        raise UnknownSource(f'there is neither a file nor a table "{table}" in the catalogue of {master}.')
    return Source(engine=engine, rows=reading(lambda: engine.view(engine.backend._session.table(table))), name=name)


def _find_java() -> None:
    home = os.environ.get("JAVA_HOME", "")
    if not (home and os.path.exists(os.path.join(home, "bin", "java"))) and shutil.which("java") is None:
        raise EngineUnavailable(
            "Spark needs Java 17 or 21, and none is found in JAVA_HOME or on PATH. "
            "Install one (Debian: apt install openjdk-17-jre-headless) or use the default engine."
        )


def _knock(master: str) -> None:
    """Spark itself would wait for a minute and more when nobody answers."""
    if not master.startswith("spark://"):
        if re.match(r"local(\[.*\])?$|yarn$|k8s://", master) is None:
            raise UnknownSource(
                f'engine must be "duckdb" or a Spark master such as "spark://host:7077" or "local[2]". Got {master!r}.'
            )
        return
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.partition(":")
        try:
            socket.create_connection((host, int(port or 7077)), timeout=PATIENCE).close()
        except (OSError, ValueError):
            continue
        return
    raise EngineUnavailable(
        f"no Spark master answers at {master} within {PATIENCE:g} seconds. Check the address, or start it."
    )


def _conv(text: Any, source: Any, target: Any) -> Any:
    """Spark's own: a number in text from one base to another."""
