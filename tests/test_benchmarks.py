"""The benchmarks at toy sizes, without peers: each runs, hands back sound tables, and hides nobody who is missing."""

from __future__ import annotations

import csv
import importlib
import math
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
PROGRAMME = runpy.run_path(str(BENCHMARKS / "programme.py"))["BENCHMARKS"]
GROWN = ("spark_cost",)  # its Spark session would be met by other tests
TOYS = [name for name in PROGRAMME if name not in GROWN]


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Import from benchmarks/ as its own __main__ does, and leave no trace."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.setenv("PEERS", "none")
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if str(BENCHMARKS) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.mark.parametrize("name", TOYS)
def test_every_benchmark_hands_back_sound_tables(bench: Any, name: str, tmp_path: Path) -> None:
    findings = bench("findings")
    found = bench(name).run(toy=True)
    tables = [finding for finding in found if isinstance(finding, findings.Table)]
    assert tables
    for table in tables:
        assert all(row.keys() == table.rows[0].keys() for row in table.rows)
        table.save(tmp_path)
        with (tmp_path / f"{table.name}.csv").open() as file:
            assert [list(row) for row in csv.DictReader(file)] == [list(row) for row in table.rows]
        lines = sum(line.startswith("| ") for line in table.markdown())
        assert lines == len(table.rows) + 1
    heads = [finding for finding in found if isinstance(finding, findings.Headline)]
    assert all(math.isfinite(head.ratio) and head.ratio >= 0 for head in heads)
    peers = getattr(bench(name), "PEERS", ())
    named = " ".join(" ".join(table.markdown()) for table in tables)
    assert all(f"{peer} (left out" in named for peer in peers)


def test_the_programme_lists_modules_that_exist() -> None:
    assert all((BENCHMARKS / f"{name}.py").is_file() for name in PROGRAMME)


def test_the_guard_measures_and_tells_what_is_worse(bench: Any) -> None:
    guard = bench("guard")
    for measure in (guard.calibrating, guard.drawing, guard.counting, guard.optimum):
        figures = list(measure(True))
        assert all(math.isfinite(each.value) and each.value > 0 for each in figures)
        assert {each.unit for each in figures if each.kind == guard.ERRORS} <= {"RMSE over the published"}
    before = {(each.what, each.unit): each.value for each in figures}
    page = "\n".join(guard.lines(figures, before, ["Notes."]))
    assert guard.kept(page) == pytest.approx(before, rel=1e-3)
    assert guard.worse(figures, before) == []
    assert guard.worse([each._replace(value=1.02 * each.value) for each in figures], before) != []
    assert guard.worse(figures, {}) == []


JOBS = """
def double(x):
    print("chatter that must not reach the pipe")
    return lambda: 2 * x

def broken():
    raise ValueError("no such luck")

def forever():
    return lambda: [None for _ in iter(int, 1)]

def dies():
    return lambda: __import__("os")._exit(1)
"""


@pytest.fixture
def peer(bench: Any, tmp_path: Path) -> Iterator[Any]:
    (tmp_path / "jobs.py").write_text(JOBS)
    (tmp_path / "requirements.txt").write_text("numpy==0\n")
    peer = bench("peers").Peer("toy", Path(sys.executable), tmp_path / "jobs.py", tmp_path / "log.txt")
    yield peer
    peer.close()


def test_a_peer_answers_with_its_own_seconds(peer: Any) -> None:
    import numpy as np

    lap = peer("double", x=21)
    assert lap.result == 42
    assert 0 <= lap.seconds < 1
    assert peer("versions").result == {"numpy": np.__version__}


def test_a_peer_that_fails_hangs_or_dies_says_so_and_can_be_asked_again(bench: Any, peer: Any) -> None:
    peers = bench("peers")
    with pytest.raises(peers.Failed, match="ValueError: no such luck"):
        peer("broken")
    with pytest.raises(peers.Late):
        peer("forever", patience=0.2)
    with pytest.raises(peers.Failed, match="ended"):
        peer("dies")
    assert peer("double", x=1).result == 2


def test_an_environment_that_does_not_install_is_reported(bench: Any, monkeypatch: Any, tmp_path: Path) -> None:
    peers = bench("peers")
    monkeypatch.setenv("PEERS", "opendp")
    monkeypatch.setattr(peers, "ENVIRONMENTS", tmp_path)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert peers.present("opendp") == ({}, {"opendp": "false ended with 1"})


def test_a_race_takes_turns_and_believes_a_peer_about_its_own_time(bench: Any) -> None:
    stopwatch = bench("stopwatch")
    order: list[str] = []

    def peer() -> Any:
        order.append("b")
        return stopwatch.Lap(8.0, 4.0)

    seen = stopwatch.race(
        {"a": lambda: order.append("a"), "b": peer},
        rounds=3,
        units={"b": 2},
        fewer={"b": 2},
    )
    assert order == ["a", "a", "b", "b", "a", "a"]  # warmed up, then there and back
    assert (seen["b"].median, seen["b"].processor, seen["b"].rounds) == (4.0, 2.0, 2)
