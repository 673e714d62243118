"""Reading that fails: what an attacker, who may make any row fail any query, gets out of it."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

import leastnoise as ln
from leastnoise import errors
from leastnoise.curator.budget import ledger
from leastnoise.curator.engines import duckdb as duckdb_engine
from leastnoise.curator.noise import entropy
from leastnoise.curator.queries.query import Query
from leastnoise.curator.table import Table
from leastnoise.testing import aggregate

ROWS = pd.DataFrame({"person": [1, 2, 3], "ward": ["north", "east", "north"], "age": [31, 42, 53]})


@pytest.fixture
def people() -> Table:
    return ln.table(ROWS, unit="person", name="people")


@pytest.fixture
def budget(tmp_path: Path) -> ln.Budget:
    return ln.Budget.open(tmp_path / "city.ledger", epsilon=1, delta=1e-6)


class Failing:
    """An engine that fails so many times, and then answers; it counts how often rows were read."""

    def __init__(self, times: int, problem: Callable[[], BaseException]) -> None:
        self.times, self.problem, self.reads = times, problem, 0

    def install(self, table: Table, patch: pytest.MonkeyPatch) -> None:
        backend = table._data.engine.backend  # type: ignore[attr-defined]
        whole = backend.to_pyarrow

        def read(expression: Any) -> Any:
            self.reads += 1
            if self.reads <= self.times:
                raise self.problem()
            return whole(expression)

        patch.setattr(backend, "to_pyarrow", read)


def questions(t: Table) -> dict[str, Any]:
    return {
        "count": t.count(max_rows=1),
        "unknown": t.histogram("ward", max_rows=1),
        "sparse": t.histogram("age", keys=ln.domain.IntegerRange(0, 2**40), max_rows=1),
        "mean": t.mean("age", clip=(0, 100), max_rows=1),
    }


def lost() -> Exception:
    return ValueError("executor 7 lost while reading secret424242")


@pytest.mark.parametrize("kind", ["count", "unknown", "sparse", "mean"])
@pytest.mark.parametrize("times", [1, 2])
def test_a_lost_executor_is_tried_again_under_the_first_debit(
    kind: str, times: int, people: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget = ln.Budget.open(tmp_path / "b", epsilon=1, delta=1e-6, threshold_delta=1e-7)
    engine = Failing(times, lost)
    engine.install(people, monkeypatch)
    questions(people)[kind].release(budget=budget, share=0.25)
    assert engine.reads > times
    assert [entry.kind for entry in budget.history()] == ["release"]
    assert budget.remaining.share == 0.75
    assert not budget.closed


def test_the_third_failure_closes_the_budget_before_anything_is_drawn(
    people: Table, budget: ln.Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Failing(3, lost)
    engine.install(people, monkeypatch)
    monkeypatch.setattr(entropy, "words", lambda *_: pytest.fail("noise was drawn"))
    count = people.count(max_rows=1)
    with pytest.raises(errors.ReadingFailed) as failed:
        count.release(budget=budget, share=0.25)
    assert (failed.value.__cause__, failed.value.__context__) == (None, None)
    assert "424242" not in str(failed.value)
    assert "closed" in str(failed.value)
    assert "leastnoise budget reopen city.ledger" in str(failed.value)
    assert (engine.reads, budget.closed, budget.remaining.share) == (3, True, 0.75)
    with pytest.raises(errors.BudgetClosed):
        count.release(budget=budget, share=0.25)
    assert (engine.reads, budget.remaining.share) == (3, 0.75)  # nothing read, nothing debited
    monkeypatch.undo()
    budget.reopen(reason="a worker had no memory")
    count.release(budget=budget, share=0.25)
    assert [entry.kind for entry in budget.history()] == ["release", "close", "reopen", "release"]
    assert budget.history()[1].release == budget.history()[0].release
    assert budget.verify()


def test_without_a_budget_there_is_no_brake(people: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Failing(6, lost)
    engine.install(people, monkeypatch)
    for reads in (3, 6):
        with pytest.raises(errors.ReadingFailed) as failed:
            people.count(max_rows=1).release(epsilon=1, delta=1e-6)
        assert engine.reads == reads
        assert "budget" not in str(failed.value)


@pytest.mark.parametrize("problem", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_interrupt_is_not_tried_again_and_does_not_close(
    problem: type[BaseException], people: Table, budget: ln.Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Failing(9, problem)
    engine.install(people, monkeypatch)
    with pytest.raises(problem):
        people.count(max_rows=1).release(budget=budget, share=0.25)
    assert (engine.reads, budget.closed, budget.remaining.share) == (1, False, 0.75)


def test_a_public_refusal_after_the_debit_does_not_close(
    people: Table, budget: ln.Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Failing(1, lambda: errors.EngineUnavailable("there is no Java"))
    engine.install(people, monkeypatch)
    with pytest.raises(errors.EngineUnavailable):
        people.count(max_rows=1).release(budget=budget, share=0.25)
    assert (engine.reads, budget.closed) == (1, False)


def test_a_mistake_of_ours_on_the_way_from_rows_to_integers_counts_as_a_failed_read(
    people: Table, budget: ln.Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row may cause it, and its message may quote one."""
    monkeypatch.setattr(Query, "_of_one_state", lambda *_: int("secret424242"))
    with pytest.raises(errors.ReadingFailed) as failed:
        people.count(max_rows=1).release(budget=budget, share=0.25)
    assert "424242" not in str(failed.value)
    assert failed.value.__context__ is None
    assert budget.closed


def test_a_full_disk_under_the_ledger_shows_the_failed_read_all_the_same(
    people: Table, budget: ln.Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Any, make: Any) -> Any:
        raise errors.FileProblem("The disk refused to write the ledger")

    def fail() -> Exception:
        monkeypatch.setattr(ledger.Ledger, "append", full)
        return lost()

    Failing(3, fail).install(people, monkeypatch)
    with pytest.raises(errors.ReadingFailed, match="cannot be written") as failed:
        people.count(max_rows=1).release(budget=budget, share=0.25)
    assert failed.value.__context__ is None
    assert "424242" not in str(failed.value)


def test_binary_search_gets_one_failure_for_each_reopening(
    people: Table, budget: ln.Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An attacker who can make a row fail a query asks: is the secret below this? Every failure says yes exactly.
    Without the brake 20 cheap questions would tell 20 bits."""
    secret, failures, low, high = 424_242, 0, 0, 2**20
    backend = people._data.engine.backend  # type: ignore[attr-defined]
    whole = backend.to_pyarrow
    for _ in range(20):
        middle = (low + high) // 2

        def read(expression: Any, below: bool = secret < middle) -> Any:
            if below:
                raise lost()
            return whole(expression)

        monkeypatch.setattr(backend, "to_pyarrow", read)
        try:
            people.count(max_rows=1).release(budget=budget, share=1e-6)
            low = middle
        except errors.ReadingFailed:
            failures, high = failures + 1, middle
        except errors.BudgetClosed:
            break
    else:
        pytest.fail("the search was never stopped")
    assert failures == 1
    assert high - low >= 2**18
    assert len([entry for entry in budget.history() if entry.kind == "close"]) == 1


SLOW = """
import signal, sys, leastnoise as ln, pandas as pd
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's background job would not have
budget = ln.Budget.open(sys.argv[1])
people = ln.table(pd.DataFrame({"person": [1]}), unit="person")
backend = people._data.engine.backend
slow = "SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b"
backend.to_pyarrow = lambda _: (print("reading", flush=True), backend.con.execute(slow).to_arrow_table())
try:
    people.count(max_rows=1).release(budget=budget, share=0.25)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_control_c_while_duckdb_reads_is_an_interrupt(budget: ln.Budget) -> None:
    """DuckDB turns it into a RuntimeError, which would be tried again, and close the budget in the end."""
    source = str(Path(ln.__file__).parents[1])
    child = subprocess.Popen(
        [sys.executable, "-c", SLOW, str(budget.path)],
        stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": source},
    )  # fmt: skip
    assert child.stdout is not None
    assert child.stdout.readline() == "reading\n"
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    watch = threading.Timer(60, child.kill)
    watch.start()
    rest, _ = child.communicate()
    watch.cancel()
    assert (child.returncode, rest) == (0, "interrupted\n")
    assert (budget.closed, budget.remaining.share) == (False, 0.75)


def test_a_killed_process_does_not_close(budget: ln.Budget) -> None:
    """Nobody is left to write it: SECURITY.md says so."""
    source = str(Path(ln.__file__).parents[1])
    child = subprocess.Popen(
        [sys.executable, "-c", SLOW, str(budget.path)],
        stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": source},
    )  # fmt: skip
    assert child.stdout is not None
    assert child.stdout.readline() == "reading\n"
    child.kill()
    child.communicate()
    assert (budget.closed, budget.remaining.share) == (False, 0.75)


def test_the_closing_is_on_disk_when_the_failure_is_raised(
    people: Table, budget: ln.Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    Failing(3, lost).install(people, monkeypatch)
    with pytest.raises(errors.ReadingFailed):
        people.count(max_rows=1).release(budget=budget, share=0.25)
    db = sqlite3.connect(f"file:{budget.path}?mode=ro", uri=True)
    assert db.execute("SELECT kind FROM entries ORDER BY number").fetchall() == [("release",), ("close",)]
    db.close()


def test_threads_that_ask_one_connection_wait_for_each_other(budget: ln.Budget) -> None:
    """A second query would make the first fail, and failures close the budget: of 274 queries in pairs, 75 failed."""
    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE t AS SELECT range // 2 AS who, range % 5 AS k, 1.5::DOUBLE AS x FROM range(100_000)"
    )
    problems: list[Exception] = []

    def ask(_: int) -> None:
        t = ln.table((connection, "t"), unit="who")
        sums, counts = t.vector_sum(["k", "x"], clip_norm=9, max_rows=2), t.histogram("k", keys=range(5), max_rows=2)
        for query in (sums, counts, sums, counts):
            try:
                query.release(budget=budget, share=0.01)
            except Exception as problem:
                problems.append(problem)

    with ThreadPoolExecutor(3) as threads:
        list(threads.map(ask, range(3)))
    assert problems == []
    assert not budget.closed


@pytest.mark.parametrize("by", [",", ";"])
@pytest.mark.parametrize("cell", ["x\n" + "mallory,y,4\n" * 300, 'a""\n,,\n7,"",5\n' * 20])
def test_lines_in_a_cell_that_look_like_rows_are_no_rows(
    cell: str, by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB's parallel reader begins in the middle of a file, took such lines for rows, and failed."""
    monkeypatch.setattr(duckdb_engine, "CSV_BUFFER_BYTES", 2**16)
    monkeypatch.setattr(duckdb_engine, "MAX_LINE_BYTES", 2**15)
    rows = [f'u{place},"{"words" if place % 10 else cell}",{place % 7}' for place in range(4000)]
    (tmp_path / "people.csv").write_text("\n".join(["who,remark,ward", *rows, ""]).replace(",", by))
    people = ln.table(tmp_path / "people.csv", unit="who", types={"ward": "int"}, delimiter=by)
    found = aggregate(people.histogram("ward", keys=range(7), max_rows=1)).values.tolist()
    assert found == [572, 572, 572, 571, 571, 571, 571]
