"""`leastnoise denoise`: a saved release in, a saved estimate out."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import leastnoise as ln
from leastnoise import errors
from leastnoise._support import atomic_files
from leastnoise.cli.messages import shown
from leastnoise.graphs.of_bins import bin_graph


def denoise(
    release: Annotated[Path, typer.Argument(help="A file that `save` wrote, or the command line.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the estimate goes (Parquet).")],
    graph: Annotated[
        str | None,
        typer.Option(help="Which bins are near: path, cycle, grid, or a Parquet file of edges (u, v) between keys."),
    ] = None,
    nodes: Annotated[Path | None, typer.Option(help="Of such a graph: a Parquet file with id, lon, lat.")] = None,
    method: Annotated[str, typer.Option(help="auto, james_stein, soft_threshold, empirical_bayes, ...")] = "auto",
    json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output, for programs.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing when all went well.")] = False,
) -> None:
    """Take the noise back out of a release. It costs no privacy.

    Example: [bold]leastnoise denoise map.parquet --graph edges.parquet --nodes nodes.parquet -o denoised.parquet[/bold]
    """
    loaded = ln.load(release)
    if not isinstance(loaded, ln.Release):
        raise errors.WrongType(
            f"{str(release)!r} holds a {type(loaded).__name__}, and only counts, sums and vectors are denoised."
        )
    atomic_files.check_writable(output, sources=[str(release)])
    near = _near(loaded, graph, nodes)
    made = loaded.denoise(method, **near)
    made.save(output)
    if quiet:
        return
    if json:
        typer.echo(json_text.dumps({"output": str(output), "method": made.method, "rmse": made.rmse, "was": made.std}))
        return
    Console().print(shown(made.explain()), highlight=False, markup=False)
    Console().print(f"Written: {output}", highlight=False, markup=False)


def _near(release: ln.Release, graph: str | None, nodes: Path | None) -> dict[str, ln.graphs.Graph]:
    if graph is None:
        if nodes is not None:
            raise errors.MissingParameter("--nodes says where the nodes are; say also which are joined: --graph FILE.")
        return {}
    return {"graph": bin_graph(graph, domain=release.domain, bins=release.bins, nodes=nodes)}
