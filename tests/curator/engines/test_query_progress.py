"""Whatever reads rows shows that it does, on a terminal alone."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ibis
import pyarrow as pa
import pytest

import leastnoise as ln
from leastnoise._support import progress
from leastnoise.testing import aggregate

ROWS = pa.table({"who": list(range(100)), "zone": [number % 3 for number in range(100)]})


def test_every_way_to_read_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    @contextmanager
    def recorded(label: str, percent: Any) -> Iterator[None]:
        shown.append(label)
        assert percent() <= 100
        yield

    monkeypatch.setattr(progress, "watched", recorded)
    monkeypatch.setattr(progress, "on_terminal", lambda: True)
    table = ln.table(ROWS, unit="who")
    for query in (
        table.histogram("zone", keys=range(3), max_rows=1),
        table.crosstabs("zone", keys={"zone": range(3)}, max_rows=1),
        table.count(max_rows=1),
    ):
        shown.clear()
        aggregate(query)
        assert "reading" in shown


def test_a_connection_keeps_its_settings_and_shows_how_much_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = ibis.duckdb.connect()
    backend.con.execute("CREATE TABLE rides AS SELECT range AS who, range % 3 AS zone FROM range(100)")
    asked = "SELECT current_setting('enable_progress_bar'), current_setting('enable_progress_bar_print')"
    before, during, percents = backend.con.execute(asked).fetchall()[0], [], []

    @contextmanager
    def recorded(label: str, percent: Any) -> Iterator[None]:
        during.append(backend.con.execute(asked).fetchall()[0])
        percents.append(percent())
        yield
        percents.append(percent())

    monkeypatch.setattr(progress, "watched", recorded)
    monkeypatch.setattr(progress, "on_terminal", lambda: True)
    aggregate(ln.table(backend.table("rides"), unit="who").histogram("zone", keys=range(3), max_rows=1))
    assert set(during) == {before}
    assert percents == [0, 100]


def test_a_bar_moves_and_is_cleared_and_nothing_goes_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(progress, "DELAY_SECONDS", 0.0)
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_UPDATES", 0.01)
    monkeypatch.setenv("TERM", "xterm")
    asked = threading.Event()

    def percent() -> float:
        asked.set()
        return 40.0

    for stream in (Terminal(), io.StringIO()):
        monkeypatch.setattr("sys.stderr", stream)
        asked.clear()
        with progress.watched("reading", percent):
            if stream.isatty():
                assert asked.wait(30)
        text = stream.getvalue()
        assert ("reading" in text) == stream.isatty()
        assert text.endswith("\x1b[1A\x1b[2K") == stream.isatty()  # the line is gone
