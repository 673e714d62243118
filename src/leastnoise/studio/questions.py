"""The questions that can be asked, in people's words, and what each writes into [ask]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from leastnoise import errors
from leastnoise.jobs import fields as job_fields
from leastnoise.jobs import keys as typed_keys
from leastnoise.jobs.fields import LIMITS, Field, listed
from leastnoise.jobs.questions import QUESTIONS, Question
from leastnoise.studio import forms, map_question
from leastnoise.studio.columns import Column
from leastnoise.studio.forms import read_number, typed_number

# The fields that the page has inputs of its own for, or the step about limits.
_OWN = ("by", "column", "clip", "levels", "ways", "other", "limits", *LIMITS)


@dataclass(frozen=True, slots=True)
class Card:
    """A question as it is chosen: one of a table, or a common case of it under a name of its own."""

    title: str
    sentence: str
    question: Question
    own: tuple[str, ...] = ()  # fields that such a case fills in itself

    @property
    def kind(self) -> str:
        """In [ask]."""
        return self.question.kind

    @property
    def by(self) -> str:
        """Whether columns are chosen: none, some or needed."""
        if "by" in self.own or self.question.keys == "none":
            return "none"
        return "needed" if self.question.keys == "all" or "by" in self.question.needs else "some"

    @property
    def value(self) -> bool:
        """Whether it is about a column of numbers, with the ends of one value."""
        return "clip" in self.question.fields

    @property
    def fields(self) -> list[Field]:
        """The fields that are typed as on the command line."""
        return [field for name, field in self.question.fields.items() if name not in (*_OWN, *self.own)]


_RATE = "The part of the rows for which something holds, by group."
_MAP = "Rows counted in squares, in zones of a GeoJSON file, or at junctions."
CARDS: dict[str, Card] = {kind: Card(each.title, each.sentence, each) for kind, each in QUESTIONS.items()}
CARDS |= {
    "rate": Card("A rate", _RATE, QUESTIONS["summarize"], ("statistics", "weights")),
    "map": Card("A map", _MAP, QUESTIONS["histogram"], ("by", "others")),
}
USUAL = CARDS["histogram"]


# Of a set of tables: what becomes of values that are missing, or that are no key.
OTHER = {
    "lists": "one more key of each column whose keys are a list",
    "every": "one more key of every column",
    "none": "left out of every table",
}


def word_of(found: Mapping[str, Any]) -> str:
    """Which question a job asks; the first where it asks none."""
    if map_question.kind_of(found) is not None:
        return "map"
    ask = found.get("ask", {})
    statistics = ask.get("statistics")
    if isinstance(statistics, dict) and set(statistics) == {"rows", "rate"} and statistics["rows"] == "count":
        return "rate"
    return str(ask["kind"]) if ask.get("kind") in QUESTIONS else "histogram"


def fields_of(found: Mapping[str, Any]) -> dict[str, Any]:
    """What the form shows of the sections of a draft."""
    ask, keys = found.get("ask", {}), found.get("keys", {})
    fields: dict[str, Any] = {"question": word_of(found), "by": list(listed(ask.get("by", [])))}
    if ask.get("kind") == "crosstabs":
        fields["by"] = list(keys) if isinstance(keys, dict) else []
        fields["ways"] = job_fields.SECTIONS["ask"]["ways"].shown(ask.get("ways", 2))
    fields |= _other_fields(ask)
    fields |= {"column": ask.get("column", ""), "levels": ", ".join(map(str, listed(ask.get("levels", []))))}
    fields |= dict(zip(("low", "high"), map(str, ask.get("clip", ["", ""])), strict=True))
    fields["condition"] = str(ask.get("statistics", {}).get("rate", "")).removeprefix("rate:")
    fields |= map_question.fields_of(found) | {"keys_file": keys if isinstance(keys, str) else ""}
    if isinstance(keys, dict):
        for column, entry in keys.items():
            if column != map_question.CELL:
                fields[f"keys:{column}"] = typed_keys.shown(entry)
    return fields


def sections(fields: Mapping[str, Any], columns: Sequence[Column]) -> dict[str, Any]:
    """[ask], [keys], and of a map what it adds to [table] and [output], from the form."""
    card = CARDS.get(str(fields.get("question")))
    if card is None:
        raise errors.InvalidParameter("Choose a question.", parameter="question")
    kinds = {column.name: column for column in columns}
    more = {name: value for name, value in forms.read(card.fields, fields).items() if value is not None}
    ask: dict[str, Any] = {"kind": card.kind}
    drawn = map_question.NO_MAP
    if fields["question"] == "map":
        drawn = map_question.sections(fields, kinds)
        keys, by = drawn.keys, [drawn.by]
    else:
        keys, by = _keys(card, fields, kinds, unknown="others" in more)
    if card.question.keys == "all":
        ask |= _other(fields) if "nulls" not in more else {}
        ask |= {} if "tables" in more else forms.read([card.question.fields["ways"]], {"ways": "2", **fields})
    elif by:
        ask["by"] = by
    if card.value:
        ask |= {"column": _column(fields, kinds), "clip": [read_number(fields, "low"), read_number(fields, "high")]}
    if "levels" in card.question.fields:
        ask["levels"] = _levels(str(fields.get("levels", "")))
    if "statistics" in card.own:
        ask["statistics"] = {"rows": "count", "rate": f"rate:{_condition(fields)}"}
    ask |= more
    for name in card.question.needs:
        if name not in ask:
            raise job_fields.missing(card.question.fields[name])
    added = {name: getattr(drawn, name) for name in ("lattice", "within", "graph", "nodes")}
    return {"ask": ask, "keys": keys, **added}


def _keys(
    card: Card, fields: Mapping[str, Any], kinds: Mapping[str, Column], *, unknown: bool
) -> tuple[Any, list[str]]:
    """[keys], a section or the name of a file, and the columns that they are of; none where they are unknown."""
    by = [name for name in fields.get("by", []) if name in kinds] if card.by != "none" else []
    file = str(fields.get("keys_file", "")) if card.by != "none" else ""
    if card.by == "needed" and not by and not (file and card.question.keys == "all"):
        raise errors.MissingParameter("Choose at least one column to count by.", parameter="by")
    if file or unknown:
        return file or {}, by
    return {name: typed_keys.entry(name, str(fields.get(f"keys:{name}") or ""), kinds[name].kind) for name in by}, by


def _condition(fields: Mapping[str, Any]) -> str:
    condition = str(fields.get("condition", "")).strip()
    if not condition:
        raise errors.MissingParameter("Say what must hold of a row, such as delay > 15.", parameter="condition")
    return condition


def _other_fields(ask: Mapping[str, Any]) -> dict[str, Any]:
    """What the form shows of `other`: which columns have the key, and its label where it has one of its own."""
    other = ask.get("other")
    if isinstance(other, bool):
        return {"other": "every" if other else "none", "other_label": ""}
    return {"other": "lists", "other_label": other or ""}


def _other(fields: Mapping[str, Any]) -> dict[str, Any]:
    chosen, label = str(fields.get("other") or "lists"), str(fields.get("other_label") or "").strip()
    if chosen not in OTHER:
        raise errors.InvalidParameter("Choose what becomes of missing and unlisted values.", parameter="other")
    if chosen == "lists":
        return {"other": label} if label else {}
    return {"other": chosen == "every"}


def _column(fields: Mapping[str, Any], kinds: Mapping[str, Column]) -> str:
    name = str(fields.get("column", ""))
    if name not in kinds or not kinds[name].is_number:
        raise errors.MissingParameter("Choose a column of numbers.", parameter="column")
    return name


def _levels(text: str) -> list[Decimal]:
    words = [word.strip().removesuffix("%") for word in text.split(",") if word.strip()]
    found = [Decimal(typed_number(word, "levels")) for word in words or ["0.5"]]
    return [level / 100 if level >= 1 else level for level in found]
