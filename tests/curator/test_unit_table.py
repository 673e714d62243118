"""A table of one row a unit: what its columns are, what it promises, and what is refused."""

from __future__ import annotations

import functools
import math
import operator
import random
import struct
from collections import Counter
from collections.abc import Iterable
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import leastnoise as ln
import tables_at_random as tables
from leastnoise.curator.table import Table
from leastnoise.testing import aggregate, seeded

MOST = 2**53
PARTS = ("integer", "small", "unsigned", "real", "single", "decimal", "whole", "text", "flag", "day")
SUMMED = ("integer", "small", "unsigned", "real", "single", "decimal", "whole", "flag")


def trips() -> Table:
    rows = pa.table(
        {
            "taxi": ["a", "a", "b", "b", "b", None, "c"],
            "fare": [1.25, 2.5, math.nan, -0.0, 0.0, 9.0, None],
            "zone": ["y", "x", "z", "z", "x", "q", None],
        }
    )
    return ln.table(rows, unit="taxi")


def rows_of(t: Table) -> list[dict[str, Any]]:
    return sorted(t._data.engine.fetch(t.rows).to_pylist(), key=repr)


def test_a_row_is_one_unit() -> None:
    made = trips().per_unit(
        trips=ln.stats.count(),
        spent=ln.stats.sum("fare"),
        home=ln.stats.mode("zone"),
        least=ln.stats.min("fare"),
        most=ln.stats.max("zone"),
        different=ln.stats.distinct("fare"),
    )
    assert [tuple(row.values()) for row in rows_of(made)] == [
        ("a", 2, 3.75, "x", 1.25, "y", 2),
        ("b", 3, 0.0, "z", 0.0, "z", 1),  # 0.0 and -0.0 are one number, and NaN is missing
        ("c", 1, None, None, None, None, 0),
    ]


def test_there_is_one_zero() -> None:
    """Which of two zeros an engine meets first, or keeps, does not show."""
    for zeros in ([-0.0], [0.0, -0.0], [-0.0, 0.0]):
        t = ln.table(pa.table({"who": [1] * len(zeros), "x": zeros}), unit="who")
        (row,) = rows_of(t.per_unit(a=ln.stats.min("x"), b=ln.stats.max("x"), c=ln.stats.mode("x")))
        assert [math.copysign(1, row[name]) for name in "abc"] == [1, 1, 1]


def test_questions_about_units_need_no_limit() -> None:
    made = trips().per_unit(trips=ln.stats.count(), spent=ln.stats.sum("fare"), home=ln.stats.mode("zone"))
    assert aggregate(made.histogram("trips", keys=range(1, 5))).values.tolist() == [1, 1, 1, 0]
    assert aggregate(made.histogram("home")).keys == ("x", "z")
    assert aggregate(made.count()).values.tolist() == [3]
    assert made.histogram("trips", keys=range(5), max_rows=7).limits.max_rows == 1
    assert made.crosstabs(ways=1, keys={"trips": range(5)}, row_weight="shared").limits.max_rows == 1
    with seeded(1):
        median = made.quantile("spent", 0.5, clip=(0, 4), bins=4).release(epsilon=50, delta=1e-6)
    assert 0 <= float(median.values[0]) <= 4


# --- the multiset of a unit's rows, and nothing else --------------------------------------------------------


def cleaned(part: str, value: Any) -> Any:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if part == "day":
        return date(1970, 1, 1) + timedelta(value) if -719_162 <= value <= 2_932_896 else None
    if part == "single":
        value = struct.unpack("f", struct.pack("f", value))[0]
    return 0.0 if value == 0 and isinstance(value, float) else value


def summed(part: str, values: Iterable[Any], scale: int) -> int | float | None:
    """Of whole numbers, or in steps of 10^-scale."""
    kept = [value for value in values if part != "unsigned" or value < 2**63]
    if not kept:
        return None
    if part in ("integer", "small", "unsigned", "whole", "flag"):
        total = sum(min(max(int(value), -MOST), MOST) for value in kept)
        return min(max(total, -MOST), MOST)
    steps = [min(max(float(value) * 10.0**scale, -float(MOST)), float(MOST)) for value in kept]
    return min(max(sum(math.floor(step + 0.5) for step in steps), -MOST), MOST) / 10.0**scale


def most_frequent(values: list[Any]) -> Any:
    counts = Counter(values)
    return min((value for value in counts if counts[value] == max(counts.values())), key=ordered, default=None)


def ordered(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


@pytest.mark.parametrize("seed", range(16))
def test_statistics_are_of_the_multiset_of_a_units_rows(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    schema = tables.schema(chance)
    given = tables.rows(schema, chance)
    scale = min(schema.types["decimal"].scale, 6)
    parts = chance.sample(PARTS, 2)
    asked = {f"sum {part}": ln.stats.sum(schema[part]) for part in parts if part in SUMMED}
    for word in ("min", "max", "mode", "distinct"):
        asked |= {f"{word} {part}": getattr(ln.stats, word)(schema[part]) for part in parts}
    form = chance.choice(["Arrow", "Parquet"])
    mixed = tables.Rows(schema, tuple(chance.sample(given.cells, len(given.cells))))
    found = []
    for place, rows in enumerate((given, mixed)):
        (tmp_path / str(place)).mkdir()
        opened = tables.opened(rows, form, tmp_path / str(place), relation="add-remove")
        found.append(rows_of(opened.per_unit(count=ln.stats.count(), **asked)))
    assert found[0] == found[1]  # whatever the order of the rows
    kinds = [schema.types[part] for part in schema.units]
    parts_of = ["day" if kind == pa.date32() else "" for kind in kinds]
    everybody = {
        unit: tuple(cleaned(part, value) for part, value in zip(parts_of, unit, strict=True)) for unit in given.units()
    }
    assert len(found[0]) == sum(None not in name for name in everybody.values())
    of_unit = {tuple(row[schema[part]] for part in schema.units): row for row in found[0]}
    for unit, name in everybody.items():
        if None in name:
            continue
        theirs, row = given.of(unit), of_unit[name]
        assert row["count"] == len(theirs)
        for part in parts:
            values = [value for each in theirs if (value := cleaned(part, each[part])) is not None]
            assert row[f"min {part}"] == min(values, key=ordered, default=None), part
            assert row[f"max {part}"] == max(values, key=ordered, default=None), part
            assert row[f"mode {part}"] == most_frequent(values), part
            assert row[f"distinct {part}"] == len(set(values)), part
            if part in SUMMED:
                assert row[f"sum {part}"] == summed(part, values, scale if part == "decimal" else 6), part


def test_no_sum_depends_on_the_order_of_adding() -> None:
    """Six doubles with 22 sums, one an order; and what would overflow ends at a public end."""
    values = [1e16, 1.0, -1e16, 3.0, 1e-7, -7.0]
    chance = random.Random(0)
    sums = set()
    for _ in range(8):
        mixed = chance.sample(values, len(values))
        t = ln.table(pa.table({"who": ["a"] * 6, "x": mixed}), unit="who").per_unit(s=ln.stats.sum("x", grid=0.5))
        sums.add(rows_of(t)[0]["s"])
    plain = {functools.reduce(operator.add, chance.sample(values, 6)) for _ in range(30)}
    assert len(plain) > 3  # since Python 3.12 its own sum() corrects itself
    assert sums == {-3.0}
    huge = ln.table(pa.table({"who": ["a"] * 3, "x": [2**63 - 1] * 3}), unit="who")
    assert rows_of(huge.per_unit(s=ln.stats.sum("x")))[0]["s"] == MOST


@pytest.mark.parametrize(
    ("grid", "clip", "expected"),
    [(None, None, 4.125), (0.25, None, 4.25), (3, None, 3), (0.01, None, 4.13), (None, (0, 2), 3.125), (1, (0, 2), 3)],
)
def test_a_sum_is_on_its_grid(grid: float | None, clip: Any, expected: float) -> None:
    t = ln.table(pa.table({"who": [1, 1], "x": [1.125, 3.0]}), unit="who")
    found = rows_of(t.per_unit(s=ln.stats.sum("x", grid=grid, clip=clip)))[0]["s"]
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(("clip", "expected"), [((1e50, 1e60), MOST), ((-1e60, -1e50), -MOST), ((-1e60, 1e60), 4)])
def test_a_sum_of_whole_numbers_may_be_clipped_anywhere(clip: tuple[float, float], expected: int) -> None:
    t = ln.table(pa.table({"who": [1, 1], "x": [1, 3]}), unit="who")
    assert rows_of(t.per_unit(s=ln.stats.sum("x", clip=clip)))[0]["s"] == expected


def test_decimals_are_added_up_in_their_own_digits() -> None:
    prices = pa.array([Decimal("0.10"), Decimal("0.20"), Decimal("19.99")], pa.decimal128(10, 2))
    t = ln.table(pa.table({"who": [1, 1, 1], "x": prices}), unit="who")
    assert rows_of(t.per_unit(s=ln.stats.sum("x")))[0]["s"] == 20.29


# --- what is promised, and recorded ---------------------------------------------------------------------------


def questions(t: Table) -> list[Any]:
    made = t.per_unit(trips=ln.stats.count(), spent=ln.stats.sum("fare"), home=ln.stats.mode("zone"))
    return [
        made.count(),
        made.count_units(),
        made.histogram("trips", keys=range(3)),
        made.histogram("trips", keys=[1]),
        made.histogram("home"),
        made.sum("spent", clip=(-1, 3)),
        made.sum("spent", clip=(2, 3)),
        made.sum("spent", clip=(2, 3), by="home", keys=["x", "y"]),
        made.mean("spent", clip=(2, 3)),
        made.mean("spent", clip=(2, 3), by="home", keys=["x", "y"]),
        made.quantile("spent", 0.5, clip=(0, 1), bins=5),
        made.vector_sum(["spent", "trips"], clip_norm=2),
        made.vector_mean(["spent", "trips"], clip_norm=2),
        made.crosstabs(ways=2, keys={"trips": range(3), "home": ["x", "y"]}),
    ]


def test_replacing_a_unit_hides_adding_and_removing_it_as_well() -> None:
    """A condition may leave all rows of the old unit out, or of the new one: then a row comes or goes."""
    rows = trips()._data.source.rows.to_pyarrow()
    for added, replaced in zip(
        questions(trips()), questions(ln.table(rows, unit="taxi", neighbours="replace")), strict=True
    ):
        for norm in ("l1", "l2", "linf"):
            assert getattr(replaced.sensitivity, norm) >= getattr(added.sensitivity, norm), replaced
        assert replaced.neighbours == "replace"


def test_the_record_says_that_a_row_is_a_unit() -> None:
    made = (
        trips()
        .where("fare < 9")
        .per_unit(
            trips=ln.stats.count(), spent=ln.stats.sum("fare", grid=0.01, clip=(0, 50)), home=ln.stats.mode("zone")
        )
    )
    asked = made.where("trips > 1").histogram("trips", keys=range(5))
    assert asked.describe() == (
        "rows by trips (5 bins), where fare < 9.0, a row for each taxi with trips = count, spent = sum of fare clipped "
        "to [0, 50] in steps of 1/100, home = mode of zone, where trips > 1; one row is one taxi; neighbours "
        "add-remove"
    )
    assert [fact.kind for fact in asked.left_out] == [
        "unit is null", "row is a unit", "not a key", "condition", "condition of units",
    ]  # fmt: skip
    with seeded(1):
        made_of_it = asked.release(epsilon=1, delta=1e-6)
    explained = made_of_it.explain()
    assert "Every row here is one taxi, made from all rows of that taxi." in explained
    assert "each taxi that fails the condition trips > 1" in explained
    assert "at most this was used" not in explained


def test_a_file_of_it_is_read_again(tmp_path: Path) -> None:
    asked = trips().per_unit(trips=ln.stats.count()).where("trips > 1").histogram("trips", keys=range(5))
    with seeded(1):
        made = asked.release(epsilon=1, delta=1e-6)
        made.save(tmp_path / "out.parquet", allow_seeded=True)
    assert ln.load(tmp_path / "out.parquet").explain() == made.explain()


# --- what is refused ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "error", "words"),
    [
        ({"a": ln.stats.count}, ln.errors.WrongType, "ln.stats.count()"),
        ({"a": ln.stats.sum("fair")}, ln.errors.UnknownColumn, "fare"),
        ({"a": ln.stats.mode("taxi")}, ln.errors.BadExpression, "unit"),
        ({"Taxi": ln.stats.count()}, ln.errors.InvalidParameter, "upper and lower case"),
        ({"a": ln.stats.count(), "A": ln.stats.count()}, ln.errors.InvalidParameter, "upper and lower case"),
        ({"a": ln.stats.sum("fare", grid=-1)}, ln.errors.InvalidParameter, "grid"),
        ({"a": ln.stats.sum("fare", grid=1 / 3)}, ln.errors.InvalidParameter, "few digits"),
        ({"a": ln.stats.sum("fare", clip=(3, 1))}, ln.errors.InvalidParameter, "low < high"),
    ],
)
def test_what_cannot_be_computed_is_refused(columns: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words.replace("(", r"\(").replace(")", r"\)")):
        trips().per_unit(**columns)


def test_columns_that_are_gone_are_not_found() -> None:
    made = trips().per_unit(trips=ln.stats.count())
    assert made.columns == ("taxi", "trips")
    with pytest.raises(ln.errors.UnknownColumn):
        made.histogram("fare")
    objects = pd.DataFrame({"who": [1, 2], "odd": [{1}, {2}]}, dtype=object).astype({"who": "int64"})
    assert ln.table(objects, unit="who").per_unit(n=ln.stats.count()).columns == ("who", "n")
    with pytest.raises(ln.errors.BadExpression):
        made.where("taxi = 'a'")
