"""Table, release, denoise, save, over and over, in children that are killed at any moment; then the books are checked.

python tests/soaking.py FOLDER SECONDS SEED      prints one JSON object
"""

from __future__ import annotations

import json
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
from leastnoise import storage
from leastnoise.tables import table  # imported before the fork; no engine is started here

SHARE = 1e-4
MEMORY = 6 * 2**30  # addresses, not bytes in use: DuckDB and Numba reserve many


def prepare(folder: Path) -> None:
    chance = np.random.default_rng(7)
    rows = {"taxi": chance.integers(0, 500, 20_000), "place": chance.integers(0, 40, 20_000)}
    pq.write_table(pa.table(rows), folder / "trips.parquet")
    ln.Budget.open(folder / "city.ledger", epsilon=5, delta=1e-6, unit="taxi")


def work(folder: Path, rounds: int) -> None:
    """What a nightly job does. A line in `done` is written when a release is on disk."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    book = ln.Budget.open(folder / "city.ledger")
    trips = table(folder / "trips.parquet", unit="taxi", memory_limit="200MB")
    query = trips.histogram("place", keys=range(40), max_rows=5)
    for _ in range(rounds):
        made = query.release(budget=book, share=SHARE)
        made.save(folder / f"{made.id}.parquet")
        with (folder / "done").open("a") as done:
            done.write(made.id + "\n")
        ln.load(folder / f"{made.id}.parquet").denoise("james_stein").save(folder / "estimate.parquet")


def once(folder: Path, chance: random.Random, patience: float) -> bool:
    """One child, killed within `patience` seconds; whether it was still at work."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work(folder, 50)
            code = 0
        finally:
            os._exit(code)
    time.sleep(patience * chance.choice([0.05, 1.0, 1.0]) * chance.random())
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def check(folder: Path) -> tuple[int, int]:
    """The laws after a crash: how many releases are published, and how many are paid for."""
    book = ln.Budget.open(folder / "city.ledger")
    book.verify()
    paid = {entry.release for entry in book.history()}
    done = set((folder / "done").read_text().split()) if (folder / "done").exists() else set()
    published = set()
    for path in folder.glob("*.parquet"):
        if path.name not in ("trips.parquet",):
            loaded = ln.load(path)  # every file that is there is whole
            published |= {loaded.id} if isinstance(loaded, ln.Release) else set()
    assert done <= published <= paid, (done - published, published - paid)
    return len(published), len(paid)


def soak(folder: Path, seconds: float, seed: int) -> dict[str, int]:
    chance, storage.STALE = random.Random(seed), -1.0
    prepare(folder)
    end, kills, rounds, published, paid = time.monotonic() + seconds, 0, 0, 0, 0
    patience, size = 2.0, 0  # on a busy machine children get longer, or none would ever come to publish
    while time.monotonic() < end or not published:
        kills += once(folder, chance, patience)
        rounds += 1
        grown = (folder / "done").stat().st_size if (folder / "done").exists() else 0
        patience, size = (max(2.0, patience * 0.8) if grown > size else min(60.0, patience * 1.3)), grown
        if rounds % 10 == 0 or not published:
            published, paid = check(folder)
        if rounds > 40 + 4 * seconds:
            break
    work_left = os.fork()
    if work_left == 0:  # the next run in peace: it recovers whatever the killed ones left
        work(folder, 1)
        os._exit(0)
    assert os.waitpid(work_left, 0)[1] == 0
    published, paid = check(folder)
    for path in folder.glob("*.parquet"):
        storage.sweep(path)
    known = {"trips.parquet", "city.ledger", "done", "estimate.parquet"}
    left = [path.name for path in folder.iterdir() if path.name not in known and not path.name[0].isalnum()]
    return {"rounds": rounds, "kills": kills, "published": published, "paid": paid, "left": len(left)}


if __name__ == "__main__":
    place, seconds, seed = Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    print(json.dumps(soak(place, seconds, seed)))
