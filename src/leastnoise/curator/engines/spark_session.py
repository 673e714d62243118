"""Spark sessions: one that runs already, one that is started on a master, or the client of a Spark Connect server.

Whatever can be wrong before a row is read has a sentence of its own here, and is found before anything is paid. Whether
there is a Java, and a master that answers, is asked here as well: Spark itself answers late, and in its own words; and
the client of a Spark Connect server would go on asking one that is gone for ten minutes.

*Settings*, by which our SQL means what it says on Spark, and the same as on DuckDB, are set and read back before each
query. They are those of a session of our own; all others it has from the session that was given, also those that were
changed since. The log of the JVM and the active session are shared with that one, and are as they were afterwards: of
several threads that read, the first turns the log off and the last on again.
"""

from __future__ import annotations

import copy
import importlib.util
import logging
import os
import re
import shutil
import socket
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

from leastnoise._support import library_warnings
from leastnoise.curator.engines.engine import attempt
from leastnoise.errors import EngineUnavailable, InvalidParameter, UnknownSource

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
_levels: list[str] = []  # what the log of the JVM goes back to: once for each of our threads that reads
_silence = threading.local()  # `active` while this thread reads rows


@contextmanager
def applied(session: Any, given: Any = None) -> Iterator[None]:
    """Our settings and the others of the session that was given, read back; raises EngineUnavailable before any row is
    read, also where a session does not answer.

    What the JVM and PySpark log meanwhile may quote a cell, so they log nothing.
    """
    for each in (session,) if given is None else (given, session):
        check_answers(each)
    with silent(), _without_log(session):
        with _lock:
            if given is not None:
                _take_over(given, session)
            _set(session)
        with _same_active(session):
            yield


@contextmanager
def _without_log(session: Any) -> Iterator[None]:
    """The log of the JVM of this process, which all of its sessions share, is off while one of our threads reads. With
    Spark Connect the log is the server's own."""
    if is_remote(session):
        yield
        return
    context = session.sparkContext
    with _lock:
        root = context._jvm.org.apache.logging.log4j.LogManager.getRootLogger()
        _levels.append(_levels[0] if _levels else str(root.getLevel().toString()))
        context.setLogLevel("OFF")
    try:
        yield
    except BaseException:
        _wait_for_tasks(session)
        raise
    finally:
        with _lock, suppress(Exception):  # the session may have ended
            level = _levels.pop()
            if not _levels:
                context.setLogLevel(level)


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
    others = _others(session)
    with library_warnings.withheld():  # that Spark calls some of them old
        for name in others:
            with suppress(Exception):
                session.conf.set(name, SETTINGS[name])
    if others and (refused := _others(session)):
        raise EngineUnavailable(
            f"this Spark session does not let {refused[0]} be {SETTINGS[refused[0]]}, and without that a query may "
            "mean something else than was checked. Use another session, or let us open one: name the master as the "
            "engine.",
            parameter="engine",
            example={"engine": "spark://host:7077"},
        )


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


def check_answers(session: Any) -> None:
    """Raise unless the session is there to be asked. No row is read."""
    if not answers(session):
        raise EngineUnavailable(
            "the Spark session of this table was stopped, or its driver or server does not answer. Start one, and open "
            "the table again."
        )


def answers(session: Any) -> bool:
    """Whether the driver of a session, or within about five seconds the server of a Connect session, knows it. No row
    is read."""
    with silent():
        try:
            if not is_remote(session):
                return not session._sc._jsc.sc().isStopped()
            with _few_retries(session.client):
                return not session.is_stopped and bool(session.conf.get("spark.sql.session.timeZone"))
        except Exception:
            return False


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


# What a session of ours has unless the user's own files or `config` say otherwise. What Spark logs of a task that
# failed may quote a cell, here and on the workers; its pages show exact numbers of rows to whoever asks.
CAREFUL = {
    "spark.log.level": "OFF",  # of the driver
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
SILENT = "-Dlog4j2.level=OFF"  # of executors, to which spark.log.level does not travel
_EXECUTORS = "spark.executor.extraJavaOptions"
_INTERPRETER = "spark.pyspark.python"
TIMEOUT_SECONDS = 5.0
CONNECT_PORT = 15002
PORTS = {"spark": ("master", 7077), "sc": ("Connect server", CONNECT_PORT)}


def check_java() -> None:
    """Raise where there is no Java."""
    home = os.environ.get("JAVA_HOME", "")
    if not (home and os.path.exists(os.path.join(home, "bin", "java"))) and shutil.which("java") is None:
        raise EngineUnavailable(
            "Spark needs Java 17 or 21, and none is found in JAVA_HOME or on PATH. "
            "Install one (Debian: apt install openjdk-17-jre-headless) or use the default engine."
        )


def check_engine(engine: str) -> None:
    """Refuse a master, or a Spark Connect server, that does not answer: Spark itself would wait for a minute and more,
    and the server's client for several."""
    scheme, named, _ = engine.partition("://")
    if named and scheme in PORTS:
        (what, port), shown = PORTS[scheme], without_token(engine)
        if not any(_answers(address, port) for address in shown.removeprefix(f"{scheme}://").split(",")):
            raise EngineUnavailable(
                f"no Spark {what} answers at {shown} within {TIMEOUT_SECONDS:g} seconds. Check the address, or start "
                "it."
            )
    elif re.match(r"local(\[.*\])?$|yarn$|k8s://", engine) is None:
        raise UnknownSource(
            'engine must be "duckdb", a Spark master such as "spark://host:7077" or "local[2]", or a Spark Connect '
            f'server such as "sc://host". Got {engine!r}.',
            parameter="engine",
            value=engine,
            example=[{"engine": "duckdb"}, {"engine": "local[2]"}],
        )


def without_token(url: str) -> str:
    """The address of a server without what follows it: a token may be among that."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{re.split('[/;]', rest, maxsplit=1)[0]}"


def _parsed(address: str, port: int) -> tuple[str, int] | None:
    """Host and port of an address such as host, host:7077 or [::1]:7077; IPv6 without its brackets."""
    try:
        parts = urlsplit(f"//{address}")
        return (parts.hostname, parts.port or port) if parts.hostname else None
    except ValueError:
        return None


def _answers(address: str, port: int) -> bool:
    where = _parsed(address, port)
    if where is None:
        return False
    try:
        socket.create_connection(where, timeout=TIMEOUT_SECONDS).close()
    except (OSError, OverflowError):
        return False
    return True


def session_of(engine: str, config: Mapping[str, str]) -> Any:
    """The session that `engine` names: a master such as spark://host:7077 or local[2], or a server, sc://host."""
    if importlib.util.find_spec("pyspark") is None:
        raise EngineUnavailable("Spark is not installed. Type pip install 'leastnoise[spark]'.")
    _check_config(config)
    with silent():
        return _remote(engine, config) if engine.startswith("sc://") else _local(engine, config)


def own_of(session: Any) -> Any:
    """A session of our own beside somebody's: none of its temporary functions and views, and none of its settings.

    Functions that somebody defined under a name of Spark's own are of one session. Permanent ones are of all, and Spark
    looks for its own first.
    """
    if not is_remote(session):
        return session.newSession()
    with silent():
        own = attempt(second_session, session)
    if own is not None:
        return own
    raise EngineUnavailable(
        "the Spark Connect server does not open a second session, and queries run in one of our own: functions of "
        "somebody else's may mean something else there. Nothing was read or paid. See that the server takes another "
        "session of this user."
    )


def check_functions(session: Any) -> None:
    """Raise unless every function of Spark's own is what Spark was built with: an extension of the session may have put
    another one in its place. Spark's registries are asked, in Java: no function is called, and no row is read."""
    with silent():
        found = attempt(_replaced, session)
    if found is None:
        raise EngineUnavailable("this Spark session does not say what its functions are. Use another session.")
    if found:
        raise EngineUnavailable(
            f"an extension of this Spark session has functions of its own in the place of Spark's, "
            f"{', '.join(found)}, and our queries would call them. Nothing was read or paid. Start the session without "
            "it (spark.sql.extensions)."
        )


def _replaced(session: Any) -> list[str]:
    """Spark's own functions that are others in this session, by the objects that make them."""
    here = session._jsparkSession.sessionState().functionRegistry()
    built_in = session._jvm.org.apache.spark.sql.catalyst.analysis.FunctionRegistry.builtin()
    names, found = built_in.listFunction().iterator(), []
    while names.hasNext():
        name = names.next()
        if not here.lookupFunctionBuilder(name).equals(built_in.lookupFunctionBuilder(name)):
            found.append(str(name.funcName()))
    return sorted(found)


def _remote(url: str, config: Mapping[str, str]) -> Any:
    """The client of a server: no Java is needed here."""
    if any(attempt(importlib.util.find_spec, name) is None for name in ("grpc", "grpc_status", "google.rpc")):
        raise EngineUnavailable("Spark Connect needs more packages. Type pip install 'pyspark[connect]'.")
    check_engine(url)
    from pyspark.sql.connect.session import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None and not config and _is_of(running, url):
        return running
    session = attempt(lambda: SparkSession(connection=url))
    if session is None or not answers(session):
        raise EngineUnavailable(
            f"{without_token(url)} answers, and does not open a session of Spark Connect. See that this "
            "is the port of Connect (15002 unless it was changed), that the token is right and that the server's Spark "
            "is of version 4."
        )
    _configure(session, config)
    SparkSession._set_default_and_active_session(session)
    return session


def _configure(session: Any, config: Mapping[str, str]) -> None:
    refused = ""
    for name, value in config.items():
        try:
            session.conf.set(name, value)
        except Exception:
            refused = refused or name
    if refused:
        raise EngineUnavailable(
            f"the Spark Connect server does not let a client set {refused}: it is one of the server's own. Start the "
            "server with it, and leave it out of config."
        )


def _is_of(session: Any, url: str) -> bool:
    """Whether a session of Spark Connect is one of this server."""
    host, port = _parsed(without_token(url).removeprefix("sc://"), CONNECT_PORT) or ("", CONNECT_PORT)
    return str(getattr(session.client._builder, "endpoint", "")) in (f"{host}:{port}", f"[{host}]:{port}")


def _local(master: str, config: Mapping[str, str]) -> Any:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    check_java()
    running = SparkContext._active_spark_context
    if running is not None and running._jsc is not None and not _has_ended(running):
        _check_same(running, master, config)
        return SparkSession.getActiveSession() or SparkSession(running)
    check_engine(master)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = attempt(_start, master, config)
    if session is None:
        raise EngineUnavailable(f"Spark could not be started on {master}. Try `pyspark --master {master}` by hand.")
    return session


def _start(master: str, config: Mapping[str, str]) -> Any:
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName("leastnoise")
    for name, value in settings(SparkConf(), config).items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def settings(own: Any, config: Mapping[str, str]) -> dict[str, str]:
    """What a session is started with beside `own`, the user's spark-defaults.conf and PYSPARK_SUBMIT_ARGS."""
    ours = {**CAREFUL, **SETTINGS, **config}
    made = {name: ours[name] for name in ours if name in config or not own.contains(name)}
    if made.get("spark.log.level") == "OFF":
        made[_EXECUTORS] = f"{config.get(_EXECUTORS) or own.get(_EXECUTORS, '')} {SILENT}".strip()
    return made


def _has_ended(context: Any) -> bool:
    """Where its process is gone, PySpark would go on asking its gateway; let it start another JVM."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    stopped = attempt(lambda: bool(context._jsc.sc().isStopped()))
    if stopped is None:
        context._jsc = None
        SparkContext._active_spark_context = SparkContext._gateway = SparkContext._jvm = None
        SparkSession._instantiatedSession = SparkSession._activeSession = None
    return stopped is not False


def _check_same(running: Any, master: str, config: Mapping[str, str]) -> None:
    if running.master != master:
        raise EngineUnavailable(
            f"a Spark session on {running.master} is running, and a process has one. "
            f"Stop it to use {master}, or pass one of its DataFrames to table()."
        )
    other = [name for name, value in config.items() if not _has(running.getConf().get(name) or "", name, value)]
    if other:
        raise EngineUnavailable(
            f"a Spark session is running already, without {other[0]} as it is in config. Stop it, or leave config out."
        )


def _has(given: str, name: str, value: str) -> bool:
    """Whether a session has the setting; to options of Java, Spark adds some, and so do we."""
    return value in given if name.endswith("extraJavaOptions") else value == given


def _check_config(config: Mapping[str, str]) -> None:
    wrong = [name for name, value in config.items() if not isinstance(name, str) or not isinstance(value, str)]
    if wrong or any(not name.startswith("spark.") for name in config):
        raise InvalidParameter(
            "config must have the names of Spark's settings, each with a text.",
            parameter="config",
            example={"config": {"spark.executor.memory": "4g"}},
        )


def set_interpreter(session: Any) -> None:
    """Python on the workers is the driver's own where nobody said which, as in a session that we start."""
    if is_remote(session) or "PYSPARK_PYTHON" in os.environ:
        return
    context = session.sparkContext
    if context.getConf().get(_INTERPRETER) is None:
        context.pythonExec = sys.executable
