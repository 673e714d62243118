"""Is there Python with leastnoise on the workers? Asked before anything is paid for a question that needs it there."""

from __future__ import annotations

import re
import sys
import threading
from typing import Any

from leastnoise._support.version import VERSION
from leastnoise.curator.engines.spark_server import is_remote
from leastnoise.curator.engines.spark_settings import applied
from leastnoise.curator.engines.spark_tasks import probe
from leastnoise.errors import EngineUnavailable

MOST_TASKS = 32
SECONDS_BEFORE_NOTICE = 15.0
WAITING = (
    "leastnoise: waiting for Spark; no worker has taken this session yet. See the master's page: its workers may be "
    "away, or lack the cores or the memory that were asked for."
)
SHIPPING = (
    "Install leastnoise there, or ship it with the session: the how-to page about Spark says how. Nothing was read or "
    "paid."
)


def wait_for_workers(session: Any) -> None:
    """Return when a worker has taken the session. Until then Spark waits, and its log, which says so, is off: so it is
    said here. Before a debit, for nothing is paid while nobody can read."""
    if is_remote(session) or session.sparkContext.master.startswith("local") or _has_workers(session.sparkContext):
        return
    notice = threading.Timer(SECONDS_BEFORE_NOTICE, _say_waiting)
    notice.daemon = True
    notice.start()
    try:
        with applied(session):
            session.range(1).collect()
    except Exception:
        ran = False
    else:
        ran = True
    finally:
        notice.cancel()
    if not ran:
        raise EngineUnavailable("no worker of Spark ran a first task. Nothing was read or paid. See the master's log.")


def _has_workers(context: Any) -> bool:
    return len(context._jsc.sc().statusTracker().getExecutorInfos()) > 1  # one of them is the driver


def _say_waiting() -> None:
    print(WAITING, file=sys.stderr, flush=True)


def check_workers(session: Any) -> None:
    """Raise EngineUnavailable unless workers can do what vectors, crosstabs, zones and nearest nodes need there.

    Of people's rows none is touched: the table that is asked about is a range of numbers, so what fails may be said.
    """
    found: list[str] = []
    problem = ""
    with applied(session):
        try:
            rows = session.range(0, _tasks(session), 1, _tasks(session)).mapInArrow(probe(), "found string").collect()
            found = sorted({row.found for row in rows})
        except Exception as error:
            problem = _words(str(error))
    if problem:
        raise EngineUnavailable(f"this question needs Python on the workers of Spark, and {problem} {SHIPPING}")
    wrong = [each for each in found if each != VERSION]
    if wrong and wrong[0].startswith("no "):
        raise EngineUnavailable(
            f"this question needs leastnoise on the workers of Spark, and their Python has {wrong[0]}. {SHIPPING}"
        )
    if wrong:
        raise EngineUnavailable(
            f"the workers of Spark have leastnoise {wrong[0]} and the driver {VERSION}, whose integers may differ. "
            f"{SHIPPING}"
        )


def _tasks(session: Any) -> int:
    return 2 if is_remote(session) else max(2, min(session.sparkContext.defaultParallelism, MOST_TASKS))


def _words(error: str) -> str:
    """What is wrong, from Spark's own message about a question without any row."""
    program = re.search(r'Cannot run program "([^"\n]+)"', error)
    if program:
        return f'"{program.group(1)}" cannot be run there. Name their interpreter in PYSPARK_PYTHON.'
    if "PYTHON_VERSION_MISMATCH" in error:
        return "theirs is of another version than the driver's. Name one of the same in PYSPARK_PYTHON."
    package = re.search(r"No module named '?([\w.]+)|\[PACKAGE_NOT_INSTALLED\] (\w+)", error)
    if package:
        return f"theirs has no {package.group(1) or package.group(2)}."
    return "a first task there failed. See the log of a worker."
