"""What a number is about stands beside it: in explain(), expect(), on the page, in captions and in the file."""

from __future__ import annotations

import json
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
from leastnoise.curator.queries.options import left_out_by_limits
from leastnoise.curator.table import Table
from leastnoise.privacy.sensitivity import LARGEST_LIMIT, ChosenClip, ChosenLimit, Limits
from leastnoise.releases.left_out import KINDS, LeftOut, left_out_in_words
from leastnoise.report.document import page
from leastnoise.testing import aggregate, seeded

ASK: dict[str, Any] = {"epsilon": 1, "delta": 1e-6}
UNIT = LeftOut("unit is null", columns=("plane",))
CLIP = LeftOut("clip", columns=("delay",), numbers=(0.0, 60.0))


@pytest.fixture(scope="module")
def flights() -> Table:
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        {
            "plane": rng.integers(0, 50, 500).astype(str),
            "month": rng.integers(1, 13, 500),
            "delay": rng.gamma(2, 10, 500),
            "carrier": rng.choice(["AA", "UA"], 500),
        }
    )
    return ln.table(frame, unit="plane")


def rows(count: int) -> LeftOut:
    return LeftOut("max_rows", numbers=(count,))


def test_a_count_without_a_limit_that_binds_says_none(flights: Table) -> None:
    assert flights.count(max_rows=LARGEST_LIMIT).left_out == (UNIT,)
    assert flights.count_units().left_out == (UNIT,)


def test_a_vector_of_ones_own_leaves_nothing_out() -> None:
    release = ln.release(np.arange(5), sensitivity=1, **ASK)
    assert release.left_out == ()
    assert "Not in these numbers" not in release.explain()


def test_a_clip_that_was_proposed_says_so_wherever_it_is_used(flights: Table, tmp_path: Path) -> None:
    chosen, own = ChosenClip((0.0, 60.0), "0123456789abcdef"), (0.0, 60.0)
    carriers: dict[str, Any] = {"keys": ["AA", "UA"], "max_rows": 4}
    mean, total = ln.stats.mean("delay", clip=own), ln.stats.sum("delay", clip=chosen)
    says = "Values of delay outside 0 to 60 count as the nearer end (a clip that release 0123456789abcdef proposed)."
    for asked in (
        flights.quantile("delay", 0.5, clip=chosen, bins=32, max_rows=4),
        flights.summarize("carrier", delay=mean, total=total, **carriers),
        flights.summarize("carrier", total=total, delay=mean, max_rows=4),
    ):
        assert [fact.text for fact in asked.left_out if fact.kind == "clip"] == ["0123456789abcdef"]
        release: Any = asked.release(**ASK)
        release.save(tmp_path / "r.parquet")
        loaded = ln.load(tmp_path / "r.parquet")
        assert loaded.left_out == asked.left_out
        assert says in loaded.explain()
        assert says in str(asked.expect(**ASK))
        assert says in loaded.report(tmp_path / "r.html").read_text()
    asked = flights.summarize("carrier", delay=mean, **carriers)
    assert [fact.text for fact in asked.left_out if fact.kind == "clip"] == [None]


def test_many_columns_are_not_all_named() -> None:
    named = LeftOut("null", columns=("a", "b", "c")).in_words("who")
    assert named == "rows with no a, b or c"
    nine = LeftOut("null", columns=tuple("abcdefghi")).in_words("who")
    assert nine == "rows with no a, b, c, d, e, f, g, h or i"  # "1 more" would be no shorter, and say less
    many = LeftOut("null", columns=tuple(f"v{place}" for place in range(1000))).in_words("who")
    assert many == "rows with no v0, v1, v2, v3, v4, v5, v6, v7 or 992 more"


def test_conditions_are_said_and_derived_columns_are_not(flights: Table) -> None:
    asked = flights.derive(late="delay > 15").where("late").where("month < 3").count(max_rows=5)
    texts = [fact.text for fact in asked.left_out if fact.kind == "condition"]
    assert texts == ["late", "month < 3"]
    assert "rows that fail the condition month < 3" in asked.release(**ASK).explain()


def test_a_long_condition_is_cut(flights: Table) -> None:
    asked = flights.where(" AND ".join(f"delay <> {number}.5" for number in range(400))).count(max_rows=5)
    (text,) = (fact.text for fact in asked.left_out if fact.kind == "condition")
    assert text is not None
    assert len(text) < 2100
    assert len(left_out_in_words(asked.left_out, "plane")) < 500


limit = st.none() | st.integers(1, 6)


@given(limit, limit, limit, st.none() | st.integers(1, 8), st.lists(st.integers(0, 7), max_size=12))
def test_rows_of_a_unit_within_the_limits_that_are_said_are_all_counted(
    max_rows: int | None, max_per_bin: int | None, max_bins: int | None, bins: int | None, places: list[int]
) -> None:
    """A limit that is not said must be implied by those that are: else rows would go missing without a word."""
    try:
        limits = Limits.of(max_rows=max_rows, max_per_bin=max_per_bin, max_bins=max_bins, bins=bins)
    except errors.ContributionUnbounded:
        return
    said = {fact.kind: fact.numbers[0] for fact in left_out_by_limits(limits, bins=bins)}
    inside = [place for place in places if bins is None or place < bins]
    per_bin = max((inside.count(place) for place in inside), default=0)
    fits = (
        len(inside) <= said.get("max_rows", LARGEST_LIMIT)
        and per_bin <= said.get("max_per_bin", LARGEST_LIMIT)
        and len(set(inside)) <= said.get("max_bins", LARGEST_LIMIT)
    )
    kept_whole = (
        len(inside) <= limits.max_rows and per_bin <= limits.max_per_bin and len(set(inside)) <= limits.max_bins
    )
    assert fits == kept_whole


def test_rows_that_are_said_to_be_left_out_are() -> None:
    frame = pd.DataFrame(
        {
            "plane": ["a", "a", "a", None, "b", "b", "c"],
            "month": [1, 1, 2, 1, 13, 2, None],
            "delay": [5.0, 99.0, 7.0, 1.0, 1.0, None, 3.0],
        }
    ).astype({"month": "Int64"})
    table = ln.table(frame, unit="plane")
    assert aggregate(table.histogram("month", keys=range(1, 13), max_rows=2)).values.sum() == 3
    assert aggregate(table.sum("delay", clip=(0, 60), max_rows=9)).values.tolist() == [
        round((5 + 60 + 7 + 1 + 3) / table.sum("delay", clip=(0, 60), max_rows=9).grid)
    ]


def test_every_place_says_what_was_left_out(flights: Table, tmp_path: Path) -> None:
    asked = flights.histogram("month", keys=range(1, 13), max_rows=20)
    says = (
        "Not in these numbers: rows beyond 20 of one plane; rows with no plane; rows whose month is not one of the 12 "
        "keys. Intervals cover the noise, not the rows left out."
    )
    release = asked.release(**ASK)
    expected = asked.expect(**ASK)
    assert expected.left_out == release.left_out
    assert says in str(expected)
    assert "How many rows the limits leave out is not known" in str(expected)
    assert "suggest_limits (leastnoise suggest-limits) estimates it" in str(expected)
    assert release.explain().splitlines()[1] == says
    release.save(tmp_path / "r.parquet")
    loaded = ln.load(tmp_path / "r.parquet")
    assert loaded.left_out == release.left_out
    assert says in loaded.explain()
    html = page(loaded, estimate=None)
    assert says in html.split("left-out")[1].split("</p>")[0]
    estimate = release.denoise("james_stein")
    assert says in estimate.explain()
    assert says in page(estimate)


def test_a_limit_says_that_it_was_proposed_only_where_it_is_what_was_proposed(flights: Table) -> None:
    proposed = ChosenLimit(3, "0123456789abcdef")
    asked = flights.histogram("month", keys=range(1, 13), max_rows=20, max_per_bin=proposed)
    assert asked.left_out[:2] == (rows(20), LeftOut("max_per_bin", numbers=(3,), text="0123456789abcdef"))
    larger = ChosenLimit(90, "0123456789abcdef")  # more than three in each of twelve months: it says nothing more
    asked = flights.histogram("month", keys=range(1, 13), max_rows=larger, max_per_bin=3)
    assert [fact.text for fact in asked.left_out[:1]] == [None]


def test_suggest_limits_is_named_only_where_it_can_be_asked(flights: Table) -> None:
    """Not of unknown keys or a set of tables, which it refuses, nor where everybody is said to have one row."""
    keys: dict[str, Any] = {"keys": range(1, 13), "max_rows": 20}
    listed = [
        flights.histogram("month", **keys),
        flights.count(max_rows=20),
        flights.mean("delay", clip=(0, 9), **keys),
    ]
    listed += [flights.summarize("month", n=ln.stats.count(), **keys)]
    both = {"month": range(1, 13), "carrier": ["AA", "UA"]}
    others = [
        flights.histogram("month", max_rows=20, max_per_bin=1),
        flights.summarize("month", n=ln.stats.count(), max_rows=20),
        flights.histogram("month", keys=range(2**30), max_rows=3),
        flights.crosstabs(ways=2, keys=both, max_rows=20),
        flights.histogram("month", keys=range(1, 13), max_rows=1),
        flights.per_unit(trips=ln.stats.count()).histogram("trips", keys=range(1, 9)),
    ]
    for asked in listed:
        assert "suggest_limits (leastnoise suggest-limits) estimates it" in str(asked.expect(**ASK))
    for asked in others:
        assert "suggest" not in str(asked.expect(**ASK))
    assert "It is none if every plane has one row." in str(others[4].expect(**ASK))


def test_captions_say_it_shortly(flights: Table) -> None:
    pytest.importorskip("matplotlib")
    release = flights.histogram("month", keys=range(1, 13), max_rows=20).release(**ASK)
    for drawn in (release.plot(), release.denoise("james_stein").plot()):
        caption = " ".join(" ".join(text.get_text().split()) for text in drawn.figure.texts)
        assert "Left out: rows beyond 20 of one plane; rows with no plane; rows whose month" in caption


def test_a_number_that_leaves_nothing_out_says_nothing(tmp_path: Path) -> None:
    release = ln.release(np.array([5]), sensitivity=1, domain=["all"], **ASK)
    release.save(tmp_path / "r.parquet")
    html = page(ln.load(tmp_path / "r.parquet"), estimate=None)
    assert "Not in these numbers" not in html
    assert 'class="caption left-out">±: 95% margin of error.</p>' in html


def test_a_bound_that_does_not_bind_is_not_said(flights: Table) -> None:
    asked = flights.count(max_rows=LARGEST_LIMIT)
    assert "rows beyond" not in str(asked.expect(epsilon=1, delta=1e-6))
    assert "How many rows" not in str(asked.expect(epsilon=1, delta=1e-6))


def test_facts_in_a_file_are_data_and_checked(flights: Table, tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    flights.sum("delay", clip=(0, 60), max_rows=4).release(**ASK).save(path)
    table = pq.read_table(path)
    facts = json.loads(table.schema.metadata[b"leastnoise"])
    stored = facts["provenance"]["left_out"]
    assert stored[0] == {"kind": "max_rows", "columns": [], "numbers": [4], "text": None}
    assert stored[-1] == {"kind": "clip", "columns": ["delay"], "numbers": [0.0, 60.0], "text": None}
    assert {fact["kind"] for fact in stored} <= set(KINDS)
    mistakes: list[dict[str, Any]] = [{"kind": "whim"}, {"numbers": []}, {"numbers": ["4"]}, {"columns": [1]}]
    for wrong in (*mistakes, {"text": 3}, {"more": 1}):
        stored[0] = {"kind": "max_rows", "columns": [], "numbers": [4], "text": None, **wrong}
        metadata = {b"leastnoise": json.dumps(facts).encode()}
        pq.write_table(table.replace_schema_metadata(metadata), path)
        with pytest.raises(errors.NotOurs):
            ln.load(path)


def test_a_column_cannot_break_the_line_or_the_page() -> None:
    name = "a\n</script><b>"
    table = ln.table(pd.DataFrame({"who": [1, 2], name: [1, 2]}), unit="who")
    with seeded(1):
        release = table.histogram(name, keys=[1, 2], max_rows=1).release(**ASK)
    line = next(line for line in release.explain().splitlines() if line.startswith("Not in these"))
    assert "a\\n</script><b> is not one of the 2 keys" in line
    assert "</script><b>" not in page(release, estimate=None)
