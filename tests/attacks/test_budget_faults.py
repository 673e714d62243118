"""A ledger among crashes, races, power cuts, full disks and careless hands: it may refuse, it may never forget."""

from __future__ import annotations

import os
import resource
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import leastnoise as ln
from leastnoise import errors
from leastnoise.curator.budget import sqlite_store
from ledger_faults import FORK, edit, nothing_drawn
from spending import spend


def in_a_child(act: Callable[[], None]) -> None:
    """Run `act` in a process of its own, whose limits or user it may change."""
    process = FORK.Process(target=act)
    process.start()
    process.join(60)
    assert process.exitcode == 0


def test_a_full_disk_refuses_and_loses_nothing(path: Path) -> None:
    def fill() -> None:
        budget = ln.Budget.open(path)
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, resource.RLIM_INFINITY))
        returned = 0
        with suppress(errors.FileProblem):
            for _ in range(100):
                spend(budget, share=0.001)
                returned += 1
        assert returned < 100
        with nothing_drawn(), pytest.raises(errors.FileProblem, match="full"):
            spend(budget, share=0.001)
        assert len(budget.history()) == returned
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        spend(budget, share=0.001)
        assert len(budget.history()) == returned + 1
        budget.verify()

    in_a_child(fill)


def test_a_full_disk_begins_no_budget(tmp_path: Path) -> None:
    def begin() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
        with pytest.raises(errors.FileProblem, match="full"):
            ln.Budget.open(tmp_path / "b", epsilon=1, delta=1e-6)

    in_a_child(begin)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that everybody may enter: a test that runs as root must become nobody to be refused anything."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name)


def test_a_read_only_ledger_can_be_read_but_not_spent_from(shared: Path) -> None:
    path = shared / "b"
    spend(ln.Budget.open(path, epsilon=1, delta=1e-6), share=0.5)
    path.chmod(0o444)

    def read() -> None:
        if os.geteuid() == 0:
            os.setuid(65534)
        budget = ln.Budget.open(path)
        assert budget.remaining.share == 0.5
        assert budget.verify()
        with nothing_drawn(), pytest.raises(errors.FileProblem, match="written"):
            spend(budget, share=0.1)
        with pytest.raises(errors.FileProblem, match="directory"):
            ln.Budget.open(shared / "new", epsilon=1, delta=1e-6)

    shared.chmod(0o555)
    in_a_child(read)
    shared.chmod(0o755)


def test_a_directory_is_no_ledger(tmp_path: Path) -> None:
    for limits in ({}, {"epsilon": 1, "delta": 1e-6}):
        with pytest.raises(errors.FileProblem, match="directory"):
            ln.Budget.open(tmp_path, **limits)  # type: ignore[arg-type]
    with pytest.raises(errors.FileProblem, match="directory"):
        ln.Budget.open(tmp_path / "missing" / "b", epsilon=1, delta=1e-6)
    with pytest.raises(errors.FileProblem, match="no ledger"):
        ln.Budget.open(tmp_path / "missing")
    with pytest.raises(errors.FileProblem, match="path"):
        ln.Budget.open("a\0b", epsilon=1, delta=1e-6)
    with pytest.raises(errors.WrongType, match="path"):
        ln.Budget.open(7)  # type: ignore[arg-type]
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(errors.FileProblem):
        ln.Budget.open(tmp_path / "loop", epsilon=1, delta=1e-6)


@pytest.mark.parametrize("content", [b"", b"name,age\nAnn,7\n", b"SQLite format 3\0 but not really", os.urandom(9999)])
def test_a_file_that_is_not_ours_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "b"
    path.write_bytes(content)
    for limits in ({}, {"epsilon": 1, "delta": 1e-6}):
        with pytest.raises(errors.FileProblem) as refused:
            ln.Budget.open(path, **limits)  # type: ignore[arg-type]
        assert isinstance(refused.value, (errors.NotOurs, errors.LedgerBroken))
    assert path.read_bytes() == content


def test_another_programs_database_is_refused(tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / "b")
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("CREATE TABLE entries (number INTEGER)")
    db.commit()
    db.close()
    before = (tmp_path / "b").read_bytes()
    with pytest.raises(errors.NotOurs):
        ln.Budget.open(tmp_path / "b", epsilon=1, delta=1e-6)
    assert (tmp_path / "b").read_bytes() == before


def test_a_newer_format_is_refused(path: Path) -> None:
    edit(path, f"PRAGMA user_version = {sqlite_store.FORMAT + 1}")
    with pytest.raises(errors.NotOurs, match="Upgrade"):
        ln.Budget.open(path)
