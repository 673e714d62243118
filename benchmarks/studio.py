"""The studio: how long until the first page is painted, and how long a move of the slider takes with 500 tables."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from findings import Findings, Headline, Table

COLUMNS, KEYS = 32, 10  # of all pairs of columns: 496 tables, with the single columns and the total 529
FIRST_PAINT = "return performance.getEntriesByName('first-contentful-paint')[0].startTime"
MOVE = """
const [value, done] = arguments, slider = document.querySelector("input[type=range]");
const look = document.querySelector("#look"), begin = performance.now();
new MutationObserver((_, seen) => { seen.disconnect(); requestAnimationFrame(() => done(performance.now() - begin)); })
    .observe(look, { childList: true });
slider.value = value;
slider.dispatchEvent(new Event("input", { bubbles: true }));
"""


def run(*, toy: bool = False) -> Findings:
    if not all(map(shutil.which, ("chromium", "chromedriver"))):
        return ["No browser is installed, so the studio was not measured."]
    columns = 4 if toy else COLUMNS
    with tempfile.TemporaryDirectory() as folder:
        _prepare(Path(folder), columns)
        paints, moves, look = _measure(Path(folder), 3 if toy else 15)
    tables = columns * (columns + 1) // 2 + 1
    rows = [
        _row(f"first paint of the step about privacy, {tables} tables", paints),
        _row(f"a move of the slider until it is painted, {tables} tables", moves),
        _row("of which the server's answer", look),
    ]
    return [
        Headline("first paint of the studio's slowest step / 1 s", float(np.median(paints)) / 1000, most=1),
        Headline("a move of its slider until it is painted / 100 ms", float(np.median(moves)) / 100, most=1),
        Table("studio", "The studio in Chromium, in milliseconds:", rows),
    ]


def _row(name: str, times: list[float]) -> dict[str, Any]:
    median = round(float(np.median(times)), 1)
    return {"what": name, "median": median, "slowest": round(max(times), 1), "times": len(times)}


def _prepare(folder: Path, columns: int) -> None:
    """A table, and a job about all pairs of its columns that has reached the step about privacy."""
    rng = np.random.default_rng(0)
    people = {f"c{place}": rng.integers(KEYS, size=1000) for place in range(columns)}
    pq.write_table(pa.table({"person": range(1000), **people}), folder / "people.parquet")
    keys = "\n".join(f"c{place} = {{ range = [0, {KEYS}] }}" for place in range(columns))
    (folder / "people.toml").write_text(
        '[table]\nsource = "people.parquet"\nunit = "person"\n\n'
        f"[keys]\n{keys}\n\n"
        '[ask]\nkind = "crosstabs"\nways = 2\nmax_rows = 1\n\n'
        "[privacy]\nepsilon = 1\ndelta = 1e-6\n\n"
        '[output]\nrelease = "people-release.parquet"\npage = "people.html"\n'
    )


def _measure(folder: Path, rounds: int) -> tuple[list[float], list[float], list[float]]:
    command = [sys.executable, "-m", "leastnoise", "studio", "people.parquet", "--no-browser"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found
        browser = _browser()
        try:
            browser.get(found[0])
            address = browser.current_url.replace("/table", "/privacy")
            paints = [_paint(browser, address) for _ in range(rounds)]
            moves, look = _moves(browser, rounds)
        finally:
            browser.quit()
            process.terminate()
    return paints, moves, look


def _paint(browser: Any, address: str) -> float:
    browser.get(address)
    for _ in range(200):
        try:
            return float(browser.execute_script(FIRST_PAINT))
        except Exception:  # not painted yet
            time.sleep(0.02)
    raise TimeoutError


def _moves(browser: Any, rounds: int) -> tuple[list[float], list[float]]:
    """Milliseconds from a move to its picture, and of the request alone."""
    browser.set_script_timeout(30)
    places = [3 + place % 20 for place in range(rounds + 2)]
    moves = [float(browser.execute_async_script(MOVE, place)) for place in places][2:]
    names = "performance.getEntriesByType('resource').filter(each => each.name.includes('/look'))"
    return moves, [float(each) for each in browser.execute_script(f"return {names}.map(each => each.duration)")][2:]


def _browser() -> Any:
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    for flag in ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"):
        options.add_argument(flag)
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(str(shutil.which("chromedriver"))))
