"""The second step: what is asked, of which columns, with which public keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leastnoise import errors
from leastnoise._support import toml
from leastnoise.jobs.fields import LIMITS
from leastnoise.jobs.keys import HINTS, LIST_HINT
from leastnoise.studio import inputs, job_places, limits, map_picture, map_question, questions
from leastnoise.studio.columns import columns, declares_types
from leastnoise.studio.draft import Draft
from leastnoise.studio.form_numbers import shown_end
from leastnoise.studio.session import Fields, Studio


def show(studio: Studio, draft: Draft, fields: Fields) -> dict[str, Any]:
    """What the page shows."""
    table = draft.section("table")
    hidden = {table.get("unit"), *table.get("lattice", {}), *table.get("within", {})}
    found = [column for column in columns(draft) if column.name not in hidden]
    shown = questions.fields_of({}) | dict(fields) if fields else questions.fields_of(_with_numbers(draft))
    word = str(shown.get("question", "histogram"))
    card = questions.CARDS.get(word, questions.USUAL)
    typed = inputs.inputs(card.fields, {} if fields else draft.section("ask"), fields)
    needed = [each for each in typed if each.field.name in card.question.needs]
    names = studio.folder.names
    return {
        "questions": questions.CARDS,
        "asked": card,
        "needed": needed,
        "more": [each for each in typed if each not in needed],
        "word": word,
        "fields": shown,
        "columns": found,
        "declares": declares_types(draft),
        "by": list(shown.get("by", [])),
        "hints": HINTS,
        "list_hint": LIST_HINT,
        "others": questions.OTHER,
        "key_files": [name for name in names(".toml") if name != draft.path.name],
        "maps": map_question.KINDS,
        "zone_files": [*names(".geojson"), *names(".json")],
        "place_files": [name for name in names(".parquet") if not is_table(studio, draft, name)],
        "picture": _picture(studio, draft, shown) if word == "map" else None,
    }


def save(studio: Studio, draft: Draft, fields: Fields) -> Draft:
    """The draft with what the form says."""
    earlier = {name: value for name, value in draft.section("ask").items() if name in (*LIMITS, "limits")}
    changed = asking(studio, draft, fields)
    changed.job()  # a file of keys is read now, and not three steps later
    kept = {name: value for name, value in earlier.items() if name in limits.taken(changed)}
    if _is_same_range(draft, changed.section("ask")):
        kept["clip"] = draft.section("ask")["clip"]
    return changed.with_section("ask", changed.section("ask") | kept)


def _with_numbers(draft: Draft) -> Mapping[str, Any]:
    """What the draft says, a proposed range by its numbers."""
    taken = limits.taken_clip(draft)
    if taken is None:
        return draft.found
    return {**draft.found, "ask": draft.section("ask") | {"clip": [shown_end(end) for end in taken.clip]}}


def _is_same_range(draft: Draft, ask: Mapping[str, Any]) -> bool:
    """Whether the form has the proposed range that the draft takes: only then it is still that release's."""
    taken = limits.taken_clip(draft)
    if taken is None or ask.get("column") != taken.column:
        return False
    return tuple(map(float, ask.get("clip", ()))) == tuple(taken.clip)


def asking(studio: Studio, draft: Draft, fields: Fields) -> Draft:
    """The draft with the question of the form, whose files are of the folder and not the table's own."""
    made = questions.sections(fields, columns(draft))
    table = draft.section("table") | {"lattice": made["lattice"], "within": made["within"]}
    output = draft.section("output") | {"graph": made["graph"], "nodes": made["nodes"]}
    zones = [text.rpartition(":")[0] for text in made["within"].values()]
    for name in filter(None, [*zones, made["graph"], made["nodes"]]):
        check_public(studio, draft, name)
    _check_key_files(studio, draft, made["keys"])
    changed = draft.with_section("table", table).with_section("output", output)
    return changed.with_section("ask", made["ask"]).with_section("keys", made["keys"])


def check_public(studio: Studio, draft: Draft, name: str) -> None:
    """Refuse a file that is outside the folder, or the table itself."""
    job_places.check_not_table(studio.folder, studio.folder.path(name), _tables(studio, draft))


def is_table(studio: Studio, draft: Draft, name: str) -> bool:
    """Whether a file of the folder is one of the table's."""
    return studio.folder.holds(studio.folder.path(name), _tables(studio, draft))


def _tables(studio: Studio, draft: Draft) -> list[str]:
    return [studio.source, *job_places.sources_of(draft)]


def _check_key_files(studio: Studio, draft: Draft, keys: Any) -> None:
    """Files of keys, and the files that those read."""
    if isinstance(keys, str):
        check_public(studio, draft, keys)
        keys = toml.load(studio.folder.path(keys), "keys").found
    check_key_entries(studio, draft, keys)


def check_key_entries(studio: Studio, draft: Draft, keys: Mapping[str, Any]) -> None:
    """Refuse keys that are read from a file outside the folder, or from the table."""
    for name in job_places.key_files(keys):
        check_public(studio, draft, name)


def _picture(studio: Studio, draft: Draft, fields: Fields) -> map_picture.Drawn | None:
    """The map that the form describes so far; None where it does not yet."""
    try:
        return map_picture.of(asking(studio, draft, fields))
    except errors.LeastnoiseError:
        return None
