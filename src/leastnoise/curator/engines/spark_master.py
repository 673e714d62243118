"""Can Spark run at all? Asked before Spark is started, which answers late and in its own words."""

from __future__ import annotations

import os
import re
import shutil
import socket

from leastnoise.errors import EngineUnavailable, UnknownSource

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


def check_answers(master: str) -> None:
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
