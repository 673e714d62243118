"""Spark sessions: one that runs already, one that is started on a master, or the client of a Spark Connect server.

Whatever can be wrong before a row is read has a sentence of its own here, and is found before anything is paid. Whether
there is a Java, and a master that answers, is asked here as well: Spark itself answers late, and in its own words.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import socket
import sys
from collections.abc import Mapping
from typing import Any

from leastnoise.curator.engines import spark_settings
from leastnoise.curator.engines.spark_settings import SETTINGS, is_remote, silent
from leastnoise.errors import EngineUnavailable, InvalidParameter, UnknownSource

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
MASTER_PORT, CONNECT_PORT = 7077, 15002
_ADDRESS = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.%]+)\]|(?P<host>[^:\[\]/;]+))(?::(?P<port>\d+))?")  # [::1]:7077


def check_java() -> None:
    """Raise where there is no Java."""
    home = os.environ.get("JAVA_HOME", "")
    if not (home and os.path.exists(os.path.join(home, "bin", "java"))) and shutil.which("java") is None:
        raise EngineUnavailable(
            "Spark needs Java 17 or 21, and none is found in JAVA_HOME or on PATH. "
            "Install one (Debian: apt install openjdk-17-jre-headless) or use the default engine."
        )


def check_master(master: str) -> None:
    """Refuse a master that does not answer: Spark itself would wait for a minute and more."""
    if not master.startswith("spark://"):
        if re.match(r"local(\[.*\])?$|yarn$|k8s://", master) is None:
            raise UnknownSource(
                'engine must be "duckdb", a Spark master such as "spark://host:7077" or "local[2]", or a Spark Connect '
                f'server such as "sc://host". Got {master!r}.',
                parameter="engine",
                value=master,
                example=[{"engine": "duckdb"}, {"engine": "local[2]"}],
            )
        return
    addresses = master.removeprefix("spark://").split(",")
    if not any(_answers(address, MASTER_PORT) for address in addresses):
        raise EngineUnavailable(
            f"no Spark master answers at {master} within {TIMEOUT_SECONDS:g} seconds. Check the address, or start it."
        )


def check_server(url: str) -> None:
    """Refuse a Spark Connect server that does not answer: its client would go on trying for minutes."""
    if not _answers(re.split("[/;]", url.removeprefix("sc://"), maxsplit=1)[0], CONNECT_PORT):
        raise EngineUnavailable(
            f"no Spark Connect server answers at {without_token(url)} within {TIMEOUT_SECONDS:g} seconds. Check the "
            "address, or start it."
        )


def without_token(url: str) -> str:
    """The address of a server without what follows it: a token may be among that."""
    return "sc://" + re.split("[/;]", url.removeprefix("sc://"), maxsplit=1)[0]


def endpoint(url: str) -> tuple[str, int]:
    """Host and port of sc://host:port/;token=...; IPv6 without its brackets."""
    return _parsed(re.split("[/;]", url.removeprefix("sc://"), maxsplit=1)[0], CONNECT_PORT) or ("", CONNECT_PORT)


def _parsed(address: str, port: int) -> tuple[str, int] | None:
    found = _ADDRESS.fullmatch(address)
    return None if found is None else (found["six"] or found["host"], int(found["port"] or port))


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
        try:
            return spark_settings.second_session(session)
        except Exception:
            opened = False
    assert not opened
    raise EngineUnavailable(
        "the Spark Connect server does not open a second session, and queries run in one of our own: functions of "
        "somebody else's may mean something else there. Nothing was read or paid. See that the server takes another "
        "session of this user."
    )


def check_functions(session: Any) -> None:
    """Raise unless every function of Spark's own is what Spark was built with: an extension of the session may have put
    another one in its place. Spark's registries are asked, in Java: no function is called, and no row is read."""
    with silent():
        try:
            found: list[str] | None = _replaced(session)
        except Exception:
            found = None
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


def check_answers(session: Any) -> None:
    """Raise unless the session is there to be asked. No row is read."""
    if is_remote(session):
        _check_server_answers(session)
    else:
        _check_driver_answers(session._sc)


def _check_driver_answers(context: Any) -> None:
    if context._jsc is None:
        raise EngineUnavailable(_STOPPED)
    with silent():
        try:
            stopped: bool | None = context._jsc.sc().isStopped()
        except Exception:
            stopped = None
    if stopped is None:
        raise EngineUnavailable(
            "the Spark driver of this session does not answer: its Java process has ended. Start a new session, and "
            "open the table again."
        )
    if stopped:
        raise EngineUnavailable(_STOPPED)


_STOPPED = "the Spark session of this table was stopped. Start one, and open the table again."


def _check_server_answers(session: Any) -> None:
    with silent():
        if spark_settings.answers(session):
            return
    raise EngineUnavailable(
        "the Spark Connect session of this table has ended, or its server does not answer. See that the server runs, "
        "make a new session, and open the table again."
    )


def _remote(url: str, config: Mapping[str, str]) -> Any:
    """The client of a server: no Java is needed here."""
    missing = [name for name in ("grpc", "grpc_status", "google.rpc") if not _is_installed(name)]
    if missing:
        raise EngineUnavailable("Spark Connect needs more packages. Type pip install 'pyspark[connect]'.")
    check_server(url)
    from pyspark.sql.connect.session import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None and not config and _is_of(running, url):
        return running
    try:
        session = SparkSession(connection=url)
    except Exception:
        session = None
    if session is None or not spark_settings.answers(session):
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
    host, port = endpoint(url)
    return str(getattr(session.client._builder, "endpoint", "")) in (f"{host}:{port}", f"[{host}]:{port}")


def _local(master: str, config: Mapping[str, str]) -> Any:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    check_java()
    running = SparkContext._active_spark_context
    if running is not None and running._jsc is not None and not _has_ended(running):
        _check_same(running, master, config)
        return SparkSession.getActiveSession() or SparkSession(running)
    check_master(master)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        session = _start(master, config)
    except Exception:
        session = None
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
    made = {
        name: value
        for name, value in {**CAREFUL, **SETTINGS, **config}.items()
        if name in config or not own.contains(name)
    }
    if made.get("spark.log.level") == "OFF":
        made[_EXECUTORS] = f"{config.get(_EXECUTORS) or own.get(_EXECUTORS, '')} {SILENT}".strip()
    return made


def _has_ended(context: Any) -> bool:
    try:
        return bool(context._jsc.sc().isStopped())
    except Exception:  # its process is gone: PySpark itself would go on asking it
        ended = True
    if ended:
        _forget(context)
    return ended


def _forget(context: Any) -> None:
    """Let PySpark start another JVM: it keeps the gateway of the one that has died."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    context._jsc = None
    SparkContext._active_spark_context = SparkContext._gateway = SparkContext._jvm = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None


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


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def set_interpreter(session: Any) -> None:
    """Python on the workers is the driver's own where nobody said which, as in a session that we start."""
    if is_remote(session) or "PYSPARK_PYTHON" in os.environ:
        return
    context = session.sparkContext
    if context.getConf().get(_INTERPRETER) is None:
        context.pythonExec = sys.executable
