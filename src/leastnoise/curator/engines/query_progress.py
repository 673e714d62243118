"""A bar on the terminal while a query runs for longer than a moment; nothing where there is no terminal."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SECONDS_BEFORE_SHOWN = 2.0
SECONDS_BETWEEN_UPDATES = 0.25


@contextmanager
def show_progress(label: str, percent: Callable[[], float]) -> Iterator[None]:
    """Show `percent()` until the block ends. What it shows stays on the curator's own screen."""
    if not sys.stderr.isatty():
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
    if ended.wait(SECONDS_BEFORE_SHOWN):
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=100)
        while not ended.wait(SECONDS_BETWEEN_UPDATES):
            bar.update(task, completed=max(percent(), 0.0))
