"""Looks that go on: `after` and `most_share`. Each is refused by public facts, paid for before it reads, and kept."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leastnoise as ln
from leastnoise import errors
from leastnoise.curator import publish, suggest
from leastnoise.curator.queries.unit_counts import UnitCounts
from leastnoise.curator.request import PrivacyRequest
from leastnoise.curator.suggest import asked_noise, limit_question, next_share
from leastnoise.curator.table import Table
from leastnoise.releases.limit_errors import AskedNoise
from leastnoise.releases.limit_suggestion import OPEN, LimitSuggestion
from leastnoise.testing import aggregate, seeded

ZONES: dict[str, Any] = {"keys": range(4)}
NOISE = AskedNoise(1.0, None)


def rows(units: int = 400, seed: int = 1) -> pd.DataFrame:
    chance = np.random.default_rng(seed)
    frame = pd.DataFrame({"person": np.repeat(np.arange(units), chance.geometric(0.1, units))})
    return frame.assign(zone=chance.integers(0, 4, len(frame)), fare=chance.integers(0, 60, len(frame)))


@pytest.fixture
def table() -> Table:
    return ln.table(rows(), unit="person", name="people")


def budget_of(folder: Path, epsilon: float = 0.3) -> ln.Budget:
    return ln.Budget.open(folder / "city.ledger", epsilon=epsilon, delta=1e-6, unit="person", table="people")


def look(table: Table, budget: ln.Budget, share: Any = 0.02, **given: Any) -> LimitSuggestion:
    with seeded(1):
        return table.suggest_limits("zone", **{**ZONES, "budget": budget, "share": share, **given})


@pytest.fixture
def three_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The counts decide at the third look: what that is found from is not what these tests are about."""
    monkeypatch.setattr(LimitSuggestion, "risk", property(lambda found: OPEN if len(found.looks) < 3 else 0.0))


def test_two_looks_have_the_variance_of_one_that_took_both_shares(table: Table, tmp_path: Path) -> None:
    """In exact arithmetic on the sigmas: 1 / s1^2 + 1 / s2^2 = 1 / s^2, but for rounding toward privacy."""
    budget = budget_of(tmp_path)
    first = look(table, budget, share=0.02)
    second = look(table, budget, share=0.05, after=first)
    one = look(table, budget, share=0.07)
    precisions = [1 / Fraction(found.sigma) ** 2 for found in (first, second, one)]
    assert abs((precisions[0] + precisions[1]) / precisions[2] - 1) < Fraction(1, 10**11)
    stds = [Fraction(found.noise.std) for found in (first, second)]
    together = second._std("rows") * 2  # a unit counts twice there
    assert together == pytest.approx(1 / math.sqrt(sum(1 / std**2 for std in stds)), rel=1e-14)
    assert together == pytest.approx(one.noise.std, rel=1e-4)  # whose draw is rounded once and not twice


def test_counts_are_put_together_by_inverse_variance(table: Table, tmp_path: Path) -> None:
    budget = budget_of(tmp_path)
    first = look(table, budget, share=0.01)
    third = look(table, budget, share=0.09, after=look(table, budget, share=0.03, after=first))
    weights = [1 / found.noise.std**2 for found in third.looks]
    expected = sum(
        weight * found.layout.part(found.components.values, "rows")
        for weight, found in zip(weights, third.looks, strict=True)
    ) / sum(weights)
    np.testing.assert_allclose(third._part("rows"), expected, rtol=1e-12)
    assert [found.id for found in third.looks] == [entry.release for entry in budget.history() if entry.release]
    assert (third.units.values == third.layout.part(third.components.values, "rows")).all()  # of the last alone
    assert third.units.noise.std == pytest.approx(third.noise.std / 2)


def test_all_looks_at_a_question_draw_the_same_rows(table: Table) -> None:
    """So their integers are the same: the hash that chooses is salted by public facts, and not by the look."""
    asked = UnitCounts.of(table._data, ("zone",), range(4), "drop", NOISE)
    with seeded(1):
        found = asked.release(epsilon=1, delta=1e-6)
    assert isinstance(found, LimitSuggestion)
    assert (aggregate(asked).values == aggregate(asked.going_on(found)).values).all()


def test_laplace_looks_are_put_together_as_well(table: Table) -> None:
    with seeded(1):
        first = table.suggest_limits("zone", **ZONES, epsilon=0.1, delta=0)
        second = table.suggest_limits("zone", **ZONES, epsilon=0.1, delta=0, after=first)
    assert (first.mechanism, second.mechanism) == ("laplace", "laplace")
    assert second._std("rows") == pytest.approx(first._std("rows") / math.sqrt(2), rel=1e-12)


OTHERS: list[tuple[str, Any]] = [
    ("keys", lambda t: (t, ("zone",), {"keys": range(1, 5)})),
    ("order of keys", lambda t: (t, ("zone",), {"keys": [3, 2, 1, 0]})),
    ("all rows", lambda t: (t, (), {})),
    ("a condition", lambda t: (t.where("fare > 3"), ("zone",), ZONES)),
    ("neighbours", lambda t: (ln.table(rows(), unit="person", name="people", neighbours="replace"), ("zone",), ZONES)),
    ("unit", lambda t: (ln.table(rows(), unit=["person", "fare"], name="people"), ("zone",), ZONES)),
    ("table", lambda t: (ln.table(rows(), unit="person", name="others"), ("zone",), ZONES)),
]


@pytest.mark.parametrize(("what", "other"), OTHERS, ids=[what for what, _ in OTHERS])
def test_a_look_at_another_question_is_refused_before_anything_is_read_or_paid(
    table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, other: Any
) -> None:
    first = look(table, budget_of(tmp_path))
    asked, by, given = other(table)
    budget = ln.Budget.open(tmp_path / "other.ledger", epsilon=1, delta=1e-6, neighbours=asked._data.neighbours)
    monkeypatch.setattr(publish, "_read", lambda *_: pytest.fail("rows were read"))
    with pytest.raises(errors.InvalidParameter, match="another question"):
        asked.suggest_limits(*by, **given, budget=budget, share=0.02, after=first)
    assert budget.remaining.share == 1


def test_other_rows_of_the_same_table_refuse_nothing(table: Table, tmp_path: Path) -> None:
    """What a look is refused for are public facts: whatever rows the table has, the fingerprint is the same."""
    first = look(table, budget_of(tmp_path))
    for other in (rows(3, seed=9), rows().iloc[:0]):
        asked = ln.table(other, unit="person", name="people")
        found = UnitCounts.of(asked._data, ("zone",), range(4), "drop", NOISE).going_on(first)
        assert found.fingerprint == first.fingerprint


@pytest.mark.parametrize("after", ["limits.parquet", 3])
def test_something_else_than_a_look_is_refused(table: Table, tmp_path: Path, after: Any) -> None:
    budget = budget_of(tmp_path)
    with pytest.raises(errors.WrongType, match="after must be"):
        look(table, budget, after=after)
    assert budget.remaining.share == 1


def test_it_looks_again_while_the_counts_leave_open_which_limits_are_good(table: Table, tmp_path: Path) -> None:
    budget = budget_of(tmp_path)
    found = look(table, budget, share=0.02, most_share=0.2)
    assert len(found.looks) > 2  # with this noise one look does not decide
    assert all(before.risk >= OPEN for before in found.looks[:-1])
    paid = paid_of(budget)
    assert paid == pytest.approx([0.02, 0.02, 0.04, 0.12][: len(found.looks)])
    assert found.risk < OPEN or sum(paid) == pytest.approx(0.2)


@pytest.mark.usefixtures("three_looks")
def test_it_is_for_a_question_that_takes_what_is_left(table: Table, tmp_path: Path) -> None:
    """Which each look makes less; a share that is stated stays."""
    budget, other = budget_of(tmp_path), ln.Budget.open(tmp_path / "other.ledger", epsilon=0.3, delta=1e-6)
    found = look(table, budget, share=0.02, most_share=0.2)
    left = [asked_noise(PrivacyRequest(budget=other, share=share), "add-remove") for share in (0.98, 0.96, 0.92)]
    for before, asked in zip(found.looks, left, strict=True):
        assert before.asked.per_l2 == pytest.approx(asked.per_l2, rel=1e-9)
    stated = look(table, budget, share=0.02, most_share=0.2, for_share=0.3)
    assert len({before.asked for before in stated.looks}) == 1


def test_counts_that_decide_are_paid_for_once(tmp_path: Path) -> None:
    budget = budget_of(tmp_path, epsilon=3)
    table = ln.table(rows(4000), unit="person", name="people")
    found = look(table, budget, share=0.1, most_share="0.8")
    assert found.risk < OPEN
    assert len(found.looks) == 1
    assert budget.remaining.share == pytest.approx(0.9)


@given(
    st.fractions(min_value=Fraction(1, 1000), max_value=1, max_denominator=1000),
    st.fractions(min_value=0, max_value=1, max_denominator=1000),
)
def test_further_looks_about_double_what_was_paid_and_end_at_the_most(first: Fraction, more: Fraction) -> None:
    paid, most = first, first + more
    while paid < most:
        share = next_share(paid, most)
        assert paid + share <= most
        assert share >= paid or paid + share == most
        assert share <= 2 * paid
        paid += share
    assert paid == most


WRONG: list[tuple[dict[str, Any], type[Exception]]] = [
    ({"share": 0.1, "most_share": 0.05}, errors.InvalidParameter),
    ({"share": 0.1, "most_share": 1}, errors.InvalidParameter),  # nothing for the question
    ({"share": 0.1, "most_share": 0.6, "for_share": 0.5}, errors.InvalidParameter),
    ({"share": 0.1, "most_share": "a fifth"}, errors.WrongType),
    ({"share": None, "epsilon": 0.1, "delta": 1e-6, "most_share": 0.2}, errors.MissingParameter),
    ({"share": 0.1, "most_share": 1.5, "for_epsilon": 1, "for_delta": 1e-6}, errors.InvalidParameter),
]


@pytest.mark.parametrize(("given_", "error"), WRONG)
def test_what_all_looks_may_take_is_checked_before_the_first(
    table: Table, tmp_path: Path, given_: dict[str, Any], error: type[Exception]
) -> None:
    budget = budget_of(tmp_path)
    with pytest.raises(error) as caught:
        look(table, budget, **given_)
    assert "share" in str(caught.value)
    assert budget.remaining.share == 1
    with pytest.raises(errors.MissingParameter):
        table.suggest_limits("zone", **ZONES, epsilon=1, delta=1e-6, most_share=0.2)


@pytest.mark.usefixtures("three_looks")
def test_every_look_is_on_disk_before_it_reads(table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    budget, paid, read = budget_of(tmp_path), [], publish._read

    def reading(*given: Any) -> Any:
        paid.append(ln.Budget.open(tmp_path / "city.ledger").remaining.share)
        return read(*given)

    monkeypatch.setattr(publish, "_read", reading)
    look(table, budget, share=0.02, most_share=0.2)
    assert paid == pytest.approx([0.98, 0.96, 0.92])


@pytest.mark.usefixtures("three_looks")
def test_what_was_paid_for_is_not_lost_with_a_later_look(
    table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget, read, times = budget_of(tmp_path), publish._read, []

    def failing(*given: Any) -> Any:
        times.append(1)
        if len(times) > 2:
            raise errors.EngineUnavailable("gone")
        return read(*given)

    monkeypatch.setattr(publish, "_read", failing)
    with pytest.raises(errors.EngineUnavailable) as caught:
        look(table, budget, share=0.02, most_share=0.2)
    kept = caught.value.earlier  # type: ignore[attr-defined]
    assert len(kept.looks) == 2
    assert kept.id in "".join(caught.value.__notes__)
    monkeypatch.undo()
    assert len(look(table, budget, share=0.05, after=kept).looks) == 3


def test_nothing_but_what_was_released_decides_whether_there_is_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same released counts over other rows: as many looks, of the same shares, and the rows are not read for it."""
    shown = look(ln.table(rows(), unit="person", name="people"), budget_of(tmp_path), share=0.02, most_share=0.2).looks
    monkeypatch.setattr(publish, "_read", lambda *_: pytest.fail("rows were read"))
    for frame in (rows(2, seed=4), rows().iloc[:0]):
        asked, paid = ln.table(frame, unit="person", name="people"), list[Any]()

        def released(_: Any, request: PrivacyRequest, paid: list[Any] = paid) -> LimitSuggestion:
            paid.append(request.share)
            return shown[len(paid) - 1]

        monkeypatch.setattr(suggest, "_released", released)
        budget = ln.Budget.open(tmp_path / "other.ledger", epsilon=0.3, delta=1e-6)
        look(asked, budget, share=0.02, most_share=0.2)
        assert [float(share) for share in paid] == pytest.approx([0.02, 0.02, 0.04, 0.12][: len(shown)])


def paid_of(budget: ln.Budget) -> list[float]:
    return [entry.share for entry in budget.history() if entry.release]


@pytest.mark.parametrize("looks", [2, 3])
def test_several_looks_are_saved_and_loaded_whole(table: Table, tmp_path: Path, looks: int) -> None:
    budget, found = budget_of(tmp_path), None
    for _ in range(looks):
        found = look(table, budget, share=0.05, after=found)
    assert found is not None
    path = tmp_path / "limits.parquet"
    with pytest.raises(errors.SeededRelease):
        found.save(path)
    found.save(path, allow_seeded=True)
    back = ln.load(path)
    assert (back.limits, back.explain(), repr(back)) == (found.limits, found.explain(), repr(found))
    for before, after in zip(found.looks, back.looks, strict=True):
        assert (before.id, before.guarantee, before.asked) == (after.id, after.guarantee, after.asked)
        assert (before.components.values == after.components.values).all()
        assert before.id in back.explain()
        assert repr(before.guarantee) in back.explain() or before is found
    assert f"{looks} looks" in repr(back)
    assert len(look(table, budget, share=0.05, after=back).looks) == looks + 1
    sheet = found.to_csv(tmp_path / "limits.csv", allow_seeded=True).read_text()
    page = found.report(tmp_path / "limits.html", allow_seeded=True).read_text()
    for before in found.looks:
        assert before.id in sheet
        assert before.id in page
    columns = pq.read_table(path)
    assert columns.column_names == ["release", "histogram", "value"]
    pq.write_table(columns.slice(1), path)
    with pytest.raises(errors.NotOurs):
        ln.load(path)


def test_an_earlier_look_with_a_seed_is_seeded_as_a_whole(table: Table, tmp_path: Path) -> None:
    budget = budget_of(tmp_path)
    first = look(table, budget)
    found = table.suggest_limits("zone", **ZONES, budget=budget, share=0.02, after=first)
    assert not found.provenance.seeded
    assert found.seeded
    with pytest.raises(errors.SeededRelease):
        found.save(tmp_path / "limits.parquet")


def test_a_file_of_before_is_loaded_and_not_gone_on_from(table: Table, tmp_path: Path) -> None:
    budget, path = budget_of(tmp_path), tmp_path / "limits.parquet"
    first = look(table, budget)
    first.save(path, allow_seeded=True)
    file = pq.read_table(path)
    assert file.column_names == ["histogram", "value"]
    facts = json.loads(file.schema.metadata[b"leastnoise"])
    del facts["fingerprint"], facts["earlier"]
    pq.write_table(file.replace_schema_metadata({b"leastnoise": json.dumps(facts)}), path)
    back = ln.load(path)
    assert back.limits == first.limits
    with pytest.raises(errors.InvalidParameter, match="does not say which keys"):
        look(table, budget, after=back)


def test_the_question_is_checked_for_a_look_to_go_on_from(table: Table, tmp_path: Path) -> None:
    first = look(table, budget_of(tmp_path))
    rest: dict[str, Any] = {"nulls": "drop", "for_epsilon": None, "for_delta": None, "for_share": None}
    request = PrivacyRequest(epsilon=1, delta=1e-6)
    question = limit_question(table._data, ["zone"], **ZONES, **rest, request=request, after=first)
    assert question.after is first
