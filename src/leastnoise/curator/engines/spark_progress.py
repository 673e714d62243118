"""How far Spark has come with what this thread asked for, by its own count of tasks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from leastnoise.curator.engines.spark_server import is_remote
from leastnoise.curator.engines.spark_settings import silent


def percent_done(session: Any) -> Callable[[], float]:
    """A function that says how much of the running stages is done; always 0 where that is not known."""
    if is_remote(session):
        return lambda: 0.0
    tracker = session.sparkContext.statusTracker()

    def percent() -> float:
        with silent():
            try:
                stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            except Exception:  # the session may be ending
                return 0.0
        tasks = sum(stage.numTasks for stage in stages if stage)
        done = sum(stage.numCompletedTasks for stage in stages if stage)
        return 100.0 * done / tasks if tasks else 0.0

    return percent
