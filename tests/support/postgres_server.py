"""A PostgreSQL server for tests: Debian's, as the user `postgres`, on a free local port, in a temporary folder."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

OWNER, PASSWORD, ANALYST, ANALYST_PASSWORD = "keeper", "secret-OWNER-424242", "ann", "secret-ANN-424242"


def grants(budget: str, role: str) -> list[str]:
    """The rights of an analyst, as docs/howto/budget.md has them for ann and the budget city."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "howto" / "budget.md").read_text()
    block = page.split("```sql\n")[1].split("```")[0]
    written = re.sub(r"\bann\b", role, block.replace("leastnoise_city", f"leastnoise_{budget}"))
    return [line.removesuffix(";") for line in written.splitlines()]


def programs() -> Path | None:
    """Where initdb and postgres lie, of the newest version that is installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return found[-1].parent if found else None


def needed() -> Path:
    """The programs; a skip where there are none, and in CI a failure."""
    where = programs()
    if where is None:
        assert os.environ.get("CI") != "true", "PostgreSQL is not installed"
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    return where


class Server:
    """One cluster. `kill` ends it as a power cut would; `start` brings it back."""

    def __init__(self) -> None:
        self.bin = needed()
        self.folder = Path(tempfile.mkdtemp(prefix="leastnoise-postgres-"))
        self.user: dict[str, Any] = {}
        if os.geteuid() == 0:  # the server refuses to run as root
            them = pwd.getpwnam("postgres")
            os.chown(self.folder, them.pw_uid, them.pw_gid)
            self.user = {"user": them.pw_uid, "group": them.pw_gid, "extra_groups": []}
        word = self.folder / "word"
        word.write_text(PASSWORD)
        os.chmod(word, 0o644)
        command = [self.bin / "initdb", "-D", self.folder / "data", "-U", OWNER, "--pwfile", word, "-E", "UTF8"]
        command += ["-A", "scram-sha-256", "--locale", "C", "--no-sync"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, **self.user, cwd=self.folder)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self, *options: str) -> None:
        """Run the server, and wait until it answers."""
        chosen = {
            "port": self.port, "listen_addresses": "127.0.0.1", "unix_socket_directories": self.folder,
            "shared_buffers": "16MB", "max_connections": 40, "log_statement": "all", "logging_collector": "off",
        }  # fmt: skip
        command: list[str] = [str(self.bin / "postgres"), "-D", str(self.folder / "data"), *options]
        for name, value in chosen.items():
            command += ["-c", f"{name}={value}"]
        for _ in range(200):  # after a kill, until the last child of the old one is gone
            if self.process is None or self.process.poll() is not None:
                with (self.folder / "log").open("ab") as log:
                    self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder, **self.user)
            if self.answers():
                return
            time.sleep(0.1)
        raise AssertionError((self.folder / "log").read_text()[-2000:])

    def answers(self) -> bool:
        import psycopg

        try:
            psycopg.connect(self.address("postgres"), connect_timeout=2).close()
        except psycopg.Error:
            return False
        return True

    def kill(self) -> None:
        """At once, whatever it was doing: the postmaster and all of its children."""
        assert self.process is not None
        pid = self.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        for each in (pid, *map(int, children)):
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(30)
        shutil.rmtree(self.folder, ignore_errors=True)

    def address(self, database: str = "postgres", *, user: str = OWNER, password: str = PASSWORD) -> str:
        return f"postgresql://{user}:{password}@127.0.0.1:{self.port}/{database}"

    def url(self, budget: str, *, user: str = OWNER, password: str = PASSWORD, database: str = "postgres") -> str:
        return f"{self.address(database, user=user, password=password)}?budget={budget}"

    def run(self, *statements: str, user: str = OWNER, password: str = PASSWORD) -> list[Any]:
        """Statements, each by itself; the rows of the last."""
        import psycopg

        with psycopg.connect(self.address(user=user, password=password), autocommit=True) as db:
            for statement in statements:
                done = db.execute(statement.encode())
            return done.fetchall() if done.description else []

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
