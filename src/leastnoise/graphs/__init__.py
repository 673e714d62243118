"""What is near what: graphs of bins, from edges, grids, coordinates or files."""

from leastnoise._support.calls import explain_public
from leastnoise.graphs.graph import Graph

__all__ = ["Graph"]


def __dir__() -> list[str]:
    return __all__


explain_public(globals(), __all__)
