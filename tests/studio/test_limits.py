"""The step about limits: what a preliminary release costs before it is paid, and what it proposes afterwards.

Nothing that was typed is replaced: a proposal stands beside it, and is taken on purpose.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import leastnoise as ln
from leastnoise import datasets
from leastnoise.jobs.running import open_table
from leastnoise.privacy.sensitivity import ChosenLimit
from studio_visitor import Visitor, visitor

LIMITS, QUESTION = "/job/people/limits", "/job/people/question"
INCOMES: dict[str, Any] = {
    "question": "mean", "column": "income", "low": "0", "high": "90000", "by": ["sex"], "keys__sex": "female, male",
}  # fmt: skip


def ask(desk: Visitor, **changed: Any) -> None:
    desk.send("/job/people/table", unit="person")
    desk.send(QUESTION, **{**INCOMES, **changed})


def open_budget(desk: Visitor) -> None:
    desk.act("/budgets", "/budget/create", ledger="city", new__epsilon="3", new__delta="1e-6", new__unit="person")


def asked(desk: Visitor) -> dict[str, Any]:
    return dict(desk.studio.draft("people").section("ask"))


def test_the_price_is_shown_before_and_the_proposal_after(desk: Visitor) -> None:
    ask(desk, question="sum")
    assert "Open a budget first" in desk.client.get(LIMITS).text
    open_budget(desk)
    page = desk.client.get(LIMITS).text
    assert "this one takes 2%" in page
    assert "that were proposed" not in page
    price = desk.look(LIMITS, of="limits", budget="city.ledger", share="0.1")
    assert "this one takes 10%" in price
    assert "standard deviation" in price
    assert "nothing of the budget is left" in desk.look(LIMITS, of="limits", budget="city.ledger", share="1")
    assert len(ln.Budget.open("city.ledger").history()) == 0
    assert "No row has been read. " in page
    desk.send(LIMITS, max_rows="2")
    assert "A preliminary release in the step about limits estimates it" in desk.client.get("/job/people/privacy").text
    desk.send(LIMITS, go="suggest", budget="city.ledger", share="0.1")
    for step in ("table", "question", "limits", "privacy"):  # from now on that would not be true
        shown = desk.client.get(f"/job/people/{step}").text
        assert ("No row has been read. " in shown, "but for what was paid" in shown) == (False, True), step
    assert "What the preliminary release predicts of it" in shown
    assert len(ln.Budget.open("city.ledger").history()) == 1
    page = desk.client.get(LIMITS).text
    assert "Limits that were proposed" in page
    assert 'class="picture"' in page
    found = ln.load("people-limits.parquet")
    assert f"{found.error:.3g}" in page


def test_limits_that_were_typed_stay_until_the_proposed_ones_are_taken(desk: Visitor) -> None:
    ask(desk, question="sum")
    open_budget(desk)
    desk.send(LIMITS, go="suggest", budget="city.ledger", share="0.1", max_rows="20", max_per_bin="", max_bins="")
    found = ln.load("people-limits.parquet")
    assert found.limits["max_rows"] != 20
    assert asked(desk)["max_rows"] == 20  # it was in the form, and not yet saved
    assert "limits" not in asked(desk)
    assert 'value="20"' in desk.client.get(LIMITS).text
    desk.send(LIMITS, go="take limits")
    arguments = desk.studio.draft("people").job().arguments()
    assert {name: arguments[name].chosen_with for name in found.limits} == dict.fromkeys(found.limits, found.id)
    assert 'max_rows=proposed["max_rows"]' in desk.client.get(LIMITS).text.replace("&#34;", '"')
    desk.send(LIMITS, go="suggest", budget="city.ledger", share="0.1")  # another takes its place
    assert ln.load("people-limits.parquet").id != found.id


def test_a_limit_that_was_changed_is_not_published_as_proposed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is proposed has max_rows and max_per_bin; the one that stays says so, and the one that was changed does
    not."""
    monkeypatch.chdir(tmp_path)
    proposed = property(lambda it: {name: ChosenLimit(n, it.id) for name, n in (("max_rows", 31), ("max_per_bin", 7))})
    monkeypatch.setattr(ln.LimitSuggestion, "limits", proposed)  # whatever is drawn
    desk = visitor(tmp_path, datasets.visits())
    services = ", ".join(datasets.visit_keys()["service"])
    ask(desk, question="histogram", by=["service"], keys__service=services)
    open_budget(desk)
    desk.send(LIMITS, go="suggest", budget="city.ledger", share="0.1")
    found = ln.load("people-limits.parquet")
    rows, in_bin = 31, 7
    desk.send(LIMITS, go="take limits")
    desk.send(LIMITS, max_rows=str(rows - 1), max_per_bin=str(in_bin))
    desk.send("/job/people/privacy", pay="budget", budget="city.ledger", share="0.2")
    says = f"(a limit that release {found.id} proposed)"
    expected = str(desk.studio.draft("people").expect())
    assert f"rows beyond {rows - 1} of one person; rows beyond {in_bin} of one person in one bin {says};" in expected
    assert "which proposed them" not in expected
    made: Any = desk.studio.draft("people").job()
    table = open_table(made)
    release: Any = made.question.ask(table, made.arguments()).release(epsilon=1, delta=1e-6)
    page, sheet = release.report(tmp_path / "page.html").read_text(), release.to_csv(tmp_path / "m.csv").read_text()
    for text in (release.explain(), page, sheet):
        assert f"rows beyond {rows - 1} of one person;" in text
        assert f"rows beyond {rows - 1} of one person (" not in text
        assert f"in one bin {says}" in text


def test_a_range_that_was_typed_is_never_replaced(desk: Visitor) -> None:
    ask(desk)
    open_budget(desk)
    desk.send(LIMITS, max_rows="3")
    page = desk.client.get(LIMITS).text
    assert "Have a narrower range proposed" in page
    assert "this one takes 10%" in page
    desk.send(LIMITS, go="suggest clip", budget="city.ledger", share="0.3")
    found = ln.load("people-clip.parquet")
    assert isinstance(found, ln.ClipSuggestion)
    assert found.within == (0, 90000)
    assert len(ln.Budget.open("city.ledger").history()) == 1
    assert asked(desk)["clip"] == [0, 90000]
    page = desk.client.get(LIMITS).text
    assert "You typed <b>0 to 90000</b> for income, and the question has that." in page
    assert found.in_words().replace("'", "&#39;") in page  # with what it would leave out
    assert 'value="90000"' in desk.client.get(QUESTION).text


def test_a_proposed_range_is_taken_on_purpose_and_given_back(desk: Visitor) -> None:
    ask(desk)
    open_budget(desk)
    desk.send(LIMITS, go="suggest clip", budget="city.ledger", share="0.3", max_rows="3", max_per_bin="", max_bins="")
    found = ln.load("people-clip.parquet")
    low, high = (f"{end:g}" for end in found.clip)
    desk.send(LIMITS, go="take clip")
    assert asked(desk)["clip"] == "people-clip.parquet"
    assert desk.studio.draft("people").job().arguments()["clip"].chosen_with == found.id
    shown = desk.client.get(QUESTION).text
    assert f'name="high" value="{high}"' in shown
    assert "ln.load(&#39;people-clip.parquet&#39;).clip" in shown
    desk.send(QUESTION, **{**INCOMES, "low": low, "high": high})  # the same numbers: it is still that release's
    assert asked(desk)["clip"] == "people-clip.parquet"
    desk.send(LIMITS, go="leave clip")
    assert list(map(float, asked(desk)["clip"])) == [0, 90000]
    desk.send(LIMITS, go="take clip")
    desk.send(QUESTION, **{**INCOMES, "low": low, "high": "81234.5"})  # another number: it is somebody's own
    assert list(map(float, asked(desk)["clip"])) == [float(low), 81234.5]
    assert not hasattr(desk.studio.draft("people").job().arguments()["clip"], "chosen_with")


def test_a_range_is_proposed_for_the_rows_that_a_limit_keeps(desk: Visitor) -> None:
    ask(desk)
    open_budget(desk)
    assert "Give the first limit above" in desk.client.get(LIMITS).text
    answer = desk.send(LIMITS, go="suggest clip", budget="city.ledger", share="0.3")
    assert answer.status_code == 422
    assert len(ln.Budget.open("city.ledger").history()) == 0


@pytest.mark.parametrize(("question", "offered"), [("crosstabs", False), ("count_units", False), ("histogram", True)])
def test_nobody_is_told_to_pay_for_what_is_not_offered(desk: Visitor, question: str, offered: bool) -> None:
    ask(desk, question=question)
    open_budget(desk)
    page = desk.client.get(LIMITS).text
    assert ("pay for a small preliminary release" in page) == ("Have limits proposed" in page) == offered
    assert "Have a narrower range proposed" not in page


def test_a_second_click_does_not_pay_twice(desk: Visitor) -> None:
    ask(desk)
    open_budget(desk)
    desk.send(LIMITS, max_rows="3")
    once = desk.hidden(LIMITS)["once"]
    for _ in range(2):
        desk.send(LIMITS, go="suggest clip", budget="city.ledger", share="0.1", once=once)
    assert len(ln.Budget.open("city.ledger").history()) == 1
