"""What a release would be like, as the step about privacy shows it: from public facts alone, and free."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from leastnoise._support.text import rounded
from leastnoise.pictures import guarantees, svg
from leastnoise.releases.left_out import SUGGESTS
from leastnoise.releases.table_set import table_name
from leastnoise.studio.draft import Draft

EPSILONS = (
    0.01, 0.015, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8,
    1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0,
)  # fmt: skip


# What is typed elsewhere, and chosen here.
_CHOSEN_HERE = {
    "with other=False (--no-other)": "without it",
    "other=True (--other) gives": "The step about the question can give",
}


@dataclass(frozen=True, slots=True)
class Bar:
    """How far one table's numbers will be off."""

    name: str
    cells: int
    half_width: float  # 95 % are off by at most this
    part: float  # of the widest bar, between 0 and 1

    @property
    def words(self) -> str:
        """The number as it is shown."""
        return rounded(self.half_width)


@dataclass(frozen=True, slots=True)
class Preview:
    """One choice of privacy, and what it leads to."""

    bars: tuple[Bar, ...]
    sentences: tuple[str, ...]
    band: str
    strength: str
    attack: Markup  # a drawing of ours, without any text of the user's
    worst: float | None  # the widest half width; None where no single number says it
    weak: bool
    protects_nobody: bool


def preview(draft: Draft, who_estimates: str = "") -> Preview:
    """What the job would release, whether or not its budget can pay. No row is read, and nothing is debited.

    who_estimates: a sentence that says where to find how many rows the limits leave out.
    """
    expected = draft.preview()
    lines = _lines(expected)
    widest = max((half for _, _, half in lines), default=0.0)
    ranked = sorted(lines, key=lambda line: -line[2])
    strength = expected.strength
    return Preview(
        bars=tuple(Bar(name, cells, half, half / widest if widest else 0.0) for name, cells, half in ranked),
        sentences=tuple(_sentences(expected, who_estimates)),
        band="" if strength is None else str(strength.band),
        strength="" if strength is None else strength.in_words(),
        attack=Markup(svg.svg(guarantees.attack(lambda alarms: 1 - expected.guarantee.tradeoff(alarms)))),
        worst=widest or None,
        weak=strength is not None and strength.is_weak,
        protects_nobody=strength is not None and strength.protects_nobody,
    )


def _lines(expected: Any) -> list[tuple[str, int, float]]:
    """The name, the cells and the half width of each table, or of each statistic that has one."""
    if hasattr(expected, "tables"):
        return [(table_name(line.table), line.cells, line.half_width) for line in expected.tables]
    if hasattr(expected, "statistics"):
        known = [line for line in expected.statistics if line.half_width is not None]
        return [(line.name, expected.bins, line.half_width) for line in known]
    if expected.half_width is None:
        return []
    return [("each number", expected.bins or 0, expected.half_width)]


def _sentences(expected: Any, who_estimates: str) -> list[str]:
    """What is said beside the bars; the lines of tables are bars already, and nobody here types suggest_limits."""
    text = str(expected).splitlines()
    said = [line for line in text if line and not line.startswith("  ")]
    strength = "" if expected.strength is None else expected.strength.in_words()
    return [_of_the_studio(line, who_estimates) for line in said if line != strength]


def _of_the_studio(line: str, who_estimates: str) -> str:
    line = line.replace(SUGGESTS, who_estimates).strip()
    for typed, chosen in _CHOSEN_HERE.items():
        line = line.replace(typed, chosen)
    return line


def solve(half_width: Callable[[float], float | None], wanted: float, low: float, high: float) -> float | None:
    """The least value between `low` and `high` at which no number is off by more than `wanted`, up to a hundredth.

    half_width falls as its argument grows. None: not even `high` is enough, or no single number says it.
    """
    at_most = half_width(high)
    if at_most is None or at_most > wanted:
        return None
    while high / low > 1.01:
        middle = (low * high) ** 0.5
        found = half_width(middle)
        if found is not None and found <= wanted:
            high = middle
        else:
            low = middle
    return high
