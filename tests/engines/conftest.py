"""A real cluster for the tests: one Spark master and two workers, each a process of its own, on loopback."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from few_rows import quick_for_few_rows
from leastnoise.curator.engines.spark_session import SILENT

PATIENCE = 90
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # short queries: compile little


@dataclass
class Cluster:
    """Where the master is, and its workers, which a test may kill."""

    master: str
    workers: list[subprocess.Popen[bytes]]
    folder: Path

    def kill(self, worker: subprocess.Popen[bytes]) -> list[int]:
        """Kill a worker and everything below it with -9; the ids of the executors that were there."""
        below = children(worker.pid)
        for process in [worker.pid, *below]:
            os.kill(process, signal.SIGKILL)
        worker.wait()
        return below


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("spark")
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["PYSPARK_PYTHON"] = sys.executable
    port = free_port()
    master = f"spark://127.0.0.1:{port}"
    started: list[subprocess.Popen[bytes]] = []
    try:
        started.append(launch(folder, "master", "master.Master", "--host", "127.0.0.1", "--port", str(port)))
        wait_for(folder / "master.log", "I have been elected leader")
        for name in ("worker1", "worker2"):
            arguments = [
                "--host",
                "127.0.0.1",
                "--cores",
                "1",
                "--memory",
                "2g",
                "--work-dir",
                str(folder / name),
            ]
            started.append(launch(folder, name, "worker.Worker", *arguments, master))
        for name in ("worker1", "worker2"):
            wait_for(folder / f"{name}.log", "Successfully registered with master")
        yield Cluster(master, started[1:], folder)
    finally:
        for process in started:
            for each in [*children(process.pid), process.pid]:
                stop(each)
            process.wait()


@pytest.fixture(scope="session")
def server_port() -> int:
    """Where the driver of the session also listens as a Spark Connect server."""
    return free_port()


@pytest.fixture(scope="session")
def session(cluster: Cluster, server_port: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The test's own session on the cluster, small enough for a laptop."""
    from pyspark.sql import SparkSession

    settings = {
        "spark.driver.memory": "1g",
        "spark.executor.memory": "1g",
        "spark.executor.cores": "1",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.log.level": "ERROR",
        "spark.driver.extraJavaOptions": QUICK,
        "spark.executor.extraJavaOptions": f"{QUICK} {SILENT}",
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(server_port),
    }
    builder = SparkSession.builder.master(cluster.master).appName("leastnoise tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def few_rows(session: Any) -> Iterator[Any]:
    """The session, quick for tables of a few rows in the tests of one file."""
    with quick_for_few_rows(session):
        yield session


def launch(folder: Path, name: str, main: str, *arguments: str) -> subprocess.Popen[bytes]:
    import pyspark

    home = Path(pyspark.__file__).parent
    command = [
        str(home / "bin" / "spark-class"),
        f"org.apache.spark.deploy.{main}",
        *arguments,
        "--webui-port",
        "0",
    ]
    if main.startswith("worker"):
        command = [*command[:2], *arguments[:-1], "--webui-port", "0", arguments[-1]]
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": QUICK,
    }
    with (folder / f"{name}.log").open("wb") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, env=environment, cwd=folder)


def wait_for(log: Path, words: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while words not in log.read_text(errors="replace"):
        if time.monotonic() > deadline:
            pytest.fail(f"{log.name} never said {words!r}: {log.read_text(errors='replace')[-2000:]}")
        time.sleep(0.1)


def children(process: int) -> list[int]:
    """Every process below this one, from /proc."""
    found: list[int] = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(entry.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == process:
            found += [int(entry.parent.name), *children(int(entry.parent.name))]
    return found


def stop(process: int) -> None:
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
