"""The page of proposed limits: what is proposed, what it cost, how to use it; and what it says of a look that is too
weak."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import leastnoise as ln
from leastnoise import datasets, errors, report
from leastnoise.testing import seeded
from page_parser import Page

HOSTILE = '</script><img src=x onerror="1">'


def looked(epsilon: float) -> ln.LimitSuggestion:
    visits = ln.table(datasets.visits(), unit="person")
    keys = datasets.visit_keys()["service"]
    with seeded(1):
        return visits.suggest_limits("service", keys=keys, epsilon=epsilon, delta=1e-6, for_epsilon=1, for_delta=1e-6)


@pytest.fixture(scope="module")
def found() -> ln.LimitSuggestion:
    return looked(0.5)


def test_the_page_has_the_limits_their_table_and_what_to_type(found: ln.LimitSuggestion, tmp_path: Path) -> None:
    found.save(tmp_path / "mine.parquet", allow_seeded=True)
    text = found.report(tmp_path / "mine.html", allow_seeded=True).read_text()
    for row in found.to_arrow().to_pylist():
        shown = f'<th scope="row">{row["max_rows"]:,}<' in text
        assert shown == (row["error"] <= 10 * found.error)
    assert text.count("<small>proposed</small>") == 1
    assert "ln.load(&quot;mine.parquet&quot;)" in text  # the reader's own file
    assert "--limits mine.parquet" in text
    assert found.explain().splitlines()[0] in Page(text).text
    assert "leaves open" not in text


def test_a_look_that_does_not_decide_says_so_first(found: ln.LimitSuggestion) -> None:
    weak = looked(0.0005)
    assert weak.risk > 0.2
    text = report.page_of_limits(weak)
    assert text.index(f"This look leaves open which limits are good: with a chance of {100 * weak.risk:.0f} %") < (
        text.index("<h1>")
    )
    assert weak.explain().splitlines()[1] in Page(text).text


def test_a_page_of_several_looks_names_each(found: ln.LimitSuggestion, tmp_path: Path) -> None:
    visits = ln.table(datasets.visits(), unit="person")
    given = {"epsilon": 0.0005, "delta": 1e-6, "for_epsilon": 1, "for_delta": 1e-6}
    with seeded(2):
        several = visits.suggest_limits("service", keys=datasets.visit_keys()["service"], after=looked(0.0005), **given)
    text = Page(report.page_of_limits(several)).text
    assert "They are of 2 looks put together" in text
    assert "These 2 looks leave open" in text
    assert f"2 looks; the facts above are of the last, release {several.id}; before: {several.looks[0].id} (mu" in text
    assert "finds at most" not in text or "from the last look alone" in text
    several.save(tmp_path / "both.parquet", allow_seeded=True)
    page = several.looks[0].report(tmp_path / "first.html", allow_seeded=True).read_text()
    assert "both.parquet" not in page  # whose limits are others


def test_names_cannot_leave_their_place_and_a_seed_is_refused(found: ln.LimitSuggestion, tmp_path: Path) -> None:
    text = report.page_of_limits(replace(found, by=(HOSTILE,)), title=HOSTILE)
    assert "<img" not in text
    with pytest.raises(errors.SeededRelease):
        found.report(tmp_path / "no.html")


def test_a_page_names_the_file_of_its_own_release(found: ln.LimitSuggestion, tmp_path: Path) -> None:
    """Not that of what was released under its limits, nor that of an estimate, which have its id in them."""
    visits = ln.table(datasets.visits(), unit="person")
    with seeded(2):
        made = visits.histogram("service", keys=datasets.visit_keys()["service"], **found.limits).release(
            epsilon=1, delta=1e-6
        )
    found.save(tmp_path / "a.parquet", allow_seeded=True)
    made.save(tmp_path / "b.parquet", allow_seeded=True)
    made.denoise().save(tmp_path / "c.parquet", allow_seeded=True)
    for of, name in ((found, "a"), (made, "b")):
        assert f"{name}.parquet" in of.report(tmp_path / f"{name}.html", allow_seeded=True).read_text()
    assert f"a limit that release {found.id} proposed" in (tmp_path / "b.html").read_text()


def test_pages_of_one_column_are_as_wide_as_a_release(found: ln.LimitSuggestion) -> None:
    """Only tables beside their list need more; on a wide page, what is narrow stands at the left."""
    rows = ln.table(pa.table({"who": [1, 2, 3]}), unit="who")
    with seeded(1):
        one = rows.summarize(n=ln.stats.count(), max_rows=1).release(epsilon=1, delta=1e-6)
        release = rows.count(max_rows=1).release(epsilon=1, delta=1e-6)
    made = (report.page(release), report.page_of_limits(found), report.page_of_summary(one))
    widths = [re.findall(r"header, main, footer \{ max-width: (\w+);", text)[-1] for text in made]
    assert len(set(widths)) == 1
