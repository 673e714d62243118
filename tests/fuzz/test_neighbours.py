"""One unit more, less or other changes no answer by more than its query claims; and a limit that is broken is seen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from unittest import mock

import ibis
import pytest

from fuzzing import MINUTES, add, seeds
from leastnoise.curator import transform
from leastnoise.curator.queries import kernel_histogram
from leastnoise.curator.queries.query import Query
from leastnoise.curator.queries.statistics import Statistics
from leastnoise.curator.queries.vectors import Vectors
from leastnoise.curator.rows import keeping, priorities
from leastnoise.curator.rows.columns import CleanRows
from leastnoise.curator.rows.points import WEIGHT_BITS, KernelWeights
from leastnoise.testing import aggregate
from neighbouring import Search, remembered_sql

# Random keys differ by case at times, which is worth a warning to people.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::leastnoise.errors.Wasteful")]

HISTOGRAMS = ("histogram", "product", "sparse")
ONE_BIN = ("count", "quantile", "sum", "mean")
VECTORS = ("vector_sum", "vector_mean")
MANY = 200  # tables in which a mutant must show; most do within ten


@pytest.fixture(autouse=True)
def fast() -> Iterator[None]:
    with remembered_sql():
        yield


def test_no_unit_changes_more_than_is_claimed() -> None:
    search = Search(bases=3 if MINUTES else 1)
    for seed in seeds(28, parts=8):
        many = 0 if seed % 2 else keeping.MANY_ROWS  # rows from which on the loop is asked
        with mock.patch.object(keeping, "MANY_ROWS", many):
            for broken in search.broken(seed):
                add(f"neighbouring tables, {search.kind(seed)}", 1)
                assert not broken, (seed, search.kind(seed), broken)


def looser(name: str) -> Callable[[Query], Query]:
    """One limit larger by one than the query claims its sensitivity for."""
    return lambda asked: replace(asked, limits=replace(asked.limits, **{name: getattr(asked.limits, name) + 1}))


def wider_clip(asked: Query) -> Query:
    assert isinstance(asked, Statistics)
    clip = asked.clip
    low, high = clip.lowest - 2**20, clip.highest + 2**20
    wider = replace(clip, low=low * clip.grid, high=high * clip.grid, lowest=low, highest=high)
    return replace(asked, asked=replace(asked.asked, clips=(wider,)))


def wider_norm(asked: Query) -> Query:
    assert isinstance(asked, Vectors)
    return replace(asked, clip=replace(asked.clip, radius=2 * asked.clip.radius))


def units_twice(asked: Query) -> Query:
    return replace(asked, limits=replace(asked.limits, max_rows=2, max_per_bin=2))


def nobody_counts() -> Any:
    def with_unit_word(rows: Any, unit: tuple[str, ...], engine: Any) -> Any:
        return rows.mutate(_unit=priorities.word(rows[unit[0]], unit[0], engine).fill_null(0))

    return mock.patch.object(priorities, "with_unit_word", with_unit_word)


def all_one_unit() -> Any:
    """Two people who are taken for one share one person's limit, and either frees it for the other."""
    whole = priorities.with_unit_word

    def with_unit_word(rows: Any, unit: tuple[str, ...], engine: Any) -> Any:
        return whole(rows.mutate(**{name: rows[name].isnull().nullif(True) for name in unit}), unit, engine)

    return mock.patch.object(priorities, "with_unit_word", with_unit_word)


def first_come() -> Any:
    """Which rows are kept depends on where they stand in the file."""

    def in_sql(rows: Any, rule: Any) -> Any:
        rows = rows.mutate(_rank=ibis.row_number().over(ibis.window(group_by=list(rule.unit))))
        return rows.filter(rows["_rank"] < rule.limits.max_rows).select(*rule.keep)

    return mock.patch.object(keeping, "in_sql", in_sql)


@contextmanager
def heavy_kernel() -> Iterator[None]:
    """Weights of twice a row, and no second look at them."""
    whole = KernelWeights.__call__
    doubled = lambda spread, lon, lat: (made := whole(spread, lon, lat)) + (made & (2**WEIGHT_BITS - 1))  # noqa: E731
    with (
        mock.patch.object(KernelWeights, "__call__", doubled),
        mock.patch.object(kernel_histogram, "ROW_WEIGHT", 2**40),
    ):
        yield


def what_others_have() -> Any:
    """A unit's statistic that depends on the rows of others."""
    whole = transform.per_unit

    def per_unit(data: Any, columns: Any) -> Any:
        made = whole(data, columns)
        rows = made.rows
        lowest = rows.mutate(**{name: rows[name].min().over(ibis.window()) for name in columns})
        return replace(made, clean=CleanRows(lowest, already_clean=True))

    return mock.patch.object(transform, "per_unit", per_unit)


@dataclass(frozen=True)
class Mutant:
    """A limit that does not hold, and the queries that should notice."""

    kinds: tuple[str, ...]
    change: Callable[[Query], Query] = lambda asked: asked
    patch: Callable[[], Any] = field(default=lambda: mock.MagicMock())
    first: int = 0  # the seed that is tried first: one that shows it, so that the others are seldom needed


MUTANTS = {
    "max_rows of one bin": Mutant(ONE_BIN, looser("max_rows"), first=8),
    "max_rows of histograms": Mutant(HISTOGRAMS, looser("max_rows"), first=8),
    "max_rows of unknown keys": Mutant(("unknown keys",), looser("max_rows"), first=19),
    "max_rows of kernels": Mutant(("kernel",), looser("max_rows"), first=7),
    "max_rows of vectors": Mutant(VECTORS, looser("max_rows"), first=9),
    "max_per_bin": Mutant(HISTOGRAMS, looser("max_per_bin")),
    "max_per_bin of unknown keys": Mutant(("unknown keys",), looser("max_per_bin"), first=8),
    "max_per_bin of sums": Mutant(("sum", "mean"), looser("max_per_bin"), first=19),
    "max_bins": Mutant(HISTOGRAMS, looser("max_bins"), first=21),
    "max_bins of unknown keys": Mutant(("unknown keys",), looser("max_bins"), first=29),
    "max_rows of summaries": Mutant(("summary",), looser("max_rows"), first=9),
    "max_per_bin of summaries": Mutant(("summary",), looser("max_per_bin"), first=25),
    "max_rows of unknown summaries": Mutant(("unknown summary",), looser("max_rows"), first=12),
    "max_per_bin of unknown summaries": Mutant(("unknown summary",), looser("max_per_bin"), first=34),
    "max_rows of unknown sums": Mutant(("unknown sum",), looser("max_rows"), first=12),
    "max_per_bin of quantiles": Mutant(("quantile",), looser("max_per_bin"), first=20),
    "once a unit": Mutant(("count_units",), units_twice, first=3),
    "clip": Mutant(("sum", "mean"), wider_clip, first=9),
    "norm": Mutant(VECTORS, wider_norm, first=9),
    "weights of a kernel": Mutant(("kernel",), patch=heavy_kernel),
    "rows of nobody": Mutant(("count", "histogram", "unknown keys"), patch=nobody_counts),
    "units apart": Mutant(("product", "sparse", "unknown keys"), patch=all_one_unit, first=14),
    "own rows of a unit": Mutant(("per unit",), patch=what_others_have),
    "order of the rows": Mutant(("product", "lattice"), patch=first_come, first=3),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_limit_that_does_not_hold_is_seen(name: str) -> None:
    mutant = MUTANTS[name]
    search = Search(kinds=mutant.kinds, forms=("DuckDB",), count=2, run=lambda asked: aggregate(mutant.change(asked)))
    with mutant.patch():
        assert any(broken for seed in range(mutant.first, mutant.first + MANY) for broken in search.broken(seed))
