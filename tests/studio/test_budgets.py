"""Budgets in the studio: begun, allocated, spent, read; on a server for several people, and never a password."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import leastnoise as ln
from command_line import run
from postgres_server import ANALYST, ANALYST_PASSWORD, OWNER, PASSWORD, Server, grants
from studio_visitor import ORIGIN, Visitor, ready

LIMITS = {"new__epsilon": "3", "new__delta": "1e-6", "new__unit": "person"}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server() as running:
        running.run(f"CREATE ROLE {ANALYST} LOGIN PASSWORD '{ANALYST_PASSWORD}'")
        yield running


def ask(desk: Visitor) -> None:
    """Up to the step about privacy."""
    desk.send("/job/people/table", unit="person")
    desk.send("/job/people/question", question="histogram", by=["sex"], keys__sex="F, M")
    desk.send("/job/people/limits", max_rows="1")


def test_a_budget_is_begun_with_its_unit(desk: Visitor) -> None:
    made = desk.act("/budgets", "/budget/create", ledger="city", **LIMITS | {"new__unit": "taxi"})
    assert made.headers["location"] == "/budget?place=city.ledger"
    assert ln.Budget.open("city.ledger").unit == "taxi"
    ask(desk)
    sent = desk.send("/job/people/privacy", budget="city.ledger", share="0.1")
    assert sent.status_code == 422
    assert "taxi" in sent.text  # a table about persons is not paid from it
    again = desk.act("/budgets", "/budget/create", ledger="city", **LIMITS)
    assert (again.status_code, ln.Budget.open("city.ledger").unit) == (422, "taxi")


def test_a_budget_that_can_pay_is_chosen_unless_somebody_decides_against_it(desk: Visitor) -> None:
    ask(desk)
    chosen = "<option selected>city.ledger</option>"
    desk.act("/budgets", "/budget/create", ledger="a-taxi", **LIMITS | {"new__unit": "taxi"})
    desk.act("/budgets", "/budget/create", ledger="city", **LIMITS)
    page = desk.client.get("/job/people/privacy").text
    assert chosen in page
    assert "budget = ln.Budget.open(&#39;city.ledger&#39;)" in page
    desk.act("/budget?place=city.ledger", "/budget/close", place="city.ledger", reason="the year is over")
    assert chosen not in desk.client.get("/job/people/privacy").text
    desk.act("/budget?place=city.ledger", "/budget/reopen", place="city.ledger", reason="a new year")
    desk.send("/job/people/privacy", budget="", epsilon="1", delta="1e-6")
    assert chosen not in desk.client.get("/job/people/privacy").text


def test_an_allocation_is_made_spent_and_returned(desk: Visitor) -> None:
    ask(desk)
    desk.act("/budgets", "/budget/create", ledger="city", **LIMITS)
    page, part = "/budget?place=city.ledger", {"place": "city.ledger", "name": "maps <b>team"}
    for status in (303, 422):  # the second click finds it made
        sent = desk.act(page, "/budget/allocate", **part, share="0.25", people="", expires="", note="for maps")
        assert sent.status_code == status
    shown = desk.send("/job/people/privacy", go="stay", budget="city.ledger", share="0.5").text
    assert "<option>maps &lt;b&gt;team</option>" in shown
    sent = desk.send("/job/people/privacy", budget="city.ledger", share="0.5", allocation=part["name"])
    assert sent.headers["location"] == "/job/people/release"
    assert "allocation='maps <b>team'" in desk.studio.draft("people").python
    desk.send("/job/people/release", confirm="release")
    assert desk.released() == "done", desk.client.get("/job/people/release").text
    budget = ln.Budget.open("city.ledger")
    assert [(entry.kind, float(entry.share)) for entry in budget.history()] == [("allocate", 0.25), ("release", 0.125)]
    assert budget.allocation(part["name"]).remaining.share == pytest.approx(0.5, rel=1e-9)
    desk.act(page, "/budget/return", **part)
    assert budget.allocations[0].returned
    history = desk.client.get(page).text
    assert "rows by sex" in history
    assert "maps &lt;b&gt;team" in history
    assert "returned" in history
    assert desk.send("/job/people/privacy", budget="city.ledger", share="0.5", allocation="no such").status_code == 422


def test_a_closed_budget_pays_for_nothing_until_it_is_reopened(desk: Visitor) -> None:
    ask(desk)
    desk.act("/budgets", "/budget/create", ledger="city", **LIMITS)
    page = "/budget?place=city.ledger"
    desk.act(page, "/budget/close", place="city.ledger", reason="the year is over")
    assert "It is closed" in desk.client.get(page).text
    desk.send("/job/people/privacy", budget="city.ledger", share="0.5")
    desk.send("/job/people/release", confirm="release")
    assert desk.released() == "failed"
    desk.act(page, "/budget/reopen", place="city.ledger", reason="a new year")
    desk.send("/job/people/release", confirm="release")
    assert desk.released() == "done"


@pytest.mark.parametrize("action", ["create", "connect", "allocate", "return", "close", "reopen"])
def test_nobody_elses_form_changes_a_budget(desk: Visitor, action: str) -> None:
    desk.act("/budgets", "/budget/create", ledger="city", **LIMITS)
    before = len(ln.Budget.open("city.ledger").history())
    fields = {"place": "city.ledger", "name": "x", "share": "0.1", "reason": "x", "ledger": "other", "form_key": "0"}
    for headers in ({"origin": ORIGIN}, {"origin": "http://evil.example"}):
        assert desk.client.post(f"/budget/{action}", data=fields, headers=headers).status_code == 403
    assert len(ln.Budget.open("city.ledger").history()) == before
    assert not (desk.folder / "other.ledger").exists()


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ann:secret-424242@127.0.0.1:1/db?budget=city",
        "postgresql://127.0.0.1:1/db?password=secret-424242&budget=city",
        "postgresql://127.0.0.1:1/db?passfile=secret-424242&budget=city",
        "postgresql://127.0.0.1:1/db?budget=city#secret-424242",
        "mysql://ann:secret-424242@127.0.0.1:1/db?budget=city",
    ],
)
def test_an_address_with_a_password_is_refused_and_not_repeated(desk: Visitor, address: str) -> None:
    for action, fields in (("connect", {"place": address}), ("create", {"ledger": address, **LIMITS})):
        sent = desk.act("/budgets", f"/budget/{action}", **fields)
        assert sent.status_code == 422
        assert "424242" not in sent.text + str(sent.headers)
    assert desk.studio.servers == []
    refused = run("studio", "people.parquet", "--no-browser", "--budget", address)
    assert (refused.returncode, "424242" in refused.stdout + refused.stderr) == (2, False)


def test_several_people_spend_from_one_budget_on_a_server(
    desk: Visitor, server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, register: Any
) -> None:
    """The owner begins it in the studio, an analyst releases in another, and each sees the other's entries."""

    def address(user: str) -> str:
        return f"postgresql://{user}@127.0.0.1:{server.port}/postgres?budget=city"

    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    made = desk.act("/budgets", "/budget/create", ledger=address(OWNER), **LIMITS)
    assert made.status_code == 303, made.text
    again = desk.act("/budgets", "/budget/create", ledger=address(OWNER), **LIMITS)
    assert "already" in again.text
    server.run(*grants("city", ANALYST))
    monkeypatch.setenv("PGPASSWORD", ANALYST_PASSWORD)
    ask(desk)
    unknown = desk.send("/job/people/privacy", budget=address(ANALYST), share="0.3")
    assert unknown.status_code == 422  # nobody has given this address yet
    assert desk.act("/budgets", "/budget/connect", place=address(ANALYST)).status_code == 303
    sent = desk.send("/job/people/privacy", budget=address(ANALYST), share="0.3")
    assert sent.headers.get("location") == "/job/people/release", sent.text
    desk.send("/job/people/release", confirm="release")
    assert desk.released() == "done", desk.client.get("/job/people/release").text
    done = run("run", "people.toml")  # the same job on the command line
    assert "Nothing was read, paid or drawn again." in " ".join(done.stdout.split()), done.stderr
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    entries = ln.Budget.open(address(OWNER)).history()
    assert [(entry.kind, entry.who) for entry in entries] == [("release", ANALYST)]
    seen = [desk.client.get("/budget", params={"place": address(OWNER)}).text]
    assert f">{ANALYST}</td>" in seen[0]
    seen += [desk.client.get(f"/job/people/{step}").text for step in ("privacy", "release", "results")]
    seen += [desk.client.get("/budgets").text, *(path.read_text("latin-1") for path in tmp_path.iterdir())]
    assert not any(secret in text for text in seen for secret in (PASSWORD, ANALYST_PASSWORD))
    # a studio that starts anew connects to nothing that a job's file says before somebody gave the address
    desk.studio.servers.clear()
    shown = desk.client.get("/job/people/privacy")
    assert (shown.status_code, "not connected" in shown.text) == (400, True)


def test_a_plan_is_recorded_and_the_other_kind_is_named(desk: Visitor) -> None:
    ask(desk)
    desk.act("/budgets", "/budget/create", ledger="city", **LIMITS | {"new__epsilon": "2", "new__releases": "2"})
    assert ln.Budget.open("city.ledger").terms.releases == 2
    assert "In each of 2 planned releases" in desk.client.get("/budget?place=city.ledger").text
    page = desk.client.get("/job/people/privacy").text
    assert "from a budget with delta=0 would have a standard deviation of" in page


def test_a_share_that_is_not_left_is_refused_beside_its_preview(desk: Visitor) -> None:
    ask(desk)
    desk.act("/budgets", "/budget/create", ledger="city", **LIMITS)
    ln.release([1.0], sensitivity=1, budget=ln.Budget.open("city.ledger"), share=0.95)
    chosen = {"budget": "city.ledger", "share": "0.1"}
    page = desk.look("/job/people/privacy", **chosen)
    assert "This release asks for 10 % of mu^2" in page
    assert "more than is left" in page


@pytest.mark.parametrize("spent", ["another table", "used up", "closed", "other unit"])
def test_a_budget_that_cannot_pay_is_not_chosen_for_anybody(desk: Visitor, spent: str) -> None:
    """No page greets with a red box; a budget that can pay is chosen, wherever it stands in the list."""
    budget = ln.Budget.open("a.ledger", epsilon=3, delta=1e-6, unit="taxi" if spent == "other unit" else "person")
    if spent == "another table":
        ln.table(pa.table({"person": [1]}), unit="person", name="visits").count(max_rows=1).release(
            budget=budget, share=0.1
        )
    elif spent == "used up":
        rows = ln.table("people.parquet", unit="person")
        rows.count(max_rows=1).release(budget=budget, share=0.95)
    elif spent == "closed":
        budget.close(reason="a test")
    desk.send("/job/people/table", unit="person")
    desk.send("/job/people/question", question="histogram", by=["sex"], keys__sex="F, M")
    desk.send("/job/people/limits", max_rows="1")
    page = desk.client.get("/job/people/privacy").text
    assert "<option>a.ledger</option>" in page
    assert "<option selected" not in page
    assert 'class="problem"' not in page
    ln.Budget.open("b.ledger", epsilon=3, delta=1e-6, unit="person")
    page = desk.client.get("/job/people/privacy").text
    assert "<option selected>b.ledger</option>" in page
    assert 'class="problem"' not in page


def test_no_part_below_nothing_is_drawn(desk: Visitor) -> None:
    ready(desk)
    for share, drawn in (("0.1", True), ("0", False), ("-1", False)):
        page = desk.look("/job/people/privacy", budget="city.ledger", share=share)
        assert ("this one takes" in page) is drawn
        assert ('class="problem"' in page) is not drawn
