"""The other libraries, each in a virtual environment of its own, asked over a pipe.

A folder here is a peer: `requirements.txt` (versions only) and `jobs.py` (what it can be asked). Environments are
built on demand under `benchmarks/.peers` and reused; one that does not install says why and stays a line in the tables.

    peer = peers.ask("opendp")              # NotInstalled, with the reason
    peer("draws", scale=4.0, size=1000)     # -> Lap: seconds measured inside the peer's own process
"""

from __future__ import annotations

import atexit
import json
import os
import select
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

from stopwatch import Lap, Unanswered

HERE = Path(__file__).parent
SERVER = HERE / "serve.py"
ENVIRONMENTS = HERE.parent / ".peers"
PATIENCE = 900.0  # seconds of processor that an answer may take
TICKS = os.sysconf("SC_CLK_TCK")


class NotInstalled(Exception):
    """The environment could not be built, or its library could not be imported in it."""


class Failed(Unanswered):
    """The peer raised: the last line of its error."""


class Late(Failed):
    """No answer in the processor time allowed; its process was ended."""


def names() -> list[str]:
    return sorted(place.parent.name for place in HERE.glob("*/jobs.py"))


def pins(name: str) -> list[str]:
    return (HERE / name / "requirements.txt").read_text().split()


@cache
def ask(name: str) -> Peer:
    """The peer, its environment built if need be."""
    wanted = os.environ.get("PEERS", name)
    if name not in wanted.split():
        raise NotInstalled(f"left out: PEERS={wanted}")
    peer = Peer(name, _environment(name), HERE / name / "jobs.py", ENVIRONMENTS / name / "log.txt")
    peer.versions = peer("versions", patience=300).result
    return peer


def present(*wanted: str) -> tuple[dict[str, Peer], dict[str, str]]:
    """The peers that answer, and for each of the others why not."""
    found, missing = {}, {}
    for name in wanted:
        try:
            found[name] = ask(name)
        except (NotInstalled, Failed) as why:
            missing[name] = str(why)
    return found, missing


def _environment(name: str) -> Path:
    folder = ENVIRONMENTS / name
    python, done = folder / "bin" / "python", folder / "requirements.txt"
    wanted = (HERE / name / "requirements.txt").read_text()
    if done.is_file() and done.read_text() == wanted:
        return python
    print(f"building the environment of {name} ...", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    _pip([sys.executable, "-m", "venv", str(folder)])
    asked = str(HERE / name / "requirements.txt")
    _pip([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement", asked])
    done.write_text(wanted)  # last: a half-built environment is built again
    return python


def _pip(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        said = [line for line in (done.stderr or done.stdout).splitlines() if line.startswith("ERROR")]
        raise NotInstalled("; ".join(said)[:300] or f"{Path(command[0]).name} ended with {done.returncode}")


class Peer:
    """One process in the peer's environment; jobs go in as JSON lines and come back with their seconds."""

    versions: dict[str, str]

    def __init__(self, name: str, python: Path, jobs: Path, log: Path) -> None:
        self.name, self._python, self._jobs, self._log = name, python, jobs, log
        self._process: subprocess.Popen[str] | None = None

    def __call__(self, job: str, *, patience: float = PATIENCE, **arguments: Any) -> Lap:
        if self._process is None:
            self._process = self._start()
            self._exchange(self._process, "versions", {}, PATIENCE)  # its imports are nobody's seconds
        return self._exchange(self._process, job, arguments, patience)

    def _exchange(self, process: subprocess.Popen[str], job: str, arguments: dict[str, Any], patience: float) -> Lap:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps({"job": job, "arguments": arguments}) + "\n")
        process.stdin.flush()
        begin = _busy(process.pid)
        while not select.select([process.stdout], [], [], 0.1)[0]:
            if _busy(process.pid) - begin > patience:
                self.close()
                raise Late(f"no answer in {patience:g} s of processor")
        line = process.stdout.readline()
        if not line:
            self.close()
            raise Failed(f"its process ended; see its {self._log.name}")
        answer = json.loads(line)
        if "error" in answer:
            raise Failed(answer["error"])
        return Lap(answer["seconds"], answer["processor"], answer["result"])

    def job(self, job: str, **arguments: Any) -> Callable[[], Lap]:
        """A contestant for `stopwatch.race`."""
        return partial(self, job, **arguments)

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _start(self) -> subprocess.Popen[str]:
        atexit.register(self.close)
        # -P: the folder of serve.py must not shadow the libraries, whose names its folders bear.
        command = [str(self._python), "-P", str(SERVER), str(self._jobs)]
        with self._log.open("w") as log:
            return subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, env=_clean()
            )


def _busy(pid: int) -> float:
    """Seconds of processor so far: a busy machine makes nobody late."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def _clean() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
