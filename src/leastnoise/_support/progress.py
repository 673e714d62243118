"""A progress bar on standard error for what takes more than two seconds; nothing where that is no terminal.

Where one thing that shows a bar does another, the bar that came first stays alone.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

DELAY_SECONDS = 2.0  # before a bar appears
SECONDS_BETWEEN_UPDATES = 0.25
_screen = threading.Lock()  # held by the one bar that shows


def on_terminal() -> bool:
    """Whether anybody would see a bar."""
    return sys.stderr.isatty()


@contextmanager
def bar(label: str, total: int) -> Iterator[Callable[[int], None]]:
    """Call what this yields with how many more are done; the bar shows on a terminal after two seconds."""
    if not on_terminal():
        yield lambda done: None
        return
    progress = _progress()
    task = progress.add_task(label, total=total)
    begin, running = time.monotonic(), False

    def advance(done: int) -> None:
        nonlocal running
        progress.advance(task, done)
        if not running and time.monotonic() - begin > DELAY_SECONDS and _screen.acquire(blocking=False):
            running = True
            progress.start()

    try:
        yield advance
    finally:
        if running:
            progress.stop()
            _screen.release()


@contextmanager
def watched(label: str, percent: Callable[[], float] = lambda: 0.0) -> Iterator[None]:
    """Show `percent()` until the block ends: a moving bar and the time while it is not above zero.

    What it shows stays on the screen of whoever asked.
    """
    if not on_terminal():
        yield
        return
    ended = threading.Event()
    watcher = threading.Thread(target=_watch, args=(label, percent, ended), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def _watch(label: str, percent: Callable[[], float], ended: threading.Event) -> None:
    if ended.wait(DELAY_SECONDS) or not _screen.acquire(blocking=False):
        return
    try:
        with _progress() as shown:
            task = shown.add_task(label, total=None)
            while not ended.wait(SECONDS_BETWEEN_UPDATES):
                done = percent()
                if done > 0:
                    shown.update(task, completed=done, total=100)
    finally:
        _screen.release()


def _progress() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)
