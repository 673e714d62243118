"""How often intervals hold the truth: curve points, ranges and nodes of trees, each over many draws of the noise alone.

The noise is drawn as a release draws it, on whole numbers, and put together as its tables are; the truth is zero, which
makes no difference to an unbiased sum. Seeded. "least" is the point, range or node with the lowest coverage, which of
n honest ones at 95 % lies some three to four standard errors (0.0022 over 10,000 draws) below; "all" is how often all
of them hold at once, by intervals that are to do so 95 % of the time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from leastnoise.domain import Tree
from leastnoise.workload import TreeWorkload, Workload, laplace_tables, scales_within
from leastnoise.workload.table_errors import NoisyTables

DRAWS = 10_000
LEVEL = 0.95
RANGES = [(10, 40), (0, 1), (95, 100), (33, 66), (1, 99)]


def of_curves(draws: int) -> list[dict[str, Any]]:
    """Cumulative sums and ranges of 100 ages, alone and by sex."""
    workload = Workload({"age": 100, "sex": 2}, tables=["age", ("age", "sex")], cumulative=["age"])
    strategy = workload.optimize()
    made = strategy.workload.with_noise(scales_within(strategy, Fraction(1)))
    age = made.sum_half_widths("age", ["age"], confidence=LEVEL)
    crossed = made.sum_half_widths(("age", "sex"), ["age"], confidence=LEVEL)
    every = made.sum_half_widths("age", ["age"], confidence=LEVEL, bins=100)
    halves = np.array(
        [made.combination_half_width([("age", {"age": range(*ends)})], [1.0], confidence=LEVEL) for ends in RANGES]
    )

    def sums(tables: dict[Any, Any]) -> dict[str, Any]:
        alone = np.cumsum(tables["age",])
        before = np.concatenate([[0.0], alone])
        found = np.array([before[stop] - before[start] for start, stop in RANGES])
        return {
            "curve, 100 points": np.abs(alone) <= age,
            "curves by sex, 200 points": (np.abs(np.cumsum(tables["age", "sex"], axis=0)) <= crossed).ravel(),
            "5 ranges": np.abs(found) <= halves,
            "all": bool((np.abs(alone) <= every).all()),
        }

    return _rows("Gaussian", made, draws, sums, all_of="curve, 100 points")


def of_nodes(tree: Tree, draws: int) -> list[dict[str, Any]]:
    """The nation, its states and its counties, with either noise."""
    sizes = dict(zip(tree.levels, tree.shape.sizes[1:], strict=True))
    workload = TreeWorkload(sizes, tables=[(), "state", "county"], levels=tree.levels, shape=tree.shape)
    found = []
    for name, made in (
        ("Gaussian", workload.with_noise(scales_within(workload.optimize(), Fraction(1)))),
        ("Laplace", laplace_tables(workload, epsilon=1)),
    ):
        halves = {table: made.sum_half_widths(table, confidence=LEVEL) for table in workload.tables}
        every = made.sum_half_widths("county", confidence=LEVEL, bins=sizes["county"])

        def nodes(tables: dict[Any, Any], halves: Any = halves, every: Any = every) -> dict[str, Any]:
            words = {(): "nation", ("state",): "56 states", ("county",): "3,234 counties"}
            inside = {words[table]: np.ravel(np.abs(tables[table]) <= halves[table]) for table in words}
            return {**inside, "all": bool((np.abs(tables["county",]) <= every).all())}

        found += _rows(name, made, draws, nodes, all_of="3,234 counties")
    return found


def _rows(
    name: str, made: NoisyTables, draws: int, inside: Callable[[dict[Any, Any]], dict[str, Any]], *, all_of: str
) -> list[dict[str, Any]]:
    rng, workload = np.random.default_rng(20180710), made.workload
    total: dict[str, Any] = {}
    for _ in range(draws):
        noise = {block: _drawn(rng, made, block, scale) for block, scale in made.scales.items()}
        blocks = made.residuals(noise)
        held = inside({table: workload.table_of(blocks, table) for table in workload.tables})
        total = {key: total.get(key, 0) + np.asarray(value, dtype=np.int64) for key, value in held.items()}
    together = float(total.pop("all")) / draws
    return [
        {
            "noise": name,
            "what": key,
            "coverage": round(float(np.mean(count)) / draws, 4),
            "least": round(float(np.min(count)) / draws, 4),
            "all": round(together, 4) if key == all_of else math.nan,
        }
        for key, count in total.items()
    ]


def _drawn(rng: np.random.Generator, made: NoisyTables, block: Any, scale: float) -> Any:
    shape = made.workload.block_shape(block)
    if made.mechanism == "gaussian":
        return np.rint(rng.normal(0, scale, shape))
    stay = 1 - math.exp(-1 / scale)
    return rng.geometric(stay, shape) - rng.geometric(stay, shape)
