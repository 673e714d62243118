"""What was published, and what is computed from it: public values that know nothing of how they were made.

published    what every kind has: values, noise, provenance, intervals, words, tables, a picture and a page
noise provenance
release sparse mean quantile estimate      the kinds
files        `load`
"""

from leastnoise._support.calls import explain_public
from leastnoise.releases.estimate import Estimate
from leastnoise.releases.loading import load
from leastnoise.releases.mean import MeanRelease
from leastnoise.releases.noise import Noise
from leastnoise.releases.provenance import Provenance
from leastnoise.releases.published import Published
from leastnoise.releases.quantile import QuantileRelease
from leastnoise.releases.release import Release
from leastnoise.releases.sparse import SparseRelease
from leastnoise.releases.wrapping import wrap

__all__ = [
    "Estimate",
    "MeanRelease",
    "Noise",
    "Provenance",
    "Published",
    "QuantileRelease",
    "Release",
    "SparseRelease",
    "load",
    "wrap",
]


explain_public(globals(), __all__)
