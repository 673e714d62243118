"""`leastnoise denoise`: a saved release in, a saved estimate out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console

import leastnoise as ln
from leastnoise import errors
from leastnoise._support import atomic_files, outputs
from leastnoise.cli import options
from leastnoise.cli.json_output import print_json
from leastnoise.cli.messages import printable


def denoise(
    release: options.ReleaseFile,
    output: options.EstimateFile,
    graph: options.GraphName = None,
    nodes: options.NodesFile = None,
    along: options.Along = None,
    known: options.Known = None,
    loss: options.Loss = None,
    method: options.Method = "auto",
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Take the noise back out of a release. It costs no privacy.

    Example: [bold]leastnoise denoise map.parquet --graph edges.parquet --nodes nodes.parquet -o denoised.parquet[/bold]
    """
    loaded = ln.load(release)
    if isinstance(loaded, ln.CrosstabsRelease):
        _refuse(graph=graph, nodes=nodes, along=along, loss=loss, method=None if method == "auto" else method)
        _denoise_tables(loaded, release, output, known or [], json=json, quiet=quiet)
        return
    _refuse(known=known)
    if not isinstance(loaded, ln.Release):
        reason = getattr(loaded, "why_not_denoised", "Give the release that it was made from.")
        raise errors.WrongType(f"{str(release)!r} holds a {type(loaded).__name__}. {reason}")
    atomic_files.check_writable(output, sources=[str(release)])
    outputs.keep_release(output)
    near = _graph(loaded, graph, nodes)
    chosen: dict[str, Any] = {**near, **({} if loss is None else {"loss": loss})}
    made = loaded.denoise(method, along=_axes(along), **chosen)
    made.save(output)
    if quiet:
        return
    if json:
        limit = None if made.rmse is None else made.rmse_at_most(0.95).value
        facts = {"output": str(output), "method": made.method, "rmse": made.rmse, "rmse_at_most": limit}
        print_json({**facts, "was": made.std, "better_than_raw": made.better_than_raw})
        return
    Console().print(printable(made.explain()), highlight=False, markup=False)
    Console().print(f"Written: {output}", highlight=False, markup=False)


def _denoise_tables(
    loaded: ln.CrosstabsRelease, path: Path, output: Path, known: list[str], *, json: bool, quiet: bool
) -> None:
    """A set of tables, denoised together."""
    atomic_files.check_writable(output, sources=[str(path)])
    outputs.keep_release(output)
    made = loaded.denoise(known=dict(map(_known_table, known)))
    made.save(output)
    if quiet:
        return
    if json:
        facts = {"output": str(output), "rmse": made.rmse, "rmse_at_most": made.rmse_at_most(0.95).value}
        print_json({**facts, "was": made.published_rmse, "better_than_raw": made.better_than_raw})
        return
    Console().print(printable(made.explain()), highlight=False, markup=False)
    Console().print(f"Written: {output}", highlight=False, markup=False)


def _known_table(text: str) -> tuple[tuple[str, ...], dict[Any, Any]]:
    """district=totals.csv:people as columns, and their values by key."""
    from leastnoise.domain import read_public_column

    columns, _, rest = text.partition("=")
    path, _, values = rest.rpartition(":")
    names = tuple(filter(None, map(str.strip, columns.split(","))))
    if not (names and path and values):
        raise errors.InvalidParameter(
            f"--known takes columns of keys, a file and its column of values: district=totals.csv:people. Got {text!r} "
            "instead."
        )
    keys = [read_public_column(path, name) for name in names]
    listed = keys[0] if len(names) == 1 else list(zip(*keys, strict=True))
    if len(set(listed)) < len(listed):
        raise errors.BadDomain(f"{path!r} has two values for one key of {', '.join(names)}. Give each key once.")
    return names, dict(zip(listed, read_public_column(path, values), strict=True))


def _refuse(**given: object) -> None:
    """What this kind of release does not take."""
    for name, value in given.items():
        if value is not None:
            what = "is for sets of tables alone" if name == "known" else "is not for sets of tables"
            raise errors.InvalidParameter(f"--{name} {what}. Leave it out.")


def _axes(along: str | None) -> list[str] | bool | None:
    """What `Release.denoise` calls it: all by default."""
    if along is None:
        return True
    return None if along == "none" else along.split(",")


def _graph(release: ln.Release, graph: str | None, nodes: Path | None) -> dict[str, ln.graphs.Graph]:
    from leastnoise.graphs.bin_graph import bin_graph

    if graph is None:
        if nodes is not None:
            raise errors.MissingParameter("--nodes says where the nodes are; say also which are joined: --graph FILE.")
        return {}
    return {"graph": bin_graph(graph, domain=release.domain, bins=release.bins, nodes=nodes)}
