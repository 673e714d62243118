"""The file of a denoised set of tables: estimated and noisy blocks, and how wrong every table is believed to be."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from leastnoise.releases import file_format
from leastnoise.releases.columns import read_axis, write_axis
from leastnoise.releases.crosstab_estimate import CrosstabsEstimate, StatedRisk, StatedRisks
from leastnoise.releases.crosstab_files import read_workload, write_tree
from leastnoise.releases.facts import Facts
from leastnoise.releases.noise import MECHANISMS
from leastnoise.releases.provenance import read_provenance, write_provenance
from leastnoise.releases.table_set import Table

if TYPE_CHECKING:
    import pyarrow as pa

CONFIDENCE = 0.95


def save(estimate: CrosstabsEstimate, path: str | os.PathLike[str], *, allow_seeded: bool) -> None:
    """One Parquet file: a row for every cell of every block, denoised and as it was released."""
    import pyarrow as pa

    file_format.refuse_seeded_noise(estimate.seeded, allow_seeded)
    blocks = estimate.workload.blocks
    sizes = [estimate.blocks[block].size for block in blocks]
    names = pa.array([" x ".join(block) for block in blocks], pa.string())
    which = pa.DictionaryArray.from_arrays(pa.array(np.repeat(np.arange(len(blocks), dtype=np.int32), sizes)), names)
    columns = {
        "block": which,
        "cell": np.concatenate([np.arange(size) for size in sizes]),
        "value": np.concatenate([estimate.blocks[block].ravel() for block in blocks]),
        "noisy": np.concatenate([estimate.noisy[block].ravel() for block in blocks]),
    }
    file_format.write(path, pa.table(columns), what="tables estimate", facts=_facts(estimate))


def _facts(estimate: CrosstabsEstimate) -> dict[str, Any]:
    return {
        "columns": [{"name": name, "axis": write_axis(axis)} for name, axis in estimate.axes.items()],
        "tables": [
            {"columns": list(table), "std": estimate.std[table], **_write_risk(estimate, table)}
            for table in estimate.tables
        ],
        **_write_risk(estimate),
        "mechanism": estimate.mechanism,
        "known": [list(table) for table in estimate.known],
        "weight": estimate.weight,
        "provenance": write_provenance(estimate.provenance),
        **write_tree(estimate.workload),
    }


def _write_risk(estimate: CrosstabsEstimate, table: Table | None = None) -> dict[str, Any]:
    risks, published = estimate.risks, estimate.published_rmse if table is None else estimate.std[table]
    better = risks.is_below(published, table)
    facts = {"rmse": risks.rmse(table), "rmse_at_most": risks.rmse_at_most(CONFIDENCE, table).value}
    return facts if better is None else {**facts, "better_than_raw": better}


def _read_risk(facts: Facts) -> StatedRisk:
    better = facts.flag("better_than_raw") if facts.has("better_than_raw") else None
    return StatedRisk(facts.number("rmse"), facts.number("rmse_at_most"), better)


def from_table(table: pa.Table, facts: Facts) -> CrosstabsEstimate:
    """What `save` wrote."""
    axes = {column["name"]: read_axis(column["axis"]) for column in facts.take("columns")}
    lines = facts.list_of_facts("tables")
    names = [line.texts("columns") for line in lines]
    workload = read_workload({name: axis.size for name, axis in axes.items()}, names, facts)
    std = {name: line.number("std") for name, line in zip(workload.tables, lines, strict=True)}
    risks = {name: _read_risk(line) for name, line in zip(workload.tables, lines, strict=True)}
    for line in lines:
        line.finish()
    cells = list(map(workload.cells_of, workload.blocks))
    facts.check("columns", table.num_rows == sum(cells))
    shapes = [tuple(axes[column].size for column in block) for block in workload.blocks]

    def blocks(column: str) -> dict[tuple[str, ...], Any]:
        pieces = np.split(np.asarray(table[column], dtype=np.float64), np.cumsum(cells)[:-1])
        return {b: piece.reshape(shape) for b, piece, shape in zip(workload.blocks, pieces, shapes, strict=True)}

    made = CrosstabsEstimate(
        workload=workload,
        axes=axes,
        blocks=blocks("value"),
        noisy=blocks("noisy"),
        std=std,
        mechanism=facts.word("mechanism", MECHANISMS),
        risks=StatedRisks(CONFIDENCE, _read_risk(facts), risks),
        known=tuple(map(tuple, facts.take("known"))),
        weight=facts.optional_text("weight"),
        provenance=read_provenance(facts.facts("provenance")),
    )
    facts.finish()
    return made
