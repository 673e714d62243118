"""The step about limits: how much of one person counts, and what a small paid look would propose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from leastnoise import errors
from leastnoise._support import atomic_files
from leastnoise.jobs.kinds import KINDS
from leastnoise.jobs.running import open_table
from leastnoise.releases.limit_suggestion import LimitSuggestion
from leastnoise.studio import budgets
from leastnoise.studio.draft import Draft
from leastnoise.studio.folder import Folder

SENTENCES = {
    "max_rows": "At most so many rows of one {unit} count. More keeps more of the data, and needs more noise.",
    "max_per_bin": "And of them at most so many in one bin. Left empty, as many as above.",
    "max_bins": "And in at most so many bins. Left empty, as many as rows.",
}


@dataclass(frozen=True, slots=True)
class Field:
    """One limit."""

    name: str
    sentence: str
    value: str


def names(draft: Draft) -> list[str]:
    """The limits that the question takes."""
    kind = KINDS.get(str(draft.section("ask").get("kind")))
    return [] if kind is None else [name for name in SENTENCES if name in kind.takes]


def fields(draft: Draft) -> list[Field]:
    """What the form shows."""
    ask, unit = draft.section("ask"), unit_words(draft)
    return [Field(name, SENTENCES[name].format(unit=unit), str(ask.get(name, ""))) for name in names(draft)]


def with_limits(draft: Draft, given: Mapping[str, Any]) -> Draft:
    """The draft with the limits of the form."""
    ask = {name: value for name, value in draft.section("ask").items() if name not in SENTENCES}
    for name in names(draft):
        text = str(given.get(name, "")).strip()
        if text and (not text.isdigit() or int(text) < 1):
            raise errors.InvalidParameter(
                f"A limit is a whole number above zero. Got {text!r} instead.", parameter=name
            )
        if text:
            ask[name] = int(text)
    return draft.with_section("ask", ask)


def unit_words(draft: Draft) -> str:
    """Whom the table protects."""
    unit = draft.section("table").get("unit", "person")
    return unit if isinstance(unit, str) else " and ".join(unit)


def suggest(draft: Draft, folder: Folder, ledger: str, share: Decimal) -> LimitSuggestion:
    """The paid look: debited, saved beside the job, and shown."""
    job = draft.job()
    asked = job.arguments()
    path = folder.path(f"{draft.name}-limits.parquet")
    atomic_files.check_writable(path)
    found = open_table(job).suggest_limits(
        *asked.get("by", ()),
        keys=asked.get("keys"),
        values=[asked["column"]] if "column" in asked else [],
        budget=budgets.open_ledger(folder, ledger),
        share=share,
    )
    found.save(path)
    return found
