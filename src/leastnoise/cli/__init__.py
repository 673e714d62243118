"""The command line: `leastnoise sigma | plan | histogram | budget ...`."""

from leastnoise.cli.app import main

__all__ = ["main"]
