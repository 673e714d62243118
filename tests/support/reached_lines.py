"""How much of the code that sees rows the tests reach: a plugin of pytest, for all of its processes together.

Below LEAST the run fails. Compiled loops have no lines that could be counted, and what runs in other processes, such as
those of Spark's executors, is not counted either.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import slipcover

LEAST = 95  # % of the lines
ROOT = Path(__file__).resolve().parents[2]
COUNTED, LEFT_OUT = [str(ROOT / "src" / "leastnoise" / "curator")], ["*_loops.py", "*/spark_tasks.py"]

counter = slipcover.Slipcover(source=COUNTED, omit=LEFT_OUT, exclude_also=["@overload", r"\.\.\.$"])
reached: list[dict[str, Any]] = []  # by each process


def begin() -> None:
    """Before the first import of what is counted."""
    slipcover.ImportManager(counter, slipcover.FileMatcher(sources=COUNTED, omit=LEFT_OUT)).__enter__()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["reached"] = json.dumps(counter.get_coverage())
    elif percent() < LEAST and not session.exitstatus:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    if "reached" in getattr(node, "workeroutput", {}):
        reached.append(json.loads(node.workeroutput["reached"]))


def merged() -> dict[str, Any]:
    total = counter.get_coverage()
    for one in reached:
        slipcover.merge_coverage(total, one)
    return total


def percent() -> float:
    return float(merged()["summary"]["percent_covered"])


def pytest_terminal_summary(terminalreporter: Any) -> None:
    missed = [(len(lines["missing_lines"]), name) for name, lines in merged()["files"].items()]
    for count, name in sorted(missed, reverse=True)[:10]:
        if count:
            terminalreporter.write_line(f"{count:>4} lines of {Path(name).name} are reached by no test")
    terminalreporter.write_line(f"{percent():.1f} % of the lines of curator/ are reached; at least {LEAST} % must be")
