"""--stat and --weights: the statistics of a summary as options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import typer

from leastnoise import errors, stats
from leastnoise.cli.options import BinOptions
from leastnoise.jobs.statistics import EXAMPLES, number, parse


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryOptions(BinOptions):
    """Which statistics, in which bins, and how much of one person counts in them."""

    panel: ClassVar[str] = "Statistics, bins and limits"

    stat: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=count or share of rows, NAME=KIND:COLUMN:LOW:HIGH (sum, mean, variance, std, share), "
            "NAME=ratio:COLUMN:LOW:HIGH:OVER:LOW:HIGH, or NAME=rate:CONDITION; repeat for several."
        ),
    ] = None
    weights: Annotated[
        list[str] | None, typer.Option(help="NAME=NUMBER: how much the error of a statistic counts; 1 for the others.")
    ] = None

    def statistics(self) -> dict[str, stats.Statistic]:
        """Every --stat as a statistic, by its name."""
        return parse(_pair(text, "stat") for text in self.stat or [])

    def sizes(self) -> dict[str, float] | None:
        """Every --weights as a number, by the name of a statistic."""
        made = {}
        for text in self.weights or []:
            name, size = _pair(text, "weights")
            made[name] = number(size, text, "weights")
        return made or None


def _pair(text: str, option: str) -> tuple[str, str]:
    name, equals, rest = text.partition("=")
    if not (name and equals and rest):
        raise errors.InvalidParameter(
            f"--{option} takes a name and what it is, with an equals sign in between. Got {text!r} instead.",
            parameter=option,
            value=text,
            example=EXAMPLES if option == "stat" else {option: "flights=4"},
        )
    return name.strip(), rest.strip()
