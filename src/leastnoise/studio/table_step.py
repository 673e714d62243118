"""The first step: which column names those whom the table protects."""

from __future__ import annotations

from typing import Any

from leastnoise import errors
from leastnoise.studio.columns import columns, declares_types
from leastnoise.studio.draft import Draft
from leastnoise.studio.session import Fields, Studio

TYPES = ("text", "int", "float", "bool", "date", "timestamp")


def show(studio: Studio, draft: Draft, fields: Fields) -> dict[str, Any]:
    """What the page shows."""
    table = draft.section("table")
    declared = fields or {f"type:{name}": kind for name, kind in table.get("types", {}).items()}
    return {
        "columns": columns(draft),
        "unit": fields.get("unit", table.get("unit", "")),
        "where": fields.get("where", table.get("where", "")),
        "neighbours": fields.get("neighbours", table.get("neighbours", "add-remove")),
        "declares": declares_types(draft),
        "types": TYPES,
        "declared": declared,
        "source": table["source"],
    }


def save(studio: Studio, draft: Draft, fields: Fields) -> Draft:
    """The draft with what the form says."""
    table = draft.section("table")
    if not fields.get("unit"):
        raise errors.MissingParameter(
            "Whom does the table protect? Choose the column that names them.", parameter="unit"
        )
    table |= {"unit": fields["unit"], "where": str(fields.get("where", "")).strip()}
    table["neighbours"] = "replace" if fields.get("neighbours") == "replace" else None
    names = [name.removeprefix("type:") for name in fields if name.startswith("type:")]
    if names:
        table["types"] = {name: fields[f"type:{name}"] for name in names if fields[f"type:{name}"] in TYPES[1:]}
    changed = draft.with_section("table", table)
    columns(changed)  # opens it: an error now is better than one three steps later
    return changed
