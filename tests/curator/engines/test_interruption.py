"""Work that Ctrl-C ends: from every thread, with the settings of the one that asked, and a connection usable after."""

from __future__ import annotations

import contextvars
import decimal
import gc
import os
import signal
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import leastnoise as ln
from leastnoise import errors
from leastnoise.curator.engines import duckdb as duckdb_engine
from leastnoise.curator.engines.duckdb import run_interruptibly
from leastnoise.curator.rows import keeping
from leastnoise.testing import aggregate

ENDLESS = "SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b"
setting: contextvars.ContextVar[str] = contextvars.ContextVar("setting", default="unset")


@pytest.fixture
def interrupts() -> Iterator[None]:
    """A background job of a shell ignores SIGINT; a terminal's does not."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def never() -> None:
    pytest.fail("interrupted")


def interrupted(after: float, work: Callable[[], object], interrupt: Callable[[], None]) -> None:
    """The work, and Ctrl-C after so many seconds."""
    threading.Timer(after, os.kill, [os.getpid(), signal.SIGINT]).start()
    run_interruptibly(work, interrupt)


@pytest.mark.parametrize("problem", [ValueError, KeyboardInterrupt, SystemExit, GeneratorExit, StopIteration])
def test_what_the_work_raises_is_raised(problem: type[BaseException]) -> None:
    def fail() -> None:
        raise problem("7")

    with pytest.raises(problem) as raised:
        run_interruptibly(fail, never)
    assert (raised.value.__cause__, raised.value.__context__) == (None, None)


def test_a_failure_is_in_no_cycle() -> None:
    """What it refers to, rows among it, is gone with it."""

    class Rows:
        pass

    def fail() -> None:
        rows.append(Rows())
        seen.append(weakref.ref(rows[0]))
        raise ValueError(rows.pop())

    rows: list[Rows] = []
    seen: list[weakref.ref[Rows]] = []
    gc.disable()
    try:
        with suppress(ValueError):
            run_interruptibly(fail, never)
        deadline = time.monotonic() + 10
        while seen[0]() is not None and time.monotonic() < deadline:  # the thread may not have ended yet
            time.sleep(0.01)
        assert seen[0]() is None
    finally:
        gc.enable()


def test_the_work_has_the_settings_of_the_thread_that_asked() -> None:
    setting.set("here")
    with np.errstate(divide="raise"), decimal.localcontext(prec=7), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seen = run_interruptibly(
            lambda: (setting.get(), np.geterr()["divide"], decimal.getcontext().prec, warnings.filters[0][0]), never
        )
    assert seen == ("here", "raise", 7, "ignore")


def test_control_c_ends_a_query_and_the_connection_is_usable(interrupts: None) -> None:
    connection = duckdb.connect()
    for after in (0.0, 0.001, 0.05, 0.3):  # before the thread runs, before the query has begun, while it runs
        with pytest.raises(KeyboardInterrupt) as raised:
            interrupted(after, lambda: connection.execute(ENDLESS).fetchall(), connection.interrupt)
        assert raised.value.__context__ is None
        assert connection.execute("SELECT 42").fetchall() == [(42,)]
    assert not [thread for thread in threading.enumerate() if thread.name == "leastnoise-query"]


def test_a_query_from_another_thread_is_answered() -> None:
    connection, found = duckdb.connect(), []
    asked = "SELECT sum(range) FROM range(10)"
    thread = threading.Thread(
        target=lambda: found.append(
            run_interruptibly(lambda: connection.execute(asked).fetchall(), connection.interrupt)
        )
    )
    thread.start()
    thread.join()
    assert found == [[(45,)]]


def test_work_that_does_not_stop_is_left_behind(interrupts: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever types Ctrl-C gets away."""
    monkeypatch.setattr(duckdb_engine, "MAX_SECONDS_TO_STOP", 0.2)
    release, calls = threading.Event(), []
    with pytest.raises(KeyboardInterrupt):
        interrupted(0.1, release.wait, lambda: calls.append(1))
    release.set()
    assert len(calls) == 4


def test_rows_that_are_kept_are_dropped_by_a_query_that_was_left_behind(
    interrupts: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has the connection until it ends: who asked cannot drop them."""
    release, left = threading.Event(), list[threading.Thread]()

    class Slow(keeping.Loop):
        def __call__(self, batches: Any) -> Any:
            yield from super().__call__(batches)
            if threading.current_thread() is not threading.main_thread():  # which only compiles it
                left.extend(each for each in threading.enumerate() if each.name == "leastnoise-query")
                os.kill(os.getpid(), signal.SIGINT)
                release.wait(30)

    monkeypatch.setattr(duckdb_engine, "MAX_SECONDS_TO_STOP", 0.2)
    monkeypatch.setattr(keeping, "MANY_ROWS", 0)
    monkeypatch.setattr(keeping, "Loop", Slow)
    people = ln.table(pd.DataFrame({"person": range(100), "bin": 1}), unit="person")
    query = people.histogram("bin", keys=range(3), max_rows=1)
    with pytest.raises(KeyboardInterrupt):
        aggregate(query)
    release.set()
    for thread in left:
        thread.join(30)
    engine: Any = query._data.engine
    assert left
    assert engine.backend.con.execute("SELECT table_name FROM duckdb_tables()").fetchall() == []


def test_work_that_was_cancelled_before_it_began_never_begins() -> None:
    began: list[int] = []
    task: Future[None] = Future()
    duckdb_engine._cancel(task, never, never)
    duckdb_engine._run(task, contextvars.copy_context(), lambda: began.append(1))
    assert began == []


def test_what_a_signal_handler_raises_is_no_failure_to_read(tmp_path: Path) -> None:
    """A deadline by SIGALRM while a query runs: the caller's interrupt, and the budget stays open."""
    budget = ln.Budget.open(tmp_path / "city.ledger", epsilon=3, delta=1e-6)
    people = ln.table(pd.DataFrame({"person": range(10)}), unit="person")
    engine: Any = people.count(max_rows=1)._data.engine

    def slow(_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        time.sleep(30)

    engine.backend.to_pyarrow = slow

    def late(*_: object) -> None:
        raise TimeoutError("deadline")

    before = signal.signal(signal.SIGALRM, late)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(duckdb_engine, "MAX_SECONDS_TO_STOP", 0.2)
            with pytest.raises(KeyboardInterrupt) as asked:
                people.count(max_rows=1).release(budget=budget, share=0.1)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert isinstance(asked.value.__cause__, TimeoutError)
    assert not budget.closed
    with pytest.raises(errors.EngineUnavailable, match="still runs"):  # the abandoned query has the connection
        people.count(max_rows=1).release(budget=budget, share=0.1)
    assert not budget.closed


def test_a_question_with_numpy_integers_is_released(tmp_path: Path) -> None:
    """The salt is JSON: a NumPy integer in a public domain must not fail after the debit."""
    budget = ln.Budget.open(tmp_path / "city.ledger", epsilon=3, delta=1e-6)
    people = ln.table(pd.DataFrame({"person": range(10), "x": np.arange(10.0)}), unit="person")
    steps = ln.domain.Steps(low=0.0, high=9.0, bins=np.int64(3))  # type: ignore[arg-type]
    made = people.histogram("x", keys=steps, max_rows=30, max_per_bin=2).release(budget=budget, share=0.1)
    assert made.bins == 3
    assert not budget.closed
