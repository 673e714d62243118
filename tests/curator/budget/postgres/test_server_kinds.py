"""On a server: the owner reopens an unspent budget as the other kind, and debits are held to that; a rehearsal refuses
what a debit would be refused for, and writes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import leastnoise as ln
from leastnoise import errors
from leastnoise.curator.budget.ledger import Ledger, Make
from leastnoise.curator.budget.moving import move
from postgres_server import ANALYST, ANALYST_PASSWORD, Server, grants

COUNTS = pa.array([3, 5]).to_numpy()


def reached_by_analyst(server: Server, budget: ln.Budget) -> ln.Budget:
    return ln.Budget.open(server.url(budget.name, user=ANALYST, password=ANALYST_PASSWORD))


def pay(budget: ln.Budget, share: float = 0.5) -> Any:
    return ln.release(COUNTS, sensitivity=1, l1_sensitivity=1, budget=budget, share=share)


def test_an_unspent_budget_is_reopened_by_its_owner_and_by_nobody_else(
    server: Server, budget: ln.Budget, analyst: ln.Budget
) -> None:
    url = server.url(budget.name)
    with pytest.raises(errors.LedgerForbidden):
        ln.Budget.open(server.url(budget.name, user=ANALYST, password=ANALYST_PASSWORD), epsilon=1, delta=0)
    assert budget.history() == []
    there = ln.Budget.open(url, epsilon=1, delta=0, releases=2)
    assert [entry.kind for entry in there.history()] == ["terms"]
    assert there.terms.laplace_only
    there.verify()
    for before in (budget, analyst):
        with pytest.raises(errors.BudgetMismatch, match="was reopened with other terms"):
            pay(before)
    mine = reached_by_analyst(server, budget)
    assert mine.terms.releases == 2
    made = [pay(mine), pay(ln.Budget.open(url))]
    assert [each.mechanism for each in made] == ["laplace", "laplace"]
    assert sum(each.guarantee.epsilon for each in made) == pytest.approx(1)
    with pytest.raises(ln.BudgetExhausted):
        pay(reached_by_analyst(server, budget), 0.1)
    with pytest.raises(errors.BudgetMismatch, match="and that is fixed"):
        ln.Budget.open(url, epsilon=1, delta=1e-6)
    mine.verify()


def test_the_server_itself_holds_debits_to_the_terms_that_hold_now(server: Server, budget: ln.Budget) -> None:
    ln.Budget.open(server.url(budget.name), epsilon=1, delta=0)
    assert dict(server.run(f"SELECT name, value FROM leastnoise_{budget.name}.caps")) == {
        "gaussian": "0",
        "pure": str(10**30),
        "threshold": "0",
    }


def test_a_file_that_was_reopened_is_carried_over_as_what_it_is(
    server: Server, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    path, url = tmp_path / "city.ledger", server.url(f"b{abs(hash(request.node.nodeid)) % 10**12}")
    ln.Budget.open(path, epsilon=1, delta=1e-6)
    ln.Budget.open(path, epsilon=1, delta=0)
    there = move(path, url)
    assert there.terms.laplace_only
    there.verify()
    server.run(*grants(there.name, ANALYST))
    assert pay(reached_by_analyst(server, there), 1).guarantee.epsilon == 1
    there.verify()


def test_a_file_that_is_reopened_while_it_is_carried_over_is_not(
    server: Server, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server would hold debits to the caps of the terms before."""
    path, url = tmp_path / "city.ledger", server.url(f"b{abs(hash(request.node.nodeid)) % 10**12}")
    ln.Budget.open(path, epsilon=1, delta=1e-6)
    append = Ledger.append

    def just_before(ledger: Ledger, make: Make) -> Any:
        monkeypatch.undo()
        ln.Budget.open(path, epsilon=1, delta=0)
        return append(ledger, make)

    monkeypatch.setattr(Ledger, "append", just_before)
    with pytest.raises(errors.BudgetMismatch, match="other terms"):
        move(path, url)
    there = move(path, url)  # nothing was sealed, nor written on the server
    assert there.terms.laplace_only
    assert pay(there, 1).guarantee.epsilon == 1
    there.verify()


def test_expect_refuses_what_the_server_would(server: Server, budget: ln.Budget, analyst: ln.Budget) -> None:
    count = ln.table(pa.table({"p": [1, 2]}), unit="p").count(max_rows=1)
    name = f"leastnoise_{budget.name}"
    server.run(f"REVOKE EXECUTE ON FUNCTION {name}.append_entry(text[]) FROM {ANALYST}")
    with pytest.raises(errors.LedgerForbidden):
        count.expect(budget=analyst, share=0.5)
    server.run(f"GRANT EXECUTE ON FUNCTION {name}.append_entry(text[]) TO {ANALYST}")
    assert count.expect(budget=analyst, share=0.5).mechanism == "gaussian"
    assert budget.history() == []
    count.release(budget=analyst, share=0.9)
    with pytest.raises(ln.BudgetExhausted):
        count.expect(budget=analyst, share=0.5)
    budget.close(reason="the year is over")
    with pytest.raises(errors.BudgetClosed):
        count.expect(budget=analyst, share=0.05)
    assert [entry.kind for entry in budget.history()] == ["release", "close"]
