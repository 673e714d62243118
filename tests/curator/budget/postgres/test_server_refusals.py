"""What a server or its address may be wrong in: refused clearly, and no password is shown."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import leastnoise as ln
from leastnoise import errors
from leastnoise.cli import app
from leastnoise.curator.budget import postgres_schema, postgres_store, postgres_url
from leastnoise.curator.budget.postgres_store import as_ours
from ledger_faults import nothing_drawn
from postgres_server import ANALYST, ANALYST_PASSWORD, PASSWORD, Server
from spending import spend

SECRETS = (PASSWORD, ANALYST_PASSWORD)

BAD_ADDRESSES = [
    "postgresql://user:{p}@host/db",
    "postgresql://user:{p}@host/db?budget=",
    "postgresql://user:{p}@host/db?budget=City",
    "postgresql://user:{p}@host/db?budget=a&budget=b",
    "postgresql://user:{p}@host:port/db?budget=a",
    "postgresql://user:{p}@[host/db?budget=a",
    "postgressql://user:{p}@host/db?budget=a",
    "mysql://user:{p}@host/db",
    "postgresql:/user:{p}@host/db?budget=a",
    "postgresql://user:{p}@127.0.0.1:1/db?budget=a",
    "postgresql://user:{p}@127.0.0.1:1/db?budget=a&sslmode=nonsense",
    "postgresql://user@127.0.0.1:1/db?budget=a&password={p}",
    "postgresql://user:{p}%zz@127.0.0.1:1/db?budget=a",
    "postgresql://user:12/{p}@127.0.0.1:1/db?budget=a",
    " postgresql://user:{p}@127.0.0.1:1/db?budget=a",
    "'postgresql://user:{p}@127.0.0.1:1/db?budget=a'",
]


@pytest.mark.parametrize("address", BAD_ADDRESSES)
def test_a_wrong_address_is_refused_and_never_quoted(address: str) -> None:
    with pytest.raises(errors.LeastnoiseError) as refused:
        ln.Budget.open(address.format(p=PASSWORD), epsilon=1, delta=1e-6)
    problem = refused.value
    for shown in (str(problem), repr(problem), str(problem.value), str(problem.__context__), repr(problem.__context__)):
        assert PASSWORD not in shown
    with pytest.raises(errors.LeastnoiseError):
        ln.Budget.open(Path("postgresql://host/db?budget=a"))


def test_nothing_of_the_driver_s_error_is_kept() -> None:
    address = postgres_url.parsed(f"postgresql://me:{PASSWORD}@host/db?budget=a")
    try:
        try:
            raise OSError(f"no {PASSWORD}")
        except OSError:
            raise ValueError(f"connection with {PASSWORD} failed")  # noqa: B904
    except ValueError as problem:
        made = as_ours(problem, address, 1.0)
        kept, frames = f"{made!r} {made} {problem!r} {problem.__context__!r}", problem.__traceback__
    assert PASSWORD not in kept
    assert frames is None


def test_no_password_is_shown_anywhere(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Every stream of every command, and every file that is written."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    url, wrong = server.url("silent"), server.url("silent", password="secret-WRONG-424242")
    np.save(tmp_path / "x.npy", np.array([1, 2]))
    job = f'[table]\nsource = "t.csv"\nunit = "who"\n[ask]\nkind = "count"\nmax_rows = 1\n[privacy]\nbudget = "{url}"\n'
    (tmp_path / "job.toml").write_text(job + 'share = "1/8"\nnote = "by a job"\n[output]\nrelease = "r.parquet"\n')
    (tmp_path / "t.csv").write_text("who\n1\n2\n")
    ln.Budget.open(tmp_path / "old.ledger", epsilon=1, delta=1e-6)
    pay = ["release", "x.npy", "--sensitivity", "1", "--budget", url, "-o", "out.parquet", "--share"]
    commands = [
        (["budget", "create", url, "--epsilon", "1", "--delta", "1e-6"], 0),
        (["budget", url], 0),
        ([*pay, "1/8"], 0),
        ([*pay, "1"], 1),
        ([*pay, "nonsense"], 2),
        (["run", "job.toml"], 0),
        (["budget", "close", url, "--reason", "over"], 0),
        ([*pay, "1/8"], 1),
        (["budget", "reopen", url, "--reason", "again"], 0),
        (["budget", "allocate", url, "--name", "maps", "--share", "0.1"], 0),
        (["budget", url, "--history", "--verify", "--report", "page.html"], 0),
        (["budget", url, "--history", "--json"], 0),
        (["budget", wrong], 1),
        (["budget", "move", "old.ledger", url], 2),
        (["budget", "move", "old.ledger", wrong], 1),
        (["budget", "move", "old.ledger", server.url("moved")], 0),
        (["budget", url, "--nonsense"], 2),
    ]
    for words, code in commands:
        ended, shown = run_here(words, monkeypatch, capfd)
        assert ended == code, (words[:2], shown)
        assert "424242" not in shown, words
    monkeypatch.setenv("LEASTNOISE_DEBUG", "1")  # which shows the whole traceback
    with pytest.raises(errors.LedgerForbidden) as refused:
        run_here(["budget", wrong], monkeypatch, capfd)
    assert "424242" not in "".join(traceback.format_exception(refused.value))
    while (context := refused.value.__context__) is not None and not isinstance(context, errors.LeastnoiseError):
        assert (context.args, context.__traceback__) == ((), None)
        break
    job_itself = tmp_path / "job.toml"
    for path in tmp_path.rglob("*"):
        if path.is_file() and path != job_itself:
            assert b"424242" not in path.read_bytes(), path
    budget = ln.Budget.open(url)
    for shown in (repr(budget), str(budget), budget.location, repr(budget._ledger.store._address)):  # type: ignore[attr-defined]
        assert "424242" not in shown
    assert "by a job" in [entry.note for entry in budget.history()]
    import pickle

    with pytest.raises(TypeError, match="password"):
        pickle.dumps(budget._ledger.store._address)  # type: ignore[attr-defined]


def run_here(words: list[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """The command line in this process; how it ends, and all that it wrote to either stream."""
    monkeypatch.setattr(sys, "argv", ["leastnoise", *words])
    code = 0
    try:
        app.main()
    except SystemExit as end:
        code = int(end.code or 0)
    return code, "".join(capfd.readouterr())


def test_whatever_is_wrong_is_refused_clearly(
    server: Server, budget: ln.Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(url: str, kind: type[Exception], words: str, **limits: Any) -> None:
        with nothing_drawn(), pytest.raises(kind, match=words):
            spend(ln.Budget.open(url, **limits), share=0.1)

    limits = {"epsilon": 1, "delta": 1e-6}
    name, before = budget.name, len(budget.history())
    refused(server.url("none"), errors.NoSuchFile, "no ledger")
    refused(server.url(name, password="wrong"), errors.LedgerForbidden, "wrong password")
    refused(server.url(name, database="nowhere"), errors.NoSuchFile, "no such database")
    refused(server.url(name).replace(str(server.port), "1"), errors.LedgerUnreachable, "cannot be reached")
    # another's role: neither to look nor to begin one
    refused(server.url(name, user=ANALYST, password=ANALYST_PASSWORD), errors.LedgerForbidden, "may not")
    refused(server.url("hers", user=ANALYST, password=ANALYST_PASSWORD), errors.LedgerForbidden, "may not", **limits)
    # foreign tables of that name
    server.run("CREATE SCHEMA leastnoise_foreign", "CREATE TABLE leastnoise_foreign.entries (number int)")
    refused(server.url("foreign"), errors.NotOurs, "did not make", **limits)
    server.run(f"COMMENT ON SCHEMA leastnoise_foreign IS '{postgres_schema.MARK}'")
    refused(server.url("foreign"), errors.NotOurs, "did not make", **limits)
    server.run("COMMENT ON SCHEMA leastnoise_foreign IS 'a privacy budget of leastnoise, format 99'")
    refused(server.url("foreign"), errors.NotOurs, "newer", **limits)
    # a clock that is behind
    monkeypatch.setattr(
        "leastnoise.curator.budget.budget.CLOCK", -np.timedelta64(1, "D").astype("timedelta64[ms]").item()
    )
    spend_first = ln.Budget.open(server.url(name))
    spend(spend_first, share=0.01)
    with nothing_drawn(), pytest.raises(errors.BudgetClosed, match="clock"):
        spend(spend_first, share=0.01)
    monkeypatch.undo()
    # no driver
    monkeypatch.setitem(sys.modules, "psycopg", None)
    refused(server.url(name), errors.MissingPackage, r"leastnoise\[postgres\]")
    monkeypatch.undo()
    # a lock that somebody holds
    monkeypatch.setattr(postgres_store, "LOCK_TIMEOUT_SECONDS", 0.05)
    import psycopg

    with psycopg.connect(server.address(), autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(hashtextextended(%s, 0))", [f"leastnoise_{name}"])
        refused(server.url(name), errors.LedgerBusy, "locked")
    monkeypatch.undo()
    assert len(budget.history()) == before + 1
    assert budget.verify()
