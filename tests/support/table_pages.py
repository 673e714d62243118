"""Small sets of tables, with seeded noise, for the tests of their page."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa

import leastnoise as ln
from chromium import screen
from leastnoise import datasets
from leastnoise.pictures.tables import decimals
from leastnoise.releases.crosstab_estimate import CrosstabsEstimate
from leastnoise.releases.crosstabs import CrosstabsRelease
from leastnoise.testing import seeded
from pages import HOSTILE, TOWNS

HOSTILE_COLUMN = "</script ><img src=x onerror=alert(1)>, \"'&"
PROMISE = {"epsilon": 2.0, "delta": 1e-6}


@cache
def people() -> CrosstabsRelease:
    """The made-up register: all tables of at most two columns."""
    with seeded(7):
        made: CrosstabsRelease = register().release(**PROMISE)
    return made


def register() -> Any:
    """The question behind it."""
    table = ln.table(datasets.people(2_000), unit="person")
    return table.crosstabs(ways=2, keys=datasets.people_keys(), max_rows=1)


@cache
def hostile() -> CrosstabsRelease:
    """Columns and keys that a page must not obey: all tables of at most three columns."""
    rng = np.random.default_rng(3)
    sizes = {HOSTILE_COLUMN: list(TOWNS), "age": range(9), "sex": ["f", "m"], "__proto__": ["constructor", "toString"]}
    rows = {name: np.array(list(keys))[rng.integers(0, len(keys) // 2 + 1, 900)] for name, keys in sizes.items()}
    table = ln.table(pa.table({"who": np.arange(900), **rows}), unit="who")
    with seeded(7):
        made: Any = table.crosstabs(ways=3, keys=sizes, max_rows=1, other=False).release(**PROMISE)
    assert HOSTILE in TOWNS
    return made


@cache
def denoised(name: str) -> CrosstabsEstimate:
    """What is shown beside it."""
    return RELEASES[name]().denoise()


RELEASES = {"people": people, "hostile": hostile}


def write(name: str, folder: Path, *, beside: bool = True) -> Path:
    """Its page, with or without an estimate beside it."""
    release = RELEASES[name]()
    path = folder / f"{name}{'_denoised' if beside else ''}.html"
    return release.report(path, estimate=denoised(name) if beside else None, allow_seeded=True)


def visit(
    browser: Any,
    folder: Path,
    name: str,
    table: tuple[str, ...] | None = None,
    *,
    beside: bool = True,
    width: int = 1200,
    mode: str = "light",
) -> Any:
    """Opens its page, at one of its tables where that is named, and waits until all is drawn."""
    from selenium.webdriver.support.ui import WebDriverWait

    path = folder / f"{name}{'_denoised' if beside else ''}.html"
    if not path.exists():
        write(name, folder, beside=beside)
    browser.get("about:blank")
    browser.get_log("browser")
    browser.get_log("performance")
    screen(browser, width, mode)
    place = "" if table is None else "#table=" + ",".join(quote(column, safe="!'()*~") for column in table)
    browser.get(path.as_uri() + place)
    WebDriverWait(browser, 60).until(lambda b: b.execute_script("return document.documentElement.dataset.drawn"))
    return browser


def told(release: Any, table: tuple[str, ...], cell: int) -> str:
    """What the page says of a cell: its value and its margin, to the digits that the noise leaves."""
    low, high = release[table].interval(0.95)
    half = float(high[cell] - low[cell]) / 2
    return f"{shown(float(release[table].values[cell]), half)} ± {shown(half, half)}"


def shown(value: float, half: float) -> str:
    """A number as the page writes it."""
    text = f"{value:,.{decimals(half)}f}"
    return (text.lstrip("-") if not float(text.replace(",", "")) else text).replace("-", "−")
