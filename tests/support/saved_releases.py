"""One small file of every kind of release, and of an estimate.

`python tests/support/saved_releases.py` writes tests/golden/format.json, which says what files hold under which names,
and those of tests/golden/files that are not there: each is to be loaded for ever.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import leastnoise as ln
from described_records import described
from leastnoise.releases import file_format
from leastnoise.testing import seeded

PROMISE: dict[str, Any] = {"epsilon": 1, "delta": 1e-6}
PASSING = ("clip",)  # proposals of clips: no file of them is promised to load for ever
GOLDEN = Path(__file__).resolve().parents[1] / "golden"


@cache
def every_kind() -> dict[str, Any]:
    """A release of every kind that has a file, and estimates; with seeds, of made-up people."""
    rng, s = np.random.default_rng(5), ln.stats
    people = 400
    frame = pd.DataFrame(
        {
            "who": np.arange(people),
            "town": rng.choice(["Ash", "Birch", "Cedar"], people, p=[0.6, 0.3, 0.1]),
            "age": rng.integers(0, 5, people),
            "fare": rng.gamma(2.0, 5.0, people).round(2),
            "miles": rng.gamma(2.0, 2.0, people).round(2),
            "x": rng.normal(size=people),
            "y": rng.normal(size=people),
        }
    )
    table, towns = ln.table(frame, unit="who", name="rides"), ["Ash", "Birch", "Cedar"]
    once: dict[str, Any] = {"max_rows": 1}
    fares: dict[str, Any] = {"clip": (0, 30), **once}
    statistics: dict[str, Any] = {
        "rows": s.count(),
        "fares": s.sum("fare", clip=(0, 30)),
        "fare": s.mean("fare", clip=(0, 30)),
        "spread": s.std("fare", clip=(0, 30)),
        "long": s.rate("miles > 4"),
        "part": s.share(),
        "price": s.ratio("fare", "miles", clip=(0, 30), over_clip=(0, 10)),
    }
    keys = {"town": towns, "age": range(5)}
    asked: dict[str, Any] = {
        "counts": table.histogram("town", keys=towns, **once),
        "counts with others": table.histogram("town", "age", keys=[ln.domain.with_other(towns), range(5)], **once),
        "unknown keys": table.histogram("town", max_rows=1, others=0.2),
        "sum": table.sum("fare", **fares),
        "mean": table.mean("fare", by="town", keys=towns, **fares),
        "vector mean": table.vector_mean(["x", "y"], clip_norm=2, **once),
        "quantiles": table.quantile("fare", [0.25, 0.5], bins=12, **fares),
        "quantiles by rank": table.quantile("fare", [0.25, 0.5], by="town", keys=towns, **fares),
        "summary": table.summarize("town", keys=towns, **statistics, **once),
        "tables": table.crosstabs(ways=2, keys=keys, **once),
        "curves": table.crosstabs("town", "age", keys=keys, cumulative=["age"], **once),
    }
    with seeded(7):
        made = {name: query.release(**PROMISE) for name, query in asked.items()}
        made["quantiles"] = asked["quantiles"].release(**PROMISE, mechanism="laplace")
        made["quantiles of sums"] = asked["quantiles"].release(**PROMISE, mechanism="gaussian")
        made["quantiles by rank"] = asked["quantiles by rank"].release(**PROMISE, mechanism="exponential")
        made["numbers"] = ln.release(np.array([0.5, 2.25, -1.0]), sensitivity=1, **PROMISE)
        made["wrapped"] = ln.wrap([3.2, -1.1, 8.0], sigma=2.0)
        made["sparse"] = ln.release_sparse([5, 10**11], [900, 950], domain_size=10**12, sensitivity=1, **PROMISE)
        made["limits"] = table.suggest_limits("town", keys=towns, **PROMISE)
        made["clip"] = table.suggest_clip("fare", within=(0, 1000), max_rows=1, **PROMISE)
        made["estimate"] = made["counts"].denoise("james_stein")
        made["tables estimate"] = made["tables"].denoise()
    return made


def written_format() -> dict[str, Any]:
    """What files hold, by the kind of release that they say they are of, and by record."""
    return {what: described(kind) for what, kind in sorted(file_format.KINDS.items())}


def main() -> None:
    (GOLDEN / "files").mkdir(exist_ok=True)
    (GOLDEN / "format.json").write_text(json.dumps(written_format(), indent=1) + "\n")
    for name, one in every_kind().items():
        if name in PASSING:
            continue
        path = GOLDEN / "files" / f"{name.replace(' ', '-')}.parquet"
        if not path.exists():
            one.save(path, allow_seeded=True)


if __name__ == "__main__":
    main()
