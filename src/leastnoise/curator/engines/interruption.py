"""Ctrl-C while an engine works.

Python delivers a signal to the main thread alone, and only between two of its own instructions. DuckDB's client looks
for signals by itself while it runs a query there, but not reliably: one Ctrl-C in a few is never seen, and the query
runs on. So the query runs in a thread of its own, and the thread that asked for it waits in Python.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

T = TypeVar("T")
SECONDS_BETWEEN_INTERRUPTS = 0.05  # one that comes before the engine has begun a statement has no effect
MAX_SECONDS_TO_STOP = 5.0  # what the engine itself waits for (a relation of another connection) may not stop


def run_interruptibly(
    work: Callable[[], T], interrupt: Callable[[], None], clean_up: Callable[[], object] = lambda: None
) -> T:
    """`work()`. A KeyboardInterrupt in this thread calls `interrupt`, waits for the work to end, and is raised.

    So is whatever else arises in this thread (a signal handler's TimeoutError), as the cause of a KeyboardInterrupt: it
    is the caller's doing, and no failure to read rows. `clean_up` is called by the work's own thread once it has ended
    after that. The work sees this thread's context variables. Starting it takes less than a millisecond.
    """
    task = _Task(work, clean_up)
    try:
        task.thread.start()
        task.ended.wait()
    except BaseException as asked:
        task.cancel(interrupt)
        if isinstance(asked, (KeyboardInterrupt, SystemExit, GeneratorExit)):
            raise
        raise KeyboardInterrupt from asked
    return task.result()


class _Task(Generic[T]):
    """Work in a thread, what became of it, and whether it may still begin."""

    def __init__(self, work: Callable[[], T], clean_up: Callable[[], object] = lambda: None) -> None:
        self._clean_up = clean_up
        self._work, self._context = work, contextvars.copy_context()
        self._values: list[T] = []
        self._problem: BaseException | None = None
        self._lock = threading.Lock()
        self._cancelled = self._begun = False
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._run, name="leastnoise-query", daemon=True)

    def _run(self) -> None:
        with self._lock:
            self._begun = not self._cancelled
        try:
            if self._begun:
                self._values.append(self._context.run(self._work))
        except BaseException as problem:  # raised again by `result`, in the thread that asked
            self._problem = problem
        finally:
            if self._cancelled:  # nobody waits for it: nothing of a row lives on
                self._values.clear()
                self._problem = None
                with suppress(Exception):
                    self._clean_up()
            self.ended.set()

    def cancel(self, interrupt: Callable[[], None]) -> None:
        """Stop the work, or keep it from beginning. An interrupt may come while the thread is being started."""
        with self._lock:
            self._cancelled = True
        for _ in range(round(MAX_SECONDS_TO_STOP / SECONDS_BETWEEN_INTERRUPTS)):
            if not self._begun or self.ended.is_set():
                return
            interrupt()
            self.ended.wait(SECONDS_BETWEEN_INTERRUPTS)

    def result(self) -> T:
        """What the work returned or raised."""
        if self._problem is None:
            return self._values[0]
        try:
            raise self._problem
        finally:
            self._problem = None  # its traceback holds this frame: nothing of a row lives on in a cycle
