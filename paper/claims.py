"""What the paper says, what we measured, and whether the two agree: one line each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Verdict = Literal["yes", "in part", "no"]
ORDER: tuple[Verdict, ...] = ("no", "in part", "yes")


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim of the paper beside a measurement; a statement of our own has no place in the paper.

    `agrees` comes from the numbers of this run, by the standard that `page.py` prints. `expected` is what we know: a
    run whose verdict differs has found a mistake in the library or in this script, and fails. Of a statement of our own
    `expected` is the least that must hold.
    """

    text: str
    place: str
    measured: str
    agrees: Verdict
    why: str = ""
    expected: Verdict = "yes"

    @property
    def surprising(self) -> bool:
        """Whether this run says other than we know; of our own statements, less."""
        if self.place:
            return self.agrees != self.expected
        return ORDER.index(self.agrees) < ORDER.index(self.expected)

    def line(self) -> str:
        """A line of the table."""
        verdict = {"yes": "yes", "in part": "**in part**", "no": "**no**"}[self.agrees]
        cells = [self.text, *([self.place] if self.place else []), self.measured, verdict, self.why]
        return f"| {' | '.join(cells)} |"


HEAD = (
    "| the paper says | where | we measure (± one standard error) | agrees | if not, why; if so, what to know |\n"
    "|---|---|---|---|---|"
)


def verdict(holds: bool, partly: bool = False) -> Verdict:
    """ "yes" if all of it holds, "in part" if some of it does."""
    return "yes" if holds else "in part" if partly else "no"


def settings(holds: list[bool]) -> Verdict:
    """A measured statement: "yes" if it holds in every setting, "in part" if in more than half."""
    return verdict(all(holds), 2 * sum(holds) > len(holds))


def clearly_above(rows: list[dict[str, Any]], ratio: str = "over their best") -> list[dict[str, Any]]:
    """The rows in which ours is above theirs by more than two standard errors of the paired ratio, the worst first."""
    known = [row for row in rows if row.get(ratio, "") != ""]  # where ours is below, none may be kept
    return sorted((row for row in known if row[ratio] > 1 + 2 * row["its error"]), key=lambda row: -row[ratio])


def standing(ours: list[dict[str, Any]], theirs: Mapping[str, list[dict[str, Any]]], at: Callable[..., str]) -> str:
    """At how many points our curve is above the lowest of the paper's, and above each of them alone; by how much."""
    apart = clearly_above(ours)
    told = [_figure(row, "over their best", at) for row in apart if row["over their best"] > 1.01]
    rest = ", the others by 1 % at most" if len(told) < len(apart) else ""
    alone = []
    for label, rows in theirs.items():
        worse = clearly_above(rows, "ours over it")
        alone.append(
            f"{label} at {len(worse)} of {len(rows)}"
            + (f", at most {_figure(worse[0], 'ours over it', at)}" if worse else "")
        )
    return (
        "Where our curve is above theirs by more than two standard errors of the ratio on the same draws. Above the "
        "lowest of the paper's curves (now one, now another: to choose it one would have to know the truth): at "
        f"{len(apart)} of {len(ours)} points"
        + (": " + ", ".join(told) + rest if told else ", by 1 % at most" if apart else "")
        + f". Above each of them alone: {'; '.join(alone)}."
    )


def _figure(row: dict[str, Any], ratio: str, at: Callable[..., str]) -> str:
    return f"{row[ratio]:.3f} ± {row['its error']:.3f} ({at(row)})"
