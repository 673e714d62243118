"""A ledger among crashes, races, power cuts, full disks and careless hands: it may refuse, it may never forget."""

from __future__ import annotations

import multiprocessing
import os
import random
import resource
import shutil
import signal
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import leastnoise as ln
from leastnoise import errors
from leastnoise.curator.budget import charge, ledger
from leastnoise.curator.budget.privacy_filter import Cost
from leastnoise.curator.noise import entropy
from leastnoise.curator.request import PrivacyRequest

COUNTS = np.array([120, 0, 45])
FORK = multiprocessing.get_context("fork")


def spend(budget: ln.Budget, **how: Any) -> ln.Release:
    return ln.release(COUNTS, sensitivity=1, budget=budget, **how)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    place = tmp_path / "city.ledger"
    ln.Budget.open(place, epsilon=1, delta=1e-6)
    return place


def edit(path: Path, *statements: str) -> None:
    """By hand, as somebody with the sqlite3 shell would."""
    db = sqlite3.connect(path)
    db.executescript("DROP TRIGGER IF EXISTS entries_stay; DROP TRIGGER IF EXISTS entries_keep;")
    for statement in statements:
        db.execute(statement)
    db.commit()
    db.close()


# Many processes


class Spenders:
    """Processes that spend until nothing is left, and note each release *after* it was returned."""

    def __init__(self, path: Path, share: float, how_many: int) -> None:
        self.notes = [path.with_name(f"returned{i}") for i in range(how_many)]
        for note in self.notes:
            note.touch()
        self.processes = [FORK.Process(target=self._spend, args=(path, share, note)) for note in self.notes]
        for process in self.processes:
            process.start()

    @staticmethod
    def _spend(path: Path, share: float, note: Path) -> None:
        budget = ln.Budget.open(path)
        with note.open("ab", buffering=0) as log:
            while True:
                try:
                    spend(budget, share=share)
                except ln.BudgetExhausted:
                    os._exit(0)
                log.write(b".")

    def returned(self) -> int:
        return sum(note.stat().st_size for note in self.notes)

    def wait_for(self, returned: int) -> None:
        while self.returned() < returned and any(process.is_alive() for process in self.processes):
            time.sleep(0.001)

    def finish(self) -> list[int | None]:
        for process in self.processes:
            process.join(120)
        return [process.exitcode for process in self.processes]


def test_eight_processes_three_of_them_killed_make_exactly_a_hundred_entries(path: Path) -> None:
    spenders = Spenders(path, 0.01, 8)
    for victim, moment in zip(spenders.processes, (10, 30, 50), strict=False):
        spenders.wait_for(moment)
        victim.kill()
    exits = spenders.finish()
    budget = ln.Budget.open(path)
    assert exits == [-signal.SIGKILL] * 3 + [0] * 5
    assert len(budget.history()) == 100
    assert 97 <= spenders.returned() <= 100  # each killed process may have paid for one release that nobody saw
    assert budget.remaining.share == 0
    assert budget.verify()


def test_threads_share_a_budget(path: Path) -> None:
    budget = ln.Budget.open(path)
    decided = charge.decide(PrivacyRequest(budget=budget, share=0.05), bins=1, whole=True, sensitivity=1)

    def pay(_: int) -> int:
        try:
            decided.pay(query="counts")
        except ln.BudgetExhausted:
            return 0
        return 1

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(pay, range(40))) == 20
    assert len(budget.history()) == 20
    assert budget.verify()


def test_a_race_to_begin_the_budget_has_one_winner(tmp_path: Path) -> None:
    path = tmp_path / "b"

    def begin(epsilon: int) -> None:
        try:
            ln.Budget.open(path, epsilon=epsilon, delta=1e-6)
        except errors.BudgetMismatch:
            os._exit(3)
        os._exit(0)

    racers = [FORK.Process(target=begin, args=(1 + i % 2,)) for i in range(8)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join(60)
    exits = [racer.exitcode for racer in racers]
    won = int(ln.Budget.open(path).terms.epsilon)
    assert exits == [0 if 1 + i % 2 == won else 3 for i in range(8)]
    assert [place.name for place in tmp_path.iterdir()] == ["b"]


def test_power_cuts_never_lose_a_release_that_was_returned(path: Path, tmp_path: Path) -> None:
    """Stop the writers at random moments and copy the file with its journal: what a power cut would leave."""
    rng = random.Random(5)
    spenders = Spenders(path, 0.0005, 3)
    copies: list[tuple[Path, int]] = []
    with_journal = 0
    for cut in range(40):
        time.sleep(rng.uniform(0, 0.02))
        while cut % 2 and not Path(f"{path}-journal").exists() and spenders.processes[0].is_alive():
            pass  # every other moment is inside a transaction
        with stopped([process.pid for process in spenders.processes if process.is_alive()]):
            folder = tmp_path / f"cut{cut}"
            folder.mkdir()
            for suffix in ("", "-journal"):
                source = Path(f"{path}{suffix}")
                if source.exists():
                    shutil.copy(source, folder / source.name)
            with_journal += (folder / f"{path.name}-journal").exists()
            copies.append((folder / path.name, spenders.returned()))
    for process in spenders.processes:
        process.kill()
    spenders.finish()
    assert with_journal >= 5  # or the moments were not the dangerous ones
    assert copies[-1][1] > copies[0][1]
    for copy, returned in copies:
        budget = ln.Budget.open(copy)
        assert budget.verify()
        assert returned <= len(budget.history()) <= returned + 3


class stopped:  # noqa: N801
    """Within the block these processes stand still, wherever they are."""

    def __init__(self, pids: list[int | None]) -> None:
        self.pids = [pid for pid in pids if pid is not None]

    def __enter__(self) -> None:
        for pid in self.pids:
            os.kill(pid, signal.SIGSTOP)
        for pid in self.pids:
            while Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "TZX":
                time.sleep(0.0005)

    def __exit__(self, *_: object) -> None:
        for pid in self.pids:
            os.kill(pid, signal.SIGCONT)


def test_waiting_for_others_is_bounded(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "LOCK_TIMEOUT_SECONDS", 0.05)
    budget = ln.Budget.open(path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with nothing_drawn(), pytest.raises(errors.LedgerBusy, match="locked by other processes"):
        spend(budget, share=0.1)
    other.execute("ROLLBACK")
    other.close()
    spend(budget, share=0.1)
    assert len(budget.history()) == 1


def nothing_drawn() -> Any:
    def read(size: int) -> bytes:
        raise AssertionError("noise was drawn")

    return entropy.source(read)


# A machine that refuses


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


# Other files


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
    edit(path, f"PRAGMA user_version = {ledger.FORMAT + 1}")
    with pytest.raises(errors.NotOurs, match="Upgrade"):
        ln.Budget.open(path)


# Careless hands


@pytest.fixture
def spent(path: Path) -> Path:
    budget = ln.Budget.open(path)
    for _ in range(12):
        spend(budget, share=0.05)
    return path


COLUMNS = ["made", "kind", "release", "query", "noise", "unit", "table", "gaussian", "pure", "threshold"]
COLUMNS += ["spent_gaussian", "spent_pure", "spent_threshold", "hash"]


@pytest.mark.parametrize("column", COLUMNS)
def test_an_edited_field_is_found_and_named(spent: Path, column: str) -> None:
    edit(spent, f"""UPDATE entries SET "{column}" = '0' || "{column}" WHERE number = 7""")
    with pytest.raises(errors.LedgerBroken, match="entry 7 "):
        ln.Budget.open(spent).verify()


@pytest.mark.parametrize(
    ("statement", "which"),
    [
        ("DELETE FROM entries WHERE number = 5", "entry 5 "),
        ("UPDATE entries SET number = 99 WHERE number = 12", "end"),
        ("DELETE FROM entries WHERE number = 12", "end"),
        ("DELETE FROM entries", "end"),
        ("UPDATE head SET number = 11", "end"),
        ("DELETE FROM head", "end"),
        ("UPDATE entries SET gaussian = '0', spent_gaussian = '0' WHERE number = 12", "entry 12 "),
        ("UPDATE entries SET spent_gaussian = 'none' WHERE number = 12", "entry 12 "),
        ("UPDATE entries SET hash = 'x' WHERE number = 12", "entry 12 "),
        ("UPDATE terms SET value = '9' WHERE name = 'mu'", "entry 1 "),
        ("UPDATE terms SET value = 'replace' WHERE name = 'neighbours'", "entry 1 "),
        ("INSERT INTO terms VALUES ('unit', 'taxi')", "entry 1 "),
        ("DELETE FROM entries WHERE number = 1", "entry 1 "),
        ("DELETE FROM entries WHERE number = 11", "entry 1[12] "),
        ("UPDATE terms SET value = 'nine' WHERE name = 'epsilon'", "terms"),
        ("UPDATE terms SET value = '1/0' WHERE name = 'mu'", "terms"),
        ("UPDATE terms SET value = x'ff' WHERE name = 'mu'", "terms"),
        ("DELETE FROM terms", "terms"),
        ("UPDATE entries SET query = x'ff' WHERE number = 7", "entry 7 "),
        ("UPDATE entries SET query = CAST(x'ff' AS TEXT) WHERE number = 7", "damaged"),
        ("UPDATE entries SET made = 'yesterday' WHERE number = 7", "entry 7 "),
        ("UPDATE head SET hash = x'ff'", "entry 12 "),
        ("UPDATE head SET number = 'x'", "end"),
        ("DROP TABLE entries", "damaged"),
    ],
)
def test_an_edit_is_found(spent: Path, statement: str, which: str) -> None:
    edit(spent, statement)
    with pytest.raises(errors.LedgerBroken, match=which):
        ln.Budget.open(spent).verify()


def test_an_edited_end_stops_every_release(spent: Path) -> None:
    budget = ln.Budget.open(spent)
    edit(spent, "UPDATE entries SET gaussian = '0', spent_gaussian = '0' WHERE number = 12")
    with nothing_drawn(), pytest.raises(errors.LedgerBroken, match="entry 12 "):
        spend(budget, share=0.01)


def test_a_limit_beyond_its_terms_is_found(path: Path) -> None:
    """Even when the edit comes with a new chain: mu is proved again from epsilon and delta."""
    terms = ledger.Ledger(path).terms | {"mu": "1/2"}
    root = ledger._hash("", [sorted(terms.items())])
    edit(path, "UPDATE terms SET value = '1/2' WHERE name = 'mu'", f"UPDATE head SET hash = '{root}'")
    with pytest.raises(errors.LedgerBroken, match="limit"):
        ln.Budget.open(path).verify()


@pytest.mark.parametrize(
    ("kind", "release", "cost", "spent_after"),
    [
        ("release", "new", Cost(gaussian=5), Cost(gaussian=600 * 10**27)),  # a sum that left it out
        ("release", "new", Cost(gaussian=10**30), Cost(gaussian=1600 * 10**27)),  # past the cap
        ("release", "new", Cost(gaussian=-5), Cost(gaussian=600 * 10**27 - 5)),  # a release that gives back
        ("void", "new", Cost(gaussian=-5), Cost(gaussian=600 * 10**27 - 5)),  # a void of nothing
        ("gift", "new", Cost(), Cost(gaussian=600 * 10**27)),
        ("close", "new", Cost(), Cost(gaussian=600 * 10**27)),  # of a release that was never made
        ("reopen", "new", Cost(), Cost(gaussian=600 * 10**27)),  # of what is not closed
    ],
)
def test_wrong_sums_are_found_though_the_chain_holds(
    spent: Path, kind: str, release: str, cost: Cost, spent_after: Cost
) -> None:
    """As a faulty program might write them: every hash is right, only the account is not."""
    budget = ln.Budget.open(spent)
    row = ledger.Row(13, "2026-01-01T00:00:00+00:00", kind, release, "q", "n", "", "", cost, spent_after)
    ledger.Ledger(spent).append(lambda db, head, last: row)
    with pytest.raises(errors.LedgerBroken, match="entry 13 "):
        budget.verify()


@pytest.fixture
def closed(spent: Path) -> Path:
    budget = ln.Budget.open(spent)
    receipt = charge.decide(PrivacyRequest(budget=budget, share=0.05), bins=1, whole=True, sensitivity=1).pay(
        query="counts"
    )
    receipt.close(errors.ReadingFailed("the rows could not be read."))
    return spent


CLOSING = 14
EDITS = {
    "deleted": [f"DELETE FROM entries WHERE number = {CLOSING}"],
    "deleted, and the head set back": [
        f"DELETE FROM entries WHERE number = {CLOSING}",
        f"UPDATE head SET number = {CLOSING - 1}",
    ],
    "made a reopening": [f"UPDATE entries SET kind = 'reopen' WHERE number = {CLOSING}"],
    "made a void": [f"UPDATE entries SET kind = 'void' WHERE number = {CLOSING}"],
    "another reason": [f"UPDATE entries SET query = 'nothing happened' WHERE number = {CLOSING}"],
    "another release": [f"UPDATE entries SET release = 'another' WHERE number = {CLOSING}"],
}


@pytest.mark.parametrize("edits", EDITS.values(), ids=EDITS)
def test_an_edited_closing_is_found_and_stops_every_release(closed: Path, edits: list[str]) -> None:
    budget = ln.Budget.open(closed)
    assert budget.closed
    edit(closed, *edits)
    with nothing_drawn(), pytest.raises(errors.LedgerBroken):
        spend(budget, share=0.05)
    with pytest.raises(errors.LedgerBroken):
        ln.Budget.open(closed).verify()


@pytest.mark.parametrize("reopened", [False, True])
def test_an_edited_closing_is_found_after_the_fact(closed: Path, reopened: bool) -> None:
    budget = ln.Budget.open(closed)
    budget.reopen(reason="mended")
    for _ in range(3):
        spend(budget, share=0.05)
    kind, number = ("reopen", CLOSING + 1) if reopened else ("close", CLOSING)
    edit(closed, f"UPDATE entries SET kind = 'void' WHERE kind = '{kind}'")
    with pytest.raises(errors.LedgerBroken, match=f"entry {number} "):
        ln.Budget.open(closed).verify()


def test_a_release_while_closed_is_found_though_the_chain_holds(closed: Path) -> None:
    budget = ln.Budget.open(closed)
    cost, spent_before = Cost(gaussian=5), Cost(gaussian=650 * 10**27)
    row = ledger.Row(15, "2026-01-01T00:00:00+00:00", "release", "new", "q", "n", "", "", cost, spent_before + cost)
    ledger.Ledger(closed).append(lambda db, head, last: row)
    with pytest.raises(errors.LedgerBroken, match="entry 15 "):
        budget.verify()


def test_entries_resist_a_plain_update(spent: Path) -> None:
    db = sqlite3.connect(spent)
    for statement in ("UPDATE entries SET gaussian = '0'", "DELETE FROM entries"):
        with pytest.raises(sqlite3.IntegrityError, match="never"):
            db.execute(statement)
    db.close()


def test_a_truncated_file_is_refused(spent: Path) -> None:
    whole = spent.read_bytes()
    for size in (len(whole) - 1, len(whole) - 4096, len(whole) // 2, 4096, 100, 1):
        spent.write_bytes(whole[:size])
        with pytest.raises(errors.FileProblem) as refused:
            ln.Budget.open(spent).verify()
        assert isinstance(refused.value, (errors.NotOurs, errors.LedgerBroken))
    spent.write_bytes(whole)
    assert ln.Budget.open(spent).verify()


def test_an_old_copy_put_back_is_noticed_by_whoever_saw_more(spent: Path, tmp_path: Path) -> None:
    shutil.copy(spent, tmp_path / "old")
    budget = ln.Budget.open(spent)
    noted = budget.verify()
    spend(budget, share=0.05)
    shutil.copy(tmp_path / "old", spent)
    with nothing_drawn(), pytest.raises(errors.LedgerBroken, match="another copy"):
        spend(budget, share=0.05)
    assert ln.Budget.open(spent).verify() == noted  # nothing in the file itself can tell


@pytest.mark.parametrize("epsilon", [1, 9])
def test_another_budget_in_its_place_is_noticed(path: Path, epsilon: int) -> None:
    budget = ln.Budget.open(path)
    path.unlink()
    ln.Budget.open(path, epsilon=epsilon, delta=1e-6)
    with nothing_drawn(), pytest.raises(errors.LedgerBroken, match="another copy"):
        spend(budget, share=0.05)


def test_a_ledger_that_vanished_is_not_begun_again(path: Path) -> None:
    budget = ln.Budget.open(path)
    path.unlink()
    with nothing_drawn(), pytest.raises(errors.FileProblem):
        spend(budget, share=0.05)
    assert not path.exists()
