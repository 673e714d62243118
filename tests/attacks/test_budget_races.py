"""A ledger among many processes, threads and power cuts: it may refuse, it may never forget."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import leastnoise as ln
from leastnoise import errors
from leastnoise.curator.budget import sqlite_store
from ledger_faults import FORK, nothing_drawn
from spending import charge, spend


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


def test_eight_processes_three_of_them_killed_make_exactly_a_thousand_entries(path: Path) -> None:
    spenders = Spenders(path, 0.001, 8)
    for victim, moment in zip(spenders.processes, (10, 30, 50), strict=False):
        spenders.wait_for(moment)
        victim.kill()
    exits = spenders.finish()
    budget = ln.Budget.open(path)
    assert exits == [-signal.SIGKILL] * 3 + [0] * 5
    assert len(budget.history()) == 1000
    assert 997 <= spenders.returned() <= 1000  # each killed process may have paid for one release that nobody saw
    assert budget.remaining.share == 0
    assert budget.verify()


def test_threads_share_a_budget(path: Path) -> None:
    budget = ln.Budget.open(path)
    decided = charge(budget, share=0.05)

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
    monkeypatch.setattr(sqlite_store, "LOCK_TIMEOUT_SECONDS", 0.05)
    budget = ln.Budget.open(path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with nothing_drawn(), pytest.raises(errors.LedgerBusy, match="locked by other processes"):
        spend(budget, share=0.1)
    other.execute("ROLLBACK")
    other.close()
    spend(budget, share=0.1)
    assert len(budget.history()) == 1
