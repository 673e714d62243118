"""An analyst's rights on a server: one function, which takes debits and nothing else."""

from __future__ import annotations

import json
import secrets
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leastnoise as ln
from leastnoise import errors
from leastnoise.curator.budget import postgres_schema
from leastnoise.curator.budget.state import COLUMNS, written_details
from ledger_faults import nothing_drawn
from postgres_server import ANALYST, ANALYST_PASSWORD, Server, grants
from spending import charge, spend


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
    receipt = charge(analyst, share=0.1).pay(query="q")
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
        "gaussian": "0", "spent_gaussian": "0",
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def half_spent(server: Server) -> ln.Budget:
    budget = ln.Budget.open(server.url("forged"), epsilon=1, delta=1e-6)
    server.run(*grants("forged", ANALYST))
    call(server, {})
    return budget


def call(server: Server, change: dict[str, Any], first: str = "first") -> None:
    """The analyst calls the function by hand."""
    import psycopg

    with psycopg.connect(server.address(user=ANALYST, password=ANALYST_PASSWORD), autocommit=True) as db:
        (spent,) = db.execute(
            "SELECT coalesce(max(spent_gaussian::numeric), 0)::text FROM leastnoise_forged.entries"
        ).fetchone()
        (number,) = db.execute("SELECT number + 1 FROM leastnoise_forged.head").fetchone()
        (made,) = db.execute(
            "SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS+00:00')"
        ).fetchone()
        fields = {
            "number": number, "made": made, "kind": "release", "release": first, "query": "q", "noise": "n", "unit": "",
            "table": "", "gaussian": "100", "pure": "0", "threshold": "0",
            "spent_gaussian": str(int(spent) + 100), "spent_pure": "0",
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


def test_the_function_refuses_a_debit_while_the_budget_is_closed(server: Server, half_spent: ln.Budget) -> None:
    import psycopg

    half_spent.close(reason="over")
    try:
        with pytest.raises(psycopg.Error, match="the budget is closed"):
            call(server, {}, first="while closed")
    finally:
        half_spent.reopen(reason="not over")
    assert half_spent.verify()


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
    """Or the function would refuse the entry. It takes no other way of writing the same."""
    import psycopg

    details = written_details({"note": words, "who": ANALYST})
    call(server, {"details": details}, first=secrets.token_hex(8))
    assert half_spent.history()[-1].note == words
    if (ascii_alone := json.dumps(json.loads(details), separators=(",", ":"))) != details:
        with pytest.raises(psycopg.errors.RaiseException, match="not as they are written"):
            call(server, {"details": ascii_alone}, first=secrets.token_hex(8))
