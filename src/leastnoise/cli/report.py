"""`leastnoise report`: a saved release in, one HTML page out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

import leastnoise as ln
from leastnoise import errors
from leastnoise.cli import options
from leastnoise.cli.json_output import print_json
from leastnoise.cli.keys import file_and_name, read_zones
from leastnoise.cli.messages import printable

if TYPE_CHECKING:
    from leastnoise.releases.published import Published


def report(
    release: options.ReleaseFile,
    output: options.PageFile = None,
    graph: options.GraphName = None,
    nodes: options.NodesFile = None,
    zones: options.ZonesFile = None,
    title: options.Title = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """One HTML page about a release, for people: the promise, the values, a map or a chart, a table.

    Example: [bold]leastnoise report map.parquet --graph edges.parquet --nodes nodes.parquet -o map.html[/bold]
    """
    loaded = ln.load(release)
    if isinstance(loaded, ln.CrosstabsEstimate):
        raise errors.WrongType(
            f"{str(release)!r} has denoised tables, whose page shows them beside the release that they were made from, "
            "with its intervals. Give the file of that release: it is denoised again."
        )
    if isinstance(loaded, ln.ClipSuggestion):
        raise errors.WrongType(
            f"{str(release)!r} has a proposed clip, which has no page of its own. See it by leastnoise show; the page "
            "of what is released under it says where the clip is from."
        )
    page = output or release.with_suffix(".html")
    if isinstance(loaded, ln.LimitSuggestion):
        near = None
        _refuse_map(graph, nodes, zones)
        made = loaded.report(page, title=title)
    elif isinstance(loaded, ln.CrosstabsRelease | ln.SummaryRelease):
        near = None
        _refuse_map(graph, nodes, zones)
        made = loaded.report(page, estimate="auto", title=title)
    else:
        near = _graph(loaded, graph, nodes)
        made = loaded.report(page, graph=near, zones=_zones(zones), title=title)
    if nodes is not None and near is not None and near.coordinates is None:
        note = (
            f"Note: {str(nodes)!r} has no columns lon and lat, so the page has no map. Name them so, and report again."
        )
        Console(stderr=True).print(printable(note), highlight=False, markup=False)
    if quiet:
        return
    if json:
        print_json({"output": str(made), "bytes": made.stat().st_size})
        return
    Console().print(f"Written: {made}", highlight=False, markup=False, soft_wrap=True)


def _refuse_map(graph: str | None, nodes: Path | None, zones: str | None) -> None:
    if graph is not None or nodes is not None or zones is not None:
        raise errors.InvalidParameter("This is drawn without a map. Leave out --graph, --nodes and --zones.")


def _zones(text: str | None) -> ln.domain.Zones | None:
    if text is None:
        return None
    file, key = file_and_name(text)
    return read_zones("zones", file or text, key)


def _graph(loaded: Published, graph: str | None, nodes: Path | None) -> ln.graphs.Graph | None:
    from leastnoise.graphs.bin_graph import bin_graph

    if graph is None:
        if nodes is not None:
            raise errors.MissingParameter("--nodes says where the nodes are; say also which are joined: --graph FILE.")
        return None
    if isinstance(loaded, ln.CrosstabsRelease) or not loaded.covers_domain:
        raise errors.WrongType(f"{type(loaded).__name__} has no bins that lie near one another. Leave out --graph.")
    return bin_graph(graph, domain=loaded.domain, bins=loaded.bins, nodes=nodes)
