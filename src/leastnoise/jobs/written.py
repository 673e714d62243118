"""What is made of a release, for free: the zones or the network that its page is drawn on, and spreadsheets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import leastnoise as ln
from leastnoise import errors
from leastnoise.domain import Zones
from leastnoise.graphs.bin_graph import GRAPH_NAMES, bin_graph
from leastnoise.jobs.rows import parse_zones
from leastnoise.releases.mean import MeanRelease
from leastnoise.releases.release import Release

if TYPE_CHECKING:
    from leastnoise.curator.queries.query import Query
    from leastnoise.graphs import Graph
    from leastnoise.jobs.file import Job
    from leastnoise.releases.published import Published


def zones_of(job: Job, made: Any) -> Zones | None:
    """The zones of the one column that is asked for, where [table] makes it by `within`; None otherwise."""
    by = job.by
    text = job.table.get("within", {}).get(by[0]) if len(by) == 1 else None
    if text is None or not isinstance(made, Release | MeanRelease):
        return None
    file, key, _, _ = parse_zones(text)
    return Zones.read(job.path(file), key=key)


def graph_of(job: Job, made: Any) -> Graph | None:
    """The network of [output] for the bins of a release; None where none is named."""
    if "graph" not in job.output:
        return None
    if not isinstance(made, Release):
        raise errors.WrongType(f"{type(made).__name__} has no bins that lie near one another. Leave out graph.")
    return _network(job, made.domain, made.bins)


def check_network(job: Job, query: Query) -> None:
    """Refuse a network that does not fit the bins before anything is paid."""
    if "nodes" in job.output and "graph" not in job.output:
        raise errors.MissingParameter(
            f"{job.file.place('output', 'nodes')}: nodes say where junctions are; write also graph, which are joined."
        )
    if "graph" in job.output and query.domain is not None:
        _network(job, query.domain, query.domain.size)


def _network(job: Job, domain: Any, bins: int) -> Graph:
    """Words such as "grid" are taken as they are; files lie where the job does."""
    given, nodes = job.output["graph"], job.output.get("nodes")
    edges = given if given in GRAPH_NAMES else job.path(given)
    return bin_graph(edges, domain=domain, bins=bins, nodes=None if nodes is None else job.path(nodes))


def write(
    loaded: Published | ln.CrosstabsRelease | ln.CrosstabsEstimate,
    output: Path,
    *,
    denoised: bool = False,
    estimate: Any = None,
    confidence: float = 0.95,
    round_to: float | None = None,
) -> Path:
    """Write what was loaded as a CSV file, a folder of them, or a workbook, by the name of the output.

    denoised: with an estimate beside it, made here; or `estimate`, one that was made before.
    """
    excel = output.suffix.lower() == ".xlsx"
    if isinstance(loaded, ln.CrosstabsEstimate):
        if excel:
            raise errors.BadOutput(
                "A workbook has denoised tables beside the release that they were made from, with its intervals. Give "
                "the file of that release and --denoised; or a folder, tables/, for CSV files of these."
            )
        return loaded.to_csv(folder_of(output), round_to=round_to)
    if isinstance(loaded, ln.CrosstabsRelease):
        estimate = loaded.denoise() if denoised and estimate is None else estimate
        write_set, place = (loaded.to_excel, output) if excel else (loaded.to_csv, folder_of(output))
        return write_set(place, estimate=estimate, confidence=confidence, round_to=round_to)
    if denoised and not isinstance(loaded, ln.Release):
        raise errors.InvalidParameter(f"{type(loaded).__name__} is not denoised here. Leave out --denoised.")
    beside = loaded.denoise() if denoised and estimate is None and isinstance(loaded, ln.Release) else estimate
    to_file = loaded.to_excel if excel else loaded.to_csv
    return to_file(output, estimate=beside, confidence=confidence, round_to=round_to)


def folder_of(output: Path) -> Path:
    """The folder for a set of tables, by a name that is not a file's."""
    if output.suffix:
        raise errors.BadOutput(
            f"A set of tables is a folder of CSV files, or one workbook, and {str(output)!r} is neither. Say "
            f"{output.stem}/, or {output.stem}.xlsx."
        )
    return output
