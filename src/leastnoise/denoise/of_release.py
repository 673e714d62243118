"""What a release asks of a denoiser, and what the release's domain says to it.

The release's own noise, keys and guarantee stay with the estimate. Counts are known not to be negative, and to be
whole. `auto` is told by default which bins are alike, for it takes only what helps: the graph of the ordered axes
(`graphs/bin_graph.py`), and with two axes or more the shape of the table, for row and column effects. Other denoisers
that need a graph get it where axes are named. Keys that nobody listed show by their noise, and have their own rule.

A set of tables asks what is public, what has no noise, and whether there is a tree.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from leastnoise import errors
from leastnoise._support import progress, validation
from leastnoise._support.validation import Floats
from leastnoise.denoise.shown_counts import shown_counts
from leastnoise.denoise.tree_levels import EstimatedLevels
from leastnoise.domain import Domain, OrOther, key_cell
from leastnoise.graphs.bin_graph import graph_along, ordered_axes
from leastnoise.releases.crosstab_estimate import CrosstabsEstimate, NoError, Risks
from leastnoise.releases.crosstabs import CrosstabsRelease
from leastnoise.releases.estimate import Estimate, RiskEstimate
from leastnoise.releases.noise import NEGLIGIBLE
from leastnoise.releases.release import Release
from leastnoise.workload.residuals import Table

if TYPE_CHECKING:
    from leastnoise.denoise.tables import EstimatedTables

# By default there is no graph beyond this many bins, where one takes `auto` 1 to 4 s instead of 0.1 to 0.3 s (Gaussian
# and Laplace noise, chain and grid); a million take 9 to 16 s of processor. Axes that are named have no such limit.
MAX_BINS_BY_DEFAULT = 100_000
# What is known of counts, unless the caller says otherwise.
KNOWN_OF_COUNTS: dict[str, dict[str, Any]] = {
    "auto": {"nonnegative": True, "integers": True},
    "empirical_bayes": {"support": "nonnegative"},
    "neighbour_bayes": {"support": "nonnegative"},
}


def denoise_release(
    release: Release,
    method: str,
    along: str | Sequence[str] | bool | None,
    options: dict[str, Any],
    methods: Mapping[str, Callable[..., Estimate]],
) -> Estimate:
    """The values with noise taken back out, by one of the methods.

    along: see `Release.denoise`. methods: all denoisers, by name.
    """
    validation.word("method", method, methods)
    if release.threshold is not None:
        return _of_shown_keys(release, release.threshold, method, options)
    accepted = inspect.signature(methods[method]).parameters
    _refuse_what_is_not_taken(method, options, methods)
    options, chained = _with_axes(options, domain=release.domain, along=along, method=method, accepted=accepted)
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
        made = methods[method](release.values, release.std, mechanism=release.mechanism, axis=None, **options)
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


def _of_shown_keys(release: Release, threshold: int, method: str, options: dict[str, Any]) -> Estimate:
    """Of keys that nobody listed: what is left of their noise is not symmetric, and one law knows how."""
    given = {name: value for name, value in options.items() if value is not None}
    if method != "auto" or given:
        raise errors.InvalidParameter(
            f"Only bins whose noisy count reached {threshold} were published, so what is left of their noise is not "
            "symmetric and the law of this denoiser does not hold. Without arguments denoise takes the one that does, "
            "if sizes follow a power law; or list the keys."
        )
    made = shown_counts(release.values.astype(np.float64), release.noise, threshold)
    return replace(made, domain=release.domain, provenance=release.provenance)


def _refuse_what_is_not_taken(
    method: str, options: dict[str, Any], methods: Mapping[str, Callable[..., Estimate]]
) -> None:
    """A graph or a loss given to a method that knows none: the command line offers them for every method."""
    if "axis" in options:
        raise errors.InvalidParameter(
            "A release is one vector, so there is no axis to name. Denoise the rows of an array by leastnoise.denoise.",
            parameter="axis",
        )
    for option in ("graph", "loss"):
        takers = [name for name, made in methods.items() if option in inspect.signature(made).parameters]
        if options.get(option) is not None and method not in takers:
            raise errors.InvalidParameter(
                f"{method} takes no {option}. These do: {', '.join(takers)}.", parameter=option
            )


def _with_axes(
    options: dict[str, Any],
    *,
    domain: Domain | None,
    along: str | Sequence[str] | bool | None,
    method: str,
    accepted: Collection[str],
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The options of a method with what the axes add to them, and the names of the axes that were chained.

    along: True for all axes with an order, None for none, or the names of some. accepted: the options of the method.
    """
    named = along is not None and not isinstance(along, bool)
    if named and options.get("graph") is not None:
        raise errors.InvalidParameter(
            "a graph says which bins are near, and so do the axes that are named by along. Give one of the two.",
            parameter="along",
        )
    if named and "graph" not in accepted:
        raise errors.InvalidParameter(f"{method} does not ask which bins are near, so along says nothing to it.")
    if along is None or along is False or options.get("graph") is not None or not (named or method == "auto"):
        return options, ()
    if domain is None or not domain.axes:
        if named:
            raise errors.MissingParameter("these bins have no axes to name. Give a graph.", parameter="along")
        return options, ()
    names = _names(domain, along)
    added: dict[str, Any] = {"graph": graph_along(domain, names)} if names else {}
    if method == "auto" and sum(axis.size > 1 for axis in domain.axes) > 1:
        added["shape"] = tuple(axis.size for axis in domain.axes)
    return {**options, **added}, names


def _names(domain: Domain, along: Any) -> tuple[str, ...]:
    if along is True:
        return ordered_axes(domain) if domain.size <= MAX_BINS_BY_DEFAULT else ()
    names = [along] if isinstance(along, str) else list(along) if isinstance(along, list | tuple) else [along]
    for name in names:
        if not isinstance(name, str):
            raise errors.WrongType(
                f"along is True, None, or names of axes: {', '.join(domain.names)}. Got {along!r} instead.",
                parameter="along",
                value=along,
            )
        if names.count(name) > 1:
            raise errors.InvalidParameter(f"along names {name!r} twice. Name each axis once.", parameter="along")
    return tuple(names)


def denoise_set(release: CrosstabsRelease, known: Mapping[Any, Any]) -> CrosstabsEstimate:
    """The tables of a set with noise taken back out. known: public tables, held as they are."""
    if release.workload.strategies:
        raise errors.InvalidParameter(
            "This set has cumulative sums or ranges, whose noise is correlated along their columns, and denoising a "
            "set takes the noise of its blocks as independent. Its tables and curves are unbiased as they are; to "
            "denoise, release the tables without."
        )
    held = _known_tables(release, known)
    if release.noise_is_none and not held:
        whole = {table: np.rint(release[table].to_numpy()).astype(np.int64) for table in release.tables}
        return _set_estimate(release, release.blocks, NoError(), lambda: whole)
    if not release.workload.levels:
        made = _denoised(release, held)
        return _set_estimate(release, made.blocks, made, made.integers, known=tuple(held))
    if held:
        raise errors.InvalidParameter(
            "Public tables are not held along a tree: leave them out. Sums that are known can be given to "
            "leastnoise.denoise.consistent.",
            parameter="known",
        )
    levels = EstimatedLevels(release.errors, release.blocks)
    return _set_estimate(release, levels.blocks, levels, levels.integers)


def _denoised(release: CrosstabsRelease, held: Mapping[Table, Any]) -> EstimatedTables:
    """Tables without a tree."""
    from leastnoise.denoise.tables import denoise_tables  # compiled loops

    workload = release.workload
    least = (NEGLIGIBLE * release.step) ** 2  # known tables may contradict what has no noise
    variances = dict(zip(workload.blocks, np.maximum(release.errors.block_variances, least).tolist(), strict=True))
    return denoise_tables(
        release.blocks, variances, workload.sizes, workload.tables, known=held, mechanism=release.mechanism
    )


def _set_estimate(
    release: CrosstabsRelease,
    blocks: Mapping[Table, Floats],
    risks: Risks,
    make_integers: Callable[[], Any],
    *,
    known: tuple[Table, ...] = (),
) -> CrosstabsEstimate:
    """Of the release that they were made from."""
    same = {name: getattr(release, name) for name in ("workload", "axes", "std", "mechanism", "weight", "provenance")}
    return CrosstabsEstimate(
        **same, blocks=blocks, noisy=release.blocks, risks=risks, known=known, make_integers=make_integers
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
