"""The page in a real browser: it draws, switches, sorts, is read by keyboard and ear, and asks nobody for anything.

Needs Chromium and its driver (Debian: chromium, chromium-driver); without them these tests skip, and fail in CI.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pages
from chromium import luminance, requests, screen
from leastnoise._support import csv_text
from leastnoise._support.plain_text import key_words
from leastnoise.testing import seeded

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

pytestmark = pytest.mark.browser

EVERY = (*pages.KINDS, "estimate")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    folder = tmp_path_factory.mktemp("pages")
    made: dict[str, Path] = {}

    def write(name: str) -> Path:
        if name not in made:
            made[name] = pages.write(name, folder)
        return made[name]

    return write


@pytest.fixture
def opened(browser: Any, written: Callable[[str], Path]) -> Callable[..., Any]:
    """Opens a page, at a width and by day or night, and waits until all is drawn."""

    def visit(name: str, *, width: int = 1280, mode: str = "light") -> Any:
        browser.get_log("browser")
        browser.get_log("performance")
        screen(browser, width, mode)
        browser.get(written(name).as_uri())
        WebDriverWait(browser, 90).until(lambda b: b.execute_script("return document.documentElement.dataset.drawn"))
        return browser

    return visit


FITS = ("FITS", "(each) => each.scrollWidth <= each.clientWidth")
READY = "return [...document.querySelectorAll('.chart')].map(chart => chart.dataset.ready)"


@pytest.mark.parametrize("name", EVERY)
def test_a_page_loads_without_a_word_asks_no_host_and_fits_every_screen(
    name: str, opened: Callable[..., Any], written: Callable[[str], Path]
) -> None:
    b = opened(name)
    assert [entry["message"] for entry in b.get_log("browser")] == []
    page = written(name).as_uri()
    assert [url for url in requests(b, page) if not url.startswith("data:")] == [page]
    drawn = b.find_elements(By.CSS_SELECTOR, ".chart")
    two = ("one", "estimate", "quantiles", "wrapped", "large", "namesakes")  # quantiles by rank: no noise to draw
    assert len(drawn) == (2 if name in two else 3)
    assert all(chart.find_elements(By.CSS_SELECTOR, "svg, canvas") for chart in drawn)
    described(b)
    more = ((390, "light"), (1280, "dark")) if name in ("few", "junctions") else ()
    for width, mode in ((320, "dark"), *more):
        screen(b, width, mode)
        WebDriverWait(b, 90).until(lambda b, mode=mode: set(b.execute_script(READY)) == {mode})
        assert b.execute_script("return document.documentElement.scrollWidth") <= width
        if width == 390:
            assert b.execute_script("return [...document.querySelectorAll('.scroll, pre')].every(FITS)".replace(*FITS))
    assert [entry["message"] for entry in b.get_log("browser")] == []


def described(b: Any) -> None:
    """Every picture has words, every field a label, and headings have an order."""
    for picture in b.find_elements(By.CSS_SELECTOR, "[role=img]"):
        assert len(picture.get_attribute("aria-label")) > 20
    bare = "return [...document.querySelectorAll('svg, canvas')].filter(e => !e.closest('[role=img]')).length"
    assert b.execute_script(bare) == 0
    levels = [heading.tag_name for heading in b.find_elements(By.CSS_SELECTOR, "h1, h2, h3")]
    assert levels[0] == "h1"
    assert set(levels[1:]) == {"h2"}
    assert b.find_element(By.TAG_NAME, "html").get_attribute("lang") == "en"
    for field in b.find_elements(By.CSS_SELECTOR, "input"):
        assert field.find_elements(By.XPATH, "ancestor::label")


def test_a_hostile_key_is_only_text(opened: Callable[..., Any]) -> None:
    b = opened("few")
    assert b.title == "Counts by town"
    assert b.find_elements(By.CSS_SELECTOR, "img") == []
    cells = [
        cell.get_property("textContent") for cell in b.find_elements(By.CSS_SELECTOR, "#table tbody td:first-child")
    ]
    assert cells == [key_words(town) for town in pages.TOWNS]
    bars = b.find_elements(By.CSS_SELECTOR, "#chart svg .mark-rect path")
    assert len(bars) == len(pages.TOWNS)
    for bar in bars[:3]:
        webdriver.ActionChains(b).move_to_element(bar).perform()
    WebDriverWait(b, 60).until(lambda b: b.find_elements(By.CSS_SELECTOR, "#vg-tooltip-element.visible"))
    assert b.find_elements(By.CSS_SELECTOR, "img") == []
    assert b.title == "Counts by town"


def test_bins_of_one_name_have_a_bar_each_and_a_tooltip_loads_no_image(opened: Callable[..., Any]) -> None:
    b = opened("namesakes")
    bars = b.find_elements(By.CSS_SELECTOR, "#chart svg .mark-rect path")
    assert len({bar.rect["y"] for bar in bars}) == 3
    names = [text.get_property("textContent") for text in b.find_elements(By.CSS_SELECTOR, "#chart svg text")]
    assert [name for name in names if name in ("x.png", "none")] == ["x.png", "none", "none"]
    webdriver.ActionChains(b).move_to_element(bars[0]).perform()
    WebDriverWait(b, 60).until(lambda b: b.find_elements(By.CSS_SELECTOR, "#vg-tooltip-element.visible"))
    tip = b.find_element(By.ID, "vg-tooltip-element")
    assert tip.find_elements(By.CSS_SELECTOR, "img, h2") == []
    assert "image (bin)" in tip.text
    assert "x.png" in tip.text


def test_where_zones_overlap_the_first_is_seen_and_named(browser: Any, tmp_path: Path) -> None:
    with seeded(7):
        made = pages.overlapping().report(tmp_path / "map.html", zones=pages.OVERLAPPING, allow_seeded=True)
    for mode in ("light", "dark"):
        screen(browser, 1280, mode)
        browser.get(made.as_uri())
        WebDriverWait(browser, 90).until(lambda b: b.execute_script("return document.documentElement.dataset.drawn"))
        land, desert, *others = browser.find_elements(By.CSS_SELECTOR, "#chart svg .mark-shape path[fill]")[:4]
        css = "return getComputedStyle(arguments[0])[arguments[1]]"
        body = browser.find_element(By.TAG_NAME, "body")
        paper = browser.execute_script(css, body, "backgroundColor")
        fills = [browser.execute_script(css, zone, "fill") for zone in (land, desert, *others)]
        assert fills[1] == paper
        assert len(set(fills)) == 4
    box = land.rect
    for name, (x, y) in pages.INSIDE.items():
        across, up = (x / 5 - 0.5) * box["width"], (0.5 - y / 5) * box["height"]  # from the middle of the land
        webdriver.ActionChains(browser).move_to_element_with_offset(land, round(across), round(up)).perform()
        WebDriverWait(browser, 60).until(lambda b: b.find_elements(By.CSS_SELECTOR, "#vg-tooltip-element.visible"))
        tip = browser.find_element(By.ID, "vg-tooltip-element").text
        assert tip.split()[:2] == ["zone", name]
        assert ("not published" in tip) == (name == "desert")


@pytest.mark.parametrize("name", ["few", "many", "lattice", "junctions", "real", "estimate"])
def test_the_switch_changes_the_picture_and_back(name: str, opened: Callable[..., Any]) -> None:
    b = opened(name)
    picture = """const c = document.querySelector('#chart canvas');
        return c ? c.toDataURL() : document.querySelector('#chart svg').outerHTML"""
    choices = b.find_elements(By.CSS_SELECTOR, "input[name=shown]")
    first = next(choice for choice in choices if choice.is_selected())
    before = b.execute_script(picture)
    first.send_keys(Keys.ARROW_LEFT if first.get_attribute("value") == "estimate" else Keys.ARROW_RIGHT)
    other = next(choice for choice in choices if choice != first)
    assert other.is_selected()
    WebDriverWait(b, 60).until(
        lambda b: b.find_element(By.ID, "chart").get_attribute("data-column") == other.get_attribute("value")
    )
    assert b.execute_script(picture) != before
    first.find_element(By.XPATH, "..").click()
    WebDriverWait(b, 60).until(
        lambda b: b.find_element(By.ID, "chart").get_attribute("data-column") == first.get_attribute("value")
    )
    assert b.execute_script(picture) == before


def column(b: Any, number: int) -> list[float]:
    cells = b.find_elements(By.CSS_SELECTOR, f"#table tbody td:nth-child({number})")
    return [float(cell.text.replace(",", "")) for cell in cells]


def test_the_table_sorts_by_click_and_by_keyboard(opened: Callable[..., Any]) -> None:
    b = opened("many")
    values = sorted(pages.kind("many").values.tolist())
    heading = b.find_element(By.CSS_SELECTOR, "#table th:nth-child(2)")
    assert heading.get_attribute("aria-sort") == "none"
    heading.find_element(By.TAG_NAME, "button").click()
    assert heading.get_attribute("aria-sort") == "descending"
    assert column(b, 2) == values[::-1][:20]
    b.switch_to.active_element.send_keys(Keys.ENTER)
    assert heading.get_attribute("aria-sort") == "ascending"
    assert column(b, 2) == values[:20]
    b.switch_to.active_element.send_keys(Keys.SHIFT, Keys.TAB)
    b.switch_to.active_element.send_keys(Keys.SPACE)
    assert heading.get_attribute("aria-sort") == "none"
    assert column(b, 1) == list(range(20))
    b.find_element(By.ID, "next").click()
    assert column(b, 1) == list(range(20, 40))
    assert b.find_element(By.ID, "where").text == "21 to 40 of 200"
    b.find_element(By.ID, "find").send_keys("199")
    assert column(b, 1) == [199]


def test_tab_goes_through_the_page_from_top_to_bottom(opened: Callable[..., Any]) -> None:
    b = opened("few")
    seen, tops = [], []
    for _ in range(13):
        webdriver.ActionChains(b).send_keys(Keys.TAB).perform()
        active = b.switch_to.active_element
        seen.append(active.get_attribute("id") or active.text or active.get_attribute("value") or active.tag_name)
        tops.append(active.rect["y"])
    assert seen[:5] == ["Skip to the values", "In full", "value", "find", "download"]
    assert seen[5].startswith("town")
    assert seen[6:11] == ["town", "Published", "Low", "High", "Denoised"]
    assert tops[1:] == sorted(tops[1:])


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_text_stands_out_from_paper_by_day_and_by_night(mode: str, opened: Callable[..., Any]) -> None:
    """WCAG's contrast of 4.5 to 1 for all text that shows."""
    b = opened("few", mode=mode)
    css = "return getComputedStyle(arguments[0]).getPropertyValue(arguments[1])"
    paper = luminance(b.execute_script(css, b.find_element(By.TAG_NAME, "body"), "background-color"))
    assert (paper > 0.9) if mode == "light" else (paper < 0.02)
    for words in (
        ".kicker",
        ".lead",
        ".headline strong",
        "dt",
        "dd",
        "figcaption",
        "caption",
        "summary",
        ".warning",
        "td",
    ):
        ink = luminance(b.execute_script(css, b.find_element(By.CSS_SELECTOR, words), "color"))
        assert (max(ink, paper) + 0.05) / (min(ink, paper) + 0.05) >= 4.5, words


def test_the_table_shows_digits_that_the_noise_leaves_and_the_download_all(
    opened: Callable[..., Any], downloads: Path
) -> None:
    b = opened("large")
    rows = b.find_elements(By.CSS_SELECTOR, "#table tbody tr")
    cells = [[cell.text for cell in row.find_elements(By.TAG_NAME, "td")] for row in rows]
    assert [row[:3] for row in cells] == [
        ["0.3", "4500000000.5", "123,456,789.25"],
        ["4500000000.5", "4500000001.25", "123,456,790.75"],
        ["4500000001.25", "4500000002", "123,456,789.5"],
    ]
    assert cells[0][3:5] == ["123,456,785.33", "123,456,793.17"]
    b.find_element(By.ID, "download").click()
    path = downloads / "large.csv"
    WebDriverWait(b, 60).until(lambda _: path.exists())
    with path.open(newline="", encoding="utf-8") as lines:
        _, *held = csv.reader(line for line in lines if not line.startswith("#"))
    release = pages.kind("large")
    keys = (pages.METRES[:3], pages.METRES[1:])
    real = np.stack([*keys, release.values, *release.interval(0.95)], axis=1)
    assert [[float(cell) for cell in row[:5]] for row in held] == real.tolist()


def test_the_download_holds_every_number(opened: Callable[..., Any], downloads: Path) -> None:
    b = opened("few")
    b.find_element(By.ID, "download").click()
    path = downloads / "few.csv"
    WebDriverWait(b, 60).until(lambda _: path.exists())
    with path.open(newline="", encoding="utf-8") as lines:
        every = list(lines)
    comments = [line.rstrip("\r\n") for line in every if line.startswith("#")]
    head, *rows = csv.reader(every[len(comments) :])
    told = pages.kind("few").explain().splitlines()
    assert comments[1 : 1 + len(told)] == [csv_text.comment(line) for line in told]
    assert head == ["town", "Published", "Low", "High", "Denoised"]
    release = pages.kind("few")
    low, high = release.interval(0.95)
    assert [[int(cell) for cell in row[1:4]] for row in rows] == np.stack([release.values, low, high], axis=1).tolist()
    assert [row[0] for row in rows] == [next(csv.reader([csv_text.text(town)]))[0] for town in pages.TOWNS]


def test_the_row_of_all_other_keys_stays_below_and_is_downloaded(opened: Callable[..., Any], downloads: Path) -> None:
    b, others = opened("unknown"), pages.kind("unknown").others()
    for _ in range(2):
        cells = [cell.text for cell in b.find_elements(By.CSS_SELECTOR, "#table tfoot td")]
        assert cells[:4] == ["all other keys", *(f"{number:,.0f}" for number in (others.value, *others[2:]))]
        assert "all other keys" not in b.find_element(By.CSS_SELECTOR, "#table tbody").text
        b.find_element(By.CSS_SELECTOR, "#table th:nth-child(2) button").click()
        b.find_element(By.ID, "find").send_keys("nothing is called this")
    b.find_element(By.ID, "download").click()
    path = downloads / "unknown.csv"
    WebDriverWait(b, 60).until(lambda _: path.exists())
    last = path.read_text(encoding="utf-8").splitlines()[-1]
    assert last.startswith(f'"all other keys",{others.value:.0f},{others.low:.0f},{others.high:.0f}')


def test_the_download_writes_cells_as_to_csv_does(opened: Callable[..., Any]) -> None:
    cells = [
        "=1+1",
        "  =1+1",
        "\uff1d1+1",
        "\u200b@a",
        "\ufeff+a",
        "\u00a0-a",
        "a=b",
        "# a",
        'a "b", c',
        "a\r\nb",
        *pages.TOWNS,
    ]
    told = opened("few").execute_script("return arguments[0].map(csvCell)", cells)
    assert told == [csv_text.text(cell) for cell in cells]
    assert told[2] == '"\'\uff1d1+1"'
