"""The step about limits: what a small paid look costs before it is paid, and what it found afterwards."""

from __future__ import annotations

import leastnoise as ln
from studio_visitor import Visitor


def test_the_price_is_shown_before_and_the_proposal_after(desk: Visitor) -> None:
    desk.send("/job/people/table", unit="person")
    desk.send(
        "/job/people/question",
        question="sum",
        column="income",
        low="0",
        high="90000",
        by=["sex"],
        keys__sex="female, male",
    )
    assert "Open a budget first" in desk.client.get("/job/people/limits").text
    desk.act("/budgets", "/budget/create", ledger="city", new__epsilon="3", new__delta="1e-6", new__unit="person")
    page = desk.client.get("/job/people/limits").text
    assert "this one takes 2 %" in page
    assert "has found" not in page
    look = "/job/people/limits/look"
    price = desk.client.get(look, params={"budget": "city.ledger", "share": "0.1"}).text
    assert "this one takes 10 %" in price
    assert "standard deviation" in price
    assert "nothing of the budget is left" in desk.client.get(look, params={"budget": "city.ledger", "share": "1"}).text
    assert len(ln.Budget.open("city.ledger").history()) == 0
    assert "No row has been read. " in page
    desk.send("/job/people/limits", max_rows="2")
    assert "A small look in the step about limits estimates it" in desk.client.get("/job/people/privacy").text
    desk.send("/job/people/limits", go="suggest", budget="city.ledger", share="0.1")
    for step in ("table", "question", "limits", "privacy"):  # from now on that would not be true
        shown = desk.client.get(f"/job/people/{step}").text
        assert ("No row has been read. " in shown, "but by the paid look" in shown) == (False, True), step
    assert "What the paid look predicts of it" in shown
    assert len(ln.Budget.open("city.ledger").history()) == 1
    page = desk.client.get("/job/people/limits").text
    assert "What a small look has found" in page
    assert 'class="limits tradeoff"' in page
    found = ln.load("people-limits.parquet")
    assert isinstance(found, ln.releases.limit_suggestion.LimitSuggestion)
    assert f"{found.error:.3g}" in page
    assert f'value="{found.limits["max_rows"]}"' in page
    arguments = desk.studio.draft("people").job().arguments()
    assert arguments["max_rows"].chosen_with == found.id
    assert 'max_rows=proposed["max_rows"]' in desk.client.get("/job/people/limits").text.replace("&#34;", '"')
    desk.send("/job/people/limits", go="suggest", budget="city.ledger", share="0.1")  # it goes on from that one
    again = ln.load("people-limits.parquet")
    assert [look.id for look in again.looks] == [found.id, again.id]
    found = again
    desk.send("/job/people/limits", max_rows=str(found.limits["max_rows"] + 1))
    assert not hasattr(desk.studio.draft("people").job().arguments()["max_rows"], "chosen_with")
    low, high = desk.studio.draft("people").section("ask")["clip"]
    assert (float(low), float(high)) == found.clips["income"]
