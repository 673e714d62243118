"""The settings by which our SQL means what it says on Spark, and the same as on DuckDB: set, and read back, before each
query.

They are those of a session of our own; all others it has from the session that was given, also those that were changed
since. The log of the JVM and the active session are shared with that one, and are as they were afterwards. Several
threads may ask one session at once, so what was there is remembered by the first and put back by the last.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from leastnoise._support import library_warnings
from leastnoise.curator.engines.spark_server import is_remote, put_back_retries, shorten_retries
from leastnoise.errors import EngineUnavailable

SETTINGS = {
    "spark.sql.variable.substitute": "false",  # ${env:HOME} in a text or in a name is replaced after our checks
    "spark.sql.parser.escapedStringLiterals": "false",  # how a backslash in a text is read
    "spark.sql.parser.quotedRegexColumnNames": "false",  # `a.*` names one column, not all that match
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.ansi.enabled": "true",  # arithmetic and casts do not wrap around in silence
    "spark.sql.caseSensitive": "false",  # as in DuckDB; names that differ in case alone are refused
    "spark.sql.groupByOrdinal": "true",  # Ibis writes GROUP BY 1
    "spark.sql.orderByOrdinal": "true",
    "spark.sql.session.timeZone": "UTC",  # hours and days are those of UTC
    "spark.sql.timestampType": "TIMESTAMP_LTZ",  # what CAST(... AS TIMESTAMP) makes
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",  # days before 1582 are not moved
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96TimestampConversion": "false",
    "spark.sql.legacy.parquet.nanosAsLong": "true",  # nanoseconds are read, and cut by our own rule
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",  # no folder decides about a type
    "spark.sql.csv.filterPushdown.enabled": "false",  # a malformed row is noticed also where a filter drops it
    "spark.sql.files.ignoreCorruptFiles": "false",  # rows are not lost in silence
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.files.ignoreInvalidPartitionPaths": "false",
}
LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")  # PySpark's own: they quote what failed
PY4J_LOGGERS = ("py4j", "py4j.java_gateway", "py4j.clientserver")  # and of the connection to the JVM
MAX_SECONDS_AFTER_FAILURE = 5.0  # for tasks beside the one that failed, which may still log their rows
_lock = threading.RLock()
_held: dict[str, _Before] = {}  # sessions that are being asked -> what they were before
_silence = threading.local()  # `active` while this thread reads rows


class _Before:
    """How often the client of a session asked a server again when the first of our threads came to it, and how many
    are there."""

    def __init__(self, session: Any) -> None:
        self.threads = 0
        self.retries = shorten_retries(session)


class _Log:
    """The log of the JVM of this process, which all of its sessions share: silent while one of our threads reads."""

    def __init__(self) -> None:
        self.threads = 0
        self.level = ""

    def hold(self, context: Any) -> None:
        if self.threads == 0:
            root = context._jvm.org.apache.logging.log4j.LogManager.getRootLogger()
            self.level = str(root.getLevel().toString())
            context.setLogLevel("OFF")
        self.threads += 1

    def let_go(self, context: Any) -> None:
        self.threads -= 1
        if self.threads == 0:
            with suppress(Exception):  # the session may have ended
                context.setLogLevel(self.level)


_log = _Log()


@contextmanager
def applied(session: Any, given: Any = None) -> Iterator[None]:
    """Our settings and the others of the session that was given, read back; raises EngineUnavailable before any row is
    read.

    What the JVM and PySpark log meanwhile may quote a cell, so they log nothing. (With Spark Connect the log is the
    server's own.)
    """
    with _lock, silent():
        name, before = _entered(session, given)
    failed = True
    try:
        with silent(), _same_active(session):
            yield
        failed = False
    finally:
        if failed and not is_remote(session):
            _wait_for_tasks(session)
        with _lock, silent():
            _leave(session, name, before)


def _entered(session: Any, given: Any) -> tuple[str, _Before]:
    try:
        name = _identity(session)
        before = _held.get(name) or _Before(session)
        if not is_remote(session):
            _log.hold(session.sparkContext)
    except Exception:
        answers = False
    else:
        answers = True
    if not answers:
        raise EngineUnavailable("the Spark session of this table does not answer. Start one, and open the table again.")
    before.threads += 1
    _held[name] = before
    try:
        if given is not None:
            _take_over(given, session)
        _set(session)
    except BaseException:
        _leave(session, name, before)
        raise
    return name, before


@contextmanager
def silent() -> Iterator[None]:
    """The loggers of PySpark and of its connection to the JVM say nothing in this thread."""
    from pyspark.logger import PySparkLogger

    for logger in (*map(PySparkLogger.getLogger, LOGGERS), *map(logging.getLogger, PY4J_LOGGERS)):
        logger.addFilter(_is_logged)  # a second time changes nothing
    before, _silence.active = getattr(_silence, "active", False), True
    try:
        yield
    finally:
        _silence.active = before


def _is_logged(record: logging.LogRecord) -> bool:
    return not getattr(_silence, "active", False)


def _wait_for_tasks(session: Any) -> None:
    """Until no task runs any more, by the list that is written after what a task's failure is logged as."""
    deadline = time.monotonic() + MAX_SECONDS_AFTER_FAILURE
    with silent(), suppress(Exception):  # the session may be gone
        tracker = session.sparkContext._jsc.sc().statusTracker()
        while time.monotonic() < deadline and any(each.numRunningTasks() for each in tracker.getExecutorInfos()):
            time.sleep(0.05)


def _leave(session: Any, name: str, before: _Before) -> None:
    before.threads -= 1
    if before.threads == 0:
        _held.pop(name, None)
        put_back_retries(session, before.retries)
    if not is_remote(session):
        _log.let_go(session.sparkContext)


def _take_over(given: Any, session: Any) -> None:
    """What the given session has set beside our settings: the size of shuffles, the keys of a file system."""
    theirs, ours = given.conf.getAll, session.conf.getAll
    with library_warnings.withheld():
        for name in (theirs.keys() | ours.keys()) - SETTINGS.keys():
            if theirs.get(name) == ours.get(name):
                continue
            with suppress(Exception):  # some cannot be set in a session
                session.conf.set(name, theirs[name]) if name in theirs else session.conf.unset(name)


@contextmanager
def _same_active(session: Any) -> Iterator[None]:
    """PySpark makes a session that is given rows the active one; afterwards the one before is active again."""
    if is_remote(session):
        yield
        return
    before = type(session)._activeSession
    try:
        yield
    finally:
        if type(session)._activeSession is not before:
            type(session)._activeSession = before
            with suppress(Exception):  # the session may have ended
                active = session._jvm.org.apache.spark.sql.classic.SparkSession
                active.clearActiveSession() if before is None else active.setActiveSession(before._jsparkSession)


def _set(session: Any) -> None:
    refused = _refused(session)
    if refused is not None:
        raise EngineUnavailable(
            f"this Spark session does not let {refused} be {SETTINGS[refused]}, and without that a query may mean "
            "something else than was checked. Use another session, or let us open one: name the master as the engine.",
            parameter="engine",
            example={"engine": "spark://host:7077"},
        )


def _refused(session: Any) -> str | None:
    """The first setting that the session does not take."""
    others = _others(session)
    with library_warnings.withheld():  # that Spark calls some of them old
        for name in others:
            try:
                session.conf.set(name, SETTINGS[name])
            except Exception:
                return name
    return next(iter(_others(session)), None) if others else None


def _others(session: Any) -> list[str]:
    """The settings that the session does not have as ours."""
    now = session.conf.getAll
    return [name for name, value in SETTINGS.items() if now.get(name) != value]


def _identity(session: Any) -> str:
    """The same for every Python object that stands for one session."""
    return str(session.session_id if is_remote(session) else session._jsparkSession.sessionUUID())
