"""`leastnoise run`, stopped wherever it may be: no later run pays twice, and nothing is lost."""

from __future__ import annotations

import fcntl
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import leastnoise as ln
from command_line import ENVIRONMENT
from fuzzing import run
from job_desk import DAY, OUT, debits, done, edit, refused
from leastnoise.jobs.record import Record
from leastnoise.releases.published import Published
from leastnoise.releases.release import Release


class Stopped(BaseException):
    """The machine is switched off."""


def stopping(monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """Let the next run end at one place, as if the machine had been switched off there."""

    def stop(*_: object, **__: object) -> Any:
        raise Stopped

    write = Record.write

    def stop_when_written(self: Record, path: str) -> None:
        if self.release is not None:
            raise Stopped
        write(self, path)

    places: dict[str, tuple[Any, Callable[..., Any]]] = {
        "before the debit": ("leastnoise.curator.budget.charge.Charge.pay", stop),
        "before a row is read": ("leastnoise.curator.release.read_rows", stop),
        "before the release is written": (f"{Release.__module__}.Release.save", stop),
        "before its record is": ("leastnoise.jobs.record.Record.write", stop_when_written),
        "before the page is": (f"{Published.__module__}.Published.report", stop),
    }
    monkeypatch.setattr(*places[where])


@pytest.mark.parametrize(
    ("where", "paid", "goes_on"),
    [
        ("before the debit", 0, True),
        ("before a row is read", 1, False),
        ("before the release is written", 1, False),
        ("before its record is", 1, True),
        ("before the page is", 1, True),
    ],
)
def test_wherever_a_run_is_stopped_no_other_run_pays_twice(
    desk: Path, monkeypatch: pytest.MonkeyPatch, where: str, paid: int, goes_on: bool
) -> None:
    edit("[output]\n", '[output]\npage = "page.html"\n')
    with monkeypatch.context() as patch:
        stopping(patch, where)
        with pytest.raises(Stopped):
            run("run", "job.toml", *DAY)
    assert debits() == paid
    assert [path.name for path in desk.iterdir() if "unfinished" in path.name] == []
    if goes_on:
        done()
        assert debits() == 1
    else:
        for _ in range(2):  # however often the timetable tries
            refused(1, "ended before 'out-2026-10.parquet' was written")
        assert ln.Budget.open("city.ledger").history()[0].release in run("run", "job.toml", *DAY)[2]
        done("--again")
        assert debits() == 2
    assert Path("page.html").exists()
    total = debits()
    assert "Nothing was read" in done()
    assert debits() == total


@pytest.mark.parametrize("where", ["before the debit", "before a row is read", "before its record is"])
def test_a_stopped_run_in_place_of_an_earlier_release(desk: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    done()
    first = ln.load(OUT).id
    with monkeypatch.context() as patch:
        stopping(patch, where)
        with pytest.raises(Stopped):
            run("run", "job.toml", *DAY, "--again")
    if where == "before the debit":
        assert "Nothing was read" in done()  # the earlier one still counts
        assert (debits(), ln.load(OUT).id) == (1, first)
    elif where == "before a row is read":
        refused(1, "what it paid stays paid")
        assert (debits(), ln.load(OUT).id) == (2, first)
    else:
        assert "Nothing was read" in done()
        assert debits() == 2
        assert ln.load(OUT).id != first


def test_rows_that_cannot_be_read_are_paid_once(desk: Path) -> None:
    content = Path("register.parquet").read_bytes()
    footer = int.from_bytes(content[-8:-4], "little") + 8
    Path("register.parquet").write_bytes(content[:4] + b"\xff" * (len(content) - 4 - footer) + content[-footer:])
    assert "Nothing was read, paid or written." in done("--expect")
    assert json.loads(done("--expect", "--json"))["bins"] == 24
    assert not OUT.exists()
    assert not Path(f"{OUT}.run").exists()
    code, _, err = run("run", "job.toml", *DAY)
    assert code == 1
    assert "ReadingFailed" in err
    refused(1, "what it paid stays paid")
    refused(1, "BudgetClosed", "--again")
    assert [entry.kind for entry in ln.Budget.open("city.ledger").history()] == ["release", "close"]


def test_a_release_that_is_gone_is_not_paid_for_again(desk: Path) -> None:
    done()
    OUT.rename("elsewhere")
    refused(1, "the file is gone")
    Path("elsewhere").rename(OUT)
    assert "Nothing was read" in done()
    OUT.unlink()
    done("--again")
    assert debits() == 2


def test_an_exhausted_budget_ends_in_1_and_leaves_the_job_as_it_was(desk: Path) -> None:
    edit("share = 0.05", "share = 0.6")
    done()
    code, _, err = run("run", "job.toml", "--date", "2026-11-01")
    assert code == 1
    assert "BudgetExhausted" in err
    assert not Path("out-2026-11.parquet.run").exists()
    code, _, err = run("run", "job.toml", *DAY, "--again")
    assert code == 1
    assert "Nothing was read" in done()
    assert debits() == 1


def test_two_runs_at_once(desk: Path) -> None:
    with open("job.toml", "rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        refused(1, "Another run of 'job.toml' is under way")
    done()


def test_without_a_budget_nothing_is_debited(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edit('budget = "city.ledger"\nshare = 0.05', "epsilon = 1\ndelta = 1e-6")
    with monkeypatch.context() as patch:
        stopping(patch, "before a row is read")
        with pytest.raises(Stopped):
            run("run", "job.toml", *DAY)
    done()  # what was not paid can be asked again
    assert "Nothing was read" in done()
    assert debits() == 0


def test_a_process_that_is_killed_after_its_debit(desk: Path) -> None:
    """Nothing is unwound: no finally, no exception, the process is gone."""
    killed = f"""
import os, sys
from leastnoise.cli import main
from leastnoise.releases.release import Release
Release.save = lambda *_, **__: os._exit(9)
sys.argv = ["leastnoise", "run", "job.toml", *{DAY!r}]
main()
"""
    done_with = subprocess.run([sys.executable, "-c", killed], env=ENVIRONMENT, capture_output=True, check=False)
    assert done_with.returncode == 9
    assert debits() == 1
    refused(1, "what it paid stays paid")
    done("--again")
    assert debits() == 2
