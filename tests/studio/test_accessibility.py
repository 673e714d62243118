"""Colours that can be read in both themes, a label for every field, and the whole walk by keyboard alone."""

from __future__ import annotations

from html.parser import HTMLParser
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import leastnoise as ln
from chromium import luminance
from leastnoise.pictures import palette
from studio_browser import Keyboard, running_studio
from studio_visitor import Visitor

THEMES = (("light", palette.LIGHT), ("dark", palette.DARK))


def contrast(one: str, other: str) -> float:
    """Of two colours, as WCAG 2 defines it."""
    bright, dark = sorted((_light(one), _light(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def _light(colour: str) -> float:
    return luminance(",".join(str(int(colour[place : place + 2], 16)) for place in (1, 3, 5)))


@pytest.mark.parametrize(("theme", "colours"), THEMES)
def test_text_and_marks_can_be_told_from_what_is_behind_them(theme: str, colours: dict[str, str]) -> None:
    for text, behind in product(("ink", "quiet", "main", "loud"), ("paper", "wash")):
        assert contrast(colours[text], colours[behind]) >= 4.5, (theme, text, behind)
    assert contrast(colours["paper"], colours["main"]) >= 4.5  # the words of the main button
    for mark in ("quiet", "main"):  # borders of fields, bars, curves
        assert contrast(colours[mark], colours["wash"]) >= 3, (theme, mark)


class _Fields(HTMLParser):
    """The fields of a page without a name for those who do not see it."""

    def __init__(self) -> None:
        super().__init__()
        self.inside = 0
        self.labels: set[str] = set()
        self.unnamed: list[dict[str, str | None]] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        self.inside += tag == "label"
        if tag == "label" and given.get("for"):
            self.labels.add(str(given["for"]))
        is_field = tag in ("input", "select", "textarea") and given.get("type") != "hidden"
        if is_field and not self.inside and "aria-label" not in given:
            self.unnamed.append(given)

    def handle_endtag(self, tag: str) -> None:
        self.inside -= tag == "label"


def test_every_field_has_a_label(desk: Visitor) -> None:
    desk.send("/job/people/table", unit="person")
    seen = [desk.client.get("/job/people/table").text]
    for question in ("crosstabs", "sum", "rate", "quantile"):
        fields = {"question": question, "by": ["sex", "age"]}
        seen.append(desk.send("/job/people/question", go="stay", **fields).text)
    seen += [
        desk.send("/job/people/question", go="stay", question="map", map=each).text for each in ("zones", "junctions")
    ]
    desk.send("/job/people/question", question="histogram", by=["sex"], keys__sex="F, M")
    desk.send("/job/people/limits", max_rows="1")
    desk.act("/budgets", "/budget/create", ledger="city", new__epsilon="3", new__delta="1e-6")
    desk.act("/budget?place=city.ledger", "/budget/allocate", place="city.ledger", name="maps", share="0.1")
    desk.send("/job/people/privacy", budget="city.ledger", share="0.1")
    paths = (
        "/job/people/limits",
        "/job/people/privacy",
        "/job/people/release",
        "/budgets",
        "/budget?place=city.ledger",
    )
    seen += [desk.client.get(path).text for path in paths]
    for page in seen:
        found = _Fields()
        found.feed(page)
        left = [field for field in found.unnamed if field.get("id") not in found.labels]
        assert not left, left
        assert 'lang="en"' in page
        assert page.count("<h1") == 1


@pytest.mark.browser
@pytest.mark.slow
def test_the_walk_by_keyboard_alone(browser: Any, tmp_path: Path) -> None:
    """No pointer: Tab to a field, and keys to fill it in."""
    with running_studio(tmp_path) as studio:
        keys = Keyboard(browser, studio.link)
        keys.reach("input[value=person]")
        keys.press("SPACE")
        keys.reach("button.main", then="ENTER", until="question")
        keys.reach("input[name=question]")  # the group of cards is one stop; arrows choose in it
        keys.press("ARROW_DOWN", "ARROW_UP")
        keys.reach("input[name=by][value=sex]", then="SPACE")
        keys.reach("textarea[name='keys:sex']")
        keys.type("F, M")
        keys.reach("button.main", then="ENTER", until="limits")
        keys.reach("input[name=max_rows]")
        keys.type("1")
        keys.reach("button.main", then="ENTER", until="privacy")
        before = keys.text("#look")
        keys.reach("input[type=range]")
        keys.press("ARROW_LEFT", "ARROW_LEFT")
        assert keys.text("#look") != before
        keys.reach("button.main", then="ENTER", until="release")
        keys.reach("input[name=confirm]")
        keys.type("release")
        keys.reach("button.main", then="ENTER", until="results")
        assert isinstance(ln.load(tmp_path / "people-release.parquet"), ln.Release)
