"""Statistics about people with a proved differential-privacy guarantee and the least noise that keeps it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from leastnoise._support.version import VERSION

if TYPE_CHECKING:
    from leastnoise import audit, datasets, denoise, domain, errors, graphs, plot, report, stats, workload
    from leastnoise.curator.arrays import release, release_sparse
    from leastnoise.curator.budget import Budget
    from leastnoise.curator.queries.query import Query
    from leastnoise.curator.table import Table, lattice, table
    from leastnoise.errors import BudgetExhausted
    from leastnoise.graphs import Graph
    from leastnoise.privacy import accounting, baselines
    from leastnoise.privacy.calibration import delta, epsilon, sigma
    from leastnoise.privacy.comparison import Comparison, compare
    from leastnoise.privacy.composition import compose
    from leastnoise.privacy.guarantees import ApproxDP, GaussianDP, LaplaceDP, PureDP, SampledGaussianDP
    from leastnoise.privacy.planning import Plan, plan
    from leastnoise.releases.clip_suggestion import ClipSuggestion
    from leastnoise.releases.crosstab_estimate import CrosstabsEstimate
    from leastnoise.releases.crosstabs import CrosstabsRelease
    from leastnoise.releases.estimate import Estimate
    from leastnoise.releases.file_format import load
    from leastnoise.releases.limit_suggestion import LimitSuggestion
    from leastnoise.releases.mean import MeanRelease
    from leastnoise.releases.quantile import QuantileRelease
    from leastnoise.releases.release import Release, wrap
    from leastnoise.releases.sparse import SparseRelease
    from leastnoise.releases.summary import SummaryRelease

__version__ = VERSION


__all__ = [
    "ApproxDP",
    "Budget",
    "BudgetExhausted",
    "ClipSuggestion",
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


# Each name is imported when it is first used: the one sigma of a script needs neither Ibis nor SciPy.
_MODULES = {
    "ApproxDP": "leastnoise.privacy.guarantees",
    "Budget": "leastnoise.curator.budget",
    "BudgetExhausted": "leastnoise.errors",
    "ClipSuggestion": "leastnoise.releases.clip_suggestion",
    "Comparison": "leastnoise.privacy.comparison",
    "CrosstabsEstimate": "leastnoise.releases.crosstab_estimate",
    "CrosstabsRelease": "leastnoise.releases.crosstabs",
    "Estimate": "leastnoise.releases.estimate",
    "GaussianDP": "leastnoise.privacy.guarantees",
    "Graph": "leastnoise.graphs",
    "LaplaceDP": "leastnoise.privacy.guarantees",
    "LimitSuggestion": "leastnoise.releases.limit_suggestion",
    "MeanRelease": "leastnoise.releases.mean",
    "Plan": "leastnoise.privacy.planning",
    "PureDP": "leastnoise.privacy.guarantees",
    "QuantileRelease": "leastnoise.releases.quantile",
    "Query": "leastnoise.curator.queries.query",
    "Release": "leastnoise.releases.release",
    "SampledGaussianDP": "leastnoise.privacy.guarantees",
    "SparseRelease": "leastnoise.releases.sparse",
    "SummaryRelease": "leastnoise.releases.summary",
    "Table": "leastnoise.curator.table",
    "accounting": "leastnoise.privacy.accounting",
    "audit": "leastnoise.audit",
    "baselines": "leastnoise.privacy.baselines",
    "compare": "leastnoise.privacy.comparison",
    "compose": "leastnoise.privacy.composition",
    "datasets": "leastnoise.datasets",
    "delta": "leastnoise.privacy.calibration",
    "denoise": "leastnoise.denoise",
    "domain": "leastnoise.domain",
    "epsilon": "leastnoise.privacy.calibration",
    "errors": "leastnoise.errors",
    "graphs": "leastnoise.graphs",
    "lattice": "leastnoise.curator.table",
    "load": "leastnoise.releases.file_format",
    "plan": "leastnoise.privacy.planning",
    "plot": "leastnoise.plot",
    "release": "leastnoise.curator.arrays",
    "release_sparse": "leastnoise.curator.arrays",
    "report": "leastnoise.report",
    "sigma": "leastnoise.privacy.calibration",
    "stats": "leastnoise.stats",
    "table": "leastnoise.curator.table",
    "workload": "leastnoise.workload",
    "wrap": "leastnoise.releases.release",
}


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'leastnoise' has no attribute {name!r}")
    from leastnoise._support.calls import explain_public

    module = import_module(_MODULES[name])
    globals()[name] = getattr(module, name, module)
    explain_public(globals(), [name])
    return globals()[name]
