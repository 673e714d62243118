"""Statistics about people with a proved differential-privacy guarantee and the least noise that keeps it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from leastnoise import audit, domain, errors, stats
from leastnoise._support.version import VERSION
from leastnoise.curator.budget import Budget
from leastnoise.curator.mechanism import release, release_sparse
from leastnoise.errors import BudgetExhausted
from leastnoise.privacy import accounting, baselines
from leastnoise.privacy.accounting.guarantees import LaplaceDP, SampledGaussianDP
from leastnoise.privacy.calibration import delta, epsilon, sigma
from leastnoise.privacy.comparison import Comparison, compare
from leastnoise.privacy.composition import compose
from leastnoise.privacy.guarantee import ApproxDP, GaussianDP, PureDP
from leastnoise.privacy.planning import Plan, plan
from leastnoise.releases.crosstab_estimate import CrosstabsEstimate
from leastnoise.releases.crosstabs import CrosstabsRelease
from leastnoise.releases.estimate import Estimate
from leastnoise.releases.limit_suggestion import LimitSuggestion
from leastnoise.releases.loading import load
from leastnoise.releases.mean import MeanRelease
from leastnoise.releases.quantile import QuantileRelease
from leastnoise.releases.release import Release
from leastnoise.releases.sparse import SparseRelease
from leastnoise.releases.summary import SummaryRelease
from leastnoise.releases.wrapping import wrap

if TYPE_CHECKING:
    from leastnoise import datasets, denoise, graphs, plot, report, workload
    from leastnoise.curator.queries.query import Query
    from leastnoise.curator.table import Table, lattice, table
    from leastnoise.graphs import Graph

__version__ = VERSION


__all__ = [
    "ApproxDP",
    "Budget",
    "BudgetExhausted",
    "Comparison",
    "CrosstabsEstimate",
    "CrosstabsRelease",
    "Estimate",
    "GaussianDP",
    "Graph",
    "LaplaceDP",
    "LimitSuggestion",
    "MeanRelease",
    "Plan",
    "PureDP",
    "QuantileRelease",
    "Query",
    "Release",
    "SampledGaussianDP",
    "SparseRelease",
    "SummaryRelease",
    "Table",
    "accounting",
    "audit",
    "baselines",
    "compare",
    "compose",
    "datasets",
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
    "stats",
    "table",
    "workload",
    "wrap",
]


# Ibis, DuckDB and SciPy take a moment to import, so the packages that need them are imported when first named.
_MODULES = {
    "Graph": "leastnoise.graphs",
    "Query": "leastnoise.curator.queries.query",
    "Table": "leastnoise.curator.table",
    "datasets": "leastnoise.datasets",
    "denoise": "leastnoise.denoise",
    "graphs": "leastnoise.graphs",
    "lattice": "leastnoise.curator.table",
    "plot": "leastnoise.plot",
    "report": "leastnoise.report",
    "table": "leastnoise.curator.table",
    "workload": "leastnoise.workload",
}


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'leastnoise' has no attribute {name!r}")
    module = import_module(_MODULES[name])
    return getattr(module, name, module)
