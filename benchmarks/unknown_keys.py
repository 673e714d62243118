"""Counts of keys that nobody listed, at (1, 1e-6): from how many people on a key shows, and how many true keys do.

Two tables, each with one key a person and with five: a ladder of ten keys with n people for every n, which shows where
half of them appear; and a thousand keys of which the r-th has 1,000/r people. A peer's own defaults decide its noise;
what it shares between finding keys and counting them is part of what is compared.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import peers
import pyarrow as pa
import pyarrow.parquet as pq
from findings import Findings, Seconds, Table
from stopwatch import Lap, Unanswered, lap

from leastnoise.curator.table import table

EPSILON, DELTA = 1.0, 1e-6
PEERS = ("opendp", "pipeline_dp", "tumult")
COPIES = 10  # keys of each size in the ladder
OURS = "leastnoise"


def run(*, toy: bool = False) -> Findings:
    found, missing = peers.present(*PEERS)
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(dir=os.environ.get("SCRATCH")) as folder:
        for each in (1, 5):
            sizes = {"ladder": np.repeat(range(5, 30 if toy else 101), COPIES), "zipf": zipf(100 if toy else 1000)}
            paths = {name: write_rows(Path(folder) / f"{name}{each}.parquet", sizes[name], each) for name in sizes}
            for name in (OURS, *found):
                try:
                    seen = {kind: asked(name, paths[kind], each, found) for kind in paths}
                except Unanswered as why:
                    missing[f"{name}, {each} keys a person"] = str(why)
                    continue
                rows.append({"keys a person": each, "what": name, **measured(seen, sizes)})
    title = "Keys that nobody listed, epsilon = 1 and delta = 1e-6:"
    note = (
        f"{COPIES} keys of every size up to 100 people, one draw, say from how many people on a key shows (a dash: "
        "from more than 100). How many true keys show, how far their counts are off (root mean square) and how long a "
        "release takes is of a thousand keys whose sizes fall as 1,000 over their rank, three draws."
    )
    return [Table("unknown_keys", title, rows, note, missing)]


def zipf(keys: int) -> np.ndarray[Any, Any]:
    return np.ceil(1000 / np.arange(1, keys + 1)).astype(np.int64)


def write_rows(path: Path, sizes: Sequence[int] | np.ndarray[Any, Any], each: int) -> Path:
    """Neighbouring keys share their people, `each` keys a person; the r-th key is called r."""
    unit, key, first = [], [], 0
    for start in range(0, len(sizes), each):
        block = range(start, min(start + each, len(sizes)))
        for place in block:
            unit += range(first, first + int(sizes[place]))
            key += [str(place)] * int(sizes[place])
        first += max(int(sizes[place]) for place in block)
    pq.write_table(pa.table({"unit": unit, "key": key}), path)
    return path


def asked(name: str, path: Path, each: int, found: dict[str, peers.Peer]) -> list[Lap]:
    draws = 1 if path.name.startswith("ladder") else 3
    if name == OURS:
        return [lap(lambda: ours(path, each)) for _ in range(draws)]
    return [found[name]("unknown", path=str(path), each=each, epsilon=EPSILON, delta=DELTA) for _ in range(draws)]


def ours(path: Path, each: int) -> list[tuple[str, int]]:
    query = table(path, unit="unit").histogram("key", max_rows=each, max_per_bin=1)
    shown = query.release(epsilon=EPSILON, delta=DELTA)
    return list(zip(shown.domain.axes[0].values, shown.values.tolist(), strict=True))


def measured(seen: dict[str, list[Lap]], sizes: dict[str, Any]) -> dict[str, Any]:
    ladder = [int(sizes["ladder"][int(key)]) for key, _ in seen["ladder"][0].result]
    often = np.bincount(ladder, minlength=int(sizes["ladder"].max()) + 1)
    half = np.flatnonzero(often >= COPIES / 2)
    errors = [count - sizes["zipf"][int(key)] for drawn in seen["zipf"] for key, count in drawn.result]
    shown = [len(drawn.result) for drawn in seen["zipf"]]
    return {
        "half of the keys show from": int(half[0]) if half.size else math.nan,
        "true keys that show": float(np.mean(shown)),
        "of": len(sizes["zipf"]),
        "off by": float(np.sqrt(np.mean(np.square(errors)))) if errors else math.nan,
        "a release": Seconds(np.median([drawn.seconds for drawn in seen["zipf"]])),
    }
