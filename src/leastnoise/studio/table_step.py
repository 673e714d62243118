"""The first step: which column names those whom the table protects."""

from __future__ import annotations

from typing import Any

from leastnoise import errors
from leastnoise.jobs.fields import SECTIONS
from leastnoise.studio import inputs, job_places
from leastnoise.studio.columns import columns, declares_types
from leastnoise.studio.draft import Draft
from leastnoise.studio.session import Fields, Studio

TYPES = ("text", "int", "float", "bool", "date", "timestamp")
_MORE = ("join", "nearest", "derive", "per_unit", "having", "name", "labels", "missing", "public_units", "memory_limit")
MORE = [SECTIONS["table"][name] for name in _MORE]
DELIMITERS = {";": "semicolons", "tab": "tabs", "|": "vertical bars"}


def show(studio: Studio, draft: Draft, fields: Fields) -> dict[str, Any]:
    """What the page shows."""
    table = draft.section("table")
    layout = _layout(table, fields)
    found = columns(draft.with_section("table", _laid_out(table, layout)))
    chosen = {f"type:{name}": kind for name, kind in table.get("types", {}).items()}
    if "unit" in table:  # this step was done once: what has no other type was left as text
        chosen = {f"type:{column.name}": TYPES[0] for column in found} | chosen
    return {
        "columns": found,
        "delimiters": DELIMITERS,
        "delimiter": "tab" if layout["delimiter"] == "\t" else layout["delimiter"],
        "decimal": layout["decimal"],
        "unit": fields.get("unit", table.get("unit", "")),
        "where": fields.get("where", table.get("where", "")),
        "neighbours": fields.get("neighbours", table.get("neighbours", "add-remove")),
        "declares": declares_types(draft),
        "types": TYPES,
        "declared": fields or chosen,
        "source": table["source"],
        "more": inputs.inputs(MORE, {} if fields else table, fields),
    }


def _layout(table: dict[str, Any], fields: Fields) -> dict[str, Any]:
    """How the form says that a CSV is written; what the job says, where the form is not filled in."""
    given = {name: fields.get(name, table.get(name)) or None for name in ("delimiter", "decimal")}
    return given | {"delimiter": "\t" if given["delimiter"] == "tab" else given["delimiter"]}


def _laid_out(table: dict[str, Any], layout: dict[str, Any]) -> dict[str, Any]:
    """The table so written. With another delimiter it has other columns, so what was said of them is left out."""
    if layout["delimiter"] == table.get("delimiter"):
        return table | layout
    return {"source": table["source"], **layout}


def save(studio: Studio, draft: Draft, fields: Fields) -> Draft:
    """The draft with what the form says."""
    table = draft.section("table")
    if not fields.get("unit"):
        raise errors.MissingParameter(
            "Whom does the table protect? Choose the column that names them.", parameter="unit"
        )
    table |= {"unit": fields["unit"], "where": str(fields.get("where", "")).strip()}
    table["neighbours"] = "replace" if fields.get("neighbours") == "replace" else None
    table |= _layout(table, fields) | inputs.read(MORE, fields)
    names = [name.removeprefix("type:") for name in fields if name.startswith("type:")]
    if undecided := [name for name in names if not fields[f"type:{name}"]]:
        raise errors.MissingParameter(f"Choose what these columns hold: {', '.join(undecided)}.", parameter="types")
    if names:
        table["types"] = {name: fields[f"type:{name}"] for name in names if fields[f"type:{name}"] in TYPES[1:]}
    changed = draft.with_section("table", table)
    job_places.check_job(changed, studio.folder, studio.source, studio.servers)
    columns(changed)  # opens it: an error now is better than one three steps later
    return changed
