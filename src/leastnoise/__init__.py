"""Statistics about people with a proved differential-privacy guarantee and the least possible error."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from leastnoise import audit, baselines, domain, errors
from leastnoise.budget import Budget
from leastnoise.calibrate import delta, epsilon, sigma
from leastnoise.comparison import Comparison, compare
from leastnoise.composition import compose
from leastnoise.errors import BudgetExhausted
from leastnoise.estimate import Estimate
from leastnoise.guarantee import ApproxDP, GaussianDP, PureDP
from leastnoise.mechanism import release, release_sparse
from leastnoise.planning import Plan, plan
from leastnoise.releases import Release, load, wrap
from leastnoise.sparse_releases import SparseRelease
from leastnoise.version import VERSION

if TYPE_CHECKING:
    from leastnoise import denoise, graphs, plot, report
    from leastnoise.tables import lattice, table

__version__ = VERSION


__all__ = [
    "ApproxDP",
    "Budget",
    "BudgetExhausted",
    "Comparison",
    "Estimate",
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
    "denoise",
    "domain",
    "epsilon",
    "errors",
    "graphs",
    "lattice",
    "load",
    "plan",
    "plot",
    "release",
    "release_sparse",
    "report",
    "sigma",
    "table",
    "wrap",
]


# Ibis, DuckDB and SciPy take a moment to import, so the rooms that need them are imported when first named.
_LATER = {
    "denoise": "leastnoise.denoise",
    "graphs": "leastnoise.graphs",
    "lattice": "leastnoise.tables",
    "plot": "leastnoise.plot",
    "report": "leastnoise.report",
    "table": "leastnoise.tables",
}


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'leastnoise' has no attribute {name!r}")
    room = import_module(_LATER[name])
    return getattr(room, name, room)
