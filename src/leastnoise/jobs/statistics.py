"""Statistics as people type them: flights=count, delay=mean:dep_delay:-30:180, "late=rate:dep_delay > 15",
fare_per_mile=ratio:fare:0:100:miles:0:50.

The command line takes them by --stat, a job by `statistics`.
"""

from __future__ import annotations

from collections.abc import Mapping

from leastnoise import errors, stats
from leastnoise.jobs.calls import Call

_CLIPPED = ("sum", "mean", "variance", "std", "share")
_TAKEN = ("keys", "max_rows", "max_per_bin", "max_bins", "weights", "nulls")  # what `summarize` itself is given by name
EXAMPLES = [
    {"statistics": {"flights": "count"}},
    {"statistics": {"delay": "mean:dep_delay:-30:180"}},
    {"statistics": {"late": "rate:dep_delay > 15"}},
]


def parse(texts: Mapping[str, str]) -> dict[str, Call]:
    """Statistics by name, as they are made in Python."""
    for name in texts:
        if name in _TAKEN:
            raise errors.InvalidParameter(
                f"A statistic cannot be called {name!r}. Use another name.", parameter="statistics"
            )
    return {name: _statistic(name, text) for name, text in texts.items()}


def _statistic(name: str, text: str) -> Call:
    """The statistic of this name that a text asks for."""
    kind, _, rest = text.partition(":")
    if kind in ("count", "share") and not rest:
        return Call(f"ln.stats.{kind}")
    if kind == "rate" and rest:
        return Call("ln.stats.rate", [rest])
    if kind == "ratio" and len(parts := rest.rsplit(":", 5)) == 6:
        ends = {"clip": _ends(parts[1:3], text), "over_clip": _ends(parts[4:], text)}
        return Call("ln.stats.ratio", [parts[0], parts[3]], ends)
    column, *last = rest.rsplit(":", 2)
    if kind in _CLIPPED and len(last) == 2:
        return Call(f"ln.stats.{kind}", [column], {"clip": _ends(last, text)})
    raise errors.InvalidParameter(
        f"The statistic {name!r} is count, share, rate:CONDITION, one of {', '.join(_CLIPPED)} with its column and "
        f"the ends of one value, mean:fare:0:100, or a ratio of two such columns, ratio:fare:0:100:miles:0:50. Got "
        f"{text!r} instead.",
        parameter="statistics",
        value=text,
        example=EXAMPLES,
    )


def _ends(pair: list[str], whole: str) -> stats.Ends:
    low, high = (_number(end, whole) for end in pair)
    return low, high


def _number(text: str, whole: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise errors.InvalidParameter(
            f"{text!r} in {whole!r} is no number.", parameter="statistics", value=whole, example=EXAMPLES
        ) from None
