"""A LimitSuggestion as a file, with every look that it rests on.

The columns are the noisy counts and which histogram they are of; of several looks those of one after the other, the
first one first, and a column `release` with the id of each. What is known of the last look stands in the facts as of a
single one, and what is known of the others in a list of its own, `earlier`: noise, guarantee, id and the rest of each.
"""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from leastnoise.privacy.neighbours import check_neighbours
from leastnoise.releases import file_format
from leastnoise.releases.facts import Facts
from leastnoise.releases.limit_errors import AskedNoise
from leastnoise.releases.limit_suggestion import LimitSuggestion
from leastnoise.releases.release import read_release, write_release
from leastnoise.releases.unit_counts import Layout

if TYPE_CHECKING:
    import pyarrow as pa


def save(path: str | os.PathLike[str], found: LimitSuggestion) -> None:
    """One Parquet file at `path`."""
    import pyarrow as pa

    looks, layout = found.looks, found.layout
    kinds = [kind for kind, size, _ in layout.histograms for _ in range(size)]
    ids = {"release": [look.id for look in looks for _ in kinds]} if len(looks) > 1 else {}
    values = np.concatenate([look.components.values for look in looks])
    facts = {
        **_own_facts(found),
        "bins": layout.bins,
        "by": list(found.by),
        "fingerprint": found.fingerprint,
        "earlier": [_own_facts(look) for look in looks[:-1]],
    }
    table = pa.table({**ids, "histogram": kinds * len(looks), "value": values})
    file_format.write(path, table, what="limit suggestion", facts=facts)


def _own_facts(look: LimitSuggestion) -> dict[str, Any]:
    """What is known of one look by itself."""
    return {"components": write_release(look.components), "asked": asdict(look.asked)}


def from_table(table: pa.Table, facts: Facts) -> LimitSuggestion:
    """What `save` wrote; files of earlier versions have one look and no fingerprint."""
    bins, by = facts.integer("bins"), facts.texts("by")
    facts.check("bins", bins >= 1)
    fingerprint = facts.text("fingerprint") if facts.has("fingerprint") else ""
    before = facts.list_of_facts("earlier") if facts.has("earlier") else []
    values, layout = np.array(table["value"]), Layout(bins)
    facts.check("bins", values.size == layout.size * (len(before) + 1))
    looks = np.split(values, len(before) + 1)
    found: LimitSuggestion | None = None
    for own, counts in zip([*before, facts], looks, strict=True):
        components = read_release(counts, None, own.facts("components"))
        asked = _read_asked(own)
        own.finish()
        found = LimitSuggestion(
            components=components,
            layout=layout,
            asked=asked,
            by=by,
            fingerprint=fingerprint,
            earlier=found,
        )
    assert found is not None
    if before:
        named = [look.id for look in found.looks for _ in range(layout.size)]
        facts.check("earlier", table["release"].to_pylist() == named and len(set(named)) == len(looks))
    return found


def _read_asked(facts: Facts) -> AskedNoise:
    asked = facts.facts("asked")
    found = AskedNoise(
        asked.optional_number("per_l2"), asked.optional_number("per_l1"), check_neighbours(asked.text("neighbours"))
    )
    rates = [rate for rate in (found.per_l2, found.per_l1) if rate is not None]
    facts.check("asked", bool(rates) and all(rate > 0 for rate in rates))
    asked.finish()
    return found
