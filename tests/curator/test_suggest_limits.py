"""`suggest_limits`: what one unit can move, whatever the order of rows, checked and paid for before a row is read."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import leastnoise as ln
from leastnoise import errors
from leastnoise.curator.queries.suggestions import UnitCounts, asked_noise, later_request, limit_question
from leastnoise.curator.request import PrivacyRequest
from leastnoise.curator.table import Table
from leastnoise.domain.size_classes import BIN_STARTS, MOST_ROWS, OCTAVES, ROW_STARTS, WIDE
from leastnoise.releases.limit_errors import AskedNoise
from leastnoise.releases.limit_suggestion import Layout
from leastnoise.testing import aggregate, seeded

NOISE = AskedNoise(1.0, None)
ASK: dict[str, Any] = {"epsilon": 1, "delta": 1e-6}


def question(rows: pd.DataFrame, *, neighbours: str = "add-remove") -> UnitCounts:
    table = ln.table(rows, unit="person", neighbours=neighbours)
    return UnitCounts.of(table._data, ("zone",), range(4), "drop", NOISE)


def people(chance: np.random.Generator, rows: int = 40) -> pd.DataFrame:
    """A tiny dirty table: units of many sizes, zones outside the keys, values missing, huge and negative."""
    fares = chance.choice([0.0, -3.5, 2.0, 1e300, -np.inf, np.nan, 1e-9, 17.0], rows)
    who = chance.zipf(1.6, rows) % 5
    frame = pd.DataFrame({"person": who, "zone": chance.integers(-1, 6, rows), "fare": fares})
    return frame.astype({"person": "Int64", "zone": "Int64"})


def exact(rows: pd.DataFrame, **options: Any) -> np.ndarray[Any, Any]:
    values: np.ndarray[Any, Any] = aggregate(question(rows, **options)).values
    return values


def test_classes_are_increasing_and_cover_every_size() -> None:
    for starts in (ROW_STARTS, BIN_STARTS, OCTAVES, WIDE):
        assert starts[0] == 1
        assert starts[-1] == MOST_ROWS
        assert all(later > earlier for earlier, later in pairwise(starts))
    assert set(WIDE) <= set(OCTAVES) <= set(BIN_STARTS) <= set(ROW_STARTS)
    assert ROW_STARTS[:32] == tuple(range(1, 33))  # single numbers


def test_removing_or_replacing_a_unit_moves_no_more_than_claimed() -> None:
    chance = np.random.default_rng(0)
    rows = people(chance)
    whole = exact(rows)
    removed, replaced = question(rows).sensitivity, question(rows, neighbours="replace").sensitivity
    for person in rows["person"].unique():
        without = rows[rows["person"] != person]
        moved = whole - exact(without)
        assert np.abs(moved).sum() <= removed.l1
        assert np.sqrt((moved**2).sum()) <= removed.l2
        assert np.abs(moved).max(initial=0) <= removed.linf
        another = people(chance, 9).assign(person=person)
        moved = whole - exact(pd.concat([without, another]))
        assert np.abs(moved).sum() <= replaced.l1
        assert np.sqrt((moved**2).sum()) <= replaced.l2
        assert np.abs(moved).max() <= replaced.linf


def test_the_claimed_sensitivity_is_reached() -> None:
    rows = pd.DataFrame({"person": [1, 2], "zone": [0, 1], "fare": [1.0, 2.0]})
    moved = exact(rows) - exact(rows[:1])
    claimed = question(rows).sensitivity
    assert np.abs(moved).sum() == claimed.l1
    assert np.sqrt((moved**2).sum()) == pytest.approx(claimed.l2, rel=1e-15)
    other = rows.assign(person=[1, 3], zone=[0, 2], fare=[1.0, 900.0])
    other = pd.concat([other, *[other[1:]] * 15])  # sixteen rows, so that every histogram moves
    moved = exact(rows) - exact(other)
    claimed = question(rows, neighbours="replace").sensitivity
    assert np.abs(moved).sum() == claimed.l1
    assert np.sqrt((moved**2).sum()) == pytest.approx(claimed.l2, rel=1e-15)


def test_every_unit_counts_once_in_each_histogram() -> None:
    rows = people(np.random.default_rng(3), 300)
    inside = rows[rows["zone"].between(0, 3)]
    layout, values = Layout(4), exact(rows)
    for kind, _, _ in layout.histograms:
        assert layout.part(values, kind).sum() == inside["person"].nunique()
    sizes = np.searchsorted(ROW_STARTS, inside.groupby("person").size().to_numpy(), side="right") - 1
    assert (layout.part(values, "rows") == np.bincount(sizes, minlength=len(ROW_STARTS))).all()
    wide = np.searchsorted(WIDE, inside.groupby("person").size().to_numpy(), side="right") - 1
    assert (layout.part(values, "wide") == np.bincount(wide, minlength=len(WIDE))).all()


def test_the_drawn_row_is_uniform_among_the_rows_of_a_unit() -> None:
    """20,000 units with 1, 2 and 5 rows in three zones: a false alarm at 5 standard deviations has chance 2e-6."""
    units = 20_000
    rows = pd.DataFrame({"person": np.arange(units).repeat(8), "zone": np.tile([0, 1, 1, 2, 2, 2, 2, 2], units)})
    asked = UnitCounts.of(ln.table(rows, unit="person")._data, ("zone",), range(3), "drop", NOISE)
    found = Layout(3).part(aggregate(asked).values, "bins") / units
    expected = np.array([1, 2, 5]) / 8
    assert (np.abs(found - expected) < 5 * np.sqrt(expected * (1 - expected) / units)).all()


def test_neither_the_order_of_rows_nor_other_units_decide_what_is_drawn() -> None:
    chance = np.random.default_rng(5)
    rows = people(chance, 200)
    assert (exact(rows) == exact(rows.sample(frac=1, random_state=1))).all()
    parts = [exact(part) for _, part in rows.groupby("person")]
    assert (exact(rows) == np.sum(parts, axis=0)).all()


def test_an_empty_table_counts_nobody() -> None:
    rows = people(np.random.default_rng(0))
    assert not exact(rows[:0]).any()
    assert not exact(rows.assign(zone=99)).any()


@pytest.fixture
def table() -> Table:
    return ln.table(people(np.random.default_rng(1), 200), unit="person", name="people")


@pytest.mark.parametrize(
    ("by", "given", "error"),
    [
        (("zone",), {}, errors.MissingParameter),  # no keys
        (("nothing",), {"keys": range(4)}, errors.UnknownColumn),
        (("zone",), {"keys": range(2**21)}, errors.BadDomain),
        ((["zone"],), {"keys": range(4)}, errors.WrongType),
        (("zone",), {"keys": range(4), "nulls": "keep"}, errors.InvalidParameter),
        (("zone",), {"keys": range(4), "for_share": 0.5, "for_epsilon": 1}, errors.InvalidParameter),
        (("zone",), {"keys": range(4), "for_share": 0.99}, errors.InvalidParameter),
    ],
)
def test_what_is_wrong_is_refused_before_anything_is_paid(
    table: Table, tmp_path: Path, by: Any, given: dict[str, Any], error: type[Exception]
) -> None:
    budget = ln.Budget.open(tmp_path / "city.ledger", epsilon=1, delta=1e-6, unit="person", table="people")
    with pytest.raises(error):
        table.suggest_limits(*by, budget=budget, share=0.02, **given)
    assert budget.remaining.share == 1


def test_the_share_that_the_question_will_have_decides_its_noise(table: Table, tmp_path: Path) -> None:
    budget = ln.Budget.open(tmp_path / "city.ledger", epsilon=1, delta=1e-6, unit="person", table="people")
    request = PrivacyRequest(budget=budget, share=0.02)
    rest: dict[str, Any] = {"keys": range(4), "nulls": "drop", "request": request}
    asked = [
        limit_question(table._data, ["zone"], for_epsilon=None, for_delta=None, for_share=share, **rest).asked
        for share in (0.1, 0.4)
    ]
    assert asked == [asked_noise(PrivacyRequest(budget=budget, share=share), "add-remove") for share in (0.1, 0.4)]
    assert asked[0].per_l2 > 1.9 * asked[1].per_l2  # type: ignore[operator]
    assert budget.remaining.share == 1


def test_it_is_one_debit_and_says_what_it_is(table: Table, tmp_path: Path) -> None:
    budget = ln.Budget.open(tmp_path / "city.ledger", epsilon=1, delta=1e-6, unit="person", table="people")
    with seeded(1):
        found = table.suggest_limits("zone", keys=range(4), budget=budget, share=0.02)
    (entry,) = [entry for entry in budget.history() if entry.release == found.id]
    assert "to propose limits" in entry.query
    assert budget.remaining.share == pytest.approx(0.98)
    with pytest.raises(ln.BudgetExhausted):
        table.suggest_limits("zone", keys=range(4), budget=budget, share=0.99, for_share=0.01)


def test_nothing_left_for_the_question_is_refused(table: Table, tmp_path: Path) -> None:
    budget = ln.Budget.open(tmp_path / "city.ledger", epsilon=1, delta=1e-6, unit="person", table="people")
    with pytest.raises(errors.InvalidParameter, match="nothing of the budget is left"):
        table.suggest_limits("zone", keys=range(4), budget=budget, share=1)


def test_the_noise_of_the_question_is_what_the_question_will_have(table: Table, tmp_path: Path) -> None:
    limits = {"max_rows": 40, "max_per_bin": 10}
    query = table.histogram("zone", keys=range(4), **limits)
    request = PrivacyRequest(**ASK)
    noise = asked_noise(later_request(request, epsilon=None, delta=None, share=None), "add-remove")
    assert noise.std(query.limits, 4) == pytest.approx(query.expect(**ASK).std, rel=1e-3)  # type: ignore[union-attr]
    budget = ln.Budget.open(tmp_path / "city.ledger", epsilon=1, delta=1e-6, unit="person", table="people")
    paid = PrivacyRequest(budget=budget, share=0.02)
    noise = asked_noise(later_request(paid, epsilon=None, delta=None, share=None), "add-remove")
    expected = query.expect(budget=budget, share=0.98)
    assert noise.std(query.limits, 4) == pytest.approx(expected.std, rel=1e-3)  # type: ignore[union-attr]
    assert noise.per_l1 is None  # a budget with a delta takes Gaussian noise


def test_laplace_noise_alone_is_weighed_where_delta_is_zero() -> None:
    noise = asked_noise(PrivacyRequest(epsilon=1, delta=0), "add-remove")
    assert noise.per_l2 is None
    assert noise.per_l1 == pytest.approx(2**0.5, rel=1e-3)


@pytest.fixture
def many() -> Table:
    """People enough for their values to be seen."""
    chance, persons = np.random.default_rng(4), np.arange(5000).repeat(3)
    fares = {"zone": chance.integers(0, 4, persons.size), "fare": chance.gamma(2, 9, persons.size)}
    return ln.table(pd.DataFrame({"person": persons, **fares}), unit="person", name="people")


def test_limits_work_as_arguments_and_are_named_beside_what_is_released(many: Table, tmp_path: Path) -> None:
    with seeded(2):
        found = many.suggest_limits("zone", keys=range(4), for_epsilon=2, for_delta=1e-6, **ASK)
        released = many.histogram("zone", keys=range(4), **found.limits).release(**ASK)
        added = many.sum("fare", clip=(0, 60), by="zone", keys=range(4), **found.limits).release(**ASK)
        asked = many.histogram("zone", keys=range(4), **found.limits)
    assert f"Release {found.id}, which proposed them, estimates it." in str(asked.expect(**ASK))
    for made in (released, added):
        assert f"a limit that release {found.id} proposed" in made.explain()
        made.save(tmp_path / "made.parquet", allow_seeded=True)
        assert f"release {found.id} proposed" in ln.load(tmp_path / "made.parquet").explain()
        assert found.id in made.report(tmp_path / "page.html", estimate=None, allow_seeded=True).read_text()
        (tmp_path / "page.html").unlink()


def test_a_table_of_units_has_no_rows_to_limit(many: Table) -> None:
    units = many.per_unit(spent=ln.stats.sum("fare", grid=1), rows=ln.stats.count())
    with pytest.raises(errors.InvalidParameter, match="one row in this table, so there is nothing to limit"):
        units.suggest_limits("rows", keys=range(1, 9), **ASK)


def test_limits_of_all_rows_go_into_a_count(table: Table) -> None:
    with seeded(3):
        found = table.suggest_limits(**ASK)
        released = table.count(**found.limits).release(**ASK)
    assert set(found.limits) == {"max_rows"}
    assert found.id in released.explain()


def test_a_look_and_its_question_fit_into_one_budget(table: Table, tmp_path: Path) -> None:
    budget = ln.Budget.open(tmp_path / "city.ledger", epsilon=1, delta=1e-6, unit="person", table="people")
    with pytest.raises(errors.InvalidParameter, match=r"do not both fit.*Say share=0.02, for_share=0.5"):
        table.suggest_limits("zone", keys=range(4), budget=budget, share=0.5, for_share=0.9)
    with seeded(1):
        table.count(max_rows=1).release(budget=budget, share=0.7)
        assert budget.remaining.share < 0.3 + 1e-12
        table.suggest_limits("zone", keys=range(4), budget=budget, share=0.1, for_share=0.2)  # all that is left
        table.count(max_rows=1).release(budget=budget, share=0.2)
