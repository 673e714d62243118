"""What was published, and what is computed from it: public values that know nothing of how they were made."""

from leastnoise.releases.estimate import Estimate
from leastnoise.releases.mean import MeanRelease
from leastnoise.releases.quantile import QuantileRelease
from leastnoise.releases.release import Release, load, wrap
from leastnoise.releases.sparse import SparseRelease

__all__ = ["Estimate", "MeanRelease", "QuantileRelease", "Release", "SparseRelease", "load", "wrap"]
