"""Statistics about people with a proved differential-privacy guarantee and the least possible error."""

from typing import TYPE_CHECKING

from leastnoise import audit, baselines, domain, errors
from leastnoise.budget import Budget
from leastnoise.calibrate import delta, epsilon, sigma
from leastnoise.comparison import Comparison, compare
from leastnoise.errors import BudgetExhausted
from leastnoise.guarantee import ApproxDP, GaussianDP, PureDP, compose
from leastnoise.mechanism import release, release_sparse
from leastnoise.planning import Plan, plan
from leastnoise.releases import Release, SparseRelease, load, wrap
from leastnoise.version import VERSION

if TYPE_CHECKING:
    from leastnoise.tables import lattice, table

__version__ = VERSION


def __getattr__(name: str) -> object:
    """The rooms that read tables, imported when first named: Ibis and DuckDB take a second."""
    if name in ("table", "lattice"):
        from leastnoise import tables

        return getattr(tables, name)
    raise AttributeError(f"module 'leastnoise' has no attribute {name!r}")


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
    "audit",
    "baselines",
    "compare",
    "compose",
    "delta",
    "domain",
    "epsilon",
    "errors",
    "lattice",
    "load",
    "plan",
    "release",
    "release_sparse",
    "sigma",
    "table",
    "wrap",
]
