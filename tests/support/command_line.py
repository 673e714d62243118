"""The command line, started as a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import leastnoise

ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "PYTHONPATH": str(Path(leastnoise.__file__).parents[1]),  # the package under test, not an installed one
    "COLUMNS": "100",
    "NO_COLOR": "1",
    "TERM": "dumb",
}


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "leastnoise", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env=ENVIRONMENT,
        check=False,
    )
