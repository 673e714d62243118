"""What a Spark session did, from its own records, and the processor time of its processes."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

TICKS = os.sysconf("SC_CLK_TCK")


def last_job(context: Any) -> int:
    """The number of the latest job; -1 before the first."""
    return max((job.jobId() for job in _listed(_store(context).jobsList(None))), default=-1)


def work_since(context: Any, job: int) -> dict[str, Any]:
    """Sums over the stages of all jobs after this one, and the seconds of the longest task. A skipped stage did
    nothing."""
    time.sleep(1)  # the records are written behind the query
    store = _store(context)
    new = [each for each in _listed(store.jobsList(None)) if each.jobId() > job]
    numbers = {number for each in new for number in _listed(each.stageIds())}
    stages = [store.lastStageAttempt(number) for number in sorted(numbers)]
    stages = [stage for stage in stages if stage.numCompleteTasks()]
    tasks = [task for each in stages for task in _listed(store.taskList(each.stageId(), each.attemptId(), 1000))]
    seconds = [task.duration().get() / 1000 for task in tasks if task.duration().isDefined()]
    return {
        "jobs": len(new),
        "stages": len(stages),
        "rows read": sum(stage.inputRecords() for stage in stages),
        "shuffled MB": round(sum(stage.shuffleWriteBytes() for stage in stages) / 1e6, 1),
        "spilled MB": round(sum(stage.diskBytesSpilled() for stage in stages) / 1e6, 1),
        "tasks": sum(stage.executorCpuTime() for stage in stages) / 1e9,
        "longest task": max(seconds, default=0.0),
    }


def processor_below(process: int) -> dict[int, float]:
    """Processor time of each process below one: the JVM, with its compiler and collector, and Python workers."""
    seconds: dict[int, float] = {}
    pending = [process]
    parents: dict[int, list[tuple[int, int]]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        parents.setdefault(int(fields[1]), []).append((int(entry.parent.name), sum(map(int, fields[11:15]))))
    while pending:
        for child, spent in parents.get(pending.pop(), []):
            pending.append(child)
            seconds[child] = spent / TICKS
    return seconds


def spent_below(process: int, before: dict[int, float]) -> float:
    """Seconds since then. A worker that has ended meanwhile takes nothing away: what it spent before is not ours."""
    return sum(max(0.0, now - before.get(child, 0.0)) for child, now in processor_below(process).items())


def python_below(process: int, before: dict[int, float]) -> float:
    """Of these seconds, those of Python workers: of every process that is not the JVM."""
    now = processor_below(process)
    workers = [child for child in now if _name(child) != "java"]
    return sum(max(0.0, now[child] - before.get(child, 0.0)) for child in workers)


def _name(process: int) -> str:
    try:
        return (Path("/proc") / str(process) / "comm").read_text().strip()
    except OSError:  # it has ended
        return ""


def _store(context: Any) -> Any:
    return context._jsc.sc().statusStore()


def _listed(sequence: Any) -> list[Any]:
    return [sequence.apply(place) for place in range(sequence.size())]
