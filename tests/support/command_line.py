"""The command line: in this process, which takes no start-up, or as a process of its own."""

from __future__ import annotations

import functools
import io
import os
import signal
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

import typer.main

import leastnoise
from leastnoise import cli

# All commands are put together once; for every call that is a quarter of its time.
TOGETHER = functools.cache(typer.main.get_command)
TERMINAL = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "PYTHONPATH": str(Path(leastnoise.__file__).parents[1]),  # the package under test, not an installed one
    **TERMINAL,
}


def run(*arguments: str, stdin: bytes = b"", columns: int | None = 100) -> subprocess.CompletedProcess[str]:
    """In this process, on a terminal of that many columns; None leaves the environment as it is."""
    out, err, code, before = io.StringIO(), io.StringIO(), 0, signal.getsignal(signal.SIGINT)
    with (
        redirect_stdout(out),
        redirect_stderr(err),
        mock.patch.object(typer.main, "get_command", TOGETHER),
        mock.patch.object(sys, "argv", ["leastnoise", *arguments]),
        mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin))),
        mock.patch.dict(os.environ, TERMINAL | {"COLUMNS": str(columns)} if columns else {}),
    ):
        try:
            cli.main()
        except SystemExit as stopped:
            code = stopped.code if isinstance(stopped.code, int) else int(stopped.code is not None)
        finally:
            signal.signal(signal.SIGINT, before)
    return subprocess.CompletedProcess(["leastnoise", *arguments], code, out.getvalue(), err.getvalue())
