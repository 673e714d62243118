"""Statistics as people type them: flights=count, delay=mean:dep_delay:-30:180, "late=rate:dep_delay > 15".

The command line takes them by --stat, a job by `statistics`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import typer

from leastnoise import errors, stats
from leastnoise.cli.options import BinOptions

_CLIPPED = {"sum": stats.sum, "mean": stats.mean, "variance": stats.variance, "std": stats.std, "share": stats.share}
_TAKEN = ("keys", "max_rows", "max_per_bin", "max_bins", "weights", "nulls")  # what `summarize` itself is given by name
_EXAMPLES = [{"stat": "flights=count"}, {"stat": "delay=mean:dep_delay:-30:180"}, {"stat": "late=rate:dep_delay > 15"}]


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryOptions(BinOptions):
    """Which statistics, in which bins, and how much of one person counts in them."""

    panel: ClassVar[str] = "Statistics, bins and limits"

    stat: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=count or share of rows, NAME=KIND:COLUMN:LOW:HIGH (sum, mean, variance, std, share), or "
            "NAME=rate:CONDITION; repeat for several."
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
            made[name] = _number(size, text, "weights")
        return made or None


def parse(pairs: Iterable[tuple[str, str]]) -> dict[str, stats.Statistic]:
    """Statistics by name, from pairs of a name and what it is."""
    made: dict[str, stats.Statistic] = {}
    for name, text in pairs:
        if name in made:
            raise errors.InvalidParameter(
                f"Two statistics are called {name!r}. Give each its own name.", parameter="stat"
            )
        if name in _TAKEN:
            raise errors.InvalidParameter(f"A statistic cannot be called {name!r}. Use another name.", parameter="stat")
        made[name] = _statistic(name, text)
    return made


def _statistic(name: str, text: str) -> stats.Statistic:
    kind, _, rest = text.partition(":")
    if kind == "count" and not rest:
        return stats.count()
    if kind == "share" and not rest:
        return stats.share()
    if kind == "rate" and rest:
        return stats.rate(rest)
    column, *ends = rest.rsplit(":", 2)
    if kind in _CLIPPED and len(ends) == 2:
        make: Any = _CLIPPED[kind]
        statistic: stats.Statistic = make(column, clip=(_number(ends[0], text, "stat"), _number(ends[1], text, "stat")))
        return statistic
    raise errors.InvalidParameter(
        f"The statistic {name!r} is count, share, rate:CONDITION, or one of {', '.join(_CLIPPED)} with its column and "
        f"the ends of one value, mean:fare:0:100. Got {text!r} instead.",
        parameter="stat",
        value=text,
        example=_EXAMPLES,
    )


def _pair(text: str, option: str) -> tuple[str, str]:
    name, equals, rest = text.partition("=")
    if not (name and equals and rest):
        raise errors.InvalidParameter(
            f"--{option} takes a name and what it is, with an equals sign in between. Got {text!r} instead.",
            parameter=option,
            value=text,
            example=_EXAMPLES if option == "stat" else {option: "flights=4"},
        )
    return name.strip(), rest.strip()


def _number(text: str, whole: str, option: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise errors.InvalidParameter(
            f"{text!r} in {whole!r} is no number.",
            parameter=option,
            value=whole,
            example=_EXAMPLES if option == "stat" else {option: "flights=4"},
        ) from None
