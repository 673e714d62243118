"""What a release's domain says about which bins are alike, as options of a denoiser.

`auto` is given it by default, for it takes only what helps: the graph of the ordered axes (`graphs/of_axes.py`), and
with two axes or more the shape of the table, for row and column effects. Other denoisers that need a graph get it where
axes are named.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from leastnoise import errors
from leastnoise.domain import Domain
from leastnoise.graphs.of_axes import graph_along, ordered_axes

# By default there is no graph beyond this many bins, where one takes `auto` 1 to 4 s instead of 0.1 to 0.3 s (Gaussian
# and Laplace noise, chain and grid); a million take 9 to 16 s of processor. Axes that are named have no such limit.
MAX_BINS_BY_DEFAULT = 100_000


def with_axes(
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
