"""One small file of every kind of release, and of an estimate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import leastnoise as ln

PROMISE = {"epsilon": 1, "delta": 1e-6}


def save_every_kind(folder: Path) -> None:
    """Files named release, mean, quantile, sparse and estimate."""
    table = ln.table(pd.DataFrame({"who": [1, 2], "fare": [3.0, 4.0]}), unit="who")
    asked: Any = {"clip": (0, 5), "max_rows": 1}
    vector = ln.release(np.arange(5), sensitivity=1, **PROMISE)
    vector.save(folder / "release")
    vector.denoise("james_stein").save(folder / "estimate")
    table.mean("fare", **asked).release(**PROMISE).save(folder / "mean")
    table.quantile("fare", [0.5], **asked).release(**PROMISE).save(folder / "quantile")
    ln.release_sparse([5], [10_000], domain_size=10**12, sensitivity=1, **PROMISE).save(folder / "sparse")
