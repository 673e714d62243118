"""The page of a set of tables in a real browser: it is read on a telephone, by day and by night, and by ear.

Needs Chromium and its driver (Debian: chromium, chromium-driver); without them these tests skip, and fail in CI.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

import table_pages
from chromium import luminance

pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
from selenium.webdriver.common.by import By

pytestmark = pytest.mark.browser


def test_no_table_runs_out_of_a_telephone(opened: Callable[..., Any]) -> None:
    b = opened("people", width=400)
    b.execute_script("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    wide = "return [...document.querySelectorAll('.scroll, pre')].map((each) => each.scrollWidth - each.clientWidth)"
    assert max(b.execute_script(wide)) <= 0
    assert not b.find_element(By.CSS_SELECTOR, "#table .wide").is_displayed()
    value = b.find_element(By.CSS_SELECTOR, "#table td[data-range]")
    assert " to " in b.execute_script("return getComputedStyle(arguments[0], '::after').content", value)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_text_stands_out_from_what_is_behind_it(mode: str, opened: Callable[..., Any]) -> None:
    """WCAG's contrast of 4.5 to 1 for all text that shows, the numbers inside the cells included."""
    b = opened("people", ("job", "income"), mode=mode, beside=False)
    css = "return getComputedStyle(arguments[0]).getPropertyValue(arguments[1])"
    paper = luminance(b.execute_script(css, b.find_element(By.TAG_NAME, "body"), "background-color"))

    def contrast(ink: float, behind: float) -> float:
        return (max(ink, behind) + 0.05) / (min(ink, behind) + 0.05)

    for words in ("#facts", "#matches", ".group", ".legend span", "td", "#list [role=option] span:last-child"):
        ink = luminance(b.execute_script(css, b.find_element(By.CSS_SELECTOR, words), "color"))
        assert contrast(ink, paper) >= 4.5, words
    for words in (".plot .key", ".plot .title"):
        ink = luminance(b.execute_script(css, b.find_element(By.CSS_SELECTOR, words), "fill"))
        assert contrast(ink, paper) >= 4.5, words
    option = b.find_element(By.CSS_SELECTOR, "#list [aria-selected=true]")
    assert contrast(*(luminance(b.execute_script(css, option, name)) for name in ("color", "background-color"))) >= 4.5
    inside = """return [...document.querySelectorAll('.in-cell')].map(text => {
        const x = Number(text.getAttribute('x')), y = Number(text.getAttribute('y')) - 4;
        const under = [...document.querySelectorAll('.plot path')].find(path => {
          const point = path.ownerSVGElement.createSVGPoint(); point.x = x; point.y = y;
          return !path.classList.contains('hatch') && path.isPointInFill(point); });
        return [getComputedStyle(text).fill, getComputedStyle(under).fill]; })"""
    pairs = b.execute_script(inside)
    assert len(pairs) == table_pages.people()["job", "income"].bins
    assert min(contrast(luminance(ink), luminance(behind)) for ink, behind in pairs) >= 4.5


def test_everything_has_a_name_and_headings_have_an_order(opened: Callable[..., Any]) -> None:
    b = opened("people", ("district", "job"))
    for plot in b.find_elements(By.CSS_SELECTOR, ".plot"):
        assert "Heat map of district × job" in plot.get_attribute("aria-label")
    for field in b.find_elements(By.CSS_SELECTOR, "input, select"):
        labelled = field.find_elements(By.XPATH, "ancestor::label")
        assert labelled or b.find_elements(By.CSS_SELECTOR, f"label[for={field.get_attribute('id')}]")
    levels = [int(heading.tag_name[1]) for heading in b.find_elements(By.CSS_SELECTOR, "h1, h2, h3, h4, h5, h6")]
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    assert b.find_element(By.TAG_NAME, "html").get_attribute("lang") == "en"
    bare = """return [...document.querySelectorAll('svg')].filter(e =>
        e.getAttribute('role') !== 'img' && e.getAttribute('aria-hidden') !== 'true').length"""
    assert b.execute_script(bare) == 0
