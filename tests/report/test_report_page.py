"""The page in a real browser: it draws, switches, sorts, is read by keyboard and ear, and asks nobody for anything.

Needs Chromium and its driver (Debian: chromium, chromium-driver); without them these tests skip, and fail in CI.
"""

from __future__ import annotations

import csv
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pages
import table_pages
from chromium import luminance, requests, screen
from leastnoise._support import csv_text
from leastnoise._support.text import key_words
from leastnoise.report import shown
from leastnoise.testing import seeded
from table_pages import denoised, told

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import Select, WebDriverWait  # noqa: E402

pytestmark = pytest.mark.browser

EVERY = (*pages.KINDS, "estimate")
OPEN = "document.querySelectorAll('details').forEach((each) => { each.open = true; })"


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
def visited(browser: Any, written: Callable[[str], Path]) -> Callable[..., Any]:
    """Opens the page of one table, at a width and by day or night, and waits until all is drawn."""

    def visit(name: str, *, width: int = 1280, mode: str = "light") -> Any:
        browser.get_log("browser")
        browser.get_log("performance")
        screen(browser, width, mode)
        browser.get(written(name).as_uri())
        WebDriverWait(browser, 90).until(lambda b: b.execute_script("return document.documentElement.dataset.drawn"))
        return browser

    return visit


def described(b: Any) -> None:
    """Every picture has words, every field a label, and headings have an order."""
    for picture in b.find_elements(By.CSS_SELECTOR, "[role=img]"):
        assert len(picture.get_attribute("aria-label")) > 20
    bare = """return [...document.querySelectorAll('svg')].filter(e =>
        e.getAttribute('role') !== 'img' && e.getAttribute('aria-hidden') !== 'true').length"""
    assert b.execute_script(bare) == 0
    levels = [int(heading.tag_name[1]) for heading in b.find_elements(By.CSS_SELECTOR, "h1, h2, h3, h4")]
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    assert b.find_element(By.TAG_NAME, "html").get_attribute("lang") == "en"
    for field in b.find_elements(By.CSS_SELECTOR, "input, select"):
        labelled = field.find_elements(By.XPATH, "ancestor::label")
        assert labelled or b.find_elements(By.CSS_SELECTOR, f"label[for={field.get_attribute('id')}]")


@pytest.mark.parametrize("name", EVERY)
def test_a_page_loads_without_a_word_asks_no_host_and_fits_every_screen(
    name: str, visited: Callable[..., Any], written: Callable[[str], Path]
) -> None:
    b = visited(name)
    assert [entry["message"] for entry in b.get_log("browser")] == []
    page = written(name).as_uri()
    assert [url for url in requests(b, page) if not url.startswith("data:")] == [page]
    assert b.find_elements(By.CSS_SELECTOR, "#chart > *, #map > svg")
    described(b)
    b.execute_script(OPEN)
    for width, mode in ((320, "dark"), (390, "light")):
        screen(b, width, mode)
        assert b.execute_script("return document.documentElement.scrollWidth") <= width
    assert [entry["message"] for entry in b.get_log("browser")] == []


def test_a_hostile_key_is_only_text(visited: Callable[..., Any]) -> None:
    b = visited("few")
    assert b.title == "Counts by town"
    names = [name.get_property("textContent") for name in b.find_elements(By.CSS_SELECTOR, ".rows .name")]
    assert sorted(names) == sorted(map(key_words, pages.TOWNS))
    assert len(b.find_elements(By.CSS_SELECTOR, ".rows .bar")) == len(pages.TOWNS)
    assert b.find_elements(By.CSS_SELECTOR, "img") == []
    assert b.title == "Counts by town"


def test_bins_of_one_name_have_a_bar_each(visited: Callable[..., Any]) -> None:
    b = visited("namesakes")
    names = [name.get_property("textContent") for name in b.find_elements(By.CSS_SELECTOR, ".rows .name")]
    assert sorted(names) == ["none", "none", "x.png"]


def test_bars_are_as_long_as_their_values_and_margins_as_wide_as_theirs(visited: Callable[..., Any]) -> None:
    b, release = visited("few"), pages.kind("few")
    order = np.argsort(-release.values, kind="stable")
    low, high = (np.asarray(end)[order] for end in release.interval(0.95))
    places = """return [...document.querySelectorAll('.track')].map((track) => ['.bar', '.whisker'].map((mark) =>
        track.querySelector(mark).getBoundingClientRect().width / track.clientWidth))"""
    found = np.array(b.execute_script(places))
    spans = (np.abs(release.values[order]), high - low)
    scale = found[0, 0] / spans[0][0]
    np.testing.assert_allclose(found[:, 0], scale * spans[0], atol=0.01)
    np.testing.assert_allclose(found[:, 1], scale * spans[1], atol=0.01)
    numbers = [number.text for number in b.find_elements(By.CSS_SELECTOR, ".rows .number")]
    half = (high - low) / 2
    assert numbers == [f"{v:,} ± {h:.0f}".replace("-", "−") for v, h in zip(release.values[order], half, strict=True)]


def test_where_zones_overlap_the_first_is_seen_and_named(browser: Any, tmp_path: Path) -> None:
    with seeded(7):
        made = pages.overlapping().report(tmp_path / "map.html", zones=pages.OVERLAPPING, allow_seeded=True)
    screen(browser, 1280, "light")
    browser.get(made.as_uri())
    WebDriverWait(browser, 90).until(lambda b: b.execute_script("return document.documentElement.dataset.drawn"))
    land = browser.find_element(By.CSS_SELECTOR, ".area")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", land)  # its middle is that of what is seen
    box = land.rect
    for name, (x, y) in pages.INSIDE.items():
        across, up = (x / 5 - 0.5) * box["width"], (0.5 - y / 5) * box["height"]  # from the middle of the land
        webdriver.ActionChains(browser).move_to_element_with_offset(land, round(across), round(up)).perform()
        said = f"zone: {name}" if name != "desert" else ""
        WebDriverWait(browser, 60).until(
            lambda b, said=said: b.find_element(By.CSS_SELECTOR, ".tip").text.partition("\n")[0] == said
        )


@pytest.mark.parametrize("name", ["many", "lattice", "junctions", "estimate"])
def test_the_switch_changes_the_picture_and_back(name: str, visited: Callable[..., Any]) -> None:
    b = visited(name)
    picture = """return [document.getElementById('chart').innerHTML, document.getElementById('map')?.dataset.shown]"""
    choices = b.find_elements(By.CSS_SELECTOR, "input[name=shown]")
    first = next(choice for choice in choices if choice.is_selected())
    before = b.execute_script(picture)
    first.send_keys(Keys.ARROW_LEFT if first.get_attribute("value") == "denoised" else Keys.ARROW_RIGHT)
    assert next(choice for choice in choices if choice != first).is_selected()
    assert b.execute_script(picture) != before
    first.find_element(By.XPATH, "..").click()
    assert b.execute_script(picture) == before


def column(b: Any, number: int) -> list[float]:
    cells = b.find_elements(By.CSS_SELECTOR, f"#table tbody td:nth-child({number})")
    return [float(cell.text.replace(",", "").replace("−", "-")) for cell in cells]


def test_the_table_sorts_by_click_and_by_keyboard(visited: Callable[..., Any]) -> None:
    b = visited("many")
    b.execute_script(OPEN)
    values = sorted(pages.kind("many").values.tolist())
    heading = b.find_element(By.CSS_SELECTOR, "#table th:nth-child(2)")
    assert heading.get_attribute("aria-sort") == "none"
    heading.find_element(By.TAG_NAME, "button").click()
    assert heading.get_attribute("aria-sort") == "descending"
    assert column(b, 2) == values[::-1]
    b.switch_to.active_element.send_keys(Keys.ENTER)
    assert heading.get_attribute("aria-sort") == "ascending"
    assert column(b, 2) == values
    b.switch_to.active_element.send_keys(Keys.SHIFT, Keys.TAB)
    b.switch_to.active_element.send_keys(Keys.SPACE)
    assert heading.get_attribute("aria-sort") == "none"
    assert column(b, 1) == list(range(200))
    b.find_element(By.ID, "find").send_keys("199")
    assert column(b, 1) == [199]
    assert b.find_element(By.ID, "where").text.startswith("1 of 200 rows.")


def test_tab_goes_through_the_page_from_top_to_bottom(visited: Callable[..., Any]) -> None:
    b = visited("few")
    seen, places = [], []
    for _ in range(7):
        webdriver.ActionChains(b).send_keys(Keys.TAB).perform()
        active = b.switch_to.active_element
        seen.append(active.get_attribute("id") or active.text or active.get_attribute("value") or active.tag_name)
        places.append((active.rect["y"], active.rect["x"]))
    assert seen[0] == "Skip to the numbers"
    assert [name for name in seen if name in ("to-table", "csv", "Every number")] == ["to-table", "csv", "Every number"]
    for before, after in itertools.pairwise(places[1:]):  # links in a line of buttons; cards beside each other
        assert after[0] > before[0] - 10 or after[1] > before[1] + 300


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_text_stands_out_from_paper_by_day_and_by_night(mode: str, visited: Callable[..., Any]) -> None:
    """WCAG's contrast of 4.5 to 1 for all text that shows."""
    b = visited("few", mode=mode)
    b.execute_script(OPEN)
    css = "return getComputedStyle(arguments[0]).getPropertyValue(arguments[1])"
    paper = luminance(b.execute_script(css, b.find_element(By.TAG_NAME, "body"), "background-color"))
    assert (paper > 0.9) if mode == "light" else (paper < 0.02)
    badge = b.find_element(By.CSS_SELECTOR, ".badge")
    behind = luminance(b.execute_script(css, badge, "background-color"))
    texts = (".lead", ".rows .name", ".rows small", "dt", "dd", "figcaption", ".caption", "summary", ".warning", "td")
    pairs = [(b.find_element(By.CSS_SELECTOR, words), paper) for words in texts]
    for element, under in [*pairs, (badge, behind)]:
        ink = luminance(b.execute_script(css, element, "color"))
        assert (max(ink, under) + 0.05) / (min(ink, under) + 0.05) >= 4.5, element.get_attribute("class")


def read(path: Path) -> tuple[list[str], list[str], list[list[str]]]:
    """The comments, the head and the rows of a download."""
    awaited: Any = path
    WebDriverWait(awaited, 60).until(lambda _: path.exists())
    with path.open(newline="", encoding="utf-8") as lines:
        every = list(lines)
    comments = [line.rstrip("\r\n") for line in every if line.startswith("#")]
    head, *rows = csv.reader(every[len(comments) :])
    return comments, head, rows


def test_the_download_holds_every_number(visited: Callable[..., Any], downloads: Path) -> None:
    b, release = visited("few"), pages.kind("few")
    b.find_element(By.ID, "csv").click()
    comments, head, rows = read(downloads / "few.csv")
    said = release.explain().splitlines()
    assert comments[1 : 1 + len(said)] == [csv_text.comment(line) for line in said]
    assert head[:4] == ["town", "Published", "Low", "High"]
    low, high = release.interval(0.95)
    assert [[int(cell) for cell in row[1:4]] for row in rows] == np.stack([release.values, low, high], axis=1).tolist()
    assert [row[0] for row in rows] == [next(csv.reader([csv_text.text(key_words(town))]))[0] for town in pages.TOWNS]


def test_the_row_of_all_other_keys_stays_below_and_is_downloaded(visited: Callable[..., Any], downloads: Path) -> None:
    b, others = visited("unknown"), pages.kind("unknown").others()
    b.execute_script(OPEN)
    for _ in range(2):
        cells = [cell.text for cell in b.find_elements(By.CSS_SELECTOR, "#table tfoot td")]
        assert cells[:4] == ["all other keys", *(f"{number:,.0f}" for number in (others.value, *others[2:]))]
        assert "all other keys" not in b.find_element(By.CSS_SELECTOR, "#table tbody").text
        b.find_element(By.CSS_SELECTOR, "#table th:nth-child(2) button").click()
        b.find_element(By.ID, "find").send_keys("nothing is called this")
    b.find_element(By.ID, "csv").click()
    *_, rows = read(downloads / "unknown.csv")
    assert rows[-1][:4] == ["all other keys", *(f"{end:.0f}" for end in (others.value, others.low, others.high))]


def test_the_download_writes_cells_as_to_csv_does(visited: Callable[..., Any]) -> None:
    odd = ["=1+1", "  =1+1", "\uff1d1+1", "\u200b@a", "\ufeff+a", "\u00a0-a", "a=b", "# a", 'a "b", c', "a\r\nb"]
    cells = [*odd, *pages.TOWNS]
    written_so = visited("few").execute_script("return arguments[0].map(csvCell)", cells)
    assert written_so == [csv_text.text(cell) for cell in cells]
    assert written_so[2] == '"\'\uff1d1+1"'


# ── Sets of tables


def chosen(b: Any) -> str:
    return str(Select(b.find_element(By.ID, "tables")).first_selected_option.text)


def keyboard(b: Any, *keys: str) -> None:
    for key in keys:
        webdriver.ActionChains(b).send_keys(key).perform()


def tip(b: Any) -> str:
    return "\n".join(found.text for found in b.find_elements(By.CSS_SELECTOR, ".tip") if found.text)


@pytest.mark.parametrize("name", table_pages.RELEASES)
def test_the_page_of_a_set_loads_and_fits_every_screen(name: str, opened: Callable[..., Any], folder: Path) -> None:
    b = opened(name)
    page = (folder / f"{name}_denoised.html").as_uri()
    assert [entry["message"] for entry in b.get_log("browser")] == []
    assert [url for url in requests(b, page) if not url.startswith("data:")] == [page]
    described(b)
    release = table_pages.RELEASES[name]()
    ways = sorted(set(map(len, release.tables)))
    for table in [[t for t in release.tables if len(t) == many][-1] for many in ways]:
        for width, mode in ((320, "dark"), (400, "light"), (1200, "dark")):
            b = opened(name, table, width=width, mode=mode)
            assert chosen(b) == (" × ".join(table) or "The total")
            assert b.execute_script("return document.documentElement.scrollWidth") <= width
    assert [entry["message"] for entry in b.get_log("browser")] == []


def test_a_set_opens_on_one_column_and_a_chosen_table_has_an_address(opened: Callable[..., Any]) -> None:
    b = opened("people")
    assert chosen(b) == "district"
    Select(b.find_element(By.ID, "tables")).select_by_visible_text("sex × job")
    assert b.current_url.endswith("#table=sex,job")
    assert b.find_elements(By.CSS_SELECTOR, "#chart svg")


def test_a_heat_map_tells_every_cell_that_is_pointed_at(opened: Callable[..., Any]) -> None:
    table = ("district", "job")
    b, release = opened("people", table), table_pages.people()
    plot = b.find_element(By.ID, "chart")
    assert "Heat map of district × job" in plot.get_attribute("aria-label")
    b.execute_script("arguments[0].focus({focusVisible: true})", plot)
    seen = set()
    for keys in ([Keys.ARROW_RIGHT] * 3, [Keys.ARROW_DOWN] * 2):
        for key in keys:
            keyboard(b, key)
            cell = int(plot.get_attribute("data-cell"))
            seen.add(cell)
            assert told(release, table, cell) in tip(b)
    assert len(seen) == 5
    keyboard(b, Keys.ESCAPE)
    assert tip(b) == ""


@pytest.mark.parametrize("table", [("district", "job"), ("age", "income")])
def test_cells_that_could_be_zero_are_marked_in_what_was_published_only(
    table: tuple[str, ...], opened: Callable[..., Any]
) -> None:
    b, release = opened("people", table), table_pages.people()
    marked = """return (document.querySelector('#chart .empty-cells').getAttribute('d') ?? '').split('M').length - 1"""
    expected = int((release[table].interval(0.95).low <= 0).sum())
    b.find_element(By.CSS_SELECTOR, "label:has(input[value=published])").click()
    assert b.execute_script(marked) == expected
    assert f"{expected:,} of them may be zero" in b.find_element(By.ID, "facts").text
    b.find_element(By.CSS_SELECTOR, "label:has(input[value=denoised])").click()
    assert b.execute_script(marked) == 0


def test_tables_that_are_not_better_beyond_chance_are_shown_as_published(opened: Callable[..., Any]) -> None:
    helped = {t for t in table_pages.people().tables if denoised("people")[t].better_than_raw}
    for table in (("job",), ("district", "job")):
        b = opened("people", table)
        assert b.find_element(By.ID, "shown").is_displayed() == (table in helped)
        heads = [cell.get_property("textContent") for cell in b.find_elements(By.CSS_SELECTOR, "#table th")]
        assert ("Denoised" in heads) == (table in helped)
        assert ("no clear improvement" in b.find_element(By.ID, "facts").text) == (table not in helped)


def test_a_long_column_is_a_line_read_by_keys(opened: Callable[..., Any]) -> None:
    b = opened("people", ("age",), beside=False)
    plot = b.find_element(By.ID, "chart")
    assert plot.find_element(By.CSS_SELECTOR, ".steps").get_attribute("d").count("H") == 100
    b.execute_script("arguments[0].focus({focusVisible: true})", plot)
    keyboard(b, *[Keys.ARROW_RIGHT] * 3)
    assert "age: 3" in tip(b)
    assert told(table_pages.people(), ("age",), 3) in tip(b)


def test_a_table_of_three_columns_is_cut_where_one_says(opened: Callable[..., Any]) -> None:
    table = ("age", "sex", "__proto__")
    b, release = opened("hostile", table), table_pages.hostile()

    def select(name: str) -> Any:
        return Select(b.find_element(By.CSS_SELECTOR, f"#slices select[data-of='{name}']"))

    place = np.arange(release[table].bins).reshape(release[table].shape)
    assert [option.text for option in select("__proto__").options] == ["constructor", "toString"]
    select("Down").select_by_visible_text("age")
    select("Across").select_by_visible_text("sex")
    select("__proto__").select_by_visible_text("toString")
    plot = b.find_element(By.ID, "chart")
    b.execute_script("document.activeElement.blur(); arguments[0].focus({focusVisible: true})", plot)
    keyboard(b, Keys.ARROW_RIGHT, Keys.ARROW_DOWN)
    assert int(plot.get_attribute("data-cell")) == place[1, 1, 1]
    select("Down").select_by_visible_text("__proto__")
    assert {option.text for option in select("Across").options} == set(table)


def test_hostile_names_are_only_text_in_every_table(opened: Callable[..., Any]) -> None:
    b, release = opened("hostile"), table_pages.hostile()
    title, seen = b.title, set()
    assert table_pages.HOSTILE_COLUMN in title
    listed = Select(b.find_element(By.ID, "tables"))
    for place in range(len(release.tables)):
        listed.select_by_index(place)
        seen.add(chosen(b))
        assert b.find_elements(By.CSS_SELECTOR, "img, script:not([id]) ~ script, iframe") == []
    assert seen == {" × ".join(table) or "The total" for table in release.tables}
    assert b.title == title
    assert [entry["message"] for entry in b.get_log("browser")] == []


def test_the_download_of_a_table_has_every_digit(opened: Callable[..., Any], downloads: Path) -> None:
    table = ("district", "sex")
    b, release = opened("people", table), table_pages.people()
    b.find_element(By.ID, "csv").click()
    comments, head, rows = read(downloads / "people_denoised-district-sex.csv")
    assert csv_text.comment(release.explain().splitlines()[0]) in comments
    assert head[:5] == ["district", "sex", "Published", "Low", "High"]
    low, high = release[table].interval(0.95)
    real = np.stack([release[table].values, low, high], axis=1)
    np.testing.assert_array_equal([[float(cell) for cell in row[2:5]] for row in rows], real)
    keys = [[release.axes[name].key(place) for place in range(release.axes[name].size)] for name in table]
    assert [tuple(row[:2]) for row in rows] == list(itertools.product(*keys))


def test_a_table_that_is_in_the_file_only_says_how_to_read_it(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shown, "MAX_CELLS_SHOWN", 300)
    page = table_pages.write("people", tmp_path)
    browser.get(page.as_uri() + "#table=age,job")
    assert chosen(browser) == "age × job (in the file)"
    assert 'ln.load("release.parquet")["age", "job"].to_pandas()' in browser.find_element(By.ID, "chart").text
    assert not browser.find_element(By.ID, "numbers").is_displayed()


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_numbers_in_cells_stand_out_from_their_shades(mode: str, opened: Callable[..., Any]) -> None:
    b = opened("people", ("job", "income"), mode=mode, beside=False)
    inside = """return [...document.querySelectorAll('.in-cell')].map(text => {
        const x = Number(text.getAttribute('x')), y = Number(text.getAttribute('y')) - 4;
        const under = [...document.querySelectorAll('#chart path')].find(path => {
          const point = path.ownerSVGElement.createSVGPoint(); point.x = x; point.y = y;
          return !path.classList.contains('hatch') && path.isPointInFill(point); });
        return [getComputedStyle(text).fill, getComputedStyle(under).fill]; })"""
    pairs = [tuple(map(luminance, pair)) for pair in b.execute_script(inside)]
    assert len(pairs) == table_pages.people()["job", "income"].bins
    assert min((max(pair) + 0.05) / (min(pair) + 0.05) for pair in pairs) >= 4.5
