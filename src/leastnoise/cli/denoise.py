"""`leastnoise denoise`: a saved release in, a saved estimate out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console

import leastnoise as ln
from leastnoise import errors
from leastnoise._support import atomic_files
from leastnoise.cli import options
from leastnoise.cli.json_output import print_json
from leastnoise.cli.messages import printable
from leastnoise.graphs.bin_graph import bin_graph
from leastnoise.releases.crosstab_estimate import CrosstabsEstimate
from leastnoise.releases.crosstabs import CrosstabsRelease


def denoise(
    release: options.ReleaseFile,
    output: options.EstimateFile,
    graph: options.GraphName = None,
    nodes: options.NodesFile = None,
    along: options.Along = None,
    loss: options.Loss = None,
    method: options.Method = "auto",
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Take the noise back out of a release. It costs no privacy.

    Example: [bold]leastnoise denoise map.parquet --graph edges.parquet --nodes nodes.parquet -o denoised.parquet[/bold]
    """
    loaded = ln.load(release)
    if not isinstance(loaded, ln.Release | CrosstabsRelease):
        raise errors.WrongType(
            f"{str(release)!r} holds a {type(loaded).__name__}, and only counts, sums, vectors and sets of tables are "
            "denoised."
        )
    atomic_files.check_writable(output, sources=[str(release)])
    if isinstance(loaded, CrosstabsRelease):
        if (graph, nodes, along, loss, method) != (None, None, None, None, "auto"):
            raise errors.InvalidParameter(
                "A set of tables is denoised in one way. Leave out --graph, --nodes, --along, --loss and --method."
            )
        _write_tables(loaded.denoise(), output, json=json, quiet=quiet)
        return
    near = _graph(loaded, graph, nodes)
    chosen: dict[str, Any] = {**near, **({} if loss is None else {"loss": loss})}
    made = loaded.denoise(method, along=_axes(along), **chosen)
    made.save(output)
    if quiet:
        return
    if json:
        limit = None if made.rmse is None else made.rmse_at_most(0.95).value
        facts = {"output": str(output), "method": made.method, "rmse": made.rmse, "rmse_at_most": limit}
        print_json({**facts, "was": made.std})
        return
    Console().print(printable(made.explain()), highlight=False, markup=False)
    Console().print(f"Written: {output}", highlight=False, markup=False)


def _write_tables(made: CrosstabsEstimate, output: Path, *, json: bool, quiet: bool) -> None:
    made.save(output)
    if quiet:
        return
    if json:
        print_json({"output": str(output), "rmse": made.rmse, "rmse_at_most": made.rmse_at_most(0.95).value})
        return
    Console().print(printable(made.explain()), highlight=False, markup=False)
    Console().print(f"Written: {output}", highlight=False, markup=False)


def _axes(along: str | None) -> list[str] | bool | None:
    """What `Release.denoise` calls it: all by default."""
    if along is None:
        return True
    return None if along == "none" else along.split(",")


def _graph(release: ln.Release, graph: str | None, nodes: Path | None) -> dict[str, ln.graphs.Graph]:
    if graph is None:
        if nodes is not None:
            raise errors.MissingParameter("--nodes says where the nodes are; say also which are joined: --graph FILE.")
        return {}
    return {"graph": bin_graph(graph, domain=release.domain, bins=release.bins, nodes=nodes)}
