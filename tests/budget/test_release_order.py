"""Every kind of release, paid from either store: first the debit is committed, then rows are read, then noise is drawn.

All reading ends before the first draw. Of keys that nobody listed that is so where the rows are in this process, as
here; Spark sends them in batches, and noise is drawn for one before the next is read. The debit is before both there,
too, because it is one code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest

import leastnoise as ln
from dirty_rows import QUERIES, dirty
from postgres_server import ANALYST, ANALYST_PASSWORD, Server, grants
from release_order import Order

pytestmark = pytest.mark.filterwarnings("ignore::leastnoise.errors.WeakPromise")

ORDER = Order()
# Every kind of question, of rows and of units, of listed and unknown keys; those that differ by keys alone once.
KINDS = [
    "count", "count of units", "rows, every limit", "text keys", "product", "unknown keys", "unknown days", "sparse",
    "sum", "sum of integers by bin", "mean by bin", "quantile", "quantile by bin", "vector sum", "array mean",
    "nearest", "kernel", "summary", "summary of unknown keys", "total of unknown keys", "crosstabs",
    "crosstabs of weights", "units by every statistic", "texts of units", "zones of a map", "a public table by text",
]  # fmt: skip
Call = Callable[..., Any]
DIRECT: dict[str, Call] = {
    "a vector": lambda t, **paid: ln.release(ORDER.numbers(7, 0, 5), sensitivity=1, **paid),
    "a vector of Laplace noise": lambda t, **paid: ln.release(
        ORDER.numbers(7, 0, 5), sensitivity=1, l1_sensitivity=1, mechanism="laplace", **paid
    ),
    "a sparse vector": lambda t, **paid: ln.release_sparse(
        ORDER.numbers(3, 2**30), ORDER.numbers(7, 5), domain_size=2**40, sensitivity=1, **paid
    ),
    "proposed limits": lambda t, **paid: t.suggest_limits(
        "place", keys=range(100), for_epsilon=1, for_delta=1e-6, **paid
    ),
    "proposed ends": lambda t, **paid: t.suggest_clip("value", within=(-100, 100), max_rows=3, **paid),
}


@pytest.fixture(scope="module")
def table() -> ln.Table:
    rows = pl.from_arrow(dirty(300, 300, np.random.default_rng(7)))
    assert isinstance(rows, pl.DataFrame)
    return ln.table(ORDER.rows(rows), unit="unit", name="rows")


@pytest.fixture(scope="module")
def ledgers(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A file, and a server to which an analyst writes; of each a little is spent, so that all of it is too much."""
    places = {"SQLite": str(tmp_path_factory.mktemp("order") / "city.ledger"), "PostgreSQL": server.url("in_order")}
    for place in places.values():
        budget = ln.Budget.open(place, epsilon=3, delta=1e-6, threshold_delta=1e-7)
        ln.release(np.array([1]), sensitivity=1, budget=budget, share="1/1000")
    server.run(*grants("in_order", ANALYST))
    yield places | {"PostgreSQL": server.url("in_order", user=ANALYST, password=ANALYST_PASSWORD)}
    for place in places.values():
        ln.Budget.open(place).verify()


@pytest.fixture(scope="module")
def calls(table: ln.Table) -> dict[str, Call]:
    return {}


def call_of(kind: str, table: ln.Table, made: dict[str, Call]) -> Call:
    """A question is put together once for both stores."""
    if kind not in made:
        made[kind] = (lambda **paid: DIRECT[kind](table, **paid)) if kind in DIRECT else QUERIES[kind](table).release
    return made[kind]


@pytest.mark.parametrize("store", ["SQLite", "PostgreSQL"])
@pytest.mark.parametrize("kind", [*KINDS, *DIRECT])
def test_the_debit_is_committed_before_rows_are_read_before_noise_is_drawn(
    kind: str, store: str, table: ln.Table, ledgers: dict[str, str], calls: dict[str, Call]
) -> None:
    release, budget = call_of(kind, table, calls), ln.Budget.open(ledgers[store])
    with ORDER.of(ledgers[store]) as happened:
        release(budget=budget, share="1/500")
    assert happened == ["debit", "read", "noise"]
    with ORDER.of(ledgers[store]) as happened, pytest.raises(ln.BudgetExhausted):
        release(budget=budget, share=1)
    assert happened == []
