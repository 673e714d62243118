"""The six steps of the walk: what the page of each shows, and how its form changes the job.

Those about limits and privacy have files of their own.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from importlib.util import find_spec
from typing import Any, Literal

from leastnoise import errors
from leastnoise.jobs import as_python
from leastnoise.jobs.fields import LIMITS, SECTIONS, WRITTEN
from leastnoise.jobs.file import on_day
from leastnoise.jobs.keys import HINTS, LIST_HINT
from leastnoise.jobs.running import Run
from leastnoise.releases.left_out import left_out_in_words
from leastnoise.studio import budgets, forms, job_places, limits, map_picture, map_question, privacy, questions
from leastnoise.studio.columns import columns, declares_types
from leastnoise.studio.draft import Draft
from leastnoise.studio.releasing import lost_debit
from leastnoise.studio.session import Fields, Studio

TYPES = ("text", "int", "float", "bool", "date", "timestamp")
_MORE = ("join", "nearest", "derive", "per_unit", "having", "name", "labels", "missing", "public_units", "memory_limit")
OF_TABLE = [SECTIONS["table"][name] for name in _MORE]
DELIMITERS = {";": "semicolons", "tab": "tabs", "|": "vertical bars"}
CONFIRMATION = "release"


@dataclass(frozen=True, slots=True)
class Step:
    """One step.

    title: the words of its place in the walk. show: what its page shows. save: the draft with what its form says.
    part: of the script, the lines that it adds. typed: the draft as its form stands.
    """

    title: str
    show: Callable[[Studio, Draft, Fields], dict[str, Any]]
    save: Callable[[Studio, Draft, Fields], Draft]
    part: str = ""
    typed: Callable[[Studio, Draft, Fields], Draft] | None = None

    def code(self, studio: Studio, draft: Draft, fields: Fields) -> str:
        """The lines that it adds to the script; nothing where they cannot be written yet."""
        try:
            draft = self.typed(studio, draft, fields) if fields and self.typed else draft
        except errors.LeastnoiseError:
            return ""
        return as_python.so_far(str(draft.path), draft.found, self.part)


# ── The table: which column names those whom it protects


def show_table(studio: Studio, draft: Draft, fields: Fields) -> dict[str, Any]:
    table = draft.section("table")
    layout = _layout(table, fields)
    found = columns(draft.with_section("table", _laid_out(table, layout)))
    chosen = {f"type:{name}": kind for name, kind in table.get("types", {}).items()}
    if "unit" in table:  # this step was done once: what has no other type was left as text
        chosen = {f"type:{column.name}": TYPES[0] for column in found} | chosen
    usual = {"unit": "", "where": "", "neighbours": "add-remove"}
    return {
        "columns": found,
        "delimiters": DELIMITERS,
        "delimiter": "tab" if layout["delimiter"] == "\t" else layout["delimiter"],
        "decimal": layout["decimal"],
        **{name: fields.get(name, table.get(name, otherwise)) for name, otherwise in usual.items()},
        "declares": declares_types(draft),
        "types": TYPES,
        "declared": fields or chosen,
        "source": table["source"],
        "more": forms.inputs(OF_TABLE, {} if fields else table, fields),
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


def save_table(studio: Studio, draft: Draft, fields: Fields) -> Draft:
    table = draft.section("table")
    if not fields.get("unit"):
        raise errors.MissingParameter(
            "Whom does the table protect? Choose the column that names them.", parameter="unit"
        )
    table |= {"unit": fields["unit"], "where": str(fields.get("where", "")).strip()}
    table["neighbours"] = "replace" if fields.get("neighbours") == "replace" else None
    table |= _layout(table, fields) | forms.read(OF_TABLE, fields)
    names = [name.removeprefix("type:") for name in fields if name.startswith("type:")]
    if undecided := [name for name in names if not fields[f"type:{name}"]]:
        raise errors.MissingParameter(f"Choose what these columns hold: {', '.join(undecided)}.", parameter="types")
    if names:
        table["types"] = {name: fields[f"type:{name}"] for name in names if fields[f"type:{name}"] in TYPES[1:]}
    changed = draft.with_section("table", table)
    job_places.check_job(changed, studio.folder, studio.source, studio.servers)
    columns(changed)  # opens it: an error now is better than one three steps later
    return changed


# ── The question: of which columns, with which public keys


def show_question(studio: Studio, draft: Draft, fields: Fields) -> dict[str, Any]:
    table = draft.section("table")
    hidden = {table.get("unit"), *table.get("lattice", {}), *table.get("within", {})}
    shown = questions.fields_of({}) | dict(fields) if fields else questions.fields_of(_with_numbers(draft))
    word = str(shown.get("question", "histogram"))
    card = questions.CARDS.get(word, questions.USUAL)
    typed = forms.inputs(card.fields, {} if fields else draft.section("ask"), fields)
    needed = [each for each in typed if each.field.name in card.question.needs]
    names = studio.folder.names
    return {
        "questions": questions.CARDS,
        "asked": card,
        "needed": needed,
        "more": [each for each in typed if each not in needed],
        "word": word,
        "fields": shown,
        "columns": [column for column in columns(draft) if column.name not in hidden],
        "declares": declares_types(draft),
        "by": list(shown.get("by", [])),
        "hints": HINTS,
        "list_hint": LIST_HINT,
        "others": questions.OTHER,
        "key_files": [name for name in names(".toml") if name != draft.path.name],
        "maps": map_question.KINDS,
        "zone_files": [*names(".geojson"), *names(".json")],
        "place_files": [name for name in names(".parquet") if not studio.is_table(draft, name)],
        "picture": _picture(studio, draft, shown) if word == "map" else None,
    }


def _picture(studio: Studio, draft: Draft, fields: Fields) -> map_picture.Drawn | None:
    """The map that the form describes so far; None where it does not yet."""
    try:
        return map_picture.of(asking(studio, draft, fields))
    except errors.LeastnoiseError:
        return None


def save_question(studio: Studio, draft: Draft, fields: Fields) -> Draft:
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
    return {**draft.found, "ask": draft.section("ask") | {"clip": [forms.shown_end(end) for end in taken.clip]}}


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
    studio.check_public(draft, *filter(None, [*zones, made["graph"], made["nodes"]]))
    studio.check_keys(draft, made["keys"])
    changed = draft.with_section("table", table).with_section("output", output)
    return changed.with_section("ask", made["ask"]).with_section("keys", made["keys"])


# ── The release: what will be paid, and the release itself


def state(studio: Studio, draft: Draft) -> Literal["open", "released", "lost"]:
    """Whether the job was released, or is being: from then on it stays as it is. Lost: it was paid for, and stopped."""
    if studio.releases.of(draft.name).state == "running":
        return "released"
    release = draft.section("output").get("release", "")
    if not studio.folder.path(f"{release}.run").exists():
        return "open"
    known = draft.run().known()
    if known is None:
        return "open"
    return "lost" if known.release is None else "released"


def show_release(studio: Studio, draft: Draft, fields: Fields) -> dict[str, Any]:
    """Before a release, and while it is made."""
    paid, output = draft.section("privacy"), draft.section("output")
    run, gauge = draft.run(), None
    if "budget" in paid:
        gauge = budgets.gauge(studio, paid["budget"], float(paid.get("share", 0)), paid.get("allocation", ""))
    expected, progress = run.preview(), studio.releases.of(draft.name)
    return {
        "progress": progress,
        "lost": None if progress.state == "running" else lost_debit(run),
        "gauge": gauge,
        "query": run.query.describe(),
        "strength": "" if expected.strength is None else expected.strength.in_words(),
        "confirmation": CONFIRMATION,
        "shown": draft.fingerprint,
        "output": output,
        "left_out": left_out_in_words(expected.left_out, expected.unit),
        "expected": [line for line in str(expected).splitlines() if line and not line.startswith("  ")][:1],
        "denoises": run.job.question.denoises(run.query),
        "exists": studio.folder.path(output["release"]).exists(),
        "whole": _made(studio, draft) == [output[word] for word in WRITTEN if word in output],
        "title": fields.get("title", output.get("title", "")),
        "picture": map_picture.of(draft),
    }


def save_release(studio: Studio, draft: Draft, fields: Fields) -> Draft:
    """Begin the release that was confirmed; with `finish`, make of a release that is there what is made of it."""
    if fields.get("go") == "finish" and state(studio, draft) == "released":
        studio.releases.begin(draft)
        return draft
    if str(fields.get("confirm", "")).strip().lower() != CONFIRMATION:
        raise errors.InvalidParameter(
            f'Type "{CONFIRMATION}" to confirm: a release cannot be taken back.', parameter="confirm"
        )
    if studio.releases.of(draft.name).state in ("running", "done"):  # a second click
        return draft
    if fields.get("shown") != draft.fingerprint:
        raise errors.InvalidParameter(
            "The job was changed in another window since this page was shown. Look at it again, then confirm.",
            parameter="confirm",
        )
    _check_places(studio, draft)
    run = draft.run()
    again = _pays_again(run, fields)
    changed = draft.with_section("output", _outputs(run, draft) | {"title": str(fields.get("title", "")).strip()})
    changed.write()
    studio.releases.begin(changed, again=again)
    return changed


def _check_places(studio: Studio, draft: Draft) -> None:
    """Nothing outside the folder is written or paid from, also where the job's file was written by hand."""
    budget, output = draft.section("privacy").get("budget"), draft.section("output")
    if budget is not None:
        budgets.open_budget(studio, str(budget))
    for name in (*WRITTEN, "graph", "nodes"):
        if name in output:
            studio.folder.path(on_day(str(output[name]), date.today()))


def _pays_again(run: Run, fields: Fields) -> bool:
    """Whether to pay for a new release in place of one that was lost.

    The form names the debit that it was shown. So a form that is sent a second time, by an impatient hand or by a
    browser that reloads, pays once: the debit that is lost then is another.
    """
    lost = lost_debit(run)
    if lost is None:
        return False
    if fields.get("again") != "yes":
        raise errors.InvalidParameter(
            "This job was paid for and not published. Nothing was paid now. To pay once more, tick the box.",
            parameter="again",
        )
    if fields.get("lost") != lost.release:
        raise errors.InvalidParameter(
            "Another release of this job was paid for and lost since this page was shown. Nothing was paid now. Look "
            "at it again, then confirm.",
            parameter="again",
        )
    return True


def _outputs(run: Run, draft: Draft) -> dict[str, Any]:
    """The files that the release makes."""
    output = draft.section("output")
    if run.job.question.denoises(run.query):
        output["estimate"] = f"{draft.name}-denoised.parquet"
    if draft.section("ask").get("kind") != "crosstabs":
        output["csv"] = f"{draft.name}-release.csv"  # the table itself may be called like the job
    if find_spec("xlsxwriter") is not None:
        output["excel"] = f"{draft.name}-release.xlsx"
    return output


def _made(studio: Studio, draft: Draft) -> list[str]:
    """The files of the job that are there."""
    output = draft.section("output")
    return [output[word] for word in WRITTEN if word in output and studio.folder.path(output[word]).exists()]


# ── What is taken away


def show_results(studio: Studio, draft: Draft, fields: Fields) -> dict[str, Any]:
    output, name = draft.section("output"), shlex.quote(draft.path.name)
    made = _made(studio, draft)
    return {
        **{word: output[word] if output[word] in made else "" for word in ("release", "page")},
        "files": made,
        "generated": [draft.path.name, draft.script_name],
        "python": draft.python,
        "commands": f"leastnoise run {name} --expect   # what it would be like: free\nleastnoise run {name}",
        "toml": draft.text,
        "progress": studio.releases.of(draft.name),
    }


STEPS: dict[str, Step] = {
    "table": Step("The table", show_table, save_table, as_python.TABLE, save_table),
    "question": Step("The question", show_question, save_question, as_python.QUESTION, asking),
    "limits": Step("Limits", limits.show, limits.save, as_python.QUESTION, limits.with_limits),
    "privacy": Step("How private", privacy.show, privacy.save, as_python.PRIVACY, privacy.with_privacy),
    "release": Step("Release", show_release, save_release, as_python.RELEASE),
    "results": Step("Download", show_results, lambda studio, draft, fields: draft),
}
