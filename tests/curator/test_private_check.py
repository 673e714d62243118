"""The curator's exact look: right numbers, never without its banner, and nothing of it written anywhere."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import leastnoise as ln
from leastnoise import errors
from leastnoise.curator.private_check import BANNER
from leastnoise.curator.table import Table
from leastnoise.testing import aggregate

ROWS = """plane,month,delay,carrier
a,1,5,AA
a,1,7,AA
a,12,70,UA
a,2,,AA
b,2.5,3,AA
b,12,-4,XX
,3,1,AA
c,,2,UA
"""


@pytest.fixture
def flights(tmp_path: Path) -> Table:
    path = tmp_path / "flights.csv"
    path.write_text(ROWS)
    return ln.table(path, unit="plane", types={"month": "int", "delay": "float"})


def test_a_unit_that_is_a_word_for_missing_is_named_and_missing_takes_it_out(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("who,zone\nNA,a\nnull,a\np1,a\np2,NA\n")
    found = ln.table(path, unit="who").private_check()
    told = 'rows whose who is "NA", "null", "" or the like: a value like others, unless missing names it'
    assert found.counts[told] == 2
    cleaned = ln.table(path, unit="who", missing=["NA", "null"])
    assert cleaned.private_check().counts["rows without a unit"] == 2
    assert aggregate(cleaned.histogram("zone", keys=["a", "NA"], max_rows=1)).values.tolist() == [1, 0]
    with pytest.raises(ln.errors.WrongType, match="missing"):
        ln.table(path, unit="who", missing=[1])  # type: ignore[list-item]


def test_months_from_zero_lose_december_and_cells_of_another_type_vanish(flights: Table) -> None:
    found = flights.histogram("month", keys=range(12), max_rows=2).private_check()
    assert found.counts["rows"] == 8
    assert found.counts["rows with no plane"] == 1
    assert found.counts["cells of month that are not written like int"] == 1
    assert found.counts["cells of delay that are not written like float"] == 0  # an empty cell is missing, not wrong
    months = found.coverage["month"]
    assert (months.outside, months.missing, months.values) == (4, 2, ((12, 2),))
    assert months.empty == 10  # all but 1 and 2: the row of March has no plane
    assert months.empty_keys == (0, 3, 4, 5, 6)
    assert found.counts["rows in the bins, with unit and value"] == 3
    assert found.counts["units with more than 2 of these"] == 1
    assert found.counts["rows that the limits leave out"] == 1


def test_a_declared_word_for_missing_is_not_a_cell_of_another_type(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("who,time\np1,NA\np2,n/a\np3,7\np4,soon\n")
    told = "cells of time that are not written like int"
    assert ln.table(path, unit="who", types={"time": "int"}).private_check().counts[told] == 3
    opened = ln.table(path, unit="who", types={"time": "int"}, missing=["NA", "n/a"])
    for found in (opened.private_check(), opened.mean("time", clip=(0, 9), max_rows=1).private_check()):
        assert found.counts[told] == 1
    assert opened.private_check().counts["missing in time"] == 3


def test_values_beyond_the_clip_and_bins_of_two_columns(flights: Table) -> None:
    asked = flights.sum(
        "delay", clip=(0, 60), by=["carrier", "month"], keys=[["AA", "UA"], range(1, 13)], max_per_bin=1, max_bins=1
    )
    found = asked.private_check()
    assert found.counts["rows with no delay"] == 1
    assert found.counts["values of delay below 0"] == 1
    assert found.counts["values of delay above 60"] == 1
    assert found.counts["rows in the bins, with unit and value"] == 3
    assert found.counts["rows that the limits leave out"] == 2
    assert found.coverage["carrier"].values == (("XX", 1),)


@pytest.mark.parametrize("keys", [["AA", "UA", "XX"], None], ids=["listed", "unknown"])
def test_a_summary_tells_of_every_clip_and_of_conditions_by_their_text(flights: Table, keys: list[str] | None) -> None:
    """The clip of each column of values, as a question about it alone would have it; a condition has no clip."""
    found = flights.summarize(
        "carrier",
        keys=keys,
        delay=ln.stats.mean("delay", clip=(0, 6)),
        large=ln.stats.sum("delay", clip=(0, 60)),
        month=ln.stats.mean("month", clip=(2, 12)),
        late=ln.stats.rate("delay > 4"),
        max_rows=2,
        max_per_bin=2,
    ).private_check()
    counted = {what: count for what, count in found.counts.items() if "values of" in what or "no delay" in what}
    assert counted == {
        "rows with no delay": 1,
        "values of delay below 0": 1,
        "values of delay above 6": 2,
        "values of delay above 60": 1,
        "values of month below 2": 2,
        "values of month above 12": 0,
    }
    assert [count for what, count in found.counts.items() if "neither true nor false" in what] == [1]
    assert "delay > 4" in str(found)
    assert "condition" not in str(found)


def test_every_kind_of_question_has_a_look(flights: Table) -> None:
    lost = {
        "count": (flights.count(max_rows=2), 2),
        "mean": (flights.mean("delay", clip=(0, 9), max_rows=1), 3),
        "quantile": (flights.quantile("delay", 0.5, clip=(0, 9), max_rows=1), 3),
        "unknown": (flights.histogram("carrier", max_rows=1), 4),
        "summary": (flights.summarize(n=ln.stats.count(), mean=ln.stats.mean("delay", clip=(0, 9)), max_rows=1), 4),
        "unknown keys": (flights.summarize("carrier", mean=ln.stats.mean("delay", clip=(0, 9)), max_rows=1), 3),
        "unknown keys and rows": (
            flights.summarize("carrier", n=ln.stats.count(), mean=ln.stats.mean("delay", clip=(0, 9)), max_rows=1),
            4,
        ),
        "tables": (flights.crosstabs(ways=1, keys={"carrier": ["AA", "UA"], "month": range(1, 13)}, max_rows=1), 3),
        "vector": (flights.vector_sum(["delay", "month"], clip_norm=1.0, max_rows=1), 2),
    }
    for query, rows in lost.values():
        assert query.private_check().counts["rows that the limits leave out"] == rows
    assert "rows that the limits leave out" not in flights.count_units().private_check().counts


def test_conditions_are_applied_first(flights: Table) -> None:
    assert flights.where("carrier = 'AA'").count(max_rows=9).private_check().counts["rows"] == 5


def test_the_banner_is_wherever_it_is_shown(flights: Table) -> None:
    found = flights.histogram("month", keys=range(12), max_rows=2).private_check()
    for shown in (repr(found), str(found), f"{found}"):
        assert shown.startswith(BANNER)
    assert BANNER.startswith("PRIVATE")


def test_it_cannot_be_pickled_copied_or_saved(flights: Table) -> None:
    found = flights.count(max_rows=2).private_check()
    for write in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(errors.InvalidParameter):
            write(found)
    assert not hasattr(found, "save")
    assert not hasattr(found, "report")


def test_a_name_or_value_that_would_move_the_cursor_is_escaped() -> None:
    rows = pd.DataFrame({"plane": [1, 2], "month": ["\x1b[2J", "b"]})
    found = ln.table(rows, unit="plane").histogram("month", keys=["b"], max_rows=1).private_check()
    assert "\x1b" not in str(found)


def test_nothing_is_debited(flights: Table, tmp_path: Path) -> None:
    budget = ln.Budget.open(tmp_path / "city.ledger", epsilon=1, delta=1e-6, unit="plane", table="flights")
    before = len(budget.history())
    flights.count(max_rows=2).private_check()
    assert len(budget.history()) == before


@pytest.mark.parametrize("unit", [[1, 1, None, None, None], ["a", "a", "", None, None]])
def test_rows_of_no_unit_are_counted_before_units_are_made_of_them(unit: list[Any], tmp_path: Path) -> None:
    pd.DataFrame({"u": pd.array(unit), "zone": 1}).to_csv(tmp_path / "rows.csv", index=False)
    made = ln.table(tmp_path / "rows.csv", unit="u", types={"u": "text", "zone": "int"}).per_unit(n=ln.stats.count())
    found = made.histogram("n", keys=range(1, 5)).private_check().counts
    assert (found["rows before per_unit, and before any condition"], found["of these with no u"]) == (5, 3)
    assert found["rows"] == 1
