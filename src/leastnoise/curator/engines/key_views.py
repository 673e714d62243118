"""Tables of keys that a query of DuckDB names: views of its connection while it runs, and no longer.

The connection would keep every one of them in memory for as long as it lives.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import ibis.expr.types as ir

T = TypeVar("T")


def dropped_after(backend: Any, rows: ir.Table, work: Callable[[], T]) -> T:
    """`work()`, which runs a query over `rows`."""
    try:
        return work()
    finally:
        with suppress(Exception):  # the connection may be gone
            _drop(backend, rows)


def _drop(backend: Any, rows: ir.Table) -> None:
    import ibis.expr.operations as ops

    for table in rows.op().find(ops.InMemoryTable):
        if table in backend._memtables:
            backend._memtables.discard(table)  # first: what Ibis takes for registered it does not register again
            backend.con.unregister(table.name)
