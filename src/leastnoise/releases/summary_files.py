"""The file of a summary: a row a bin, with keys, every statistic and its interval, and the noisy whole numbers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from leastnoise.domain import Domain
from leastnoise.releases import file_format
from leastnoise.releases.columns import read_domain, write_domain
from leastnoise.releases.facts import Facts
from leastnoise.releases.measured import read_figures, read_measured, write_figures, write_measured
from leastnoise.releases.noise import MECHANISMS
from leastnoise.releases.provenance import read_provenance, write_provenance
from leastnoise.releases.summary import SummaryRelease, check_parts

if TYPE_CHECKING:
    import pyarrow as pa

INTEGERS = "integers: "  # what the columns of noisy whole numbers begin with


def save(release: SummaryRelease, path: str | os.PathLike[str], *, allow_seeded: bool) -> None:
    """One Parquet file: what people read, and the whole numbers that all of it is computed from."""
    import pyarrow as pa

    file_format.refuse_seeded_noise(release.seeded, allow_seeded)
    table = release.to_arrow()
    for part, integers in release.integers.items():
        table = table.append_column(f"{INTEGERS}{part}", pa.array(integers))
    facts = {
        "statistics": write_figures(release.figures),
        "columns": write_measured(release.columns),
        "parts": [{"name": part, "scale": release.scales[part]} for part in release.integers],
        "mechanism": release.mechanism,
        "compared": release.compared,
        "threshold": release.threshold,
        "domain": write_domain(release.domain),
        "provenance": write_provenance(release.provenance),
    }
    file_format.write(path, table, what="summary release", facts=facts)


def from_table(table: pa.Table, facts: Facts) -> SummaryRelease:
    """What `save` wrote. Only keys and whole numbers are read: everything else is computed from them again."""
    scales = {}
    for part in facts.list_of_facts("parts"):
        name = part.text("name")
        scales[name] = part.number("scale")
        part.check("scale", 0 < scales[name] < 2.0**53)
        part.finish()
    figures = read_figures(facts.list_of_facts("statistics"))
    columns = read_measured(facts.list_of_facts("columns"))
    facts.check("parts", check_parts(figures, scales))
    facts.check("statistics", len(figures) > 0 and len({figure.name for figure in figures}) == len(figures))
    facts.check("statistics", all(0 <= place < len(columns) for f in figures for place in f.places))
    facts.check("statistics", all(f.values is not None or f.kind in ("count", "share") for f in figures))
    facts.check("statistics", all((f.over is not None) == (f.kind == "ratio") for f in figures))
    facts.check("statistics", all(f.over != f.values for f in figures if f.over is not None))
    facts.check("columns", all(columns[f.over].lowest >= 0 for f in figures if f.over is not None))
    facts.check("statistics", all(f.weight > 0 for f in figures))
    found = SummaryRelease(
        domain=read_domain(facts.take("domain"), table) or Domain(),
        figures=figures,
        columns=columns,
        integers={name: np.asarray(table[f"{INTEGERS}{name}"], dtype=np.int64).copy() for name in scales},
        scales=scales,
        mechanism=facts.word("mechanism", MECHANISMS),
        provenance=read_provenance(facts.facts("provenance")),
        compared=facts.optional_number("compared"),
        threshold=facts.optional_integer("threshold"),
    )
    facts.check("domain", found.bins == table.num_rows)
    facts.check("id", found.id != "")
    facts.finish()
    return found
