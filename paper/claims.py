"""What the paper says, what we measured, and whether the two agree: one line each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["yes", "in part", "no"]


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim of the paper beside a measurement.

    `agrees` comes from the numbers of this run. `expected` is what we know: a run whose verdict differs has found a
    mistake in the library or in this script, and fails.
    """

    text: str
    place: str
    measured: str
    agrees: Verdict
    why: str = ""
    expected: Verdict = "yes"

    @property
    def surprising(self) -> bool:
        """Whether this run says other than we know."""
        return self.agrees != self.expected

    def line(self) -> str:
        """A line of the table; a statement of our own has no place in the paper."""
        verdict = {"yes": "yes", "in part": "**in part**", "no": "**no**"}[self.agrees]
        cells = [self.text, *([self.place] if self.place else []), self.measured, verdict, self.why]
        return f"| {' | '.join(cells)} |"


HEAD = "| the paper says | where | we measure (± one standard error) | agrees | if not, why |\n|---|---|---|---|---|"


def verdict(holds: bool, partly: bool = False) -> Verdict:
    """ "yes" if all of it holds, "in part" if some of it does."""
    return "yes" if holds else "in part" if partly else "no"
