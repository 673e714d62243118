"""The page of a set of tables in a real browser: a table is found and chosen, its cells are read by mouse and keyboard.

Needs Chromium and its driver (Debian: chromium, chromium-driver); without them these tests skip, and fail in CI.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import table_pages
from chromium import requests, screen
from leastnoise._support import csv_text
from leastnoise.report import tables_contents
from table_pages import HOSTILE_COLUMN, denoised, digits, shown, told

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import Select, WebDriverWait  # noqa: E402

pytestmark = pytest.mark.browser


def chosen(b: Any) -> str:
    return str(b.find_element(By.ID, "chosen").text)


def keyboard(b: Any, *keys: str) -> None:
    for key in keys:
        webdriver.ActionChains(b).send_keys(key).perform()


def tip(b: Any) -> str:
    return "\n".join(found.text for found in b.find_elements(By.CSS_SELECTOR, ".tip") if found.text)


@pytest.mark.parametrize("name", table_pages.RELEASES)
def test_a_page_loads_without_a_word_asks_no_host_and_fits_every_screen(
    name: str, opened: Callable[..., Any], folder: Path
) -> None:
    b = opened(name)
    page = (folder / f"{name}_denoised.html").as_uri()
    assert [entry["message"] for entry in b.get_log("browser")] == []
    assert [url for url in requests(b, page) if not url.startswith("data:")] == [page]
    release = table_pages.RELEASES[name]()
    widest = (
        [t for t in release.tables if len(t) == ways][-1] for ways in range(4) if ways in map(len, release.tables)
    )
    for table in widest:
        for width, mode in ((320, "dark"), (400, "light"), (1200, "dark")):
            b = opened(name, table, width=width, mode=mode)
            assert chosen(b) == (" × ".join(table) or "The total")
            assert b.execute_script("return document.documentElement.scrollWidth") <= width
            inside = """return [...document.querySelectorAll('.plot > svg')].every(svg =>
                svg.getBoundingClientRect().right <= svg.closest('.view').getBoundingClientRect().right + 1)"""
            assert b.execute_script(inside)
    assert [entry["message"] for entry in b.get_log("browser")] == []


def test_a_table_is_found_by_words_and_chosen_by_keys(opened: Callable[..., Any]) -> None:
    b = opened("people")
    release = table_pages.people()
    assert chosen(b) == "district × age"
    assert b.find_element(By.ID, "matches").text == f"{len(release.tables)} tables"
    search, listing = b.find_element(By.ID, "search"), b.find_element(By.ID, "list")
    search.send_keys("sex JOB")
    options = b.find_elements(By.CSS_SELECTOR, "#list [role=option]")
    assert [option.text.split("\n")[0] for option in options] == ["sex × job"]
    assert b.find_element(By.ID, "matches").text == f"1 of {len(release.tables)} tables"
    search.send_keys(Keys.ARROW_DOWN)
    assert b.switch_to.active_element == listing
    assert chosen(b) == "sex × job"
    assert b.current_url.endswith("#table=sex,job")
    search.clear()
    search.send_keys("sex")
    found = [option.text.split("\n")[0] for option in b.find_elements(By.CSS_SELECTOR, "#list [role=option]")]
    assert found == [" × ".join(t) for t in sorted(release.tables, key=len) if "sex" in t]
    search.send_keys(Keys.ENTER)
    keyboard(b, Keys.HOME)
    assert chosen(b) == found[0]
    keyboard(b, Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    assert chosen(b) == found[2]
    keyboard(b, Keys.END, Keys.ARROW_DOWN, Keys.ARROW_UP)
    assert chosen(b) == found[-2]
    selected = b.find_elements(By.CSS_SELECTOR, "#list [aria-selected=true]")
    assert [option.text.split("\n")[0] for option in selected] == [found[-2]]
    assert listing.get_attribute("aria-activedescendant") == selected[0].get_attribute("id")
    b.find_elements(By.CSS_SELECTOR, "#list [role=option]")[0].click()
    assert chosen(b) == found[0]


def test_a_heat_map_tells_every_cell_that_is_pointed_at(opened: Callable[..., Any]) -> None:
    table = ("district", "job")
    b = opened("people", table)
    release = table_pages.people()
    rows, columns = release[table].shape
    plots = b.find_elements(By.CSS_SELECTOR, ".plot")
    assert len(plots) == 2
    b.execute_script("arguments[0].focus({focusVisible: true})", plots[0])
    keyboard(b, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_DOWN, Keys.ARROW_LEFT)
    axes = release.axes
    for row, column in ((1, 1), (2, 1), (rows - 1, columns - 1)):
        if row == 2:
            keyboard(b, Keys.ARROW_DOWN)
        if row == rows - 1:
            keyboard(b, *([Keys.ARROW_DOWN] * rows), *([Keys.ARROW_RIGHT] * columns))
        cell = row * columns + column
        assert [plot.get_attribute("data-cell") for plot in plots] == [str(cell)] * 2
        words = tip(b)
        assert f"district: {axes['district'].key(row)}\njob: {axes['job'].key(column)}" in words
        assert told(release, table, cell) in words
        better = float(denoised("people")[table].values[cell])
        assert f"denoised {shown(better, digits(release, table))}" in words
        assert ("cannot be told from zero" in words) == (release[table].interval(0.95).low[cell] <= 0)
    cursor = plots[1].find_element(By.CSS_SELECTOR, ".cursor")
    webdriver.ActionChains(b).move_to_element(cursor).perform()
    assert told(release, table, rows * columns - 1) in tip(b)
    webdriver.ActionChains(b).move_to_element(b.find_element(By.ID, "chosen")).perform()
    assert plots[1].find_elements(By.CSS_SELECTOR, ".cursor") == []


def test_a_finger_reads_a_cell_on_a_phone(opened: Callable[..., Any]) -> None:
    table = ("district", "job")
    b = opened("people", table, width=400)
    release = table_pages.people()
    for number, (row, column) in enumerate(((2, 3), (5, 9), (7, 0))):
        plot = b.find_elements(By.CSS_SELECTOR, ".plot")[number % 2]
        b.execute_script("arguments[0].scrollIntoView({block: 'center'})", plot)
        place = b.execute_script(
            """const [plot, row, column, columns] = arguments;
            const side = plot.querySelectorAll('.key')[row].getBoundingClientRect();
            const cells = [...plot.querySelectorAll('path[fill]')].map(path => path.getBoundingClientRect());
            const left = Math.min(...cells.map(box => box.left)), right = Math.max(...cells.map(box => box.right));
            return [left + (column + 0.5) * (right - left) / columns, side.top + side.height / 2]""",
            plot,
            row,
            column,
            release[table].shape[1],
        )
        touch = [{"x": place[0], "y": place[1]}]
        b.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": touch})
        b.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        cell = row * release[table].shape[1] + column
        assert told(release, table, cell) in tip(b)
        shown = plot.find_element(By.CSS_SELECTOR, ".tip").rect
        assert shown["x"] >= 0
        assert shown["x"] + shown["width"] <= 400


@pytest.mark.parametrize("table", [("district", "job"), ("age", "income"), ("district", "age")])
def test_cells_that_could_be_zero_are_marked_in_what_was_published_only(
    table: tuple[str, ...], opened: Callable[..., Any]
) -> None:
    b = opened("people", table)
    release = table_pages.people()
    counts = """return [...document.querySelectorAll('.plot')].map(plot =>
        (plot.querySelector('.empty-cells').getAttribute('d') ?? '').split('M').length - 1)"""
    expected = int((release[table].interval(0.95).low <= 0).sum())
    assert b.execute_script(counts) == [expected, 0]
    assert f"{expected:,} of them cannot be told from zero" in b.find_element(By.ID, "facts").text
    drawn = """return [...document.querySelectorAll('.plot')].map(plot => [...plot.querySelectorAll('path[fill]')]
        .reduce((sum, path) => sum + path.getAttribute('d').split('M').length - 1, 0))"""
    assert b.execute_script(drawn) == [release[table].bins - expected, release[table].bins]


def test_bars_are_as_long_as_their_values_and_intervals_as_wide_as_theirs(browser: Any, folder: Path) -> None:
    """Beside public totals by job, which are better than any noise."""
    b, release = browser, table_pages.people()
    values = release["job"].values
    known = release.denoise(known={"job": np.rint(np.maximum(values, 0) + 5)})
    page = release.report(folder / "known.html", estimate=known, allow_seeded=True)
    screen(b, 1200, "light")
    b.get(page.as_uri() + "#table=job")
    bars = b.find_elements(By.CSS_SELECTOR, ".plot .block:not(.better)")
    widths = np.array([float(bar.get_attribute("width")) for bar in bars])
    scale = widths.max() / np.abs(values).max()
    np.testing.assert_allclose(widths, np.maximum(0.5, scale * np.abs(values)), rtol=1e-6)
    better = b.find_elements(By.CSS_SELECTOR, ".plot .better")
    lengths = [float(bar.get_attribute("width")) for bar in better]
    np.testing.assert_allclose(lengths, np.maximum(0.5, scale * known["job"].values), rtol=1e-6)
    low, high = table_pages.people()["job"].interval(0.95)
    for line in b.find_elements(By.CSS_SELECTOR, ".plot .interval"):
        ends = re.fullmatch(r"M(\S+) \S+H(\S+)m0-3.5v7", line.get_attribute("d"))
        assert ends is not None
        assert float(ends[2]) - float(ends[1]) == pytest.approx((high - low)[0] * scale, rel=1e-6)
    texts = [text.text for text in b.find_elements(By.CSS_SELECTOR, ".plot .key")]
    assert texts == [table_pages.people().axes["job"].key(place) for place in range(len(values))]


@pytest.mark.parametrize("table", [("job",), ("sex", "job")])
def test_tables_that_are_not_better_beyond_chance_are_drawn_as_published(
    table: tuple[str, ...], opened: Callable[..., Any]
) -> None:
    assert denoised("people")[table].better_than_raw is False
    b = opened("people", table)
    assert len(b.find_elements(By.CSS_SELECTOR, ".plot")) == 1
    assert b.find_elements(By.CSS_SELECTOR, ".plot .better") == []
    assert "denoised" not in b.find_element(By.ID, "legend").text
    assert "That is not better beyond chance" in b.find_element(By.ID, "facts").text
    assert "Denoised, not better" in [cell.text for cell in b.find_elements(By.CSS_SELECTOR, "#table th")]
    assert denoised("people")["district", "job"].better_than_raw is True
    assert "not better" not in opened("people", ("district", "job")).find_element(By.ID, "facts").text


def test_a_long_column_is_a_line_read_by_keys(opened: Callable[..., Any]) -> None:
    b = opened("people", ("age",), beside=False)
    plot = b.find_element(By.CSS_SELECTOR, ".plot")
    assert plot.find_elements(By.CSS_SELECTOR, ".denoised") == []
    assert plot.find_element(By.CSS_SELECTOR, ".published").get_attribute("d").count("H") == 100
    b.execute_script("arguments[0].focus({focusVisible: true})", plot)
    keyboard(b, *[Keys.ARROW_RIGHT] * 3)
    assert "age: 3" in tip(b)
    assert told(table_pages.people(), ("age",), 3) in tip(b)
    keyboard(b, Keys.ESCAPE)
    assert tip(b) == ""


def test_a_table_of_three_columns_is_cut_where_one_says(opened: Callable[..., Any]) -> None:
    table = ("age", "sex", "__proto__")
    b = opened("hostile", table)
    release = table_pages.hostile()

    def select(name: str) -> Any:
        return Select(b.find_element(By.CSS_SELECTOR, f"#slices select[data-of='{name}']"))

    def shown_cells() -> set[int]:
        """All cells that the arrow keys reach."""
        plot = b.find_element(By.CSS_SELECTOR, ".plot")
        b.execute_script("document.activeElement.blur(); arguments[0].focus({focusVisible: true})", plot)
        seen = set()
        for _ in range(9):
            for side in (Keys.ARROW_LEFT, Keys.ARROW_RIGHT):
                keyboard(b, side)
                seen.add(int(plot.get_attribute("data-cell")))
            keyboard(b, Keys.ARROW_DOWN)
        return seen

    place = np.arange(release[table].bins).reshape(release[table].shape)
    assert [option.text for option in select("__proto__").options] == ["constructor", "toString"]
    select("Down").select_by_visible_text("age")
    select("Across").select_by_visible_text("sex")
    select("__proto__").select_by_visible_text("toString")
    assert shown_cells() == set(place[:, :, 1].ravel().tolist())
    assert told(release, table, int(place[8, 1, 1])) in tip(b)
    select("Down").select_by_visible_text("__proto__")
    select("age").select_by_visible_text("5")
    assert shown_cells() == set(place[5].ravel().tolist())
    assert {option.text for option in select("Across").options} == set(table)
    select("Across").select_by_visible_text("__proto__")
    assert select("Down").first_selected_option.text == "sex"


def test_hostile_names_are_only_text_in_every_table(opened: Callable[..., Any]) -> None:
    b = opened("hostile")
    title = b.title
    release = table_pages.hostile()
    assert HOSTILE_COLUMN in title
    b.find_element(By.ID, "list").click()
    keyboard(b, Keys.HOME)
    seen = set()
    for _ in release.tables:
        seen.add(chosen(b))
        for plot in b.find_elements(By.CSS_SELECTOR, ".plot"):
            b.execute_script("arguments[0].focus({focusVisible: true})", plot)
            keyboard(b, Keys.ARROW_DOWN, Keys.ARROW_DOWN)
        assert b.find_elements(By.CSS_SELECTOR, "img, script:not([id]) ~ script, iframe") == []
        b.execute_script("document.getElementById('list').focus()")
        keyboard(b, Keys.ARROW_DOWN)
    assert seen == {" × ".join(table) or "The total" for table in release.tables}
    assert b.title == title
    assert [entry["message"] for entry in b.get_log("browser")] == []


def test_the_table_below_has_every_cell_and_the_download_every_digit(
    opened: Callable[..., Any], downloads: Path
) -> None:
    table = ("district", "sex")
    b = opened("people", table)
    release = table_pages.people()
    heads = [cell.text for cell in b.find_elements(By.CSS_SELECTOR, "#table th")]
    made = "Denoised" if denoised("people")[table].better_than_raw else "Denoised, not better"
    assert heads == ["district", "sex", "Published", "Low", "High", made, "Could be zero"]
    assert b.find_element(By.ID, "where").text == f"1 to 20 of {release[table].bins}"
    b.find_element(By.CSS_SELECTOR, "#table th:nth-child(3) button").click()
    cells = b.find_elements(By.CSS_SELECTOR, "#table tbody td:nth-child(3)")
    top = [float(cell.text.replace(",", "")) for cell in cells]
    np.testing.assert_allclose(top, np.sort(release[table].values)[::-1][:20], atol=0.06)
    b.find_element(By.ID, "download").click()
    path = downloads / "people_denoised-district-sex.csv"
    WebDriverWait(b, 60).until(lambda _: path.exists())
    with path.open(newline="", encoding="utf-8") as lines:
        _, *rows = csv.reader(line for line in lines if not line.startswith("#"))
    assert csv_text.comment(release.explain().splitlines()[0]) in path.read_text(encoding="utf-8")
    low, high = release[table].interval(0.95)
    real = np.stack([release[table].values, low, high, denoised("people")[table].values], axis=1)
    np.testing.assert_array_equal([[float(cell) for cell in row[2:6]] for row in rows], real)
    keys = [(district, sex) for district in keys_of(release, "district") for sex in keys_of(release, "sex")]
    assert [tuple(row[:2]) for row in rows] == keys
    assert [row[6] for row in rows] == ["yes" if end <= 0 else "" for end in low]


def keys_of(release: Any, column: str) -> list[Any]:
    return [release.axes[column].key(place) for place in range(release.axes[column].size)]


def test_a_table_that_is_in_the_file_only_says_how_to_read_it(
    opened: Callable[..., Any], browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables_contents, "MAX_CELLS_SHOWN", 300)
    page = table_pages.write("people", tmp_path)
    browser.get(page.as_uri() + "#table=age,job")
    assert chosen(browser) == "age × job"
    panels = browser.find_element(By.ID, "panels").text
    assert 'ln.load("tables.parquet")["age", "job"].to_pandas()' in panels
    assert not browser.find_element(By.ID, "numbers").is_displayed()
    assert browser.find_elements(By.CSS_SELECTOR, ".plot") == []
