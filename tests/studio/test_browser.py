"""The walk in a real browser: choices show at once, a reload in the middle changes nothing, and every screen fits."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import leastnoise as ln
from chromium import screen
from command_line import ENVIRONMENT
from leastnoise import datasets

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[str]:
    """A studio as a process of its own; its link."""
    pq.write_table(datasets.people(2000), tmp_path / "people.parquet")
    command = [sys.executable, "-m", "leastnoise", "studio", "people.parquet", "--no-browser"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found
        try:
            yield found[0]
        finally:
            process.terminate()


def until(condition: Callable[[], Any]) -> Any:
    for _ in range(600):
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise TimeoutError


def test_the_whole_walk(studio: str, browser: Any, tmp_path: Path) -> None:
    from selenium.webdriver.common.by import By

    def one(selector: str) -> Any:
        return until(lambda: browser.find_elements(By.CSS_SELECTOR, selector))[0]

    def go_on(step: str) -> None:
        one("button.main").click()
        until(lambda: browser.current_url.endswith(f"/{step}"))
        one("h1")

    def fits() -> None:
        for width, mode in ((400, "dark"), (1200, "light")):
            screen(browser, width, mode)
            assert browser.execute_script("return document.documentElement.scrollWidth") <= width

    browser.get(studio)
    assert "key=" not in browser.current_url
    one("input[value=person]").click()
    fits()
    go_on("question")
    one("input[value=tables]").click()
    one("select[name=ways]")
    for column, keys in (("district", "Harbour, Old Town, Mill"), ("sex", "F, M")):
        one(f"input[name=by][value={column}]").click()
        one(f"textarea[name='keys:{column}']").send_keys(keys)
    assert (
        one("textarea[name='keys:district']").get_attribute("value") == "Harbour, Old Town, Mill"
    )  # kept by the second
    fits()
    go_on("limits")
    one("input[name=max_rows]").send_keys("1")
    fits()
    go_on("privacy")

    before = one("#look").text
    slider = one("input[type=range]")
    move = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input', {bubbles: true}))"
    browser.execute_script(move, slider, 4)
    until(lambda: one("#look").text != before)
    assert one("input[name=epsilon]").get_attribute("value") == "0.05"
    one("summary").click()
    one("button[value=create]").click()
    until(lambda: "0 % spent" in one("#look").text)
    browser.execute_script(move, one("input[type=range]"), 0.4)
    until(lambda: "takes 40 %" in one("#look").text)
    error = one("input[name=error]")
    error.send_keys("30\t")
    until(lambda: one("input[name=share]").get_attribute("value") != "0.4")
    share = float(one("input[name=share]").get_attribute("value"))
    assert 0 < share < 0.4
    fits()
    go_on("release")
    one("input[name=confirm]").send_keys("release")
    fits()
    one("button.main").click()
    browser.get(browser.current_url)  # reloaded in the middle of it
    until(lambda: ln.Budget.open(tmp_path / "people.ledger").history())
    until(lambda: (tmp_path / "people.html").exists())
    browser.get(browser.current_url.replace("/release", "/results"))
    browser.switch_to.frame(one("iframe"))
    assert until(lambda: "The promise" in browser.page_source)
    browser.switch_to.default_content()
    fits()
    assert len(ln.Budget.open(tmp_path / "people.ledger").history()) == 1
    messages = [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    assert not messages, messages
