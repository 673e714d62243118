"""Ctrl-C while an engine works.

Python delivers a signal to the main thread alone, and only between two of its own instructions. DuckDB's client does
not look for signals while it runs a query there: Ctrl-C is never seen, and the query runs on. So the query runs in a
thread of its own, and the thread that asked for it waits in Python.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")
SECONDS_BETWEEN_INTERRUPTS = 0.05  # one that comes before the engine has begun a statement has no effect
MAX_SECONDS_TO_STOP = 5.0  # what the engine itself waits for (a relation of another connection) may not stop


def run_interruptibly(
    work: Callable[[], T], interrupt: Callable[[], None], clean_up: Callable[[], object] = lambda: None
) -> T:
    """`work()`. A KeyboardInterrupt in this thread calls `interrupt`, waits for the work to end, and is raised.

    So is whatever else arises in this thread (a signal handler's TimeoutError), as the cause of a KeyboardInterrupt: it
    is the caller's doing, and no failure to read rows. `clean_up` is called once the work has ended after that. The
    work sees this thread's context variables. Starting it takes less than a millisecond.
    """
    task: Future[T] = Future()
    context = contextvars.copy_context()
    try:
        threading.Thread(target=_run, args=(task, context, work), name="leastnoise-query", daemon=True).start()
        wait([task])
    except BaseException as asked:
        _cancel(task, interrupt, clean_up)
        if isinstance(asked, (KeyboardInterrupt, SystemExit, GeneratorExit)):
            raise
        raise KeyboardInterrupt from asked
    try:
        return task.result()
    finally:
        del task  # a failure's traceback has this frame: nothing of a row lives on in a cycle


def _run(task: Future[T], context: contextvars.Context, work: Callable[[], T]) -> None:
    if not task.set_running_or_notify_cancel():
        return
    try:
        task.set_result(context.run(work))
    except BaseException as problem:  # raised again in the thread that asked
        task.set_exception(problem)
    finally:
        del task


def _cancel(task: Future[T], interrupt: Callable[[], None], clean_up: Callable[[], object]) -> None:
    """Stop the work, or keep it from beginning. An interrupt may come while the thread is being started."""
    if task.cancel():
        return
    for _ in range(round(MAX_SECONDS_TO_STOP / SECONDS_BETWEEN_INTERRUPTS)):
        if task.done():
            break
        interrupt()
        wait([task], SECONDS_BETWEEN_INTERRUPTS)

    def ended(_: object) -> None:
        with suppress(Exception):
            clean_up()

    task.add_done_callback(ended)
