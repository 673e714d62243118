"""The page of proposed limits: what is proposed, what it cost, how to use it; and what it says of a look that is too
weak."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

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
        shown = re.search(rf'<th scope="row">{row["max_rows"]:,}\s*<', text) is not None
        assert shown == (row["error"] <= 10 * found.error)
    assert text.count("<small>proposed</small>") == 1
    assert "ln.load(&#34;mine.parquet&#34;)" in text  # the reader's own file
    assert "--limits mine.parquet" in text
    assert found.explain().splitlines()[0] in Page(text).text
    assert "leaves open" not in text


def test_a_look_that_does_not_decide_says_so_first(found: ln.LimitSuggestion) -> None:
    weak = looked(0.0005)
    assert weak.risk > 0.2
    text = report.page(weak)
    assert text.index(f"This release leaves open which limits are good: with a chance of {100 * weak.risk:.0f}%") < (
        text.index("<h1>")
    )
    assert weak.explain().splitlines()[1] in Page(text).text


def test_names_cannot_leave_their_place_and_a_seed_is_refused(found: ln.LimitSuggestion, tmp_path: Path) -> None:
    text = report.page(replace(found, by=(HOSTILE,)), title=HOSTILE)
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
