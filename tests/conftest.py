"""What every test shares: where the real data lies, how Hypothesis searches, which tests are slow, and a browser.

The browser is Chromium with its driver (Debian: chromium, chromium-driver); without them tests of pages skip, and fail
in CI.
"""

from __future__ import annotations

import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

# Before NumPy is loaded, here and in what the tests start: on small matrices, with a process for every core already, a
# second thread of linear algebra mostly waits, and takes a core to do so (0.3 of all processor time in tests/workload).
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from hypothesis import settings

from chromium import FLAGS

REACHED = bool(os.environ.get("LEASTNOISE_REACHED"))  # whether lines that tests reach are counted, as `make test` does
if REACHED:
    import reached_lines

    reached_lines.begin()

# The same examples in every run of `make test`, so that more of them find nothing new; `make fuzz` draws others.
MANY = bool(os.environ.get("LEASTNOISE_FUZZ_MINUTES"))
settings.register_profile(
    "laws", max_examples=1000 if MANY else 60, deadline=None, derandomize=not MANY, print_blob=True
)
settings.load_profile("laws")

# What the tests below these paths start or make (a Spark cluster of five JVMs, a PostgreSQL server, denoised sets of
# tables and their pages) is started or made by one process only.
TOGETHER = ("tests/engines/", "tests/budget/", "tests/curator/budget/postgres/")

found: dict[str, tuple[int, float]] = {}  # what the fuzzers of other processes ran


def fuzzed() -> dict[str, tuple[int, float]]:
    return getattr(sys.modules.get("fuzzing"), "ran", {})


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["fuzzed"] = fuzzed()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    found.update(getattr(node, "workeroutput", {}).get("fuzzed", {}))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Of `--dist loadfile`: the files below a path in TOGETHER stay in one process too."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class ByFileOrPath(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            path = nodeid.partition("::")[0]
            return next((first for first in TOGETHER if path.startswith(first)), path)

    return ByFileOrPath(config, log)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    ran = found | fuzzed()
    for name, (count, seconds) in sorted(ran.items()):
        each = f", {1000 * seconds / count:.1f} ms each" if seconds and count else ""
        terminalreporter.write_line(f"fuzz: {count:>9,} cases of {name}{each}")
    if ran:
        terminalreporter.write_line(f"fuzz: {sum(count for count, _ in ran.values()):>9,} cases in all")


ROOT = Path(__file__).resolve().parents[1]
SLOW_TESTS = {
    line.strip()
    for line in (ROOT / "tests" / "slow_tests.txt").read_text().splitlines()
    if line.strip() and not line.startswith("#")
}


# PySpark leaves the sockets by which answers came to the collector, in whichever later test it runs.
SOCKETS_OF_PYSPARK = pytest.mark.filterwarnings(
    "ignore:Exception ignored in. <socket.socket:pytest.PytestUnraisableExceptionWarning"
)


@pytest.hookimpl(tryfirst=True)  # before `-m "not slow"` is applied
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow what slow_tests.txt names: a folder, a file, a class, or a test with all its parameters."""
    for item in items:
        parts = item.nodeid.partition("[")[0].split("::")
        names = {"::".join(parts[:count]) for count in range(1, len(parts) + 1)}
        folders = {str(folder) for folder in Path(parts[0]).parents}
        if SLOW_TESTS & (names | folders):
            item.add_marker(pytest.mark.slow)
        if item.get_closest_marker("spark"):
            item.add_marker(SOCKETS_OF_PYSPARK)


def pytest_configure(config: pytest.Config) -> None:
    if REACHED:
        config.pluginmanager.register(reached_lines)
    gc.disable()  # while everything is imported, nothing is garbage


def pytest_collection_finish() -> None:
    """What was imported stays: the collector, a tenth of all time, need not look through it again and again."""
    gc.enable()
    gc.collect()
    gc.freeze()
    gc.set_threshold(5_000)


def pytest_unconfigure() -> None:
    gc.unfreeze()  # at the end it goes as ever; DuckDB tells of what does not


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real data beside the project; absent is a skip, except in CI, where it is a failure."""
    folder = Path(os.environ.get("LEASTNOISE_DATA", ROOT.parent / "shared" / "data"))
    if folder.is_dir():
        return folder
    reason = f"no real data at {folder.name}/ (set LEASTNOISE_DATA to its folder)"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


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
    options.binary_location = str(found["chromium"])
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
