"""What a team does to a budget on the command line: allocations, notes, closing, a page."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import leastnoise as ln
from leastnoise.cli import app
from leastnoise.cli.budget import history_lines

Said = tuple[int, str, str]


class Shell:
    """The command line in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
        self.monkeypatch, self.capfd = monkeypatch, capfd

    def __call__(self, *words: str) -> Said:
        self.monkeypatch.setattr(sys, "argv", ["leastnoise", *words])
        code = 0
        try:
            app.main()
        except SystemExit as end:
            code = int(end.code or 0)
        out, err = self.capfd.readouterr()
        return code, out, err


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Shell:
    monkeypatch.chdir(tmp_path)
    for name, value in {"NO_COLOR": "1", "COLUMNS": "80", "TERM": "dumb"}.items():
        monkeypatch.setenv(name, value)
    np.save(tmp_path / "x.npy", np.array([1, 2]))
    run = Shell(monkeypatch, capfd)
    assert run("budget", "create", "city.ledger", "--epsilon", "1", "--delta", "1e-6", "--unit", "taxi")[0] == 0
    return run


PAY = ("release", "x.npy", "--sensitivity", "1", "--budget", "city.ledger", "-o", "out.parquet", "-q")


def test_a_share_is_a_fraction_and_the_history_says_why_who_and_where(shell: Shell) -> None:
    assert shell(*PAY, "--share", "1/52", "--note", "the weekly map")[0] == 0
    code, out, _ = shell("budget", "city.ledger", "--history", "--json")
    entry = json.loads(out)["history"][0]
    assert (code, entry["note"], entry["file"], entry["gaussian"]) == (0, "the weekly map", "out.parquet", 1 / 52)
    assert entry["who"]
    _, out, _ = shell("budget", "city.ledger", "--history")
    assert "the weekly map" in out
    assert "written to out.parquet" in out
    for wrong in ("a/b", "1/0", "nan"):
        code, _, err = shell(*PAY, "--share", wrong)
        assert code == 2
        assert "--share 1/52" in err
    code, _, err = shell(*PAY[:4], "--epsilon", "1", "--delta", "1e-6", "--note", "x", "-o", "o.parquet")
    assert code == 2
    assert "--budget city.ledger" in " ".join(err.split())


def test_allocations_are_made_spent_and_returned(shell: Shell) -> None:
    code, out, _ = shell("budget", "allocate", "city.ledger", "--name", "maps team", "--share", "1/4")
    assert code == 0
    assert out.startswith("maps team: epsilon = 1")
    assert shell(*PAY, "--allocation", "maps team", "--share", "1/2")[0] == 0
    code, out, _ = shell("budget", "city.ledger", "--allocation", "maps team", "--json")
    assert json.loads(out)["remaining"]["share"] == 0.5
    _, out, _ = shell("budget", "city.ledger", "--json")
    (part,) = json.loads(out)["allocations"]
    assert (part["name"], part["share"], part["spent"], part["returned"]) == ("maps team", 0.25, 0.5, False)
    code, _, err = shell("budget", "allocate", "city.ledger", "--share", "0.1")
    assert (code, '--name "maps team"' in err) == (2, True)
    assert shell(*PAY, "--allocation", "nobody", "--share", "1/2")[0] == 2
    assert shell("budget", "return", "city.ledger", "maps team", "--note", "not needed")[0] == 0
    assert ln.Budget.open("city.ledger").remaining.share == 0.875
    assert shell(*PAY, "--allocation", "maps team", "--share", "1/2")[0] == 1


def test_closing_and_a_page(shell: Shell, tmp_path: Path) -> None:
    assert shell(*PAY, "--share", "0.1", "--note", "<script>alert(1)</script>")[0] == 0
    assert shell("budget", "close", "city.ledger", "--reason", "the year is over")[0] == 0
    assert shell("budget", "close", "city.ledger", "--reason", "again")[0] == 2
    assert shell(*PAY, "--share", "0.1")[0] == 1
    shell("budget", "allocate", "city.ledger", "--name", "no", "--share", "0.1")
    code, out, _ = shell("budget", "city.ledger", "--report", "page.html")
    page = (tmp_path / "page.html").read_text()
    assert (code, "Written: page.html" in out) == (0, True)
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "the year is over" in page
    assert str(tmp_path) not in page  # where it lies on somebody's disk
    assert shell("budget", "city.ledger", "--report", "city.ledger")[0] == 2
    assert shell("budget", "reopen", "city.ledger", "--reason", "a new year")[0] == 0


def test_no_line_of_the_history_is_longer_than_the_screen(tmp_path: Path) -> None:
    budget = ln.Budget.open(tmp_path / "b", epsilon=1, delta=1e-6)
    part = budget.allocate("x" * 80, share=0.5, note="y" * 500)
    ln.release(np.array([1]), sensitivity=1, budget=part, share=0.1, note="a note " * 60)
    lines = list(history_lines(budget.history(), 80))
    assert max(map(len, lines)) <= 80
    assert len(lines) > 4


def test_a_job_pays_from_an_allocation_by_a_fraction(shell: Shell, tmp_path: Path) -> None:
    ln.Budget.open("city.ledger").allocate("maps", share=0.5)
    (tmp_path / "t.csv").write_text("taxi\n1\n2\n")
    job = '[table]\nsource = "t.csv"\nunit = "taxi"\n[ask]\nkind = "count"\nmax_rows = 1\n[privacy]\nshare = "1/12"\n'
    job += 'budget = "city.ledger"\nallocation = "maps"\nnote = "the monthly count"\n[output]\nrelease = "r.parquet"\n'
    (tmp_path / "job.toml").write_text(job)
    code, _, err = shell("run", "job.toml", "-q")
    assert code == 0, err
    entry = ln.Budget.open("city.ledger").history()[-1]
    assert (entry.allocation, entry.note, float(entry.gaussian)) == ("maps", "the monthly count", 1 / 24)
    assert shell("run", "job.toml", "-q")[0] == 0
    assert len(ln.Budget.open("city.ledger").history()) == 2
