"""`leastnoise report`: a saved release in, one HTML page out."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

import leastnoise as ln
from leastnoise import errors
from leastnoise.graphs import Graph


def report(
    release: Annotated[Path, typer.Argument(help="A file that `save` wrote, or the command line.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The page; beside the file by default.")] = None,
    graph: Annotated[Path | None, typer.Option(help="Edges (Parquet): two columns that name nodes.")] = None,
    nodes: Annotated[
        Path | None, typer.Option(help="Nodes (Parquet): an id, and columns lon and lat or x and y.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="The page's heading.")] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output, for programs.")] = False,
) -> None:
    """One HTML page about a release, for people: the promise, the values, a map or a chart, a table.

    Example: [bold]leastnoise report map.parquet --graph edges.parquet --nodes nodes.parquet -o map.html[/bold]
    """
    loaded = ln.load(release)
    page = output or release.with_suffix(".html")
    places = None if graph is None and nodes is None else read_graph(graph, nodes, loaded)
    made = loaded.report(page, graph=places, title=title)
    if json:
        typer.echo(json_text.dumps({"output": str(made), "bytes": made.stat().st_size}))
        return
    Console().print(f"Written: {made}", highlight=False, markup=False)


def read_graph(edges: Path | None, nodes: Path | None, released: Any) -> Graph:
    """The graph of two files, its nodes in the order of the release's bins."""
    if edges is None or nodes is None:
        raise errors.MissingParameter(
            "A graph is edges and nodes: give both --graph edges.parquet and --nodes nodes.parquet."
        )
    places, pairs = _table(nodes), _table(edges)
    name = "id" if "id" in places.column_names else places.column_names[0]
    ids = places[name].to_pylist()
    order = {key: place for place, key in enumerate(_bins(released, ids))}
    if len(order) != len(ids) or set(ids) != set(order):
        raise errors.BadDomain(
            f'The column "{name}" of {str(nodes)!r} does not name the bins of the release, each once.'
        )
    here = np.array([order[key] for key in ids])
    coordinates = np.empty((len(ids), 2))
    coordinates[here] = np.stack([places[column].to_numpy() for column in _axes(places.column_names)], axis=1)
    ends = [[order.get(key, -1) for key in pairs[column].to_pylist()] for column in pairs.column_names[:2]]
    return Graph.from_edges(len(ids), np.array(ends, dtype=np.int64).T.reshape(-1, 2), coordinates=coordinates)


def _bins(released: Any, ids: list[Any]) -> list[Any]:
    """What names the bins: the release's keys, or without any the nodes in their order."""
    domain = getattr(released, "domain", None)
    return ids if domain is None else domain.keys()


def _axes(names: list[str]) -> tuple[str, str]:
    for pair in (("lon", "lat"), ("longitude", "latitude"), ("x", "y")):
        if set(pair) <= set(names):
            return pair
    raise errors.UnknownColumn.among("lon", names)


def _table(path: Path) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not path.is_file():
        raise errors.FileProblem(f"There is no file {str(path)!r}. Check the path.")
    try:
        return pq.read_table(path)
    except (pa.ArrowException, OSError):
        raise errors.FileProblem(f"{str(path)!r} is not a readable Parquet file.") from None
