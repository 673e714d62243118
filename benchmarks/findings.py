"""What a benchmark hands back: tables (Markdown for people, CSV for machines) and headlines, the ratios that matter."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stopwatch import Timing, human


class Seconds(float):
    """A duration: read as "3.1 ms" by people, in seconds by machines."""


@dataclass(frozen=True, slots=True)
class Headline:
    """One ratio, of wall times where it is one of times, and what it was to be: at least or at most."""

    what: str
    ratio: float
    least: float | None = None
    most: float | None = None
    processor: float = math.nan  # the same of processor times

    @classmethod
    def between(
        cls, what: str, above: Timing, below: Timing, *, least: float | None = None, most: float | None = None
    ) -> Headline:
        processor = above.processor / below.processor if below.processor else math.nan
        return cls(what, above.median / below.median, least, most, processor)

    @property
    def met(self) -> bool:
        return (self.least is None or self.ratio >= self.least) and (self.most is None or self.ratio <= self.most)

    @property
    def goal(self) -> str:
        if self.least is not None:
            return f"at least {self.least:g}"
        return "" if self.most is None else f"at most {self.most:g}"

    def row(self) -> dict[str, Any]:
        verdict = "" if not self.goal else "met" if self.met else "**missed**"
        return {
            "what": self.what,
            "ratio": self.ratio,
            "of processor time": self.processor,
            "goal of the ratio": self.goal,
            "": verdict,
        }


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of the same columns; `name` is its file under results/."""

    name: str
    title: str
    rows: Sequence[Mapping[str, Any]]
    note: str = ""
    missing: Mapping[str, str] = field(default_factory=dict)

    def markdown(self) -> list[str]:
        columns = list(self.rows[0])
        lines = [self.title, "", f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
        lines += [f"| {' | '.join(_cell(row[column]) for column in columns)} |" for row in self.rows]
        if self.missing:
            lines += ["", "Not measured: " + "; ".join(f"{name} ({why})" for name, why in self.missing.items()) + "."]
        return [*lines, "", self.note] if self.note else lines

    def save(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        with (folder / f"{self.name}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, list(self.rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows)


Findings = list[Table | Headline | str]


def timings(seen: Mapping[str, Timing], *, reference: str, per: str = "median") -> list[dict[str, Any]]:
    """Rows of a race: times the reference first (on the wall and of processor), then seconds and quartiles."""
    unit = seen[reference]
    return [
        {
            "what": name,
            f"times {reference}": timing.median / unit.median,
            "the same, processor": timing.processor / unit.processor if unit.processor else math.nan,
            per: Seconds(timing.median),
            "quartiles, low": Seconds(timing.low),
            "high": Seconds(timing.high),
            "rounds": timing.rounds,
        }
        for name, timing in seen.items()
    ]


def _cell(value: Any) -> str:
    if isinstance(value, float) and math.isnan(value):
        return "–"
    if isinstance(value, Seconds):
        return human(value)
    if isinstance(value, float):
        return f"{value:,.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.3g}"
    return str(value)
