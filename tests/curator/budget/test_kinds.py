"""Which of the two kinds of budget has less noise is said truly, and an unspent one can be reopened as the other."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leastnoise as ln
from leastnoise import errors
from leastnoise.curator.budget.kinds import plan
from leastnoise.curator.budget.ledger import next_entry
from leastnoise.curator.budget.state import State, WrongEntry, fold
from leastnoise.curator.budget.terms import Terms
from leastnoise.curator.queries.query import Query
from leastnoise.curator.request import PrivacyRequest

ROWS = pa.table({"p": [1, 2, 3], "k": ["a", "b", "a"], "v": [1.0, 2.0, 3.0]})


def questions() -> dict[str, Query]:
    table, keys = ln.table(ROWS, unit="p", name="rows"), {"keys": ["a", "b"]}
    return {
        "count": table.count(max_rows=1),
        "count of 4 rows": table.count(max_rows=4),
        "histogram": table.histogram("k", **keys, max_rows=1),
        "histogram of 3 bins": table.histogram("k", keys=list("abcd"), max_rows=3, max_per_bin=1),
        "sum": table.sum("v", clip=(0, 5), max_rows=1),
        "mean": table.mean("v", clip=(0, 5), max_rows=1),
        "crosstabs": table.crosstabs(ways=1, keys={"k": ["a", "b"]}, max_rows=1),
        "summary": table.summarize("k", **keys, rows=ln.stats.count(), max_rows=1),
        "quantile": table.quantile("v", clip=(0, 5), levels=[0.5], max_rows=1),
    }


def laplace_std(scale: float) -> float:
    """Of the two-sided geometric distribution."""
    r = math.exp(-1 / scale)
    return math.sqrt(2 * r) / (1 - r)


def whole_std(sigma: float, releases: int) -> float:
    """Of Gaussian noise of one over so many parts of mu^2, on whole numbers."""
    return math.sqrt(releases * sigma**2 + 1 / 12)


@pytest.fixture
def budget(tmp_path: Path) -> ln.Budget:
    return ln.Budget.open(tmp_path / "city.ledger", epsilon=2, delta=1e-6)


# What is said


def test_half_of_a_fresh_budget_is_told_of_less_noise(budget: ln.Budget) -> None:
    expected = questions()["count"].expect(budget=budget, share=0.5)
    assert expected.mechanism == "gaussian"
    assert "Laplace noise from a budget with delta=0 would have a standard deviation of 1.36 instead of 3.17." in str(
        expected
    )
    assert "would find up to 37 % of those present instead of 11.6 %" in str(expected)
    assert "it can be reopened with delta=0." in str(expected)
    told = budget.expect(share=0.5, l1_sensitivity=1)
    assert told.other_kind is not None
    assert told.other_kind.here == (pytest.approx(laplace_std(1)), told.noise.distribution.std)
    assert "would have a standard deviation of 1.36 instead of 3.17" in str(told)


@pytest.mark.parametrize("kind", questions())
@pytest.mark.parametrize("delta", [1e-6, 0])
@pytest.mark.parametrize("share", [Fraction(1, 2), Fraction(1, 12), Fraction(1, 40)])
def test_what_the_other_kind_is_said_to_have_it_has(tmp_path: Path, kind: str, delta: float, share: Fraction) -> None:
    """Beside a budget of that kind, opened in truth: this release, and each of the others of the plan."""
    question, rest = questions()[kind], (1 - share) / 11
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.Wasteful)
        own = ln.Budget.open(tmp_path / "own", epsilon=2, delta=delta, releases=12)
        other = ln.Budget.open(tmp_path / "other", epsilon=2, delta=0 if delta else 1e-6)
    told = question.expect(budget=own, share=share).other_kind

    def error(budget: ln.Budget, part: Fraction) -> float:
        return question.decide(PrivacyRequest(budget=budget, share=part, mechanisms=question.mechanisms)).error

    here, others = ((error(other, part), error(own, part)) for part in (share, rest))
    if told is None:
        assert here[0] > 0.98 * here[1]
        assert others[0] > 0.98 * others[1]
        return
    assert told.number == 11
    assert told.others is not None
    for said, true in ((told.here, here), (told.others, others)):
        assert said[1] == pytest.approx(true[1], rel=1e-9)
        assert said[0] == pytest.approx(true[0], rel=1e-9)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.floats(0.05, 4), st.sampled_from([1e-9, 1e-6, 1e-4]), st.integers(2, 400))
def test_the_noise_of_a_plan_is_that_of_the_formulas(epsilon: float, delta: float, releases: int) -> None:
    gaussian, small = (whole_std(ln.sigma(epsilon=epsilon, delta=each), releases) for each in (delta, 1e-6))
    found = plan(Terms.of(epsilon=epsilon, delta=delta, releases=releases))
    assert found is not None
    assert found.std == pytest.approx(gaussian, rel=1e-6)
    assert found.other_std == pytest.approx(laplace_std(releases / epsilon), rel=1e-9)
    assert ("which is not less" in found.in_words(paid=False)) == (found.other_std >= 0.99 * found.std)
    back = plan(Terms.of(epsilon=epsilon, delta=0, releases=releases))
    assert back is not None
    assert back.std == found.other_std
    assert back.other_std == pytest.approx(small, rel=1e-6)


def test_a_plan_is_said_when_the_budget_is_opened(tmp_path: Path) -> None:
    with pytest.warns(errors.Wasteful, match=r"Laplace noise from a budget with delta=0 would have 1\.36: reopen it"):
        few = ln.Budget.open(tmp_path / "few", epsilon=2, delta=1e-6, releases=2)
    assert "In each of 2 planned releases" in str(few)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        many = ln.Budget.open(tmp_path / "many", epsilon=2, delta=1e-6, releases=12)
        assert ln.Budget.open(tmp_path / "many").terms.releases == 12
    assert "would have 8.48, which is not less." in str(many)
    with pytest.warns(errors.Wasteful, match=r"In 1 planned release .* Laplace noise .* would have 0\.602: reopen it"):
        ln.Budget.open(tmp_path / "one", epsilon=2, delta=1e-6, releases=1)
    with pytest.raises(errors.InvalidParameter, match="releases"):
        ln.Budget.open(tmp_path / "none", epsilon=1, delta=1e-6, releases=0)
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("why", ["paid", "asked", "reserve", "threshold", "nobody", "allocation"])
def test_where_nothing_can_be_chosen_nothing_is_said(tmp_path: Path, why: str) -> None:
    terms: dict[str, Any] = {"epsilon": 2, "delta": 1e-6}
    terms |= {"reserve": {"pure_epsilon": 0.5}, "threshold": {"threshold_delta": 1e-7}, "nobody": {"epsilon": 6}}.get(
        why, {}
    )
    budget, asked = ln.Budget.open(tmp_path / "city.ledger", **terms), {"share": 0.5}
    count = questions()["count"]
    if why == "paid":
        count.release(budget=budget, share=0.1)
    if why == "allocation":
        budget = budget.allocate("maps", share=0.5)
    if why == "asked":
        asked = {"share": 0.5, "mechanism": "gaussian"}
    assert count.expect(budget=budget, **asked).other_kind is None


# Reopening


@pytest.mark.parametrize(("first", "then"), [(1e-6, 0), (0, 1e-6)])
def test_an_unspent_budget_is_reopened_as_the_other_kind(tmp_path: Path, first: float, then: float) -> None:
    path = tmp_path / "city.ledger"
    before = ln.Budget.open(path, epsilon=2, delta=first, unit="p")
    after = ln.Budget.open(path, epsilon=2, delta=then)
    assert after.terms.laplace_only == (then == 0)
    assert after.unit == "p"
    (entry,) = after.history()
    assert (entry.kind, entry.share) == ("terms", 0)
    assert entry.query == f"epsilon = 2, delta = {then:g} (before: epsilon = 2, delta = {first:g})"
    assert f"Reopened on {entry.created_at:%Y-%m-%d} with epsilon = 2, delta = {then:g}" in str(after)
    after.verify()
    again = ln.Budget.open(path, epsilon=2, delta=then)  # and with the same limits it is just opened
    assert len(again.history()) == 1
    for ask in (lambda: before.remaining, lambda: ln.release([1.0], sensitivity=1, budget=before, share=0.1)):
        with pytest.raises(errors.BudgetMismatch, match="was reopened with other terms"):
            ask()
    quarter = questions()["count"].release(budget=after, share=0.25)
    assert quarter.mechanism == ("laplace" if then == 0 else "gaussian")  # type: ignore[union-attr]
    if then == 0:
        assert quarter.guarantee.epsilon == pytest.approx(0.5)  # type: ignore[union-attr]
    for _ in range(3):
        questions()["count"].release(budget=ln.Budget.open(path), share=0.25)
    with pytest.raises(ln.BudgetExhausted):
        questions()["count"].release(budget=ln.Budget.open(path), share=0.25)
    ln.Budget.open(path).verify()


def test_a_budget_that_was_paid_from_stays_what_it_is(tmp_path: Path) -> None:
    for name, pay in {
        "release": lambda budget: ln.release([1.0], sensitivity=1, budget=budget, share=0.1),
        "allocation": lambda budget: budget.allocate("maps", share=0.1),
        "returned": lambda budget: budget.allocate("maps", share=0.1).return_unused(),
    }.items():
        path = tmp_path / name
        pay(ln.Budget.open(path, epsilon=2, delta=1e-6))
        left = path.read_bytes()
        for asked in ({"delta": 0}, {"delta": 1e-6, "releases": 3}):
            with pytest.raises(errors.BudgetMismatch, match="and that is fixed"):
                ln.Budget.open(path, epsilon=2, **asked)
        assert path.read_bytes() == left


@pytest.mark.parametrize(
    "asked",
    [
        {"epsilon": 3, "delta": 0},
        {"epsilon": 2, "delta": 1e-5},
        {"epsilon": 2, "delta": 0, "unit": "taxi"},
        {"epsilon": 2, "delta": 0, "neighbours": "replace"},
        {"epsilon": 2, "delta": 1e-6, "pure_epsilon": 0.5},
        {"epsilon": 3, "delta": 1e-6, "releases": 5},
    ],
)
def test_nothing_but_the_kind_and_the_plan_changes(tmp_path: Path, asked: dict[str, Any]) -> None:
    path = tmp_path / "city.ledger"
    ln.Budget.open(path, epsilon=2, delta=1e-6, unit="p")
    left = path.read_bytes()
    with pytest.raises(errors.BudgetMismatch):
        ln.Budget.open(path, **asked)
    assert path.read_bytes() == left


def test_a_closed_budget_is_not_reopened_as_the_other_kind(budget: ln.Budget) -> None:
    budget.close(reason="the year is over")
    with pytest.raises(errors.BudgetClosed):
        ln.Budget.open(budget.path, epsilon=2, delta=0)
    budget.reopen(reason="a new year")
    assert ln.Budget.open(budget.path, epsilon=2, delta=0).terms.laplace_only


def test_a_plan_is_changed_while_nothing_is_paid(budget: ln.Budget) -> None:
    for releases in (12, 12, 13):
        assert ln.Budget.open(budget.path, releases=releases).terms.releases == releases
    assert [entry.query.partition(" (")[0] for entry in ln.Budget.open(budget.path).history()] == [
        f"epsilon = 2, delta = 1e-06 for {releases} releases" for releases in (12, 13)
    ]


@pytest.mark.parametrize("forged", ["paid before", "more mu", "other epsilon", "no terms", "of an account", "closed"])
def test_a_forged_change_of_terms_is_not_accepted(budget: ln.Budget, forged: str) -> None:
    texts = Terms.of(epsilon=2, delta=0).to_texts()

    def stored(state: State, texts: Any, of: str = "") -> list[Any]:
        with budget._ledger.store.reading() as reader:
            row = next_entry(state, reader, "terms", "", "words", terms=texts)._replace(account=of)
        return [*row.to_fields(), row.hash_after(state.head.hash)]

    assert fold(budget._state(), [stored(budget._state(), texts)]).terms.laplace_only
    if forged == "paid before":
        ln.release([1.0], sensitivity=1, budget=budget, share=0.1)
    if forged == "closed":
        budget.close(reason="why")
    if forged == "more mu":
        texts = Terms.of(epsilon=2, delta=1e-6, releases=3).to_texts() | {"mu": "1"}
    if forged == "other epsilon":
        texts = Terms.of(epsilon=3, delta=0).to_texts()
    if forged == "no terms":
        texts = {"epsilon": "2"}
    state = budget._state()
    with pytest.raises(WrongEntry):
        fold(state, [stored(state, texts, "x" if forged == "of an account" else "")])
    assert state == budget._state()  # which nothing has changed
