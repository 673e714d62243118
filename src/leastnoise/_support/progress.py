"""A progress bar on standard error for what takes more than a moment, and nothing at all otherwise."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE = 2.0  # seconds of silence before a bar appears


@contextmanager
def bar(label: str, total: int) -> Iterator[Callable[[int], None]]:
    """Call what this yields with how many more are done; the bar shows on a terminal after two seconds."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import Progress

    shown = Progress(console=Console(stderr=True), transient=True)
    task = shown.add_task(label, total=total)
    begin, running = time.monotonic(), False

    def advance(done: int) -> None:
        nonlocal running
        shown.advance(task, done)
        if not running and time.monotonic() - begin > PATIENCE:
            running = True
            shown.start()

    try:
        yield advance
    finally:
        if running:
            shown.stop()
