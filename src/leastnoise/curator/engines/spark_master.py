"""Can Spark run at all? Asked before Spark is started, which answers late and in its own words."""

from __future__ import annotations

import os
import re
import shutil
import socket

from leastnoise.errors import EngineUnavailable, UnknownSource

MASTER_TIMEOUT_SECONDS = 5.0


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
                f'engine must be "duckdb" or a Spark master such as "spark://host:7077" or "local[2]". Got {master!r}.',
                parameter="engine",
                value=master,
                example=[{"engine": "duckdb"}, {"engine": "local[2]"}],
            )
        return
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.partition(":")
        try:
            socket.create_connection((host, int(port or 7077)), timeout=MASTER_TIMEOUT_SECONDS).close()
        except (OSError, ValueError):
            continue
        return
    raise EngineUnavailable(
        f"no Spark master answers at {master} within {MASTER_TIMEOUT_SECONDS:g} seconds. Check the address, or start "
        "it."
    )
