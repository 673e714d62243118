"""Several statistics of the same rows: exact integers, limits that hold, one debit, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import leastnoise as ln
from leastnoise import errors, testing
from leastnoise.cli.output import explain
from leastnoise.curator.queries.statistics import Statistics
from leastnoise.curator.request import PrivacyRequest
from leastnoise.curator.table import Table

STATS: dict[str, Any] = {
    "flights": ln.stats.count(),
    "delay": ln.stats.mean("delay", clip=(-30, 180)),
    "spread": ln.stats.std("delay", clip=(-30, 180)),
    "late": ln.stats.rate("delay > 15"),
    "miles": ln.stats.sum("miles", clip=(0, 9)),
    "part": ln.stats.share(),
    "per_mile": ln.stats.ratio("delay", "miles", clip=(-30, 180), over_clip=(0, 9)),
}


def frame(rows: int = 400, *, units: int = 150, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    made = pd.DataFrame(
        {
            "plane": rng.integers(0, units, rows),
            "carrier": rng.choice(["AA", "DL", "UA"], rows, p=[0.6, 0.3, 0.1]),
            "delay": rng.normal(20, 60, rows),
            "miles": rng.integers(-3, 15, rows),
        }
    )
    made.loc[rng.random(rows) < 0.2, "delay"] = np.nan
    return made.astype({"miles": "Int64"}).assign(miles=lambda d: d["miles"].mask(rng.random(rows) < 0.1))


def asked(data: pd.DataFrame, *, neighbours: str = "add-remove", **options: Any) -> Statistics:
    given: dict[str, Any] = {"keys": ["AA", "DL", "UA"], "max_rows": 1000, **STATS, **options}
    query = ln.table(data, unit="plane", neighbours=neighbours).summarize("carrier", **given)
    assert isinstance(query, Statistics)
    return query


def exact(query: Statistics) -> dict[str, np.ndarray[Any, Any]]:
    values = testing.aggregate(query).values.reshape(len(query.asked.parts), -1)
    return {part.name: row for part, row in zip(query.asked.parts, values, strict=True)}


def test_the_integers_are_those_of_pandas() -> None:
    data = frame()
    query = asked(data)
    found, column = exact(query), query.asked.columns[0]
    groups = data.groupby("carrier")
    np.testing.assert_array_equal(found["rows"], groups.size())
    np.testing.assert_array_equal(found["missing 0"], groups["delay"].apply(lambda x: x.isna().sum()))
    steps = np.floor(data["delay"].clip(-30, 180) / column.grid + 0.5)
    centred = 2 * steps - column.lowest - column.highest
    by = centred.groupby(data["carrier"])
    np.testing.assert_array_equal(found["sum 0"], by.sum().astype(int))
    doubled = np.floor(2 * centred.dropna().astype(int).astype(object) ** 2 // 2**column.square_shift)
    squares = (doubled - column.square_centre).groupby(data["carrier"]).sum()
    np.testing.assert_array_equal(found["squares 0"], squares.astype(int))
    np.testing.assert_array_equal(found["missing 1"], found["missing 0"])  # unknown whether late
    truly = (data["delay"] > 15).groupby(data["carrier"]).sum()
    np.testing.assert_array_equal(found["sum 1"], 2 * truly - (found["rows"] - found["missing 1"]))
    miles = data["miles"].clip(0, 9)
    np.testing.assert_array_equal(found["plain 2"], miles.groupby(data["carrier"]).sum().astype(int))
    both = data["delay"].notna() & data["miles"].notna()  # a ratio is of rows with both
    assert both.sum() < min(data["delay"].notna().sum(), data["miles"].notna().sum())
    np.testing.assert_array_equal(found["plain 0 with 2"], steps[both].groupby(data["carrier"]).sum().astype(int))
    np.testing.assert_array_equal(found["plain 2 with 0"], miles[both].groupby(data["carrier"]).sum().astype(int))


def test_rows_are_counted_once_for_all_statistics() -> None:
    names = [part.name for part in asked(frame()).asked.parts]
    assert len(names) == len(set(names))
    assert names.count("rows") == 1
    of_columns = {"sum 0", "squares 0", "missing 0", "sum 1", "missing 1", "plain 2"}
    assert set(names) == {"rows", *of_columns, "plain 0 with 2", "plain 2 with 0"}


def test_one_column_alone_leaves_out_rows_without_a_value() -> None:
    data = frame()
    table = ln.table(data, unit="plane")
    query = table.summarize(delay=STATS["delay"], spread=STATS["spread"], max_rows=1000)
    assert isinstance(query, Statistics)
    found = exact(query)
    assert set(found) == {"rows", "sum 0", "squares 0"}
    assert found["rows"].tolist() == [data["delay"].notna().sum()]
    assert any(fact.kind == "null" for fact in query.left_out)


def test_a_ratio_alone_leaves_out_rows_without_both_values_before_the_limits() -> None:
    """Of each plane one row is kept, and only one has both values: that one."""
    data = pd.DataFrame(
        {
            "plane": np.repeat(range(50), 4),
            "delay": [np.nan, 3.0, np.nan, 5.0] * 50,
            "miles": [2.0, np.nan, np.nan, 7.0] * 50,
        }
    )
    query = ln.table(data, unit="plane").summarize(per=STATS["per_mile"], max_rows=1)
    assert isinstance(query, Statistics)
    found, (delay, miles) = exact(query), query.asked.columns
    assert {name: part.tolist() for name, part in found.items()} == {
        "plain 0 with 1": [50 * 5 / delay.grid],
        "plain 1 with 0": [50 * 7 / miles.grid],
    }
    assert [fact.columns for fact in query.left_out if fact.kind == "null"][-2:] == [("delay",), ("miles",)]


def test_ratios_of_the_same_rows_share_their_sums_and_other_statistics_do_not() -> None:
    ends: Any = {"clip": (0, 9), "over_clip": (0, 9)}
    one, back = ln.stats.ratio("delay", "miles", **ends), ln.stats.ratio("miles", "delay", **ends)
    total = ln.stats.sum("delay", clip=(0, 9))
    rows = ln.table(frame(), unit="plane")

    def parts(**asked: Any) -> set[str]:
        query = rows.summarize(max_rows=1, **asked)
        assert isinstance(query, Statistics)
        return {part.name for part in query.asked.parts}

    shared = {"plain 0 with 1", "plain 1 with 0"}
    assert parts(one=one) == parts(one=one, again=one) == parts(one=one, back=back) == shared
    assert parts(one=one, total=total) == shared | {"plain 0"}  # of other rows
    request = PrivacyRequest(epsilon=1, delta=1e-6, mechanism="gaussian")
    alone, both = (
        rows.summarize(max_rows=1, **asked).decide(request).charge.plan  # type: ignore[union-attr]
        for asked in ({"one": one}, {"one": one, "back": back})
    )
    assert alone.scales == both.scales  # the second costs nothing


@pytest.mark.parametrize(
    "limits",
    [{"max_rows": 1}, {"max_rows": 3}, {"max_rows": 3, "max_per_bin": 1}, {"max_per_bin": 2, "max_bins": 1}],
)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_no_unit_moves_the_answer_by_more_than_the_noise_allows_for(limits: dict[str, int], neighbours: str) -> None:
    data = frame(100, units=4)  # some 25 rows each: every limit binds
    query = asked(data, neighbours=neighbours, max_rows=limits.get("max_rows"), **_rest(limits))
    charge = query.decide(PrivacyRequest(epsilon=1, delta=1e-6, mechanism="gaussian")).charge
    whole, scales = exact(query), charge.plan.scales
    worst = Fraction(0)
    for plane in range(4):
        other = data[data["plane"] != plane]
        if neighbours == "replace":
            stranger = data[data["plane"] == (plane + 1) % 4].assign(plane=99)
            other = pd.concat([other, stranger], ignore_index=True)
        moved = exact(asked(other, neighbours=neighbours, max_rows=limits.get("max_rows"), **_rest(limits)))
        far = {name: [int(step) for step in whole[name] - moved[name]] for name in whole}
        square = sum((Fraction(step) / Fraction(scales[name])) ** 2 for name in far for step in far[name])
        worst = max(worst, Fraction(square))
    assert 0 < worst <= charge.plan.cost


def _rest(limits: dict[str, int]) -> dict[str, int]:
    return {name: value for name, value in limits.items() if name != "max_rows"}


@pytest.mark.parametrize("most", [1, 2])
def test_a_unit_is_in_at_most_max_bins_bins(most: int) -> None:
    data = pd.DataFrame({"plane": 1, "carrier": ["AA", "AA", "DL", "DL", "UA", "UA"], "delay": 1.0, "miles": 1})
    rows = exact(asked(data, max_rows=None, max_per_bin=2, max_bins=most))["rows"]
    assert sorted(rows.tolist()) == [0] * (3 - most) + [2] * most


def test_the_order_of_the_rows_decides_nothing() -> None:
    data = frame(300, units=12)
    limits = {"max_rows": 3, "max_per_bin": 2, "max_bins": 2}
    first = testing.aggregate(asked(data, **limits)).values
    for seed in range(3):
        shuffled = data.sample(frac=1, random_state=seed)
        np.testing.assert_array_equal(testing.aggregate(asked(shuffled, **limits)).values, first)


def test_an_empty_table_and_one_of_nobody_release_noise() -> None:
    for data in (frame().iloc[:0], frame().assign(plane=None).astype({"plane": "Int64"})):
        assert testing.aggregate(asked(data)).values.tolist() == [0] * 3 * 9
        made = asked(data).release(epsilon=1, delta=1e-6)
        assert made.bins == 3  # type: ignore[union-attr]


def test_a_count_alone_has_the_noise_and_the_debit_of_a_histogram(budget: ln.Budget) -> None:
    """The proof of one is that of the other; noise of a summary is chosen in floats, a thousandth above the least."""
    rows = ln.table(frame(), unit="plane")
    keys: dict[str, Any] = {"keys": ["AA", "DL", "UA"], "max_rows": 4, "max_per_bin": 2}
    alone, histogram = rows.summarize("carrier", n=ln.stats.count(), **keys), rows.histogram("carrier", **keys)
    for mechanism in ("gaussian", "laplace"):
        promise: Any = {"epsilon": 1, "delta": 1e-6, "mechanism": mechanism}
        std = histogram.release(**promise).std
        assert alone.release(**promise)["n"].std == pytest.approx(std, rel=1e-3)  # type: ignore[index, union-attr]
    for query in (alone, histogram):
        query.release(budget=budget, share=0.25)
    one, other = budget.history()
    assert (one.gaussian, one.pure) == pytest.approx((other.gaussian, other.pure), rel=1e-3)


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_every_part_has_noise_of_its_own_of_the_scale_that_was_paid_for(mechanism: Any) -> None:
    """2,000 bins without a row: standard deviations (kurtosis at most 6) and correlations of parts within 6 standard
    errors, false alarm 2e-9 each."""
    query = asked(frame()[:0].assign(carrier=0), keys=range(2000))
    with testing.seeded(3):
        made = query.release(epsilon=1, delta=1e-6, mechanism=mechanism)
    noise = {name: np.asarray(block.numbers, dtype=float) for name, block in made.blocks.items()}  # type: ignore[union-attr]
    assert len(noise) > 2
    for name, drawn in noise.items():
        scale = made.blocks[name].noise.scale * (1 if mechanism == "gaussian" else 2**0.5)  # type: ignore[union-attr]
        assert drawn.std() == pytest.approx(scale, rel=6 * (5 / 8000) ** 0.5)
    correlations = np.corrcoef(list(noise.values())) - np.eye(len(noise))
    assert np.abs(correlations).max() < 6 / 2000**0.5


def test_expected_is_what_is_released() -> None:
    query = asked(frame(), max_rows=2)
    for mechanism in ("gaussian", "laplace"):
        expected = query.expect(epsilon=1, delta=1e-6, mechanism=mechanism)  # type: ignore[arg-type]
        made = query.release(epsilon=1, delta=1e-6, mechanism=mechanism)  # type: ignore[arg-type]
        assert expected.guarantee == made.guarantee
        lines = {line.name: line for line in expected.statistics}  # type: ignore[union-attr]
        low, high = made["flights"].interval(0.95)  # type: ignore[index]
        assert lines["flights"].half_width == (high - low)[0] / 2
        assert lines["delay"].half_width is None
        assert "95 %" in str(expected)


def test_auto_takes_the_lesser_noise_and_a_budget_gaussian(budget: ln.Budget) -> None:
    few, many = asked(frame(), max_rows=1), asked(frame(), max_rows=3, max_per_bin=1)
    assert few.release(epsilon=1, delta=1e-6).mechanism == "laplace"
    assert many.release(epsilon=1, delta=1e-6).mechanism == "gaussian"
    assert few.release(budget=budget, share=0.1).mechanism == "gaussian"
    assert few.release(epsilon=1, delta=0).mechanism == "laplace"


def test_a_weight_moves_noise_to_the_others() -> None:
    even = asked(frame()).decide(PrivacyRequest(epsilon=1, delta=1e-6)).charge.plan
    tilted = asked(frame(), weights={"miles": 100}).decide(PrivacyRequest(epsilon=1, delta=1e-6)).charge.plan
    assert tilted.scales["plain 2"] < 0.7 * even.scales["plain 2"]
    assert tilted.scales["rows"] > even.scales["rows"]


def test_the_shared_count_beats_separate_releases() -> None:
    """A count and three rates: against four releases that share the same promise, each mean with its own count."""
    data = frame().assign(a=True, b=False, c=True)
    rates = {name: ln.stats.rate(name) for name in "abc"}
    query = ln.table(data, unit="plane").summarize("carrier", keys=["AA"], max_rows=1, n=ln.stats.count(), **rates)
    together = query.decide(PrivacyRequest(epsilon=1, delta=1e-6, mechanism="gaussian")).charge.plan
    alone = ln.sigma(epsilon=1, delta=1e-6)
    # alone: mu^2 in four equal parts, that of a rate in two: its sum (half the clip) and its count
    separate = {"n": 2 * alone, "sum": 2 * 2**0.5 * alone / 2}
    assert together.scales["rows"] < 0.9 * separate["n"]
    assert together.scales["sum 0"] / 2 < 0.85 * separate["sum"]


@pytest.mark.parametrize(
    ("options", "kind", "word"),
    [
        ({"bad": 3}, errors.WrongType, "statistic"),
        ({"bad": ln.stats.mode("miles")}, errors.WrongType, "statistic"),
        ({"bad": ln.stats.sum("miles")}, errors.MissingParameter, "ends"),
        ({"bad": ln.stats.mean("plane", clip=(0, 1))}, errors.BadExpression, "unit"),
        ({"bad": ln.stats.mean("nowhere", clip=(0, 1))}, errors.UnknownColumn, "nowhere"),
        ({"bad": ln.stats.ratio("miles", "miles", clip=(0, 1), over_clip=(0, 1))}, errors.InvalidParameter, "itself"),
        ({"bad": ln.stats.ratio("delay", "miles", clip=(0, 1), over_clip=(-1, 1))}, errors.InvalidParameter, "at 0"),
        (
            {"bad": ln.stats.ratio("delay", "miles", clip=(0, 1), over_clip=None)},  # type: ignore[arg-type]
            errors.MissingParameter,
            "ends",
        ),
        ({"bad": ln.stats.ratio("miles", "plane", clip=(0, 1), over_clip=(0, 1))}, errors.BadExpression, "unit"),
        ({"bad": ln.stats.rate("miles + 1")}, errors.WrongType, "Got whole numbers instead: compare"),
        ({"bad": ln.stats.rate("plane > 3")}, errors.BadExpression, "unit"),
        ({"carrier": ln.stats.count()}, errors.InvalidParameter, "one name"),
        ({"flights_low": ln.stats.count()}, errors.InvalidParameter, "one name"),
        ({"weights": {"nobody": 1}}, errors.InvalidParameter, "weights"),
        ({"weights": {"flights": -1}}, errors.InvalidParameter, "weight"),
        ({"weights": 3}, errors.WrongType, "weights"),
        ({"keys": None}, errors.InvalidParameter, "List the keys"),
        ({"max_rows": None}, errors.ContributionUnbounded, "plane"),
    ],
)
def test_what_is_wrong_is_said_before_any_row_is_read(options: dict[str, Any], kind: type, word: str) -> None:
    with pytest.raises(kind, match=word):
        asked(frame(), **options)


def test_a_summary_needs_a_statistic_and_no_sigma(people: Table) -> None:
    with pytest.raises(errors.MissingParameter):
        people.summarize("ward", keys=["north"], max_rows=1)
    query = people.summarize("ward", keys=["north"], max_rows=1, n=ln.stats.count())
    with pytest.raises(errors.InvalidParameter, match="noise of its own"):
        query.release(sigma=3)


def test_conditions_are_told_in_the_question_and_read_no_unit() -> None:
    query = asked(frame())
    assert "delay > 15" in query.describe()
    assert "clipped to [-30.0, 180.0]" in query.describe()
    flags = frame().dropna(subset="miles").assign(flag=lambda d: d["miles"] > 3)
    made = ln.table(flags, unit="plane").summarize(yes=ln.stats.rate("flag"), n=ln.stats.count(), max_rows=1000)
    assert isinstance(made, Statistics)
    found = exact(made)
    assert found["sum 0"].tolist() == [2 * flags["flag"].sum() - len(flags)]


def test_wide_clips_of_whole_numbers_stay_within_64_bits() -> None:
    data = frame().assign(miles=2**62)
    ends = (-(2**61), 2**61)
    query = asked(
        data,
        big=ln.stats.variance("miles", clip=ends),
        mean=ln.stats.mean("miles", clip=ends),
        flights=STATS["flights"],
    )
    made = query.release(epsilon=1, delta=1e-6)
    _, high = made["mean"].interval(0.95)  # type: ignore[index]
    assert high[0] >= 0.99 * 2**61  # all values lie at the upper end
    assert query.asked.columns[-1].span <= 2**30 + 1


def test_what_is_expected_of_a_share_says_that_every_bin_has_as_many_rows() -> None:
    rows = pd.DataFrame({"who": [1], "zone": ["a"]})
    asked = ln.table(rows, unit="who").summarize(
        "zone", keys=["a", "b"], part=ln.stats.share(), late=ln.stats.rate("zone = 'a'"), max_rows=1
    )
    lines = {line.split()[0]: line for line in str(asked.expect(epsilon=1, delta=1e-6)).splitlines()}
    assert "where every bin has 100 rows" in lines["part"]
    assert "where a bin has 100 rows" in lines["late"]


def test_what_is_said_to_type_instead_is_typed_and_works() -> None:
    rows = ln.table(frame(), unit="plane")
    with pytest.raises(errors.MissingParameter) as problem:
        rows.summarize(max_rows=5)
    (example,) = problem.value.examples
    assert isinstance(example, errors.Code)
    assert isinstance(eval(f"rows.summarize({example.python}, max_rows=5)"), Statistics)
    assert str(problem.value).endswith("Say flights=ln.stats.count().")
    assert explain(problem.value).endswith("Say --stat flights=count.")


@pytest.mark.parametrize(
    ("name", "whose"), [("others", "histogram"), ("epsilon", r"release\(\)"), ("ways", "crosstabs")]
)
def test_an_argument_of_another_question_is_not_taken_for_a_statistic(name: str, whose: str) -> None:
    with pytest.raises(errors.WrongType, match=f"^{name} is an argument of {whose}, and not of summarize"):
        ln.table(frame(), unit="plane").summarize(**{"n": ln.stats.count(), name: 0.1}, max_rows=5)
    named = {name: ln.stats.count()}
    assert isinstance(ln.table(frame(), unit="plane").summarize(**named, max_rows=5), Statistics)
