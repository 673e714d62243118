"""A browser for the tests of pages.

Needs Chromium and its driver (Debian: chromium, chromium-driver); without them these tests skip, and fail in CI.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chromium import FLAGS


@pytest.fixture(scope="module")
def downloads() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def browser(downloads: Path) -> Iterator[Any]:
    from selenium import webdriver

    found = {name: shutil.which(name) for name in ("chromium", "chromedriver")}
    if not all(found.values()):
        reason = f"no browser: {', '.join(name for name, path in found.items() if not path)} not found"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    options = webdriver.ChromeOptions()
    options.binary_location = found["chromium"]
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        service = webdriver.ChromeService(found["chromedriver"])
        driver = webdriver.Chrome(options=options, service=service)
        place = {"behavior": "allow", "downloadPath": str(downloads)}
        driver.execute_cdp_cmd("Browser.setDownloadBehavior", place)
        try:
            yield driver
        finally:
            driver.quit()
