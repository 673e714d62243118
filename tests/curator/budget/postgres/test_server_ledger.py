"""A ledger on a real PostgreSQL server: the same laws as in a file, through kills, a crash and cuts."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import leastnoise as ln
from cutting_proxy import CuttingProxy
from leastnoise import errors
from leastnoise.curator.budget import moving, postgres_store
from leastnoise.curator.budget.state import Head, Row
from leastnoise.curator.budget.terms import Cost
from ledger_faults import nothing_drawn
from postgres_server import OWNER, Server
from server_spending import Team
from spending import close, spend


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
        real = postgres_store.commit

        def commit(db: Any, address: Any) -> None:
            seen.extend(db.execute("SELECT current_setting('synchronous_commit')").fetchone())
            seen.extend(db.execute("SELECT current_setting('transaction_isolation')").fetchone())
            real(db, address)

        monkeypatch.setattr(postgres_store, "commit", commit)
        spend(budget, share=0.1)
        assert seen == ["on", "serializable"]
    finally:
        server.run("ALTER SYSTEM RESET synchronous_commit", "SELECT pg_reload_conf()")


def test_eight_processes_kills_a_crash_and_cuts_spend_exactly_the_budget(server: Server, tmp_path: Path) -> None:
    """Half of them killed -9, the server killed and started again, connections cut after the commit."""
    proxy = CuttingProxy(server.port, every=3)
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

    monkeypatch.setattr(postgres_store, "commit", lost)
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
    row = Row(2, "2026-01-01T00:00:00.000+00:00", "return", "x", "q", "", "", "", Cost(), Cost(gaussian=10**29), "", "")
    with pytest.raises(errors.NotProved, match="Entry 2 may not follow"):
        budget._ledger.append(lambda state, reader: row)
    with budget._ledger.store.writing() as writer:
        ((number, before),) = writer.reader.heads()
        writer.append(row.to_fields(), Head(number + 1, row.hash_after(before)))
    with pytest.raises(errors.LedgerBroken, match="entry 2 "):
        budget.verify()
