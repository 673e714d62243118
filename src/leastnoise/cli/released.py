"""`leastnoise denoise | report | show | export | rows`: what is done with a saved release, for free."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

import leastnoise as ln
from leastnoise import errors
from leastnoise._support import files, outputs
from leastnoise.cli.output import Answer, printed, written
from leastnoise.cli.output import show as print_line
from leastnoise.cli.shown import MAX_ROWS_SHOWN, numbers
from leastnoise.jobs.keys import file_and_name, read_zones


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    for command in (denoise, report, _show, export, rows):
        app.command(command.__name__.strip("_"), rich_help_panel="After")(printed(command))


def denoise(
    release: Path,
    *,
    output: Path,
    graph: str | None = None,
    nodes: Path | None = None,
    along: str | None = None,
    known: list[str] | None = None,
    loss: str | None = None,
    method: str = "auto",
) -> Answer:
    """Take the noise back out of a release. It costs no privacy.

    Example: [bold]leastnoise denoise map.parquet --graph edges.parquet --nodes nodes.parquet -o denoised.parquet[/bold]
    """
    loaded: Any = ln.load(release)
    is_set = isinstance(loaded, ln.CrosstabsRelease)
    if is_set:
        _refuse(graph=graph, nodes=nodes, along=along, loss=loss, method=None if method == "auto" else method)
    else:
        _refuse(known=known)
    if not isinstance(loaded, ln.Release | ln.CrosstabsRelease):
        reason = getattr(loaded, "why_not_denoised", "Give the release that it was made from.")
        raise errors.WrongType(f"{str(release)!r} holds a {type(loaded).__name__}. {reason}")
    files.check_writable(output, sources=[str(release)])
    outputs.keep_release(output)
    made: Any = loaded
    own: dict[str, Any] = {}
    if is_set:
        made = made.denoise(known=dict(map(_known_table, known or [])))
        was = made.published_rmse
    else:
        near = _graph(loaded, graph, nodes)
        chosen = {name: value for name, value in (("graph", near), ("loss", loss)) if value is not None}
        made = made.denoise(method, along=_axes(along), **chosen)
        own, was = {"method": made.method}, made.std
    made.save(output)
    limit = None if made.rmse is None else made.rmse_at_most(0.95).value
    facts = {"output": str(output), **own, "rmse": made.rmse, "rmse_at_most": limit, "was": was}
    return Answer(facts | {"better_than_raw": made.better_than_raw}, [made.explain(), written(output)])


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


def _graph(loaded: Any, graph: str | None, nodes: Path | None) -> ln.graphs.Graph | None:
    from leastnoise.graphs.bin_graph import bin_graph

    if graph is None:
        if nodes is not None:
            raise errors.MissingParameter("--nodes says where the nodes are; say also which are joined: --graph FILE.")
        return None
    if isinstance(loaded, ln.CrosstabsRelease) or not loaded.covers_domain:
        raise errors.WrongType(f"{type(loaded).__name__} has no bins that lie near one another. Leave out --graph.")
    return bin_graph(graph, domain=loaded.domain, bins=loaded.bins, nodes=nodes)


def report(
    release: Path,
    *,
    output: Path | None = None,
    graph: str | None = None,
    nodes: Path | None = None,
    zones: str | None = None,
    title: str | None = None,
) -> Answer:
    """One HTML page about a release, for people: the guarantee, the values, a map or a chart, a table.

    Example: [bold]leastnoise report map.parquet --graph edges.parquet --nodes nodes.parquet -o map.html[/bold]
    """
    loaded: Any = ln.load(release)
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
    page, near = output or release.with_suffix(".html"), None
    drawn_on: dict[str, Any] = {}
    if isinstance(loaded, ln.LimitSuggestion | ln.CrosstabsRelease | ln.SummaryRelease):
        if graph is not None or nodes is not None or zones is not None:
            raise errors.InvalidParameter("This is drawn without a map. Leave out --graph, --nodes and --zones.")
        drawn_on = {} if isinstance(loaded, ln.LimitSuggestion) else {"estimate": "auto"}
    else:
        near = _graph(loaded, graph, nodes)
        drawn_on = {"graph": near, "zones": _zones(zones)}
    made = loaded.report(page, title=title, **drawn_on)
    if near is not None and nodes is not None and near.coordinates is None:
        why = f"{str(nodes)!r} has no columns lon and lat, so the page has no map. Name them so, and report again."
        print_line(f"Note: {why}", to=Console(stderr=True))
    return Answer({"output": str(made), "bytes": made.stat().st_size}, [written(made)])


def _zones(text: str | None) -> ln.domain.Zones | None:
    if text is None:
        return None
    file, key = file_and_name(text)
    return read_zones("zones", file or text, key)


def _show(
    release: Path,
    *,
    table_by: str | None = None,
    rows: Annotated[int, typer.Option(min=1, help="How many rows to show.")] = MAX_ROWS_SHOWN,
) -> Answer:
    """What a release or an estimate is, what it guarantees, and its first rows. Of a set of tables, all of them or one.

    Example: [bold]leastnoise show tables.parquet --table-by age,sex[/bold]
    """
    loaded: Any = ln.load(release)
    facts: dict[str, Any] = {"what": type(loaded).__name__, "explain": loaded.explain()}
    is_set, one = isinstance(loaded, ln.CrosstabsRelease | ln.CrosstabsEstimate), loaded
    if table_by is not None:
        if not is_set:
            raise errors.WrongType(f"{type(loaded).__name__} is no set of tables. Leave out --table-by.")
        one = loaded[tuple(filter(None, map(str.strip, table_by.split(","))))]
    if is_set and one is loaded:
        facts["tables"] = [list(table) for table in loaded.tables]
    else:
        if isinstance(loaded, ln.Release) and loaded.all_keys is not None:
            facts["others"] = loaded.others()._asdict()
        listed = one.to_arrow()
        facts |= {"rows": listed.num_rows, "first": listed.slice(0, rows).to_pylist()}
    return Answer(facts, [numbers(one, rows), loaded.explain()])


def export(
    release: Path, *, output: Path, denoised: bool = False, confidence: float = 0.95, round_to: float | None = None
) -> Answer:
    """The numbers for spreadsheets: keys, values, low and high, below what was guaranteed.

    Example: [bold]leastnoise export map.parquet --denoised -o map.xlsx[/bold]
    """
    from leastnoise.jobs import written as sheets

    made = sheets.write(ln.load(release), output, denoised=denoised, confidence=confidence, round_to=round_to)
    return Answer({"output": str(made)}, [written(made)])


def rows(
    release: Path,
    *,
    output: Path,
    n: int | None = None,
    known: list[str] | None = None,
    within_bins: bool = False,
    seed: int = 0,
) -> Answer:
    """Synthetic rows from a set of tables, whose tables are near the released ones. They cost no privacy.

    Example: [bold]leastnoise rows tables.parquet -o rows.parquet[/bold]
    """
    loaded: Any = ln.load(release)
    if not isinstance(loaded, ln.CrosstabsRelease):
        raise errors.WrongType(
            f"{str(release)!r} holds a {type(loaded).__name__}. Rows are made from a set of tables, by crosstabs."
        )
    if output.exists():
        raise errors.BadOutput(f"{str(output)!r} exists, and rows replace no file. Give another path.")
    made = loaded.rows(n, known=dict(map(_known_table, known or [])), seed=seed)
    path = made.save(output, within_bins=within_bins)
    farthest = max(made.distances, key=lambda each: each.total_variation)
    facts = {"output": str(path), "rows": len(made), "groups": len(made.mixture.weights), "pull": made.pull}
    facts |= {"farthest_table": list(farthest.table), "farthest": farthest.total_variation}
    return Answer(facts, [made.report, written(path)])
