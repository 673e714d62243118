"""Statistics about people with a proved differential-privacy guarantee and the least possible error."""

from leastnoise import baselines, errors
from leastnoise.budget import Budget
from leastnoise.calibrate import delta, epsilon, sigma
from leastnoise.comparison import Comparison, compare
from leastnoise.errors import BudgetExhausted
from leastnoise.guarantee import ApproxDP, GaussianDP, PureDP, compose
from leastnoise.mechanism import release, release_sparse
from leastnoise.planning import Plan, plan
from leastnoise.releases import Release, SparseRelease, load, wrap
from leastnoise.version import VERSION

__version__ = VERSION

__all__ = [
    "ApproxDP",
    "Budget",
    "BudgetExhausted",
    "Comparison",
    "GaussianDP",
    "Plan",
    "PureDP",
    "Release",
    "SparseRelease",
    "baselines",
    "compare",
    "compose",
    "delta",
    "epsilon",
    "errors",
    "load",
    "plan",
    "release",
    "release_sparse",
    "sigma",
    "wrap",
]
