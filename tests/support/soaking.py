"""Table, release, denoise, page, over and over, in children that are killed at any moment; then the ledger is checked.

python tests/support/soaking.py FOLDER SECONDS SEED      prints one JSON object
"""

from __future__ import annotations

import json
import mmap
import os
import random
import resource
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import leastnoise as ln
from leastnoise._support import files
from leastnoise.curator.table import table  # imported before the fork; no engine is started here

SHARE = 1e-4
STAGES = ("start", "table", "release", "save", "denoise", "save estimate", "page")
stage = mmap.mmap(-1, 1)  # shared with the child: what it is doing, as a number of STAGES
MEMORY = 6 * 2**30  # addresses, not bytes in use: DuckDB and Numba reserve many


def prepare(folder: Path) -> None:
    chance = np.random.default_rng(7)
    rows = {"taxi": chance.integers(0, 500, 20_000), "place": chance.integers(0, 40, 20_000)}
    pq.write_table(pa.table(rows), folder / "trips.parquet")
    ln.Budget.open(folder / "city.ledger", epsilon=5, delta=1e-6, unit="taxi")


def work(folder: Path, rounds: int, aim: str = "") -> None:
    """What a nightly job does. A line in `done` is written when a release is on disk."""

    def begin(name: str) -> None:
        stage[0] = STAGES.index(name)
        if name == aim:
            os.kill(os.getpid(), signal.SIGSTOP)  # the parent looks, and kills now or a moment later

    begin("start")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    begin("table")
    budget = ln.Budget.open(folder / "city.ledger")
    trips = table(folder / "trips.parquet", unit="taxi", memory_limit="200MB")
    query = trips.histogram("place", keys=range(40), max_rows=5)
    for _ in range(rounds):
        begin("release")
        made = query.release(budget=budget, share=SHARE)
        begin("save")
        made.save(folder / f"{made.id}.parquet")
        with (folder / "done").open("a") as done:
            done.write(made.id + "\n")
        begin("denoise")
        estimate = ln.load(folder / f"{made.id}.parquet").denoise("james_stein")
        begin("save estimate")
        estimate.save(folder / "estimate.parquet")
        begin("page")
        made.report(folder / "page.html")


def once(folder: Path, chance: random.Random, aim: str) -> str | None:
    """One child, killed soon after it comes to the stage `aim`; where it was."""
    stage[0] = 0
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work(folder, 50, aim)
            code = 0
        finally:
            os._exit(code)
    assert os.WIFSTOPPED(os.waitpid(child, os.WUNTRACED)[1]), "the work failed by itself"
    moment = chance.choice([0.0, 0.002, 0.02, 0.5]) * chance.random()
    if moment:
        os.kill(child, signal.SIGCONT)
        time.sleep(moment)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return STAGES[stage[0]] if os.WIFSIGNALED(status) else None


def check(folder: Path) -> tuple[int, int]:
    """The laws after a crash: how many releases are published, and how many are paid for."""
    budget = ln.Budget.open(folder / "city.ledger")
    budget.verify()
    paid = {entry.release for entry in budget.history()}
    done = set((folder / "done").read_text().split()) if (folder / "done").exists() else set()
    published = set()
    for path in folder.glob("*.parquet"):
        if path.name not in ("trips.parquet",):
            loaded = ln.load(path)  # every file that is there is whole
            published |= {loaded.id} if isinstance(loaded, ln.Release) else set()
    page = folder / "page.html"
    assert not page.exists() or page.read_text().rstrip().endswith("</html>")
    assert done <= published <= paid, (done - published, published - paid)
    return len(published), len(paid)


def soak(folder: Path, seconds: float, seed: int) -> dict[str, object]:
    chance, files.STALE_SECONDS = random.Random(seed), -1.0
    prepare(folder)
    end, rounds, published, paid = time.monotonic() + seconds, 0, 0, 0
    kills = dict.fromkeys(STAGES, 0)
    while time.monotonic() < end or not published or not all(kills.values()):
        killed = once(folder, chance, STAGES[rounds % len(STAGES)])
        rounds += 1
        if killed is not None:
            kills[killed] += 1
        if rounds % 10 == 0 or not published:
            published, paid = check(folder)
        if rounds > 100 + 10 * seconds:
            break
    work_left = os.fork()
    if work_left == 0:  # the next run in peace: it recovers whatever the killed ones left
        code = 1
        try:
            work(folder, 1)
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(work_left, 0)[1] == 0
    published, paid = check(folder)
    left = [path.name for path in folder.iterdir() if not path.name[0].isalnum()]
    return {"rounds": rounds, "kills": kills, "published": published, "paid": paid, "left": left}


if __name__ == "__main__":
    place, seconds, seed = Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    print(json.dumps(soak(place, seconds, seed)))
