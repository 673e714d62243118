"""Small sets of tables, with seeded noise, for the tests of their page."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import leastnoise as ln
from leastnoise import datasets
from leastnoise.releases.crosstabs import CrosstabsRelease
from leastnoise.testing import seeded
from pages import HOSTILE, TOWNS

HOSTILE_COLUMN = "</script><img src=x onerror=alert(1)>, \"'&"
PROMISE = {"epsilon": 2.0, "delta": 1e-6}


@dataclass(frozen=True)
class OneEstimate:
    """The denoised values of one table."""

    values: Any
    rmse: float | None
    limit: float | None

    def rmse_at_most(self, confidence: float = 0.95) -> float | None:
        return self.limit


@dataclass(frozen=True)
class NotNegative:
    """An estimate of a set of tables, as a page takes it: nothing below zero."""

    of: CrosstabsRelease
    rmse: float | None = 7.125
    limit: float | None = 9.25

    @property
    def seeded(self) -> bool:
        return self.of.seeded

    def rmse_at_most(self, confidence: float = 0.95) -> float | None:
        return self.limit

    def __getitem__(self, columns: tuple[str, ...]) -> OneEstimate:
        return OneEstimate(np.maximum(self.of[columns].values, 0.0), self.rmse, self.limit)


@cache
def people() -> CrosstabsRelease:
    """The made-up register: all tables of at most two columns."""
    table = ln.table(datasets.people(2_000), unit="person")
    with seeded(7):
        made: CrosstabsRelease = table.crosstabs(ways=2, keys=datasets.people_keys(), max_rows=1).release(**PROMISE)
    return made


@cache
def hostile() -> CrosstabsRelease:
    """Columns and keys that a page must not obey: all tables of at most three columns."""
    rng = np.random.default_rng(3)
    sizes = {HOSTILE_COLUMN: list(TOWNS), "age": range(9), "sex": ["f", "m"], "__proto__": ["constructor", "toString"]}
    rows = {name: np.array(list(keys))[rng.integers(0, len(keys) // 2 + 1, 900)] for name, keys in sizes.items()}
    table = ln.table(pa.table({"who": np.arange(900), **rows}), unit="who")
    with seeded(7):
        made: CrosstabsRelease = table.crosstabs(ways=3, keys=sizes, max_rows=1).release(**PROMISE)
    assert HOSTILE in TOWNS
    return made


RELEASES = {"people": people, "hostile": hostile}


def write(name: str, folder: Path, *, denoised: bool = True) -> Path:
    """Its page, with or without an estimate beside it."""
    release = RELEASES[name]()
    path = folder / f"{name}{'_denoised' if denoised else ''}.html"
    return release.report(path, estimate=NotNegative(release) if denoised else None, allow_seeded=True)
