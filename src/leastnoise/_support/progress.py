"""A progress bar on standard error for what takes more than two seconds; nothing where that is no terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

DELAY_SECONDS = 2.0  # before a bar appears


@contextmanager
def bar(label: str, total: int) -> Iterator[Callable[[int], None]]:
    """Call what this yields with how many more are done; the bar shows on a terminal after two seconds."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import Progress

    progress = Progress(console=Console(stderr=True), transient=True)
    task = progress.add_task(label, total=total)
    begin, running = time.monotonic(), False

    def advance(done: int) -> None:
        nonlocal running
        progress.advance(task, done)
        if not running and time.monotonic() - begin > DELAY_SECONDS:
            running = True
            progress.start()

    try:
        yield advance
    finally:
        if running:
            progress.stop()
