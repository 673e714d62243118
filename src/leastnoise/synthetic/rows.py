"""Rows that nobody has, from a released set of tables: post-processing, so they cost no privacy.

What was released is denoised, a mixture of products is fitted to it, and rows are drawn from the mixture. Their
tables are near the released ones. What the rows say beyond the released tables is a guess of the model.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from leastnoise import errors
from leastnoise._support import progress, validation
from leastnoise._support.outputs import path_of
from leastnoise.denoise.tables import denoise_tables
from leastnoise.domain import Axis, Domain
from leastnoise.releases.columns import key_columns
from leastnoise.releases.crosstab_estimate import CrosstabsEstimate
from leastnoise.releases.crosstabs import CrosstabsRelease
from leastnoise.releases.file_format import refuse_seeded_noise
from leastnoise.releases.provenance import Provenance
from leastnoise.releases.published import typed
from leastnoise.releases.table_set import Table, table_name
from leastnoise.synthetic.choosing import halves, strongest
from leastnoise.synthetic.drawing import draw, hold, without
from leastnoise.synthetic.fitting import Targets, fit
from leastnoise.synthetic.mixture import Mixture, Rows

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

LEAST_GROUPS, MOST_GROUPS = 500, 1500
PULLS = (0.0003, 0.001, 0.003, 0.01, 0.03)  # those that are compared, as parts of the number of rows
TRIAL_STEPS, STEPS = 500, 1500


@dataclass(frozen=True, slots=True, eq=False)
class SyntheticRows:
    """Rows with the columns and keys of a set of tables, none of which is a person's.

    places: for each column the index of the key of every row. axes: the keys. mixture: what they were drawn from.
    distances: for each released table, how far the rows are from it.
    """

    places: Mapping[str, NDArray[np.int64]]
    axes: Mapping[str, Axis]
    provenance: Provenance
    mixture: Mixture = field(repr=False)
    distances: tuple[Distance, ...] = field(repr=False)
    pull: float
    seed: int

    def __len__(self) -> int:
        return len(next(iter(self.places.values())))

    def __repr__(self) -> str:
        mark = ", SEEDED: hides nothing" if self.provenance.seeded else ""
        columns = ", ".join(self.places)
        return f"<SyntheticRows: {len(self):,} rows of {columns}, from release {self.provenance.id}{mark}>"

    def __str__(self) -> str:
        return self.report

    @property
    def report(self) -> str:
        """Which tables were released, how far the rows are from each, and what is a guess, in plain words."""
        worst = sorted(self.distances, key=lambda each: -each.total_variation)[:TABLES_SHOWN]
        labels = self.provenance.labels
        width = max(len(table_name(each.table, labels)) for each in worst)
        many = len(self.distances)
        released = f"the {many:,} released tables" if many > 1 else "the released table"
        first = (
            f"{len(self):,} synthetic rows from release {self.provenance.id}, made from its tables alone: they cost no "
            f"privacy. They follow {released}. Everything "
            "else about them, such as how three columns go together that were in no table together, is a guess of the "
            f"model: a mixture of {len(self.mixture.weights):,} groups within which columns are independent (pull to "
            f"independence {self.pull:,.4g}, seed {self.seed}).\n"
            "How far they are from the denoised tables, as a part of all rows and as RMSE of a cell, and the error of "
            "these, as it is estimated:"
        )
        lines = [first]
        lines += [
            f"  {table_name(each.table, labels):{width}}  {100 * each.total_variation:6.2f}%  {each.rmse:10,.4g}"
            f"  {each.denoised_rmse:10,.4g}"
            for each in worst
        ]
        if len(self.distances) > len(worst):
            lines.append(f"  … {len(self.distances) - len(worst):,} tables are nearer")
        return "\n".join(lines)

    def to_arrow(self, *, within_bins: bool = False) -> pa.Table:
        """The rows as an Arrow table.

        within_bins: a bin between two ends gives one number, drawn evenly between them, instead of the two ends.
        """
        import pyarrow as pa

        rng = np.random.default_rng([self.seed, 1])
        made: dict[str, Any] = {}
        for name, places in self.places.items():
            keys = key_columns(Domain((name,), (self.axes[name],)), self.axes[name].size)
            if within_bins and f"{name}_low" in keys:
                made[name] = _between(keys[f"{name}_low"], keys[f"{name}_high"], places, rng)
                continue
            for column, values in typed(keys).items():
                listed = values if isinstance(values, pa.Array) else pa.array(values)
                made[column] = listed.take(pa.array(places))
        return pa.table(made).replace_schema_metadata({"leastnoise rows": json.dumps(self._facts())})

    def to_pandas(self, *, within_bins: bool = False) -> pd.DataFrame:
        """The rows as a pandas data frame. within_bins: see `to_arrow`."""
        try:
            import pandas  # noqa: F401  # asked for, so that its absence is said in our words
        except ImportError:
            raise errors.MissingPackage.named("pandas", "to_pandas()") from None
        frame: pd.DataFrame = self.to_arrow(within_bins=within_bins).to_pandas()
        return frame

    def to_polars(self, *, within_bins: bool = False) -> pl.DataFrame:
        """The rows as a Polars data frame. within_bins: see `to_arrow`."""
        try:
            import polars as pl
        except ImportError:
            raise errors.MissingPackage.named("polars", "to_polars()") from None
        frame = pl.from_arrow(self.to_arrow(within_bins=within_bins))
        assert isinstance(frame, pl.DataFrame)
        return frame

    def save(self, path: str | os.PathLike[str], *, within_bins: bool = False, allow_seeded: bool = False) -> Path:
        """A Parquet or CSV file, by its ending; Parquet keeps what the rows are beside them.

        within_bins: see `to_arrow`. allow_seeded: lets a test write what a seed of the noise made.
        """
        import pyarrow.csv as pa_csv
        import pyarrow.parquet as pq

        refuse_seeded_noise(self.provenance.seeded, allow_seeded)
        target = path_of(path)
        if target.suffix not in (".parquet", ".csv"):
            raise errors.BadOutput(f"Rows are saved as .parquet or .csv (got {target.name!r}), such as rows.parquet.")
        table = self.to_arrow(within_bins=within_bins)
        try:
            with target.open("xb") as file:
                (pq.write_table if target.suffix == ".parquet" else pa_csv.write_csv)(table, file)
        except FileExistsError:
            raise errors.BadOutput(f"{target.name!r} exists, and rows replace no file. Give another path.") from None
        except OSError as problem:
            raise errors.BadOutput(f"{target.name!r} cannot be written: {problem.strerror}.") from None
        return target

    def _facts(self) -> dict[str, Any]:
        return {
            "kind": "synthetic rows",
            "release": self.provenance.id,
            "tables": [list(each.table) for each in self.distances],
            "groups": len(self.mixture.weights),
            "pull": self.pull,
            "seed": self.seed,
        }


@dataclass(frozen=True, slots=True)
class Distance:
    """How far the rows are from one released table, after denoising. total_variation: half the sum of the absolute
    differences, as a part of all rows. rmse: of a cell. denoised_rmse: the estimated error of the denoised table."""

    table: Table
    total_variation: float
    rmse: float
    denoised_rmse: float


TABLES_SHOWN = 12
Forbidden = Mapping[str, Any]


def of_release(
    release: CrosstabsRelease,
    count: int | None = None,
    *,
    known: Mapping[Any, Any] | None = None,
    forbidden: Sequence[Forbidden] = (),
    groups: int | None = None,
    seed: int = 0,
) -> SyntheticRows:
    """Rows whose tables are near those of a release.

    count: how many rows; None: as many as were counted, by the release. known: public tables, which are held exactly
    (`CrosstabsRelease.denoise`). forbidden: combinations of keys that no row has: {"age": [0, 1], "job": "doctor"}
    forbids every row that has one of these ages and this job. groups: of the mixture; None: by the largest column.
    seed: the same seed gives the same rows. It has nothing to do with the noise of the release.
    """
    _check_kind(release)
    bad = _forbidden(release, forbidden)
    estimate = release.denoise(known=known or {})
    variances = _variances(release)
    targets = Targets.of(estimate.blocks, variances, release.workload.sizes)
    wanted = round(targets.rows) if count is None else validation.integer("n", count)
    if wanted < 1:
        raise errors.InvalidParameter(
            "By this release hardly anybody is in the table, so there is no row to draw. Say how many, such as n=1000.",
            parameter="n",
        )
    rng = np.random.default_rng(seed)
    many = validation.integer("groups", _groups(release) if groups is None else groups)
    with progress.bar("fitting rows to the tables", TRIAL_STEPS * len(PULLS) + STEPS) as advance:
        pull = _pull(release, variances, many, rng, advance)
        mixture = fit(targets, many, pull, steps=STEPS, rng=rng, advance=advance)
    rows = draw(mixture, wanted, rng)
    rows = without(rows, bad, mixture, rng) if forbidden else rows
    if estimate.known:
        rows = _held(rows, release, estimate, rng)
        if forbidden and bad(rows).any():
            raise errors.InvalidParameter(
                "The known tables and the forbidden combinations contradict each other.", parameter="forbidden"
            )
    places = {name: rows[:, i] for i, name in enumerate(release.workload.sizes)}
    return SyntheticRows(
        places=places,
        axes=release.axes,
        provenance=release.provenance,
        mixture=mixture,
        distances=tuple(_distances(release, estimate, places)),
        pull=pull,
        seed=seed,
    )


def _between(low: list[Any], high: list[Any], places: NDArray[np.int64], rng: np.random.Generator) -> NDArray[Any]:
    """A number or a time drawn evenly between the ends of the bin of each row."""
    ends = np.array(low)[places], np.array(high)[places]
    return np.asarray(ends[0] + (ends[1] - ends[0]) * rng.random(len(places)))


def _check_kind(release: CrosstabsRelease) -> None:
    if release.workload.strategies or release.workload.levels or release.weight is not None:
        raise errors.InvalidParameter(
            "Rows are made from plain counts of people, and this set has cumulative sums, ranges, a tree or weights. "
            "Release the tables without."
        )


def _variances(release: CrosstabsRelease) -> dict[Table, float]:
    return dict(zip(release.workload.blocks, release.errors.block_variances.tolist(), strict=True))


def _groups(release: CrosstabsRelease) -> int:
    """More than enough: what too many groups would make up, the pull takes out."""
    return min(max(LEAST_GROUPS, 2 * max(release.workload.sizes.values())), MOST_GROUPS)


def _pull(
    release: CrosstabsRelease,
    variances: Mapping[Table, float],
    groups: int,
    rng: np.random.Generator,
    advance: Callable[[int], object],
) -> float:
    """How strong a pull these tables allow."""
    split = halves(release.blocks, variances, rng)
    sizes, tables = release.workload.sizes, release.workload.tables
    denoised = denoise_tables(split.fitted, split.fitted_variances, sizes, tables, mechanism=release.mechanism)
    targets = Targets.of(denoised.blocks, split.fitted_variances, sizes)
    held_out = Targets.of({**split.held_out, (): denoised.blocks[()]}, split.held_out_variances, sizes)
    pulls = [part * max(targets.rows, 1.0) for part in PULLS]
    mixtures = [fit(targets, groups, pull, steps=TRIAL_STEPS, rng=rng, advance=advance) for pull in pulls]
    return strongest(pulls, mixtures, held_out)


def _held(rows: Rows, release: CrosstabsRelease, estimate: CrosstabsEstimate, rng: np.random.Generator) -> Rows:
    names = list(release.workload.sizes)
    known = {
        tuple(names.index(column) for column in table): np.rint(estimate[table].to_numpy()).astype(np.int64)
        for table in sorted(estimate.known, key=len, reverse=True)
        if table
    }
    if any(table.sum() != len(rows) for table in known.values()):
        raise errors.InvalidParameter(
            f"The known tables add up to another number than the {len(rows):,} rows. Leave n out.", parameter="n"
        )
    return hold(rows, known, rng)


def _forbidden(release: CrosstabsRelease, forbidden: Sequence[Forbidden]) -> Callable[[Rows], NDArray[np.bool_]]:
    """Which rows have a combination that is forbidden."""
    names = list(release.workload.sizes)
    combinations = [
        {names.index(_column(release, name)): _keys(release, name, keys) for name, keys in each.items()}
        for each in forbidden
    ]

    def bad(rows: Rows) -> NDArray[np.bool_]:
        found = np.zeros(len(rows), dtype=bool)
        for each in combinations:
            found |= np.logical_and.reduce([keys[rows[:, axis]] for axis, keys in each.items()])
        return found

    return bad


def _column(release: CrosstabsRelease, name: str) -> str:
    if name not in release.workload.sizes:
        raise errors.InvalidParameter(
            f'There is no column "{name}" in this set. The columns are {", ".join(release.workload.sizes)}.',
            parameter="forbidden",
        )
    return name


def _keys(release: CrosstabsRelease, name: str, keys: Any) -> NDArray[np.bool_]:
    """For each key of a column whether it is one of these."""
    axis = release.axes[name]
    several = isinstance(keys, Collection) and not isinstance(keys, str | bytes | tuple)
    found = np.zeros(axis.size, dtype=bool)
    for key in keys if several else [keys]:
        place = axis.index(key)
        if place is None:
            raise errors.InvalidParameter(
                f"{key!r} is not one of the keys of {name}. For example, {axis.key(0)!r} is one.", parameter="forbidden"
            )
        found[place] = True
    return found


def _distances(
    release: CrosstabsRelease, estimate: CrosstabsEstimate, places: Mapping[str, NDArray[np.int64]]
) -> list[Distance]:
    """Of every released table; the rows are scaled to as many as were counted."""
    count = len(next(iter(places.values())))
    found = []
    for table in release.tables:
        if not table:
            continue
        wanted = estimate[table].to_numpy()
        cells = np.ravel_multi_index([places[name] for name in table], wanted.shape)
        got = np.bincount(cells, minlength=wanted.size) * (wanted.sum() / count)
        off = got - wanted.ravel()
        varied = 0.5 * float(np.abs(off).sum()) / max(float(wanted.sum()), 1.0)
        found.append(Distance(table, varied, float(np.sqrt(np.mean(off**2))), float(estimate[table].rmse)))
    return found
