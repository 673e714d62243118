"""A studio as a process of its own, and hands that use it in a real browser."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from command_line import ENVIRONMENT
from leastnoise import datasets

QUIET = "return document.readyState === 'complete' && (document.documentElement.dataset.busy || '0') === '0'"


@dataclass(frozen=True)
class Running:
    """A studio that runs: the link that it printed, and its process."""

    link: str
    process: subprocess.Popen[str]


@contextmanager
def running_studio(folder: Path, rows: Any = None) -> Iterator[Running]:
    """A studio for a table in the folder, by default of 2,000 made-up people."""
    if not (folder / "people.parquet").exists():
        pq.write_table(datasets.people(2000) if rows is None else rows, folder / "people.parquet")
    command = [sys.executable, "-m", "leastnoise", "studio", "people.parquet", "--no-browser"]
    with subprocess.Popen(
        command, cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found
        try:
            yield Running(found[0], process)
        finally:
            process.terminate()


def until(condition: Callable[[], Any], seconds: float = 60) -> Any:
    """What the condition gives, once it gives something."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise TimeoutError


class Hands:
    """A person at a browser: looks for a thing once the page is quiet, and never keeps one from before."""

    def __init__(self, browser: Any, link: str) -> None:
        self.browser = browser
        browser.get(link)
        self.settle()

    def settle(self) -> None:
        """Wait until the page is loaded and no answer is waited for: nothing is replaced after this by itself."""
        until(lambda: self.browser.execute_script(QUIET))

    def one(self, selector: str) -> Any:
        """The first thing of this kind, once the page is quiet and has it."""
        from selenium.webdriver.common.by import By

        self.settle()
        return until(lambda: self.browser.find_elements(By.CSS_SELECTOR, selector))[0]

    def click(self, selector: str) -> None:
        """Click on it, and wait for what that leads to."""
        self.one(selector).click()
        self.settle()

    def fill(self, selector: str, text: str) -> None:
        """Type a text in place of what is there, and leave the field."""
        field = self.one(selector)
        field.clear()
        self.settle()
        self.one(selector).send_keys(text)
        self.settle()

    def text(self, selector: str) -> str:
        """What it says; of the next page where that comes meanwhile."""
        from selenium.common.exceptions import StaleElementReferenceException

        while True:
            with suppress(StaleElementReferenceException):
                return str(self.one(selector).text)

    def value(self, selector: str) -> str:
        """What is typed in it."""
        return str(self.one(selector).get_attribute("value"))

    def arrive(self, step: str) -> None:
        """Wait for the page of a step."""
        until(lambda: self.browser.current_url.endswith(f"/{step}"))
        self.settle()

    def go_on(self, step: str) -> None:
        """To the next step."""
        self.one("main form button.main").click()
        self.arrive(step)


class Keyboard(Hands):
    """The same without a pointer."""

    def press(self, *names: str) -> None:
        """Press keys, as Selenium calls them."""
        from selenium.webdriver import ActionChains, Keys

        for name in names:
            ActionChains(self.browser).send_keys(getattr(Keys, name)).perform()
            time.sleep(0.05)  # a change is answered at once, but not in this moment
            self.settle()

    def type(self, text: str) -> None:
        """Type where the cursor is."""
        from selenium.webdriver import ActionChains

        ActionChains(self.browser).send_keys(text).perform()
        self.settle()

    def reach(self, selector: str, *, then: str = "", until: str = "") -> None:
        """Tab on until the cursor is there; press a key; wait for the page of a step."""
        for _ in range(80):
            here = f"return document.activeElement !== null && document.activeElement.matches({selector!r})"
            if self.browser.execute_script(here):
                break
            self.press("TAB")
        else:
            raise AssertionError(f"no Tab leads to {selector}")
        if then:
            self.press(then)
        if until:
            self.arrive(until)
