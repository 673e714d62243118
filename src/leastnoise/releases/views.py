"""What is made of a release by the packages above this one: they are imported at the call, and in this file only."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from leastnoise import errors
from leastnoise._support import atomic_files, progress, validation
from leastnoise.domain import Domain, OrOther, key_cell
from leastnoise.releases import file_format
from leastnoise.releases.noise import NEGLIGIBLE
from leastnoise.workload import TreeWorkload

if TYPE_CHECKING:
    from leastnoise.domain import Zones
    from leastnoise.graphs import Graph
    from leastnoise.releases.crosstab_estimate import CrosstabsEstimate
    from leastnoise.releases.crosstabs import CrosstabsRelease
    from leastnoise.releases.cumulative import CumulativeTable
    from leastnoise.releases.estimate import Estimate
    from leastnoise.releases.limit_suggestion import LimitSuggestion
    from leastnoise.releases.published import Published
    from leastnoise.releases.release import Release
    from leastnoise.releases.summary import SummaryRelease

Along = str | Sequence[str] | bool | None


def plot(published: Published, **options: Any) -> Any:
    """Its picture, by `leastnoise.plot`."""
    from leastnoise import plot
    from leastnoise.releases.crosstab_table import CrosstabTable
    from leastnoise.releases.estimate import Estimate

    if isinstance(published, Estimate):
        return plot.estimate(published, **options)
    if isinstance(published, CrosstabTable):
        return plot.table(published, **options)
    return plot.release(published, **options)


def plot_cumulative(curves: CumulativeTable, **options: Any) -> Any:
    """The picture of cumulative sums, by `leastnoise.plot`."""
    from leastnoise import plot

    return plot.cumulative(curves, **options)


def plot_limits(suggestion: LimitSuggestion, **options: Any) -> Any:
    """The picture of proposed limits, by `leastnoise.plot`."""
    from leastnoise import plot

    return plot.limits(suggestion, **options)


def report(
    path: str | os.PathLike[str],
    published: Published,
    *,
    estimate: Estimate | Literal["auto"] | None,
    graph: Graph | None,
    zones: Zones | None,
    title: str | None,
    allow_seeded: bool,
) -> Path:
    """Its page, by `leastnoise.report`."""
    from leastnoise import report
    from leastnoise.releases.estimate import Estimate

    seeded = published.seeded or (isinstance(estimate, Estimate) and estimate.seeded)
    file_format.refuse_seeded_noise(seeded, allow_seeded)
    atomic_files.check_writable(path, "page")  # before anything slow
    beside, why_none = _estimate_for_page(published, estimate, graph)
    with progress.watched("writing the page"):
        return report.write(
            path, published, estimate=beside, why_no_estimate=why_none, graph=graph, zones=zones, title=title
        )


def report_tables(
    path: str | os.PathLike[str],
    release: CrosstabsRelease,
    *,
    estimate: CrosstabsEstimate | Literal["auto"] | None,
    title: str | None,
    allow_seeded: bool,
) -> Path:
    """The page of a set of tables, by `leastnoise.report`."""
    from leastnoise import report

    if isinstance(estimate, str):
        validation.word("estimate", estimate, ["auto"])
        atomic_files.check_writable(path, "page")  # before anything slow
        try:
            estimate = release.denoise()
        except errors.LeastnoiseError:  # a set that no denoiser takes has a page without an estimate
            estimate = None
    file_format.refuse_seeded_noise(release.seeded, allow_seeded)  # an estimate of it is as seeded as it is
    with progress.watched("writing the page"):
        return report.write_tables(path, release, estimate=estimate, title=title)


def export(
    form: Literal["csv", "excel"],
    published: Any,
    path: str | os.PathLike[str],
    estimate: Estimate | None,
    *,
    confidence: validation.Number,
    round_to: validation.Number | None,
    allow_seeded: bool,
) -> Path:
    """Its numbers for spreadsheets, by `leastnoise.export`."""
    from leastnoise import export

    file_format.refuse_seeded_noise(published.seeded or (estimate is not None and estimate.seeded), allow_seeded)
    write = export.write_csv if form == "csv" else export.write_workbook
    return write(published, path, estimate=estimate, confidence=confidence, round_to=round_to)


def export_tables(
    release: CrosstabsRelease,
    path: str | os.PathLike[str],
    estimate: CrosstabsEstimate | None,
    *,
    confidence: validation.Number,
    round_to: validation.Number | None,
    allow_seeded: bool,
) -> Path:
    """A set of tables as a workbook, by `leastnoise.export`."""
    from leastnoise import export

    file_format.refuse_seeded_noise(release.seeded, allow_seeded)  # an estimate of it is as seeded as it is
    if estimate is not None and estimate.id != release.id:
        raise errors.InvalidParameter("The estimate was made from another release.", parameter="estimate")
    return export.write_tables_workbook(release, path, estimate=estimate, confidence=confidence, round_to=round_to)


def report_summary(
    path: str | os.PathLike[str], release: SummaryRelease, *, title: str | None, allow_seeded: bool
) -> Path:
    """The page of a summary, by `leastnoise.report`."""
    from leastnoise import report

    file_format.refuse_seeded_noise(release.seeded, allow_seeded)
    return report.write_summary(path, release, title=title)


def report_limits(
    path: str | os.PathLike[str], suggestion: LimitSuggestion, *, title: str | None, allow_seeded: bool
) -> Path:
    """The page of proposed limits, by `leastnoise.report`."""
    from leastnoise import report

    file_format.refuse_seeded_noise(suggestion.seeded, allow_seeded)
    return report.write_limits(path, suggestion, title=title)


def _estimate_for_page(
    published: Published, estimate: Estimate | Literal["auto"] | None, graph: Graph | None
) -> tuple[Estimate | None, str]:
    """What the page shows beside the release, or why nothing: "auto" denoises a Release, and no other kind."""
    from leastnoise.releases.estimate import Estimate
    from leastnoise.releases.release import Release

    if estimate is None or isinstance(estimate, Estimate):
        return estimate, ""
    validation.word("estimate", estimate, ["auto"])
    if not isinstance(published, Release):
        return None, ""
    try:
        return published.denoise(graph=graph), ""
    except errors.LeastnoiseError as reason:
        return None, str(reason)


def denoise(release: Release, method: str, along: Along, options: dict[str, Any]) -> Estimate:
    """The values with noise taken back out, by `leastnoise.denoise.<method>`."""
    from leastnoise import denoise

    validation.word("method", method, denoise.METHODS)
    if release.threshold is not None:
        return _denoise_shown(release, release.threshold, method, options)
    accepted = inspect.signature(denoise.METHODS[method]).parameters
    _refuse_what_is_not_taken(method, options)
    options, chained = denoise.with_axes(options, domain=release.domain, along=along, method=method, accepted=accepted)
    needed = [
        name
        for name, parameter in accepted.items()
        if parameter.kind is parameter.KEYWORD_ONLY and name not in options
        # An array's own axes say what is near; a release's bins are named, and only its axes can say it.
        if parameter.default is parameter.empty or (name == "graph" and method != "auto")
    ]
    if needed:
        example = ", ".join(f"{name}=..." for name in needed)
        raise errors.MissingParameter(
            f'{method} needs {" and ".join(needed)}: release.denoise("{method}", {example}) in Python. '
            "What needs nothing is auto, empirical_bayes, james_stein, soft_threshold, hard_threshold or isotonic.",
            parameter=needed[0],
        )
    if release.kind == "count":
        options = {**KNOWN_OF_COUNTS.get(method, {}), **options}
    if release.noise.is_none:
        return _kept(release, method)
    with progress.watched("denoising"):
        made = denoise.METHODS[method](release.values, release.std, mechanism=release.mechanism, axis=None, **options)
    parameters = {**made.parameters, "along": list(chained)} if chained else made.parameters
    return replace(
        made,
        noisy=release.values,  # whole numbers are whole there
        parameters=parameters,
        domain=release.domain,
        noise=release.noise,
        provenance=release.provenance,
    )


def _kept(release: Release, method: str) -> Estimate:
    """The values as they are, where there is no noise to take out."""
    from leastnoise.releases.estimate import Estimate, RiskEstimate

    risk = RiskEstimate(release.std**2, float(release.bins), release.std**2)
    return Estimate(
        values=release.values.astype(np.float64),
        noisy=release.values,
        noise=release.noise,
        method=method,
        estimate_risk=lambda: risk,
        denoise_again=lambda y, sigma: y,
        domain=release.domain,
        provenance=release.provenance,
    )


def _denoise_shown(release: Release, threshold: int, method: str, options: dict[str, Any]) -> Estimate:
    """Of keys that nobody listed: what is left of their noise is not symmetric, and one law knows how."""
    from leastnoise import denoise

    given = {name: value for name, value in options.items() if value is not None}
    if method != "auto" or given:
        raise errors.InvalidParameter(
            f"Only bins whose noisy count reached {threshold} were published, so what is left of their noise is not "
            "symmetric and the law of this denoiser does not hold. Without arguments denoise takes the one that does, "
            "if sizes follow a power law; or list the keys."
        )
    made = denoise.shown_counts(release.values.astype(np.float64), release.noise, threshold)
    return replace(made, domain=release.domain, provenance=release.provenance)


def denoise_tables(release: CrosstabsRelease, known: Mapping[Any, Any]) -> CrosstabsEstimate:
    """The tables of a set with noise taken back out, by `leastnoise.denoise`."""
    from leastnoise import denoise
    from leastnoise.releases.crosstab_estimate import CrosstabsEstimate

    if release.workload.strategies:
        raise errors.InvalidParameter(
            "This set has cumulative sums or ranges, whose noise is correlated along their columns, and denoising a "
            "set takes the noise of its blocks as independent. Its tables and curves are unbiased as they are; to "
            "denoise, release the tables without."
        )
    workload, held = release.workload, _known_tables(release, known)
    if release.noise_is_none and not held:
        return _kept_tables(release)
    if isinstance(workload, TreeWorkload):
        return _denoise_levels(release, held)
    least = (NEGLIGIBLE * release.step) ** 2  # known tables may contradict what has no noise
    found = np.maximum(release.errors.block_variances, least).tolist()
    variances = dict(zip(workload.blocks, found, strict=True))
    made = denoise.denoise_tables(
        release.blocks, variances, workload.sizes, workload.tables, known=held, mechanism=release.mechanism
    )
    return CrosstabsEstimate(
        workload=workload,
        axes=release.axes,
        blocks=made.blocks,
        noisy=release.blocks,
        std=release.std,
        mechanism=release.mechanism,
        risks=made,
        known=tuple(held),
        weight=release.weight,
        provenance=release.provenance,
        make_integers=made.integers,
    )


def _kept_tables(release: CrosstabsRelease) -> CrosstabsEstimate:
    """The tables as they are, where there is no noise to take out."""
    from leastnoise.releases.crosstab_estimate import CrosstabsEstimate, NoError

    whole = {table: np.rint(release[table].to_numpy()).astype(np.int64) for table in release.tables}
    return CrosstabsEstimate(
        workload=release.workload,
        axes=release.axes,
        blocks=release.blocks,
        noisy=release.blocks,
        std=release.std,
        mechanism=release.mechanism,
        risks=NoError(),
        weight=release.weight,
        provenance=release.provenance,
        make_integers=lambda: whole,
    )


def _denoise_levels(release: CrosstabsRelease, held: Mapping[Any, Any]) -> CrosstabsEstimate:
    """The same along a tree, from the coarsest level down."""
    from leastnoise import denoise
    from leastnoise.releases.crosstab_estimate import CrosstabsEstimate
    from leastnoise.workload.tree_errors import NoisyLevels

    if held:
        raise errors.InvalidParameter(
            "Public tables are not held along a tree: leave them out. Sums that are known can be given to "
            "leastnoise.denoise.consistent.",
            parameter="known",
        )
    assert isinstance(release.errors, NoisyLevels)
    made = denoise.denoise_levels(release.errors, release.blocks)
    return CrosstabsEstimate(
        workload=release.workload,
        axes=release.axes,
        blocks=made.blocks,
        noisy=release.blocks,
        std=release.std,
        mechanism=release.mechanism,
        risks=made,
        weight=release.weight,
        provenance=release.provenance,
        make_integers=made.integers,
    )


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


def _refuse_what_is_not_taken(method: str, options: dict[str, Any]) -> None:
    """A graph or a loss given to a method that knows none: the command line offers them for every method."""
    from leastnoise import denoise

    if "axis" in options:
        raise errors.InvalidParameter(
            "A release is one vector, so there is no axis to name. Denoise the rows of an array by leastnoise.denoise.",
            parameter="axis",
        )
    for option in ("graph", "loss"):
        takers = [name for name, made in denoise.METHODS.items() if option in inspect.signature(made).parameters]
        if options.get(option) is not None and method not in takers:
            raise errors.InvalidParameter(
                f"{method} takes no {option}. These do: {', '.join(takers)}.", parameter=option
            )


# What is known of counts, unless the caller says otherwise.
KNOWN_OF_COUNTS: dict[str, dict[str, Any]] = {
    "auto": {"nonnegative": True, "integers": True},
    "empirical_bayes": {"support": "nonnegative"},
    "neighbour_bayes": {"support": "nonnegative"},
}
