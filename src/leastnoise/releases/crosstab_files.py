"""The file of a set of tables: the noisy integers of every block, and all that is needed to put tables together."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from leastnoise.domain import TreeShape
from leastnoise.releases import file_format, ordered_files
from leastnoise.releases.columns import read_axis, write_axis
from leastnoise.releases.crosstabs import CrosstabsRelease
from leastnoise.releases.facts import Facts
from leastnoise.releases.noise import MECHANISMS
from leastnoise.releases.provenance import read_provenance, write_provenance
from leastnoise.workload import TreeWorkload, Workload

if TYPE_CHECKING:
    import pyarrow as pa

    from leastnoise.privacy.noise_choice import Mechanism

Table = tuple[str, ...]


def save(release: CrosstabsRelease, path: str | os.PathLike[str], *, allow_seeded: bool) -> None:
    """One Parquet file: a row for every integer that was published, with the block or table it is of, and its cell."""
    file_format.refuse_seeded_noise(release.seeded, allow_seeded)
    file_format.write(path, to_arrow(release), what="tables release", facts=_facts(release))


def to_arrow(release: CrosstabsRelease) -> pa.Table:
    """The integers of all blocks as one table."""
    import pyarrow as pa

    strategies = ordered_files.packed(release.workload.strategies)
    parts = [*release.integers.values(), *strategies.values()]
    names = pa.array([*(" x ".join(block) for block in release.integers), *strategies], pa.string())
    sizes = [part.size for part in parts]
    which = pa.DictionaryArray.from_arrays(pa.array(np.repeat(np.arange(len(parts), dtype=np.int32), sizes)), names)
    cell = np.concatenate([np.arange(size) for size in sizes])
    values = np.concatenate([part.ravel() for part in parts])
    return pa.table({"block": which, "cell": cell, "integer": values})


def _facts(release: CrosstabsRelease) -> dict[str, Any]:
    return {
        "columns": [{"name": name, "axis": write_axis(axis)} for name, axis in release.axes.items()],
        "tables": [list(table) for table in release.tables],
        "mechanism": release.mechanism,
        "released": [{"columns": list(block), "scale": release.scales[block]} for block in release.integers],
        "step": release.step,
        "compared": release.compared,
        "weights": release.weights,
        "gap": release.gap,
        "weight": release.weight,
        "provenance": write_provenance(release.provenance),
        **write_tree(release.workload),
        **ordered_files.facts_of(release.workload),
    }


def write_tree(workload: Workload) -> dict[str, Any]:
    """The tree that some columns are levels of, by how many children each node has; nothing where there is none."""
    if not isinstance(workload, TreeWorkload):
        return {}
    children = [counts.tolist() for counts in workload.shape.children]
    return {"tree": {"levels": list(workload.levels), "children": children}}


def read_workload(sizes: dict[str, int], tables: Any, facts: Facts) -> Workload:
    """The tables, with the tree that `write_tree` wrote."""
    if not facts.has("tree"):
        return Workload(sizes, tables=tables, **ordered_files.asked_columns(facts))
    tree = facts.facts("tree")
    levels, children = tree.texts("levels"), tree.take("children")
    tree.check("children", isinstance(children, list) and all(isinstance(counts, list) for counts in children))
    tree.finish()
    shape = TreeShape(tuple(np.array(counts, dtype=np.int64) for counts in children))
    return TreeWorkload(sizes, tables=tables, levels=levels, shape=shape)


def _tells(workload: TreeWorkload, mechanism: Mechanism, released: Table, block: Table) -> bool:
    """Whether what was released has a block at its level, or along Laplace noise a table that it is a sum of."""
    return released == block or (mechanism == "laplace" and workload.sums_up(released, block))


def from_table(table: pa.Table, facts: Facts) -> CrosstabsRelease:
    """What `save` wrote."""
    columns, tables = facts.take("columns"), facts.take("tables")
    axes = {column["name"]: read_axis(column["axis"]) for column in columns}
    values = np.asarray(table["integer"], dtype=np.int64)
    workload = read_workload({name: axis.size for name, axis in axes.items()}, tables, facts)
    workload, values = ordered_files.with_strategies(workload, values, facts)
    scales = {}
    for part in facts.list_of_facts("released"):
        name = workload.table(part.texts("columns"))
        scales[name] = part.number("scale")
        part.check("scale", scales[name] > 0)
        part.finish()
    mechanism = facts.word("mechanism", MECHANISMS)
    if isinstance(workload, TreeWorkload):
        facts.check("released", mechanism == "laplace" or set(scales) <= set(workload.blocks))
        finest = [workload.at_level(block, level) for block, level in workload.deepest.items()]
        facts.check("released", all(any(_tells(workload, mechanism, name, one) for name in scales) for one in finest))
    else:
        facts.check("released", mechanism == "laplace" or set(scales) == set(workload.blocks))
        facts.check("released", all(any(set(asked) <= set(name) for name in scales) for asked in workload.maximal))
    shapes = [workload.block_shape(name) for name in scales]
    sizes = list(map(math.prod, shapes))
    facts.check("columns", len(values) == sum(sizes))
    pieces = np.split(values, np.cumsum(sizes)[:-1])
    made = CrosstabsRelease(
        workload=workload,
        axes=axes,
        integers={name: piece.reshape(shape).copy() for name, piece, shape in zip(scales, pieces, shapes, strict=True)},
        scales=scales,
        mechanism=mechanism,
        compared=facts.optional_number("compared"),
        step=facts.number("step"),
        weights=facts.text("weights"),
        gap=facts.optional_number("gap"),
        weight=facts.optional_text("weight"),
        provenance=read_provenance(facts.facts("provenance")),
    )
    facts.check("step", made.step > 0)
    facts.check("gap", made.gap is None or made.gap >= 0)
    facts.finish()
    return made
