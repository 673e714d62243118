"""The settings by which our SQL means what it says on Spark, and the same as on DuckDB: set, and read back, before each
query.

They are those of a session of our own; all others it has from the session that was given, also those that were changed
since. The log of the JVM and the active session are shared with that one, and are as they were afterwards: of several
threads that read, the first turns the log off and the last on again.

Whether a Spark Connect server still answers is asked here too: its client would go on asking one that is gone for ten
minutes.
"""

from __future__ import annotations

import copy
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from leastnoise._support import library_warnings
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
_silence = threading.local()  # `active` while this thread reads rows


class _Log:
    """The log of the JVM of this process, which all of its sessions share: off while one of our threads reads."""

    def __init__(self) -> None:
        self.threads = 0
        self.level = ""

    def hold(self, context: Any) -> None:
        with _lock:
            if self.threads == 0:
                root = context._jvm.org.apache.logging.log4j.LogManager.getRootLogger()
                self.level = str(root.getLevel().toString())
                context.setLogLevel("OFF")
            self.threads += 1

    def let_go(self, context: Any) -> None:
        with _lock, suppress(Exception):  # the session may have ended
            self.threads -= 1
            if self.threads == 0:
                context.setLogLevel(self.level)


_log = _Log()


@contextmanager
def applied(session: Any, given: Any = None) -> Iterator[None]:
    """Our settings and the others of the session that was given, read back; raises EngineUnavailable before any row is
    read.

    What the JVM and PySpark log meanwhile may quote a cell, so they log nothing.
    """
    with silent(), _without_log(session):
        with _lock:
            if given is not None:
                _take_over(given, session)
            _set(session)
        with _same_active(session):
            yield


@contextmanager
def _without_log(session: Any) -> Iterator[None]:
    """With Spark Connect the log is the server's own."""
    if is_remote(session):
        yield
        return
    try:
        _log.hold(session.sparkContext)
        answers = True
    except Exception:
        answers = False
    if not answers:
        raise EngineUnavailable("the Spark session of this table does not answer. Start one, and open the table again.")
    failed = True
    try:
        yield
        failed = False
    finally:
        if failed:
            _wait_for_tasks(session)
        _log.let_go(session.sparkContext)


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
    with suppress(Exception):  # the session may be gone
        tracker = session.sparkContext._jsc.sc().statusTracker()
        while time.monotonic() < deadline and any(each.numRunningTasks() for each in tracker.getExecutorInfos()):
            time.sleep(0.05)


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


RETRIES = 4  # after 0.05, 0.2, 0.8 and 3.2 seconds
READ_RETRIES = 6  # and after 13 and 51: while rows are read, a server is waited for about a minute
_retries_lock = threading.Lock()


def is_remote(session: Any) -> bool:
    """Whether this is a session of Spark Connect: a client without a JVM."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def second_session(session: Any) -> Any:
    """Another session of the same user on the same server, in the same catalogue and database."""
    from pyspark.sql.connect.session import SparkSession

    client = session.client
    builder = copy.copy(client._builder)
    builder._params = {name: value for name, value in builder._params.items() if name != "session_id"}
    made = SparkSession(connection=builder, userId=client._user_id)
    _shorten_retries(made.client)
    made.catalog.setCurrentCatalog(session.catalog.currentCatalog())
    made.catalog.setCurrentDatabase(session.catalog.currentDatabase())
    return made


def end(session: Any) -> None:
    """Let the server forget a session of ours. (The client's own `close` would also end the threads with which every
    other session of this process reads.)"""
    from pyspark.sql.connect.client.retries import DefaultPolicy

    with suppress(Exception):  # the server may be gone
        session.client.set_retry_policies([DefaultPolicy(max_retries=0)])
        session.client.release_session()
        session.client._channel.close()


def is_gone(session: Any) -> bool:
    """Whether nothing can be put back or dropped any more, because the server of a Connect session does not answer."""
    return is_remote(session) and not answers(session)


def answers(session: Any) -> bool:
    """Whether the server of a Connect session knows it, within about five seconds. No row is read."""
    if session.is_stopped:
        return False
    try:
        with _few_retries(session.client):
            session.conf.get("spark.sql.session.timeZone")
    except Exception:
        return False
    return True


def _shorten_retries(client: Any) -> None:
    """The client's own policies, but for those that go on for longer."""
    from pyspark.sql.connect.client.retries import DefaultPolicy

    def short(policy: Any) -> bool:
        return policy.max_retries is not None and policy.max_retries <= READ_RETRIES

    few = DefaultPolicy(max_retries=READ_RETRIES)
    client.set_retry_policies([each if short(each) else few for each in client.get_retry_policies()])


@contextmanager
def _few_retries(client: Any) -> Iterator[None]:
    from pyspark.sql.connect.client.retries import DefaultPolicy

    with _retries_lock:  # else the short list of one thread would be put back by another
        usual = client.get_retry_policies()
        client.set_retry_policies([DefaultPolicy(max_retries=RETRIES)])
        try:
            yield
        finally:
            client.set_retry_policies(usual)
