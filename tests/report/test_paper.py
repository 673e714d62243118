"""A printed page has every row, or says how many it lacks and where they are; nothing on it is folded or white."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from selenium.webdriver.support.ui import WebDriverWait

import leastnoise as ln
import pages
from chromium import luminance
from leastnoise.domain import product
from leastnoise.testing import seeded

pytestmark = pytest.mark.browser


def bins(count: int) -> Any:
    with seeded(1):
        return ln.release(
            np.arange(count),
            sensitivity=1,
            epsilon=1,
            delta=1e-6,
            domain=product(["bin"], [f"key{i}x" for i in range(count)]),
        )


def printed(browser: Any, page: Path) -> str:
    """What is seen of the page on paper."""
    browser.get(page.as_uri())
    WebDriverWait(browser, 90).until(lambda b: b.execute_script("return document.documentElement.dataset.drawn"))
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    text = str(browser.execute_script("return document.body.innerText"))
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    return " ".join(text.split())


def test_every_row_is_printed(browser: Any, tmp_path: Path) -> None:
    made = bins(96)
    text = printed(browser, made.report(tmp_path / "page.html", allow_seeded=True))
    assert all(f"key{i}x" in text for i in range(96))
    assert "All 96 rows." in text
    assert "Low" in text
    for hint in ("Sort by", "CSV", "Find"):
        assert hint not in text
    assert made.explain().splitlines()[0] in text  # folded on a screen


def test_a_long_table_says_what_is_not_printed(browser: Any, tmp_path: Path) -> None:
    made = bins(1_203)
    text = printed(browser, made.report(tmp_path / "page.html", estimate=None, allow_seeded=True))
    order = np.argsort(-made.values, kind="stable")  # names have no order of their own: the largest come first
    seen = [f"key{i}x" in text for i in order]
    assert seen == [True] * 1_000 + [False] * 203
    assert '1,000 of 1,203 rows. "CSV" at the top of the page has all.' in text


def test_the_paper_of_a_set_says_which_table_it_has(browser: Any, tmp_path: Path) -> None:
    rows = pd.DataFrame({"who": range(300), "a": np.arange(300) % 30, "b": np.arange(300) % 2})
    asked = ln.table(rows, unit="who").crosstabs(keys={"a": range(30), "b": range(2)}, ways=2, max_rows=1)
    with seeded(2):
        made = asked.release(epsilon=1, delta=1e-6)
    text = printed(browser, made.report(tmp_path / "tables.html", allow_seeded=True))
    assert f"Of {len(made.tables)} tables one is printed here." in text
    assert "All 30 rows." in text
    assert "How far off every table is" in text


def test_paper_says_which_values_are_drawn_in_ink(browser: Any, tmp_path: Path) -> None:
    """Backgrounds are not printed, so what is white on a colour would be white on white."""
    printed(browser, pages.write("many", tmp_path))  # its estimate is better, so there is one to choose
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    styles = """return ['checked', 'not(:checked)'].map((state) => {
        const label = document.querySelector(`.switch label:has(input:${state})`);
        const { display, color } = getComputedStyle(label);
        return [display, color, getComputedStyle(label, "::before").content];
    })"""
    (shown, ink, words), (hidden, *_) = browser.execute_script(styles)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert (shown, hidden) == ("block", "none")
    assert luminance(ink) < 0.1
    assert words == '"Shown: "'
