"""The questions that can be asked, in people's words, and what each writes into [ask]."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from leastnoise import errors
from leastnoise.studio import key_text, map_question
from leastnoise.studio.columns import Column
from leastnoise.studio.form_numbers import decimal, read_number


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One kind of question: what it is called, and which fields it needs."""

    title: str
    sentence: str
    kind: str  # in [ask]
    by: str = "some"  # none, some or needed
    value: bool = False  # a column of numbers, with the ends of one value
    one_row: bool = False  # at most one row of everybody, unless said otherwise


QUESTIONS: dict[str, Question] = {
    "people": Question(
        title="How many people", sentence="One number: how many of them the table knows.", kind="count_units", by="none"
    ),
    "counts": Question(
        title="A table of counts",
        sentence="Rows counted by one column, or by several crossed with one another.",
        kind="histogram",
        by="needed",
    ),
    "tables": Question(
        title="A set of tables",
        sentence="Many tables about the same people, which agree with each other and share the noise best.",
        kind="crosstabs",
        by="needed",
    ),
    "sum": Question(title="A sum", sentence="Of a column of numbers, in all or by group.", kind="sum", value=True),
    "mean": Question(title="A mean", sentence="Of a column of numbers, in all or by group.", kind="mean", value=True),
    "rate": Question(
        title="A rate", sentence="The part of the rows for which something holds, by group.", kind="summarize"
    ),
    "quantile": Question(
        title="Quantiles",
        sentence="The median, or the value that a tenth lies below.",
        kind="quantile",
        by="none",
        value=True,
    ),
    "map": Question(
        title="A map", sentence="Rows counted in squares, in zones of a GeoJSON file, or at junctions.",
        kind="histogram", by="none",
    ),
}  # fmt: skip


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
    kind = found.get("ask", {}).get("kind")
    return next((word for word, question in QUESTIONS.items() if question.kind == kind), "counts")


def fields_of(found: Mapping[str, Any]) -> dict[str, Any]:
    """What the form shows of the sections of a draft."""
    ask, keys = found.get("ask", {}), found.get("keys", {})
    by = ask.get("by", [])
    fields: dict[str, Any] = {"question": word_of(found), "by": [by] if isinstance(by, str) else list(by)}
    if ask.get("kind") == "crosstabs":
        fields["by"] = list(keys) if isinstance(keys, dict) else []
        fields["ways"] = str(ask.get("ways", 2))
    fields |= _other_fields(ask)
    fields |= {
        "column": ask.get("column", ""),
        "levels": ", ".join(map(str, _list(ask.get("levels", ask.get("q", []))))),
    }
    fields["expected_rows"] = str(ask.get("expected_rows", ""))
    fields |= dict(zip(("low", "high"), map(str, ask.get("clip", ["", ""])), strict=True))
    fields["condition"] = str(ask.get("statistics", {}).get("rate", "")).removeprefix("rate:")
    fields |= map_question.fields_of(found) | {"keys_file": keys if isinstance(keys, str) else ""}
    if isinstance(keys, dict):
        for column, entry in keys.items():
            if column != map_question.CELL:
                fields[f"form:{column}"], fields[f"keys:{column}"] = key_text.show(entry)
    return fields


def sections(fields: Mapping[str, Any], columns: Sequence[Column]) -> dict[str, Any]:
    """[ask], [keys], and of a map what it adds to [table] and [output], from the form."""
    question = QUESTIONS.get(str(fields.get("question")))
    if question is None:
        raise errors.InvalidParameter("Choose a question.", parameter="question")
    kinds = {column.name: column for column in columns}
    by = [name for name in fields.get("by", []) if name in kinds]
    ask: dict[str, Any] = {"kind": question.kind}
    drawn = map_question.NO_MAP
    keys: dict[str, Any] = {}
    file = str(fields.get("keys_file", "")) if question.by != "none" else ""
    if question.by == "needed" and not by and not (file and question.kind == "crosstabs"):
        raise errors.MissingParameter("Choose at least one column to count by.", parameter="by")
    if fields["question"] == "map":
        drawn = map_question.sections(fields, kinds)
        keys, by = drawn.keys, [drawn.by]
    elif question.by != "none" and not file:
        for name in by:
            usual = key_text.USUAL.get(kinds[name].kind, "list")
            keys[name] = key_text.parse(
                name, kinds[name].kind, str(fields.get(f"form:{name}") or usual), str(fields.get(f"keys:{name}") or "")
            )
    if question.kind == "crosstabs":
        ask["ways"] = _whole(fields, "ways", "how many columns one table may cross")
        ask |= _other(fields)
    elif by and (question.by != "none" or fields["question"] == "map"):
        ask["by"] = by
    if question.value:
        ask |= {"column": _column(fields, kinds), "clip": [read_number(fields, "low"), read_number(fields, "high")]}
    if question.kind == "quantile":
        ask["levels"] = _levels(str(fields.get("levels", "")))
        if str(fields.get("expected_rows", "")).strip():
            ask["expected_rows"] = read_number(fields, "expected_rows")
    if question.kind == "summarize":
        condition = str(fields.get("condition", "")).strip()
        if not condition:
            raise errors.MissingParameter("Say what must hold of a row, such as delay > 15.", parameter="condition")
        ask["statistics"] = {"rows": "count", "rate": f"rate:{condition}"}
    added = {name: getattr(drawn, name) for name in ("lattice", "within", "graph", "nodes")}
    return {"ask": ask, "keys": file or keys, **added}


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
    found = [decimal(word, "levels") for word in words or ["0.5"]]
    return [level / 100 if level >= 1 else level for level in found]


def _whole(fields: Mapping[str, Any], name: str, words: str) -> int:
    text = str(fields.get(name, "")).strip()
    if not re.fullmatch(r"[0-9]{1,4}", text):
        raise errors.InvalidParameter(f"Say {words}: a whole number.", parameter=name)
    return int(text)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
