"""Synthetic rows from a released set of tables: `release.rows()`."""

from leastnoise.synthetic.mixture import Mixture
from leastnoise.synthetic.rows import Distance, SyntheticRows, of_release

__all__ = ["Distance", "Mixture", "SyntheticRows", "of_release"]
