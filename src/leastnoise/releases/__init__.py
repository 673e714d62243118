"""What was published, and what is computed from it: public values that know nothing of how they were made.

block        what was published: arrays of noisy numbers; and readings, which compute a statistic from them
selected mean ratio spread quantile_readings               the other readings
measure      one statistic: blocks and a reading, with bins and provenance
provenance   what is promised, to whom, and where it comes from
published    what every kind has: values, noise, intervals, words, tables, a picture and a page
release sparse mean ratio spread summary quantile crosstabs      the kinds
estimate crosstab_estimate                                       with the noise taken back out
limit_suggestion clip_suggestion                                 what a preliminary release proposes
file_format  `save` and `load`
"""

from leastnoise._support.calls import explain_public
from leastnoise.releases.clip_suggestion import ClipSuggestion
from leastnoise.releases.crosstab_estimate import CrosstabsEstimate
from leastnoise.releases.crosstabs import CrosstabsRelease
from leastnoise.releases.estimate import Estimate
from leastnoise.releases.file_format import load
from leastnoise.releases.limit_suggestion import LimitSuggestion
from leastnoise.releases.mean import MeanRelease
from leastnoise.releases.noise import Noise
from leastnoise.releases.provenance import Provenance
from leastnoise.releases.published import Published
from leastnoise.releases.quantile import QuantileRelease
from leastnoise.releases.release import Release, wrap
from leastnoise.releases.sparse import SparseRelease
from leastnoise.releases.summary import SummaryRelease

__all__ = [
    "ClipSuggestion",
    "CrosstabsEstimate",
    "CrosstabsRelease",
    "Estimate",
    "LimitSuggestion",
    "MeanRelease",
    "Noise",
    "Provenance",
    "Published",
    "QuantileRelease",
    "Release",
    "SparseRelease",
    "SummaryRelease",
    "load",
    "wrap",
]


explain_public(globals(), __all__)
