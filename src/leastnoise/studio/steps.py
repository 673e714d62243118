"""The six steps: what each shows, and what it writes into the job when its form is sent."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from leastnoise import errors
from leastnoise.studio import budgets, key_text, limits, questions, script
from leastnoise.studio.columns import columns
from leastnoise.studio.draft import Draft
from leastnoise.studio.folder import Folder
from leastnoise.studio.preview import EPSILONS, Preview, preview, solve
from leastnoise.studio.releasing import Releases
from leastnoise.studio.wording import in_words

Fields = Mapping[str, Any]  # of a form: texts, and a list for a name that may be chosen several times
CONFIRMATION = "release"
TYPES = ("text", "int", "float", "bool", "date", "timestamp")


@dataclass(frozen=True, slots=True)
class Studio:
    """What a studio works on: a folder, the table it was started for, and the releases that are under way."""

    folder: Folder
    source: str
    releases: Releases = field(default_factory=Releases)
    saving: threading.Lock = field(default_factory=threading.Lock)  # held from reading a draft to writing it
    looked: set[str] = field(default_factory=set)  # the forms that have paid for a look

    def draft(self, name: str) -> Draft:
        """The job of this name; a new one where there is no file."""
        path = self.folder.path(f"{name}.toml")
        return Draft.read(path) if path.exists() else Draft.begin(path, {"source": self.source})

    def is_released(self, draft: Draft) -> bool:
        """Whether the job was released, or is being: from then on it stays as it is."""
        release = draft.section("output").get("release", "")
        return self.releases.of(draft.name).state == "running" or self.folder.path(f"{release}.run").exists()

    @property
    def first_name(self) -> str:
        """Of the first job: that of the table."""
        return Path(self.source).stem or "table"

    def another_name(self) -> str:
        """Of a job that is not there yet."""
        number = 2
        while self.folder.path(f"{self.first_name}-{number}.toml").exists():
            number += 1
        return f"{self.first_name}-{number}"


@dataclass(frozen=True, slots=True)
class Step:
    """One step: the words of its place in the walk, what its page shows, and how its form changes the job."""

    title: str
    show: Callable[[Studio, Draft, Fields], dict[str, Any]]
    save: Callable[[Studio, Draft, Fields], Draft]


def _show_table(studio: Studio, draft: Draft, fields: Fields) -> dict[str, Any]:
    table = draft.section("table")
    found = columns(draft)
    declared = fields or {f"type:{name}": kind for name, kind in table.get("types", {}).items()}
    return {
        "columns": found,
        "unit": fields.get("unit", table.get("unit", "")),
        "where": fields.get("where", table.get("where", "")),
        "neighbours": fields.get("neighbours", table.get("neighbours", "add-remove")),
        "declares": str(table["source"]).endswith(".csv"),
        "types": TYPES,
        "declared": declared,
        "source": table["source"],
    }


def _save_table(studio: Studio, draft: Draft, fields: Fields) -> Draft:
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


def _show_question(studio: Studio, draft: Draft, fields: Fields) -> dict[str, Any]:
    unit = draft.section("table").get("unit")
    found = [column for column in columns(draft) if column.name not in (unit, questions.CELL)]
    shown = questions.fields_of({}) | dict(fields) if fields else questions.fields_of(draft.found)
    word = str(shown.get("question", "counts"))
    return {
        "questions": questions.QUESTIONS,
        "asked": questions.QUESTIONS.get(word, questions.QUESTIONS["counts"]),
        "word": word,
        "fields": shown,
        "columns": found,
        "by": list(shown.get("by", [])),
        "forms": key_text.FORMS,
        "forms_of": key_text.OF_KIND,
        "usual": key_text.USUAL,
        "key_files": [name for name in studio.folder.names(".toml") if name != draft.path.name],
    }


def _save_question(studio: Studio, draft: Draft, fields: Fields) -> Draft:
    earlier = {name: value for name, value in draft.section("ask").items() if name in limits.SENTENCES}
    made = questions.sections(fields, columns(draft), {})
    table = draft.section("table")
    _check_key_files(studio, made["keys"], table["source"])
    table["lattice"] = made["lattice"]
    changed = draft.with_section("table", table).with_section("ask", made["ask"]).with_section("keys", made["keys"])
    changed.job()  # a file of keys is read now, and not three steps later
    kept = {name: value for name, value in earlier.items() if name in limits.names(changed)}
    return changed.with_section("ask", changed.section("ask") | kept)


def _check_key_files(studio: Studio, keys: Any, source: str | list[str]) -> None:
    """Keys come from public files of the folder: those of the table are read by nobody before the release."""
    for name in _files(keys):
        path = studio.folder.path(name)  # and no other folder's
        if studio.folder.holds(path, [source] if isinstance(source, str) else source):
            raise errors.BadDomain(
                f"{path.name!r} is the table itself. Keys come from what is public, never from the rows.",
                parameter="keys",
            )


def _files(keys: Any) -> list[str]:
    """The files that keys are read from."""
    if isinstance(keys, str):
        return [keys]
    return [entry["file"] for entry in keys.values() if isinstance(entry, dict) and "file" in entry]


def _show_limits(studio: Studio, draft: Draft, fields: Fields) -> dict[str, Any]:
    found = [
        limits.Field(each.name, each.sentence, str(fields.get(each.name, each.value))) for each in limits.fields(draft)
    ]
    return {
        "limits": found,
        "unit": limits.unit_words(draft),
        "ledgers": budgets.ledgers(studio.folder),
        "once": secrets.token_urlsafe(12),
        "can_suggest": draft.section("ask").get("kind") in ("histogram", "sum", "mean"),
    }


def _save_limits(studio: Studio, draft: Draft, fields: Fields) -> Draft:
    if fields.get("go") == "suggest":
        once = str(fields.get("once", ""))
        if once in studio.looked:  # a second click: the first has paid, and its limits are in the draft
            return draft
        studio.looked.add(once)
        found = limits.suggest(draft, studio.folder, str(fields.get("budget", "")), _number(fields, "share"))
        given = {name: int(value) for name, value in found.limits.items()}
        changed = draft.with_section("ask", draft.section("ask") | given)
        column = str(draft.section("ask").get("column", ""))
        clip = [Decimal(repr(float(end))) for end in found.clips[column]] if column in found.clips else None
        return changed if clip is None else changed.with_section("ask", changed.section("ask") | {"clip": clip})
    changed = limits.with_limits(draft, fields)
    if limits.names(changed) and not any(name in changed.section("ask") for name in limits.SENTENCES):
        raise errors.MissingParameter(
            "Give at least the first limit: noise must hide all of one person.", parameter="max_rows"
        )
    return changed


def privacy_of(studio: Studio, draft: Draft, fields: Fields) -> Draft:
    """The draft with the privacy of the form, paid from a ledger of the folder."""
    if fields.get("budget"):
        ledger = studio.folder.path(str(fields["budget"])).name
        chosen: dict[str, Any] = {"budget": ledger, "share": _number(fields, "share")}
    else:
        chosen = {"epsilon": _number(fields, "epsilon"), "delta": _number(fields, "delta")}
    return draft.with_section("privacy", chosen)


def _show_privacy(studio: Studio, draft: Draft, fields: Fields) -> dict[str, Any]:
    privacy = draft.section("privacy")
    shown = {"epsilon": "1", "delta": "1e-6", "share": "0.1", "budget": "", **{k: str(v) for k, v in privacy.items()}}
    shown |= {name: str(fields[name]) for name in shown if name in fields}
    return {"fields": shown, "ledgers": budgets.ledgers(studio.folder), "epsilons": EPSILONS} | look(
        studio, draft, shown
    )


def look(studio: Studio, draft: Draft, fields: Fields) -> dict[str, Any]:
    """What a choice of privacy leads to, or the sentence that says why it cannot be."""
    found: Preview | None = None
    gauge, problem = None, ""
    try:
        changed = privacy_of(studio, draft, fields)
        if fields.get("budget"):
            gauge = budgets.gauge(studio.folder, str(fields["budget"]), float(_number(fields, "share")))
        found = preview(changed)
    except errors.LeastnoiseError as error:
        problem = in_words(error, studio.folder)
    return {"preview": found, "gauge": gauge, "impossible": problem}


def solved(studio: Studio, draft: Draft, fields: Fields) -> float | None:
    """The epsilon, or the share, at which no number is off by more than the `error` of the form."""
    wanted, name = float(_number(fields, "error")), "share" if fields.get("budget") else "epsilon"

    def half_width(value: float) -> float | None:
        return preview(privacy_of(studio, draft, {**fields, name: f"{value:.6g}"})).worst

    return solve(half_width, wanted, *((0.001, 1.0) if name == "share" else (EPSILONS[0] / 10, EPSILONS[-1])))


def _save_privacy(studio: Studio, draft: Draft, fields: Fields) -> Draft:
    if fields.get("go") == "create":
        table = draft.section("table")
        unit = table["unit"] if isinstance(table["unit"], str) else None
        name = budgets.create(studio.folder, fields, unit, table.get("name"))
        return draft.with_section("privacy", {"budget": name, "share": Decimal("0.1")})
    changed = privacy_of(studio, draft, fields)
    found = preview(changed)
    if found.protects_nobody and fields.get("force") != "yes":
        raise errors.InvalidParameter(f"{found.strength} Choose less, or tick that you know.", parameter="epsilon")
    if found.protects_nobody:
        changed = changed.with_section("privacy", changed.section("privacy") | {"force": True})
    return changed


def _show_release(studio: Studio, draft: Draft, fields: Fields) -> dict[str, Any]:
    privacy = draft.section("privacy")
    run = draft.run()
    gauge = None
    if "budget" in privacy:
        gauge = budgets.gauge(studio.folder, privacy["budget"], float(privacy.get("share", 0)))
    expected = run.expect()
    return {
        "progress": studio.releases.of(draft.name),
        "gauge": gauge,
        "query": run.query.describe(),
        "strength": "" if expected.strength is None else expected.strength.in_words(),
        "privacy": privacy,
        "confirmation": CONFIRMATION,
        "shown": draft.fingerprint,
        "output": draft.section("output"),
        "expected": [line for line in str(expected).splitlines() if line and not line.startswith("  ")][:1],
        "denoises": run.job.kind.denoises(run.query),
        "exists": studio.folder.path(draft.section("output")["release"]).exists(),
        "title": fields.get("title", draft.section("output").get("title", "")),
    }


def _save_release(studio: Studio, draft: Draft, fields: Fields) -> Draft:
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
    privacy, named = draft.section("privacy"), draft.section("output")
    for name in [privacy.get("budget"), *(text for word, text in named.items() if word != "title")]:
        if name is not None:
            studio.folder.path(str(name))  # also where the job's file was written by hand
    run = draft.run()
    output = named | {"title": str(fields.get("title", "")).strip()}
    if run.job.kind.denoises(run.query):
        output["estimate"] = f"{draft.name}-denoised.parquet"
    if draft.section("ask").get("kind") != "crosstabs":
        output["csv"] = f"{draft.name}-release.csv"  # the table itself may be called like the job
    if find_spec("xlsxwriter") is not None:
        output["excel"] = f"{draft.name}-release.xlsx"
    changed = draft.with_section("output", output)
    changed.write()
    studio.releases.begin(changed, again=fields.get("again") == "yes")
    return changed


def _show_results(studio: Studio, draft: Draft, fields: Fields) -> dict[str, Any]:
    output = draft.section("output")
    made = [name for word, name in output.items() if word != "title" and studio.folder.path(name).exists()]
    return {
        "page": output["page"] if output["page"] in made else "",
        "files": [*made, draft.path.name],
        "python": script.python(draft),
        "commands": script.command_lines(draft),
        "toml": draft.text,
        "progress": studio.releases.of(draft.name),
    }


def _number(fields: Fields, name: str) -> Decimal:
    text = str(fields.get(name, "")).strip()
    try:
        found = Decimal(text)
    except InvalidOperation:
        raise errors.InvalidParameter(f"{name} must be a number. Got {text!r} instead.", parameter=name) from None
    if not found.is_finite():
        raise errors.InvalidParameter(f"{name} must be finite.", parameter=name)
    return found


def _unchanged(studio: Studio, draft: Draft, fields: Fields) -> Draft:
    return draft


STEPS: dict[str, Step] = {
    "table": Step("The table", _show_table, _save_table),
    "question": Step("The question", _show_question, _save_question),
    "limits": Step("Limits", _show_limits, _save_limits),
    "privacy": Step("How private", _show_privacy, _save_privacy),
    "release": Step("Release", _show_release, _save_release),
    "results": Step("Take away", _show_results, _unchanged),
}
