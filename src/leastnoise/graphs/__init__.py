"""What is near what: graphs of bins, from edges, grids, coordinates or files."""

from leastnoise.graphs.graph import Graph

__all__ = ["Graph"]


def __dir__() -> list[str]:
    return __all__
