"""What the page of proposed limits says: the proposal, the limits around it, and how to use them."""

from __future__ import annotations

import json
from shlex import quote
from typing import Any, NamedTuple

from leastnoise._support.text import rounded
from leastnoise.releases.limit_errors import PLAUSIBLE, kept_in_words
from leastnoise.releases.limit_suggestion import RISKY, LimitSuggestion
from leastnoise.report import sentences
from leastnoise.report.check import Step, check_file, check_guarantee, check_ledger

AROUND = 4  # limits on either side of the proposal are shown at once
WORTH_SHOWING = 10  # times the error of the proposed limits: worse ones are in the file


class Row(NamedTuple):
    """One limit that was weighed, in words."""

    max_rows: str
    cells: tuple[str, ...]
    proposed: bool


class Found(NamedTuple):
    """The proposal in a number and words; the rows around it and all others."""

    number: str
    label: str
    lead: str
    leads_to: str
    explained: list[str]
    near: list[Row]
    rest: list[Row]
    missing: int


def title(of: LimitSuggestion) -> str:
    """What the limits are for."""
    return f"Limits for {_question(of)}"


def _question(of: LimitSuggestion) -> str:
    return f"rows by {' and '.join(map(of._words, of.by))}" if of.by else "a count of rows"


def found(of: LimitSuggestion) -> Found:
    """The proposal, and what speaks for it."""
    rows = of.to_arrow().to_pylist()
    worth = [row for row in rows if row["error"] <= WORTH_SHOWING * of.error]
    words = [_row(row, proposed=row["max_rows"] == of.limits["max_rows"]) for row in worth]
    at = next(place for place, row in enumerate(words) if row.proposed)
    near = words[max(0, at - AROUND) : at + AROUND + 1]
    return Found(
        number=f"{of.limits['max_rows']:,}",
        label=_label(of),
        lead=_lead(of),
        leads_to=_leads_to(of),
        explained=[_no_space(line) for line in of.explain().removesuffix(of.promise_in_words()).splitlines()],
        near=near,
        rest=[row for row in words if row not in near],
        missing=len(rows) - len(worth),
    )


def _label(of: LimitSuggestion) -> str:
    rows, in_bin, unit = of.limits["max_rows"], of.limits.get("max_per_bin"), sentences.unit(of)
    at_most = "" if in_bin is None or in_bin == rows else f", at most {in_bin:,} of them in one bin"
    return f"{'row' if rows == 1 else 'rows'} per {unit} at most{at_most}"


def _leads_to(of: LimitSuggestion) -> str:
    error, least, most = (rounded(each, 2) for each in (of.error, *of.error_interval))
    kept = _no_space(kept_in_words(of.kept, *of.kept_interval))
    return (
        f"A bin is then off by about {error} ({least} to {most}), and about {kept} of the rows are kept. These are "
        f"predictions; brackets give {100 * PLAUSIBLE:.0f}% ranges over all tables consistent with the noisy counts."
    )


def _no_space(words: str) -> str:
    """Percentages as a page writes them."""
    return words.replace(" %", "%")


def _lead(of: LimitSuggestion) -> str:
    bins = f" ({of.layout.bins:,} bins)" if of.layout.bins > 1 else ""
    paid = "that was charged to the budget" if of.ledger else "of its own"
    return (
        f"Suggested limits on rows per {sentences.unit(of)} for {_question(of)}{bins}, from a small private release "
        f"{paid}. Fewer rows: rows go missing. More rows: more noise. The limits balance both. The table itself is a "
        "separate release."
    )


def risky(of: LimitSuggestion) -> list[str]:
    """That the counts leave open which limits are good; nothing where they do not."""
    if of.risk < RISKY:
        return []
    chance = (
        f"with a chance of {100 * of.risk:.0f}% the error under those proposed is more than half above the least one"
    )
    return [f"This release leaves open which limits are good: {chance}. See below what would help."]


def facts(of: LimitSuggestion) -> list[tuple[str, str]]:
    """All parameters."""
    under = f"noise of standard deviation {rounded(of.errors.noise[of.errors.best])} under these limits"
    return [
        *sentences.guarantee_facts(of),
        ("noise", f"{of.mechanism.capitalize()}, on counts of units: {of.units.spread_in_words()}"),
        ("meant for", f"{_question(of)} with {under}"),
    ]


def _row(row: Any, *, proposed: bool) -> Row:
    kept = _no_space(kept_in_words(row["kept"], row["kept_low"], row["kept_high"])).replace(" ", "\u00a0")
    errors = tuple(rounded(row[name], 3) for name in ("bias", "noise", "error"))
    return Row(f"{row['max_rows']:,}", (f"{row['max_per_bin']:,}", kept, *errors), proposed)


def use(of: LimitSuggestion, file: str) -> list[Step]:
    """What to type to ask the question under these limits: its release then says what proposed them. How the table was
    opened and what was done to its rows is not known here but in words, so it is not typed."""
    columns = ", ".join(map(_text, of.by))
    ask = f"t.histogram({columns}, keys=keys, **a.limits)" if of.by else "t.count(**a.limits)"
    same = f"--by {quote(','.join(of.by))} --keys ..." if of.by else "..."
    command = f"leastnoise {'histogram' if of.by else 'count'} ... {same} --limits {quote(file)} --expect"
    with_keys = " and keys" if of.by else ""
    return [
        Step(
            f"In Python, with the table t{with_keys} as they were for this release; what is released so says on its "
            "page that these limits were proposed:",
            f"a = ln.load({_text(file)})\nq = {ask}",
        ),
        Step(
            f"On the command line, with the table, unit, types, conditions{with_keys} that suggest-limits was given "
            "in place of the dots:",
            command,
        ),
    ]


def _text(name: str) -> str:
    """As Python and JSON both write it."""
    return json.dumps(name, ensure_ascii=False)


def check_steps(of: LimitSuggestion, file: str) -> list[Step]:
    """What to type to check the page."""
    units = "How many units have how many rows, with noise, is a release by itself, to be drawn or put on a page:"
    guarantee = [] if of.guarantee is None else [check_guarantee(of)]
    return [check_file(file), Step(units, "print(r.units)"), *guarantee, *check_ledger(of)]
