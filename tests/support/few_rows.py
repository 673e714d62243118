"""A Spark session that is quick for tables of a few rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# One partition, and no code compiled for a query that runs once. (Tests of many rows run as Spark does by itself.)
FEW_ROWS = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
}


@contextmanager
def quick_for_few_rows(session: Any) -> Iterator[None]:
    """Within the block the session has these settings; after it, those it had."""
    before = {name: session.conf.get(name) for name in FEW_ROWS}
    for name, value in FEW_ROWS.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            session.conf.set(name, value)
