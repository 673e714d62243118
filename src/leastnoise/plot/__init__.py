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
    budget                  what was spent, and when

Nothing global is touched: pyplot is not imported, and `picture.figure.savefig("picture.png")` writes a file.
"""

from leastnoise._support.calls import explain_public
from leastnoise.plot.bins import estimate, release
from leastnoise.plot.choices import path, weights
from leastnoise.plot.comparison import comparison
from leastnoise.plot.curves import cumulative
from leastnoise.plot.guarantees import profile, tradeoff
from leastnoise.plot.limits import limits
from leastnoise.plot.maps import map  # noqa: A004
from leastnoise.plot.spending import budget
from leastnoise.plot.tables import table
from leastnoise.plot.trees import tree
from leastnoise.plot.zones import zone_map

__all__ = [
    "budget", "comparison", "cumulative", "estimate", "limits", "map", "path", "profile", "release", "table",
    "tradeoff", "tree", "weights", "zone_map",
]  # fmt: skip


explain_public(globals(), __all__)
