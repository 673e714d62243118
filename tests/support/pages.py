"""One small release of every kind, with seeded noise, for the tests of pictures and pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import leastnoise as ln
from leastnoise import datasets
from leastnoise.domain import Domain, Edges, Lattice, Zones, listed, product, with_lattices
from leastnoise.graphs import Graph
from leastnoise.releases.selected import Selected
from leastnoise.testing import seeded

HOSTILE = '</script><img src=x onerror="document.title=1"><!-- & "\u2028\' =1+1'
TOWNS = ("Aš", "北京", HOSTILE, "=2+5", "Ōtsu", "new\nline")
METRES = (0.1 + 0.2, 4_500_000_000.5, 4_500_000_001.25, 4_500_000_002.0)
PROMISE = {"epsilon": 0.5, "delta": 1e-6}


@cache
def city() -> tuple[Graph, np.ndarray]:
    """The made-up city's streets, and how many trips start at each junction."""
    town = datasets.city()
    truth = np.random.default_rng(0).poisson(20_000 * town.busyness(20))
    return town.graph, truth


def _counts(values: Any, domain: Domain | None = None, **asked: Any) -> ln.Release:
    made = ln.release(np.asarray(values, dtype=np.int64), sensitivity=1, **{**PROMISE, **asked})
    provenance = replace(made.provenance, unit="taxi_id", limits={"max_rows": 1})
    return ln.Release.of(made.values, made.noise, kind="count", domain=domain, provenance=provenance)


def _table() -> Any:
    rows = {"who": np.arange(400), "town": np.array(TOWNS)[np.arange(400) % 6], "fare": np.arange(400) % 37 + 1.0}
    import pyarrow as pa

    return ln.table(pa.table(rows), unit="who")


def few() -> ln.Release:
    return _counts([120, 80, 45, 9, 0, 3], product(["town"], TOWNS))


def one() -> ln.Release:
    return _counts([1204], Domain())


def many() -> ln.Release:
    return _counts(50 * np.exp(-np.arange(200) / 40), product(["age"], range(200)))


def lattice() -> ln.Release:
    cells = Lattice("lon", "lat", 0.5).box(x=(0, 12), y=(0, 8))
    return _counts(400 * np.exp(-np.arange(cells.size) / 90), Domain(("cell",), (cells,)))


def found_cells() -> ln.Release:
    """Cells that a threshold let through, far from the equator; a hole between them, and one apart."""
    lattice = Lattice("lon", "lat", 0.01)
    found = [lattice.cell(10.005 + x / 100, 59.905 + y / 100) for x, y in CELLS]
    domain = with_lattices(listed(("cell",), found), {"cell": lattice})
    made = _counts(400 / (1.0 + np.arange(len(found))))
    return replace(made, domain=domain, reading=Selected(kind="count", threshold=15))


CELLS = [(x, y) for x in range(6) for y in range(5) if (x, y) != (3, 2)] + [(9, 7)]
RINGS = [
    [[10.0, 59.9], [10.1, 59.9], [10.12, 59.95], [10.05, 59.96], [10.0, 59.95], [10.0, 59.9]],
    [[10.1, 59.9], [10.2, 59.91], [10.2, 59.96], [10.12, 59.95], [10.1, 59.9]],
    [[10.0, 59.95], [10.05, 59.96], [10.12, 59.95], [10.2, 59.96], [10.18, 60.0], [10.02, 60.0], [10.0, 59.95]],
]
HOLE = [[10.08, 59.97], [10.1, 59.98], [10.13, 59.97], [10.1, 59.965], [10.08, 59.97]]
ZONES = Zones(
    ("Aš", "Berlin", "Cork"), tuple(tuple(map(np.array, part)) for part in ([RINGS[0]], [RINGS[1]], [RINGS[2], HOLE]))
)


def zones() -> ln.Release:
    """Of two of three zones, and of no zone."""
    return _counts(np.array([300.0, 40.0, 7.0]), product(["zone"], ["Cork", "Aš"], nulls="bin"))


def _square(west: float, south: float, size: float) -> np.ndarray:
    return np.array([west, south]) + size * np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]])


OVERLAPPING = Zones(
    ("city", "isles", "desert", "land"),
    tuple(
        tuple(_square(*one) for one in each)
        for each in ([(2, 2, 1)], [(4, 1, 0.5), (4, 3, 0.5), (6.5, 1, 0.5)], [(0.5, 0.5, 1)], [(0, 0, 5)])
    ),
)
INSIDE = {"city": (2.5, 2.5), "isles": (4.25, 3.25), "desert": (1.0, 1.0), "land": (3.5, 0.3)}


def overlapping() -> ln.Release:
    """Of zones that lie within one that comes later; of the desert nothing was asked."""
    return _counts([900, 300, 100], product(["zone"], ["city", "isles", "land"]))


def real() -> ln.Release:
    return ln.release(np.linspace(-300.0, 300.0, 100), sensitivity=1.0, **PROMISE)


def junctions() -> ln.Release:
    return _counts(city()[1])


def means() -> Any:
    return _table().mean("fare", by="town", keys=TOWNS, clip=(0, 40), max_rows=1).release(epsilon=2, delta=1e-6)


def quantiles() -> Any:
    return _table().quantile("fare", [0.25, 0.5, 0.75], clip=(0, 40), max_rows=1).release(epsilon=2, delta=1e-6)


def unknown() -> Any:
    return _table().histogram("town", keys=None, max_rows=1, others=0.1).release(epsilon=2, delta=1e-6)


def sparse() -> Any:
    return ln.release_sparse([5, 9, 10**9], [100, 200, 300], domain_size=2**40, sensitivity=1, **PROMISE)


def wrapped() -> ln.Release:
    return ln.wrap(np.random.default_rng(0).normal(0, 30, 60), sigma=3.0)


def large() -> ln.Release:
    """Real numbers and real keys that differ in their tenth digit."""
    made = ln.wrap([123456789.25, 123456790.75, 123456789.5], sigma=2.0)
    return replace(made, domain=product(["metres"], Edges(METRES)))


def namesakes() -> ln.Release:
    """A column that a tooltip would obey, and two bins of one name: a text and no key at all."""
    return replace(ln.wrap([5.0, 9.0, 7.0], sigma=1.0), domain=product(["image"], ["x.png", "none"], nulls="bin"))


KINDS: dict[str, Callable[[], Any]] = {
    made.__name__: made
    for made in (
        few,
        one,
        many,
        lattice,
        found_cells,
        zones,
        real,
        junctions,
        means,
        quantiles,
        unknown,
        sparse,
        wrapped,
        large,
        namesakes,
    )
}


@cache
def kind(name: str) -> Any:
    """A release by name; "estimate" is the one of `few`."""
    if name == "estimate":
        return kind("few").denoise()
    with seeded(7):
        return KINDS[name]()


def write(name: str, folder: Path, **options: Any) -> Path:
    """Its page."""
    of = kind(name)
    options["allow_seeded"] = True
    if name == "junctions":
        options["graph"] = city()[0]
    if name == "zones":
        options["zones"] = ZONES
    made: Path = of.report(folder / f"{name}.html", **options)
    return made
