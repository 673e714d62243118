"""Is there Python with leastnoise on the workers? Asked before anything is paid for a question that needs it there."""

from __future__ import annotations

import re
import sys
import tempfile
import threading
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from leastnoise._support.version import VERSION
from leastnoise.curator.engines.engine import attempt
from leastnoise.curator.engines.spark_session import applied, is_remote
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
            ran = attempt(session.range(1).collect)
    finally:
        notice.cancel()
    if ran is None:
        raise EngineUnavailable("no worker of Spark ran a first task. Nothing was read or paid. See the master's log.")


def _has_workers(context: Any) -> bool:
    return len(context._jsc.sc().statusTracker().getExecutorInfos()) > 1  # one of them is the driver


def _say_waiting() -> None:
    print(WAITING, file=sys.stderr, flush=True)


def check_workers(session: Any) -> None:
    """Raise EngineUnavailable unless workers can do what vectors, crosstabs, zones and nearest nodes need there.

    Of people's rows none is touched: the table that is asked about is a range of numbers, so what fails may be said.
    """
    found, problem = _asked(session)
    if is_remote(session) and "no leastnoise" in found:
        send_package(session)
        found, problem = _asked(session)
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


def _asked(session: Any) -> tuple[list[str], str]:
    """The versions of leastnoise on the workers, or what they lack; or else what is wrong."""
    with applied(session):
        try:
            rows = session.range(0, _tasks(session), 1, _tasks(session)).mapInArrow(probe(), "found string").collect()
        except Exception as error:
            return [], _words(str(error))
    return sorted({row.found for row in rows}), ""


def send_package(session: Any) -> None:
    """Ship this package to the workers of a Spark Connect session of ours, which nobody else can add files to."""
    root = Path(__file__).parents[2]  # of leastnoise
    with tempfile.TemporaryDirectory() as folder, suppress(Exception):  # the workers are asked again
        path = Path(folder) / f"leastnoise_{uuid4().hex}.zip"  # a file of one name and other contents fails the task
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(root.rglob("*.py")):
                archive.write(file, Path("leastnoise") / file.relative_to(root))
        session.addArtifacts(str(path), pyfile=True)


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
