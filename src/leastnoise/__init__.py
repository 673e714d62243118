"""Statistics about people with a proved differential-privacy guarantee and the least noise that keeps it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from leastnoise._support.version import VERSION

if TYPE_CHECKING:
    from leastnoise import audit, datasets, denoise, domain, errors, graphs, plot, report, stats, workload
    from leastnoise.curator.arrays import release, release_sparse
    from leastnoise.curator.budget import Budget
    from leastnoise.curator.queries.query import Query
    from leastnoise.curator.series import Series
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
    "Series",
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
    name: module
    for module, names in {
        "leastnoise.audit": "audit",
        "leastnoise.curator.arrays": "release release_sparse",
        "leastnoise.curator.budget": "Budget",
        "leastnoise.curator.queries.query": "Query",
        "leastnoise.curator.series": "Series",
        "leastnoise.curator.table": "Table lattice table",
        "leastnoise.datasets": "datasets",
        "leastnoise.denoise": "denoise",
        "leastnoise.domain": "domain",
        "leastnoise.errors": "BudgetExhausted errors",
        "leastnoise.graphs": "Graph graphs",
        "leastnoise.plot": "plot",
        "leastnoise.privacy.accounting": "accounting",
        "leastnoise.privacy.baselines": "baselines",
        "leastnoise.privacy.calibration": "delta epsilon sigma",
        "leastnoise.privacy.comparison": "Comparison compare",
        "leastnoise.privacy.composition": "compose",
        "leastnoise.privacy.guarantees": "ApproxDP GaussianDP LaplaceDP PureDP SampledGaussianDP",
        "leastnoise.privacy.planning": "Plan plan",
        "leastnoise.releases.clip_suggestion": "ClipSuggestion",
        "leastnoise.releases.crosstab_estimate": "CrosstabsEstimate",
        "leastnoise.releases.crosstabs": "CrosstabsRelease",
        "leastnoise.releases.estimate": "Estimate",
        "leastnoise.releases.file_format": "load",
        "leastnoise.releases.limit_suggestion": "LimitSuggestion",
        "leastnoise.releases.mean": "MeanRelease",
        "leastnoise.releases.quantile": "QuantileRelease",
        "leastnoise.releases.release": "Release wrap",
        "leastnoise.releases.sparse": "SparseRelease",
        "leastnoise.releases.summary": "SummaryRelease",
        "leastnoise.report": "report",
        "leastnoise.stats": "stats",
        "leastnoise.workload": "workload",
    }.items()
    for name in names.split()
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
