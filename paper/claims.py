"""What the paper says, what we measured, and whether the two agree: one line each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
