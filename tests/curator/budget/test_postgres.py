"""A ledger on a real PostgreSQL server: the same laws, an analyst's rights, kills, cuts, and no password anywhere."""

from __future__ import annotations

import json
import sys
import time
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leastnoise as ln
from cutting_proxy import CuttingProxy
from leastnoise import errors
from leastnoise.cli import app
from leastnoise.curator.budget import charge, moving, postgres_schema, postgres_store
from leastnoise.curator.budget.entry_row import COLUMNS, Row
from leastnoise.curator.budget.privacy_filter import Cost
from leastnoise.curator.request import PrivacyRequest
from ledger_faults import nothing_drawn
from postgres_server import ANALYST, ANALYST_PASSWORD, OWNER, PASSWORD, Server
from server_spending import Team
from spending import close, spend

SECRETS = (PASSWORD, ANALYST_PASSWORD)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server() as running:
        running.run(f"CREATE ROLE {ANALYST} LOGIN PASSWORD '{ANALYST_PASSWORD}'")
        yield running


@pytest.fixture
def budget(server: Server, request: pytest.FixtureRequest) -> ln.Budget:
    return ln.Budget.open(server.url(name_of(request)), epsilon=1, delta=1e-6)


@pytest.fixture
def analyst(server: Server, budget: ln.Budget) -> ln.Budget:
    """The same budget as an analyst reaches it: with the rights that the documentation gives."""
    server.run(*postgres_schema.grants(budget.name, ANALYST))
    return ln.Budget.open(server.url(budget.name, user=ANALYST, password=ANALYST_PASSWORD))


def name_of(request: pytest.FixtureRequest) -> str:
    return f"b{abs(hash(request.node.nodeid)) % 10**12}"


def test_a_budget_on_a_server_is_the_same_budget(server: Server, budget: ln.Budget) -> None:
    made = ln.release(np.array([120, 0]), sensitivity=1, budget=budget, share="1/52", note="the weekly map")
    close(budget)
    budget.reopen(reason='mended; \u00e9 \U0001f600 "quoted" \\')
    budget.close(reason="the year is over")
    with nothing_drawn(), pytest.raises(errors.BudgetClosed, match="the year is over"):
        spend(budget, share=0.1)
    budget.reopen(reason="a new year")
    again = ln.Budget.open(server.url(budget.name), epsilon=1, delta=1e-6)
    assert again.verify() == budget.verify()
    kinds = [entry.kind for entry in again.history()]
    assert kinds == ["release", "release", "close", "reopen", "close", "reopen"]
    first = again.history()[0]
    assert (first.release, first.note, first.who) == (made.id, "the weekly map", OWNER)
    with pytest.raises(errors.BudgetMismatch, match="epsilon"):
        ln.Budget.open(server.url(budget.name), epsilon=2, delta=1e-6)
    with pytest.raises(AttributeError, match="location"):
        _ = budget.path
    with nothing_drawn(), pytest.raises(ln.BudgetExhausted):
        spend(budget, share=0.95)


def test_what_is_committed_is_on_disk_before_noise_is_read(
    server: Server, budget: ln.Budget, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.run("ALTER SYSTEM SET synchronous_commit = off", "SELECT pg_reload_conf()")
    try:
        spend(budget, share=0.1)
        seen: list[Any] = []
        real = postgres_store.postgres_errors.commit

        def commit(db: Any, address: Any) -> None:
            seen.extend(db.execute("SELECT current_setting('synchronous_commit')").fetchone())
            seen.extend(db.execute("SELECT current_setting('transaction_isolation')").fetchone())
            real(db, address)

        monkeypatch.setattr(postgres_store.postgres_errors, "commit", commit)
        spend(budget, share=0.1)
        assert seen == ["on", "serializable"]
    finally:
        server.run("ALTER SYSTEM RESET synchronous_commit", "SELECT pg_reload_conf()")


def test_an_analyst_spends_and_does_nothing_else(server: Server, budget: ln.Budget, analyst: ln.Budget) -> None:
    spend(analyst, share=0.1)
    assert [entry.who for entry in budget.history()] == [ANALYST]
    for what in (
        lambda: analyst.close(reason="no"),
        lambda: analyst.allocate("mine", share=0.5),
        lambda: server.run(f"DELETE FROM leastnoise_{budget.name}.entries"),
    ):
        with pytest.raises((errors.LedgerForbidden, Exception)) as refused:
            what()
        assert type(refused.value).__name__ in ("LedgerForbidden", "RaiseException")
    budget.close(reason="over")
    with pytest.raises(errors.LedgerForbidden):
        analyst.reopen(reason="no")
    budget.reopen(reason="go on")
    receipt = charge.decide(PrivacyRequest(budget=analyst, share=0.1), bins=1, integers=True, sensitivity=1).pay(
        query="q"
    )
    receipt.close(errors.ReadingFailed("the rows could not be read."))  # a failed reading closes, whoever reads
    assert budget.closed
    with nothing_drawn(), pytest.raises(errors.BudgetClosed):
        spend(analyst, share=0.1)
    budget.reopen(reason="mended")
    part = budget.allocate("maps team", share=0.2, people=[ANALYST])
    spend(analyst.allocation("maps team"), share=1)
    with nothing_drawn(), pytest.raises(errors.LedgerForbidden, match=f"is for {ANALYST}"):
        spend(part, share=0.1)
    with pytest.raises(errors.LedgerForbidden):
        analyst.allocation("maps team").return_unused()
    part.return_unused()
    assert budget.remaining.share == pytest.approx(0.6)
    assert budget.verify() == analyst.verify()


FORGED: dict[str, dict[str, Any]] = {
    "the wrong number": {"number": 7},
    "a reopening": {"kind": "reopen"},
    "an allocation": {"kind": "allocate"},
    "a return": {"kind": "return"},
    "a closing for another reason": {"kind": "close", "query": "no more"},
    "a negative amount": {"gaussian": "-5", "spent_gaussian": "95"},
    "a sum that leaves it out": {"spent_gaussian": "100"},
    "more than is left": {"gaussian": str(10**30), "spent_gaussian": str(10**30 + 100)},
    "nothing of epsilon": {"pure": "0", "spent_pure": str(10**30 + 1)},
    "an amount written differently": {"gaussian": "05", "spent_gaussian": "105"},
    "another name": {"details": '{"who":"keeper"}'},
    "no name": {"details": ""},
    "another time": {"made": "2020-01-01T00:00:00.000+00:00"},
    "an account that is not there": {"account": "nobody"},
    "the same release": {"release": "first"},
    "a field too few": {"hash": None},
    # whatever the server takes, Python must read: else one entry would stop everybody
    "a time in a word": {"made": "now"},
    "a time without a zone": {"made": "{now:%Y-%m-%dT%H:%M:%S}"},
    "a minute of 61 seconds": {"made": "{now:%Y-%m-%dT%H:%M:60.000+00:00}"},
    "details with a space": {"details": f'{{"who": "{ANALYST}"}}'},
    "details of an allocation": {"details": f'{{"root":"x","who":"{ANALYST}"}}'},
    "details without end": {"details": f'{{"note":{"[" * 3000}{"]" * 3000},"who":"{ANALYST}"}}'},
    "an empty note": {"details": f'{{"note":"","who":"{ANALYST}"}}'},
    "a number for a note": {"details": f'{{"note":1,"who":"{ANALYST}"}}'},
    "a query without end": {"query": "q" * 2**21},
    "a closing of an account that is not there": {
        "kind": "close", "query": postgres_schema.FAILED, "release": "first", "account": "nobody",
        "gaussian": "0", "pure": "0", "spent_gaussian": "0", "spent_pure": "0",
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def half_spent(server: Server) -> ln.Budget:
    budget = ln.Budget.open(server.url("forged"), epsilon=1, delta=1e-6)
    server.run(*postgres_schema.grants("forged", ANALYST))
    call(server, {})
    return budget


def call(server: Server, change: dict[str, Any], first: str = "first") -> None:
    """The analyst calls the function by hand."""
    import psycopg

    with psycopg.connect(server.address(user=ANALYST, password=ANALYST_PASSWORD), autocommit=True) as db:
        spent, pure = db.execute(
            "SELECT coalesce(max(spent_gaussian::numeric), 0)::text, coalesce(max(spent_pure::numeric), 0)::text "
            "FROM leastnoise_forged.entries"
        ).fetchone()
        (number,) = db.execute("SELECT number + 1 FROM leastnoise_forged.head").fetchone()
        (made,) = db.execute(
            "SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS+00:00')"
        ).fetchone()
        beyond = 10**30 + 1  # of epsilon: a release that is not pure
        fields = {
            "number": number, "made": made, "kind": "release", "release": first, "query": "q", "noise": "n", "unit": "",
            "table": "", "gaussian": "100", "pure": str(beyond), "threshold": "0",
            "spent_gaussian": str(int(spent) + 100), "spent_pure": str(int(pure) + beyond),
            "spent_threshold": "0", "account": "", "details": f'{{"who":"{ANALYST}"}}',
        } | change  # fmt: skip
        fields["made"] = fields["made"].format(now=datetime.now(UTC))
        texts = [str(fields[name]) for name in COLUMNS][: len(COLUMNS) - ("hash" in change)]
        db.execute("SELECT leastnoise_forged.append_entry(%s)", [texts])


@pytest.mark.parametrize("change", FORGED.values(), ids=FORGED)
def test_the_function_refuses_what_is_no_debit(server: Server, half_spent: ln.Budget, change: dict[str, Any]) -> None:
    import psycopg

    before = half_spent.verify()
    with pytest.raises(psycopg.Error):
        call(server, change, first="second")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        server.run("INSERT INTO leastnoise_forged.head VALUES (1, 'x')", user=ANALYST, password=ANALYST_PASSWORD)
    assert half_spent.verify() == before


def test_the_function_takes_the_same_entry_when_it_is_right(server: Server, half_spent: ln.Budget) -> None:
    """Or the refusals above would prove nothing. Its quotes mean the same where a role has chosen the old way."""
    entries = len(half_spent.history())
    call(server, {}, first=f"right{entries}")
    server.run(f"ALTER ROLE {ANALYST} SET standard_conforming_strings = off")
    try:
        call(server, {"query": 'a "quoted" \\'}, first=f"old{entries}")
    finally:
        server.run(f"ALTER ROLE {ANALYST} RESET standard_conforming_strings")
    assert len(half_spent.history()) == entries + 2
    assert half_spent.verify()


@settings(max_examples=60)
@given(words=st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20))
def test_the_server_writes_text_as_python_hashes_it(server: Server, half_spent: ln.Budget, words: str) -> None:
    import psycopg

    with psycopg.connect(server.address(), autocommit=True) as db:
        assert db.execute("SELECT leastnoise_forged.json_text(%s)", [words]).fetchone() == (json.dumps(words),)


def test_eight_processes_kills_a_crash_and_cuts_spend_exactly_the_budget(server: Server, tmp_path: Path) -> None:
    """Half of them killed -9, the server killed and started again, connections cut after the commit."""
    proxy = CuttingProxy(server.port, every=5)
    url = server.url("team")
    budget = ln.Budget.open(url, epsilon=1, delta=1e-6)
    wire = url.replace(str(server.port), str(proxy.port)) + "&sslmode=disable"
    team = Team([url] * 6 + [wire] * 2, tmp_path, share="1/48")
    for number, moment in enumerate((5, 10, 16, 22)):
        team.wait_for(moment)
        team.processes[number].kill()
        if moment == 10:
            server.kill()
            time.sleep(0.2)
            server.start()
    exits = team.finish()
    proxy.close()
    history = budget.history()
    paid = [entry.release for entry in history]
    assert exits == [-9] * 4 + [0] * 4
    assert proxy.cuts > 0  # or the wire was never cut
    assert len(paid) == len(set(paid)) == 48
    assert set(team.returned()) <= set(paid)
    assert len(team.returned()) >= 48 - 4 - proxy.cuts - 8  # a kill, a cut and the crash lose one debit each, at most
    assert budget.remaining.share < 1e-25
    assert budget.verify()


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
    for shown in (repr(budget), str(budget), budget.location, repr(budget._account.ledger.store._address)):  # type: ignore[attr-defined]
        assert "424242" not in shown
    assert "by a job" in [entry.note for entry in budget.history()]
    import pickle

    with pytest.raises(TypeError, match="password"):
        pickle.dumps(budget._account.ledger.store._address)  # type: ignore[attr-defined]


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
        "leastnoise.curator.budget.account.CLOCK", -np.timedelta64(1, "D").astype("timedelta64[ms]").item()
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


def test_an_edited_ledger_is_found(server: Server, budget: ln.Budget) -> None:
    import psycopg

    for _ in range(3):
        spend(budget, share=0.1)
    place = f"leastnoise_{budget.name}.entries"
    for statement in (f"UPDATE {place} SET query = 'x'", f"DELETE FROM {place}", f"TRUNCATE {place}"):
        with pytest.raises(psycopg.Error, match="never changed"):
            server.run(statement)
    server.run(f"ALTER TABLE {place} DISABLE TRIGGER ALL", f"UPDATE {place} SET query = 'x' WHERE number = 2")
    with pytest.raises(errors.LedgerBroken, match="entry 2 "):
        budget.verify()
    server.run(f"UPDATE {place} SET query = 'x' WHERE number = 3")
    with nothing_drawn(), pytest.raises(errors.LedgerBroken, match="entry 3 "):
        spend(budget, share=0.1)


def test_a_file_is_carried_over_and_sealed(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, url = tmp_path / "city.ledger", server.url("carried")
    old = ln.Budget.open(path, epsilon=1, delta=1e-6, unit="taxi")
    spend(old, share=0.25)
    close(old)
    old.reopen(reason="mended")
    part = old.allocate("maps team", share=0.25)
    spend(part, share=0.5)

    def lost(*_: Any) -> None:
        raise errors.LedgerUnreachable("lost")

    monkeypatch.setattr(postgres_store.postgres_errors, "commit", lost)
    with pytest.raises(errors.LedgerUnreachable):
        moving.move(path, url)
    monkeypatch.undo()
    with nothing_drawn(), pytest.raises(errors.BudgetClosed, match="sealed"):
        spend(old, share=0.01)  # sealed, though it did not arrive: that is the safe side
    with pytest.raises(errors.BudgetClosed, match="was moved to"):
        moving.move(path, server.url("elsewhere"))
    new = moving.move(path, url)
    assert new.verify()
    assert new.remaining == old.remaining
    assert [row.release for row in old.history()] == [row.release for row in new.history()][:-1]
    assert moving.move(path, url).verify() == new.verify()  # it is there already, and is this one
    with nothing_drawn(), pytest.raises(errors.BudgetClosed, match="sealed"):
        spend(part, share=0.1)
    spend(new, share=0.1)
    spend(new.allocation("maps team"), share=0.5)
    assert new.verify()
    assert old.verify()
    ln.Budget.open(tmp_path / "other.ledger", epsilon=1, delta=1e-6)
    with pytest.raises(errors.BadOutput, match="already"):
        moving.move(tmp_path / "other.ledger", url)


def test_rows_that_the_owner_writes_wrongly_are_found(server: Server, budget: ln.Budget) -> None:
    """The chain holds; the account does not."""
    spend(budget, share=0.1)
    ledger = budget._account.ledger
    row = Row(2, "2026-01-01T00:00:00.000+00:00", "return", "x", "q", "", "", "", Cost(), Cost(gaussian=10**29), "", "")
    ledger.append(lambda state, head, last: row)
    with pytest.raises(errors.LedgerBroken, match="entry 2 "):
        budget.verify()
