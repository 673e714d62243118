"""What a job's page is drawn on: the zones that its rows were put into, or the network of its junctions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
