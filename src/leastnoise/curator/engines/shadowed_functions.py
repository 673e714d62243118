"""Functions of somebody else's connection or session that are called like those of the engine.

Our SQL would call them: with CREATE MACRO sum(x) AS 5 every row counts five times, and with another `floor`, registered
as such, a value is no longer what the clip made of it. The names are of a catalogue, which is public; no row is read.
A server of Spark Connect does not tell where its functions come from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from leastnoise.curator.engines.withheld_errors import reading
from leastnoise.errors import UnknownSource

_SHADOWED = """
SELECT DISTINCT lower(function_name) AS name FROM duckdb_functions() WHERE NOT internal
INTERSECT SELECT lower(function_name) FROM duckdb_functions() WHERE internal ORDER BY name
"""
_BUILT_IN = "built-in"  # where Spark says that a function of its own comes from


def check(connection: Any) -> None:
    """Refuse a DuckDB connection on which a function of DuckDB's own means something else."""
    _refuse([name for (name,) in reading(lambda: connection.execute(_SHADOWED).fetchall())], "DuckDB")


def check_session(session: Any) -> None:
    """The same of a Spark session with a JVM of its own."""
    try:
        known = set(_names(session._jvm.org.apache.spark.sql.catalyst.analysis.FunctionRegistry.builtin()))
        found = sorted(known & set(_names(session._jsparkSession.sessionState().functionRegistry(), others=True)))
    except Exception:  # where a session may not be asked, nobody can tell
        found = []
    _refuse(found, "Spark")


def _names(registry: Any, *, others: bool = False) -> Iterator[str]:
    """The functions of a registry of Spark's; only those that are not Spark's own."""
    listed = registry.listFunction().iterator()
    while listed.hasNext():
        name = listed.next()
        if not others or registry.lookupFunction(name).get().getSource() != _BUILT_IN:
            yield name.funcName()


def _refuse(names: Sequence[str], engine: str) -> None:
    if names:
        raise UnknownSource(
            f"functions that somebody defined are called like those of {engine}, {', '.join(names)}, and would be "
            "called in their place. Nothing was read. Drop them and give them other names (Spark forgets them with the "
            "session), or write the table to Parquet and open that."
        )
