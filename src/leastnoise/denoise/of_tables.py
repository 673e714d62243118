"""What a set of tables asks of its denoiser: what is public, what has no noise, and whether there is a tree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from leastnoise import errors
from leastnoise._support.validation import Floats
from leastnoise.denoise.tables import denoise_tables
from leastnoise.denoise.tree_levels import denoise_levels
from leastnoise.domain import Domain, OrOther, key_cell
from leastnoise.releases.crosstab_estimate import CrosstabsEstimate, NoError, Risks
from leastnoise.releases.crosstabs import CrosstabsRelease
from leastnoise.releases.noise import NEGLIGIBLE
from leastnoise.workload.residuals import Table


def of_tables(release: CrosstabsRelease, known: Mapping[Any, Any]) -> CrosstabsEstimate:
    """The tables of a set with noise taken back out. known: public tables, held as they are."""
    if release.workload.strategies:
        raise errors.InvalidParameter(
            "This set has cumulative sums or ranges, whose noise is correlated along their columns, and denoising a "
            "set takes the noise of its blocks as independent. Its tables and curves are unbiased as they are; to "
            "denoise, release the tables without."
        )
    workload, held = release.workload, _known_tables(release, known)
    if release.noise_is_none and not held:
        return _kept_tables(release)
    if workload.levels:
        return _denoise_levels(release, held)
    least = (NEGLIGIBLE * release.step) ** 2  # known tables may contradict what has no noise
    found = np.maximum(release.errors.block_variances, least).tolist()
    variances = dict(zip(workload.blocks, found, strict=True))
    made = denoise_tables(
        release.blocks, variances, workload.sizes, workload.tables, known=held, mechanism=release.mechanism
    )
    return _estimate(release, made.blocks, made, made.integers, known=tuple(held))


def _estimate(
    release: CrosstabsRelease,
    blocks: Mapping[Table, Floats],
    risks: Risks,
    make_integers: Callable[[], Any],
    *,
    known: tuple[Table, ...] = (),
) -> CrosstabsEstimate:
    """Of the release that they were made from."""
    return CrosstabsEstimate(
        workload=release.workload,
        axes=release.axes,
        blocks=blocks,
        noisy=release.blocks,
        std=release.std,
        mechanism=release.mechanism,
        risks=risks,
        known=known,
        weight=release.weight,
        provenance=release.provenance,
        make_integers=make_integers,
    )


def _kept_tables(release: CrosstabsRelease) -> CrosstabsEstimate:
    """The tables as they are, where there is no noise to take out."""
    whole = {table: np.rint(release[table].to_numpy()).astype(np.int64) for table in release.tables}
    return _estimate(release, release.blocks, NoError(), lambda: whole)


def _denoise_levels(release: CrosstabsRelease, held: Mapping[Any, Any]) -> CrosstabsEstimate:
    """The same along a tree, from the coarsest level down."""
    if held:
        raise errors.InvalidParameter(
            "Public tables are not held along a tree: leave them out. Sums that are known can be given to "
            "leastnoise.denoise.consistent.",
            parameter="known",
        )
    made = denoise_levels(release.errors, release.blocks)
    return _estimate(release, made.blocks, made, made.integers)


def _known_tables(release: CrosstabsRelease, known: Mapping[Any, Any]) -> dict[tuple[str, ...], Any]:
    """The public tables as arrays with an axis a column, in the order of the columns."""
    found = {}
    for columns, values in known.items():
        names = (columns,) if isinstance(columns, str) else tuple(columns)
        table = release.workload.table(names)
        if isinstance(values, Mapping):
            cells = Domain(table, tuple(release.axes[column] for column in table))
            listed = [_value_of(release, names, values, cells.key(index)) for index in range(cells.size)]
            sizes = [release.workload.sizes[column] for column in table]
            found[table] = np.reshape(np.asarray(listed, dtype=np.float64), sizes)
            continue
        array = np.asarray(values, dtype=np.float64)
        if array.ndim != len(names):
            raise errors.InvalidParameter(
                f"The known table {' x '.join(names) or 'of the total'} needs an array with {len(names)} axes. Got "
                f"{array.ndim} instead.",
                parameter="known",
            )
        wanted = tuple(release.workload.sizes[column] for column in names)
        if array.shape != wanted:
            want, got = (" x ".join(map(str, shape)) for shape in (wanted, array.shape))
            raise errors.InvalidParameter(
                f"The known table {' x '.join(names)} needs an array of {want} numbers, one for each cell. Got {got} "
                f"instead. {_others_known(release, names)}".strip(),
                parameter="known",
            )
        found[table] = np.transpose(array, [names.index(column) for column in table])
    return found


def _value_of(release: CrosstabsRelease, names: tuple[str, ...], values: Mapping[Any, Any], key: Any) -> Any:
    """The known value of one cell, by its key as the columns were named."""
    table = release.workload.table(names)
    named = dict(zip(table, (key,) if len(table) == 1 else key, strict=True))
    shown = tuple(named[name] for name in names)
    cells = tuple(key_cell(release.axes[name], named[name]) for name in names)
    for asked in (shown[0], cells[0]) if len(names) == 1 else (shown, cells):
        if asked in values:
            return values[asked]
    others = any(isinstance(axis := release.axes[name], OrOther) and named[name] == axis.label for name in names)
    raise errors.InvalidParameter(
        f"The known table {' x '.join(names) or 'of the total'} has no value for "
        f"{shown[0] if len(names) == 1 else shown!r}. Give one for each cell, by its key as the tables show it. "
        f"{_others_known(release, names) if others else ''}".strip(),
        parameter="known",
    )


def _others_known(release: CrosstabsRelease, names: Sequence[str]) -> str:
    """What to say of the key for missing and unlisted values, which a public table seldom has."""
    labels = {axis.label for name in names if isinstance(axis := release.axes[name], OrOther)}
    if not labels:
        return ""
    return (
        f"{' and '.join(repr(label) for label in sorted(labels))} is the key of rows with a missing or unlisted value: "
        "say 0 if there are none, or release the tables with other=False (--no-other)."
    )
