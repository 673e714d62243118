"""Statistics about people with a proved differential-privacy guarantee and the least possible error."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from leastnoise import baselines, errors
from leastnoise.calibrate import delta, epsilon, sigma
from leastnoise.comparison import Comparison, compare
from leastnoise.estimate import Estimate
from leastnoise.guarantee import ApproxDP, GaussianDP, PureDP, compose
from leastnoise.mechanism import release, release_sparse
from leastnoise.planning import Plan, plan
from leastnoise.releases import Release, SparseRelease, load, wrap
from leastnoise.version import VERSION

if TYPE_CHECKING:
    from leastnoise import denoise

__version__ = VERSION

__all__ = [
    "ApproxDP",
    "Comparison",
    "Estimate",
    "GaussianDP",
    "Plan",
    "PureDP",
    "Release",
    "SparseRelease",
    "baselines",
    "compare",
    "compose",
    "delta",
    "denoise",
    "epsilon",
    "errors",
    "load",
    "plan",
    "release",
    "release_sparse",
    "sigma",
    "wrap",
]


def __getattr__(name: str) -> Any:
    """Denoising needs SciPy, which takes a moment to import, so it is imported when first used."""
    if name == "denoise":
        return import_module("leastnoise.denoise")
    raise AttributeError(f"module 'leastnoise' has no attribute {name!r}")
