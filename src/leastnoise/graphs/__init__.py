"""What is near what: graphs of bins, from edges, grids, coordinates or files."""

from leastnoise.graphs.graph import Graph

__all__ = ["Graph"]
