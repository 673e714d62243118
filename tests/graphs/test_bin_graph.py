"""Node i is bin i, however the files order or name their nodes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leastnoise import errors
from leastnoise.domain import Domain, IntegerRange, Keys, Lattice
from leastnoise.graphs import Graph
from leastnoise.graphs.bin_graph import bin_graph


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("graphs")


def write(folder: Path, nodes: list, edges: list) -> tuple[Path, Path]:
    pq.write_table(
        pa.table({"id": nodes, "lon": np.arange(len(nodes)) * 0.1, "lat": [50.0] * len(nodes)}), folder / "n.parquet"
    )
    ends = [list(side) for side in zip(*edges, strict=True)]
    pq.write_table(pa.table({"u": ends[0], "v": ends[1]}), folder / "e.parquet")
    return folder / "n.parquet", folder / "e.parquet"


@given(st.permutations(list("abcde")), st.sets(st.sampled_from(list("abcde")), min_size=1))
def test_nodes_follow_the_bins(folder, order, chosen):
    """Edges of the ring a-b-c-d-e between those that are bins, and each bin at its own place."""
    ring = list(zip("abcde", "bcdea", strict=True))
    nodes, edges = write(folder, order, ring)
    keys = sorted(chosen)
    made = bin_graph(edges, domain=Domain(("k",), (Keys(tuple(keys)),)), bins=len(keys), nodes=nodes)
    assert {(keys[u], keys[v]) for u, v in made.edges.tolist()} == {
        tuple(sorted(pair)) for pair in ring if set(pair) <= chosen
    }
    assert made.coordinates is not None
    assert made.coordinates[:, 0].tolist() == pytest.approx([order.index(key) * 0.1 for key in keys])


def test_words_follow_the_order_and_the_shape_of_the_bins():
    hours = Domain(("hour", "zone"), (IntegerRange(0, 3), IntegerRange(0, 2)))
    cells = Domain(("cell",), (Lattice("x", "y", 1.0).box(x=(0, 4), y=(0, 3)),))
    assert bin_graph("path", domain=None, bins=4).edges.tolist() == Graph.path(4).edges.tolist()
    assert bin_graph("cycle", domain=hours, bins=6).edges.tolist() == Graph.cycle(6).edges.tolist()
    assert bin_graph("grid", domain=hours, bins=6).edges.tolist() == Graph.grid((3, 2)).edges.tolist()
    assert bin_graph("grid", domain=cells, bins=12).edges.tolist() == Graph.grid((3, 4)).edges.tolist()


def test_bins_without_keys_are_named_by_number(folder):
    _, edges = write(folder, [0], [(2, 0), (1, 2)])
    assert bin_graph(edges, domain=None, bins=3).edges.tolist() == [[0, 2], [1, 2]]


def test_mistakes_are_told(folder):
    nodes, edges = write(folder, ["a", "b"], [("a", "b")])
    keys = Domain(("k",), (Keys(("a", "c")),))
    with pytest.raises(errors.BadDomain, match="'c' the first"):
        bin_graph(edges, domain=keys, bins=2, nodes=nodes)
    with pytest.raises(errors.WrongType):
        bin_graph(edges, domain=None, bins=2)
    with pytest.raises(errors.UnknownSource, match="path, cycle, grid"):
        bin_graph("gird", domain=keys, bins=2)
    with pytest.raises(errors.MissingParameter, match="grid"):
        bin_graph("grid", domain=None, bins=4)
    with pytest.raises(errors.InvalidParameter, match="takes no nodes"):
        bin_graph("path", domain=keys, bins=2, nodes=nodes)
