"""Pictures for people, by matplotlib: an Axes comes in (or a new Figure is made) and an Axes goes out.

    profile tradeoff        what a guarantee promises
    comparison              `ln.compare`, drawn
    release estimate        values and their intervals: bars, steps, or an image of a lattice
    table                   a table of a set: bars, or heat maps side by side
    cumulative              cumulative sums of a table of a set: curves with their bands
    tree                    tables along a tree: an indented list of bars
    map zone_map            values on the coordinates of a graph; zones in the colour of their value
    path weights            how a denoiser chose
    limits                  what limits leave out, and the noise they need
    budget                  what was spent, and what is left

Nothing global is touched: pyplot is not imported, and `picture.figure.savefig("picture.png")` writes a file.
"""

from leastnoise._support.calls import explain_public
from leastnoise.plot.drawing import (
    budget,
    comparison,
    cumulative,
    estimate,
    limits,
    map,  # noqa: A004
    path,
    profile,
    release,
    table,
    tradeoff,
    tree,
    weights,
    zone_map,
)

__all__ = [
    "budget", "comparison", "cumulative", "estimate", "limits", "map", "path", "profile", "release", "table",
    "tradeoff", "tree", "weights", "zone_map",
]  # fmt: skip


explain_public(globals(), __all__)
