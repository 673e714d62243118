"""An Estimate: a release with its noise taken back out, and how much of it is believed to be gone.

Everything here was computed from the noisy values and public facts, so it costs no privacy. `risk` is an estimate of
the mean squared error per bin, made without the truth; it is None where no honest one exists.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from leastnoise import errors
from leastnoise._support import atomic_files, validation
from leastnoise._support.immutable import Frozen
from leastnoise._support.number_format import about
from leastnoise._support.renamed import RenamedAttribute
from leastnoise._support.validation import Number
from leastnoise.domain import Domain
from leastnoise.privacy.guarantee import Promise, guarantee_facts, promise_in_words, read_guarantee
from leastnoise.releases.columns import key_columns, read_domain, write_domain
from leastnoise.releases.frames import Frames
from leastnoise.releases.views import Views

if TYPE_CHECKING:
    import pyarrow as pa


class RiskEstimate(NamedTuple):
    """How good an estimate is believed to be: mean squared error per bin, and effective number of parameters."""

    risk: float | None
    degrees_of_freedom: float | None


class Credible(NamedTuple):
    """Where the truth lies under the stated prior, bin by bin."""

    low: Any
    high: Any


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Estimate(Frames, Views):
    """Denoised values. `values` and `noisy` belong to the caller's array library; nothing was copied to the host."""

    _picture: ClassVar[str] = "estimate"

    values: Any
    noisy: Any
    sigma: float
    mechanism: str
    method: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    estimate_risk: Callable[[], RiskEstimate]  # evaluated when asked: it reads the values once more
    posterior_std: float | None = None  # of every bin, where the posterior is Gaussian
    domain: Domain | None = None
    description: str = ""  # of what was done, where its name does not say it
    seeded: bool = False  # the release that it was made from came from a test's seed
    guarantee: Promise | None = None  # of that release: whatever is computed from it keeps its promise
    delta: float | None = None
    unit: str | None = None
    limits: Mapping[str, int] = field(default_factory=dict)
    release: str | None = None  # its id
    judge = RenamedAttribute("estimate_risk")

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", Frozen(self.parameters))
        object.__setattr__(self, "limits", Frozen(self.limits))
        if isinstance(self.values, np.ndarray):
            self.values.flags.writeable = False

    def __reduce__(self) -> tuple[Any, tuple[dict[str, Any]]]:
        """A copy and a pickle carry the risk itself: what computes it reads the values and may not travel."""
        facts = {f.name: getattr(self, f.name) for f in fields(self)}
        return _again, (facts | {"estimate_risk": partial(RiskEstimate, *self.estimate_risk())},)

    @property
    def bins(self) -> int:
        """How many values."""
        return math.prod(self.values.shape)

    @property
    def risk(self) -> float | None:
        """The estimated mean squared error per bin; None where there is no honest estimate."""
        return self.estimate_risk().risk

    @property
    def degrees_of_freedom(self) -> float | None:
        """The divergence of the estimator: d for the raw values, 0 for a constant; None where unknown."""
        return self.estimate_risk().degrees_of_freedom

    @property
    def rmse(self) -> float | None:
        """The square root of `risk`, in the units of the values."""
        risk = self.risk
        return None if risk is None else math.sqrt(risk)

    def interval(self, confidence: Number = 0.95) -> Credible:
        """Where the truth lies under the prior that was given, bin by bin.

        Only an estimate whose posterior is known has one. Of the others no interval around the denoised value keeps
        its promise for every truth; the release's own does.
        """
        confidence = validation.number("confidence", confidence)
        if self.posterior_std is None:
            raise errors.InvalidParameter(
                f"{self.method} has no interval that holds whatever the truth is: denoising trades a known error for "
                "an unknown bias. Use the release's own: release.interval(0.95)."
            )
        half = NormalDist().inv_cdf((1 + confidence) / 2) * self.posterior_std
        return Credible(self.values - half, self.values + half)

    def compare(self) -> dict[str, float | None]:
        """Raw and denoised side by side: root mean squared errors, their ratio, and how far the values moved."""
        rmse = self.rmse
        gap = self.values - self.noisy
        moved = math.sqrt(float((gap * gap).sum() if hasattr(gap, "sum") else np.square(_host(gap)).sum()) / self.bins)
        ratio = None if rmse is None else rmse / self.sigma
        return {"raw_rmse": self.sigma, "rmse": rmse, "ratio": ratio, "moved": moved}

    def _is_seeded(self) -> bool:
        return self.seeded

    def explain(self) -> str:
        """What was done to the values, and what it is believed to be worth, in plain words."""
        told = {name: value for name, value in self.parameters.items() if name != "errors"}  # `description` has them
        chosen = ", ".join(f"{name} = {_shown(value)}" for name, value in told.items())
        seen = self.compare()
        lines = [
            f"{self._counted()} denoised by {self.method}" + (f" ({chosen})." if chosen else "."),
            self.description,
        ]
        if seen["rmse"] is None:
            lines.append(f"The noise was {self.sigma:.4g}; what is left of it cannot be told without the truth.")
        else:
            lines.append(f"The error is estimated at {about(seen['rmse'])} a bin; it was {self.sigma:.4g} before.")
        if self.guarantee is not None:
            lines.append(f"It reads only what release {self.release} published, and so keeps its promise.")
            lines.append(promise_in_words(self.guarantee, delta=self.delta, unit=self.unit))
        if self.limits:
            kept = ", ".join(f"{name} = {value}" for name, value in self.limits.items())
            lines.append(f"Of each {self.unit or 'unit'} at most this was used: {kept}.")
        if self.seeded:
            lines.append("WARNING: the noise came from a test's seed, so it hides nothing. Never publish this.")
        return "\n".join(line for line in lines if line)

    def __repr__(self) -> str:
        rmse = self.rmse
        left = "error unknown" if rmse is None else f"rmse {rmse:.4g}"
        loud = ", SEEDED: hides nothing" if self.seeded else ""
        return f"<Estimate of {self._counted()} by {self.method}, {left}, was {self.sigma:.4g}{loud}>"

    def _columns(self) -> dict[str, Any]:
        keys = {"bin": np.arange(self.bins)} if self.domain is None else key_columns(self.domain, self.bins)
        return {**keys, "value": _host(self.values).ravel(), "noisy": _host(self.noisy).ravel()}

    def _counted(self) -> str:
        return f"{self.bins:,} value" + ("" if self.bins == 1 else "s")

    def save(self, path: str | os.PathLike[str], *, allow_seeded: bool = False) -> None:
        """One Parquet file: key columns, `value` and `noisy`, with all the rest in its metadata."""
        atomic_files.refuse_seeded_noise(self.seeded, allow_seeded)
        kept = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in _ELSEWHERE}
        estimated = self.estimate_risk()
        facts = {
            **kept,
            "parameters": dict(self.parameters),
            "domain": write_domain(self.domain),
            "guarantee": guarantee_facts(self.guarantee),
            "limits": dict(self.limits),
            "shape": list(self.values.shape),
            "risk": estimated.risk,
            "degrees_of_freedom": estimated.degrees_of_freedom,
        }
        atomic_files.write(path, self.to_arrow(), what="estimate", facts=facts)

    @classmethod
    def _read(cls, table: pa.Table, facts: dict[str, Any], path: str | os.PathLike[str]) -> Estimate:
        known = {f.name for f in fields(cls)} - _ELSEWHERE | {"domain", "shape", "risk", "degrees_of_freedom"}
        facts = {"guarantee": None, "delta": None, "unit": None, "limits": {}, "release": None} | facts  # older files
        atomic_files.refuse_unknown(facts, known | {"parameters"}, path)
        facts["guarantee"] = read_guarantee(facts["guarantee"])
        whole = all(isinstance(most, int) for most in dict(facts["limits"]).values())
        if not whole or not isinstance(facts["unit"], str | None):
            raise errors.NotOurs(f"{os.fspath(path)!r} tells a unit or limits that are none; it may have been edited.")
        estimated = RiskEstimate(facts.pop("risk"), facts.pop("degrees_of_freedom"))
        shape = tuple(facts.pop("shape"))
        facts["domain"] = read_domain(facts["domain"], table)
        values, noisy = (np.array(table[name]).reshape(shape) for name in _OURS)
        if facts["domain"] is not None and facts["domain"].size != values.size:
            raise errors.InvalidParameter(f"{facts['domain'].size} bins cannot have {values.size} values.")
        return cls(values=values, noisy=noisy, estimate_risk=lambda: estimated, **facts)


def _again(facts: dict[str, Any]) -> Estimate:
    return Estimate(**facts)


_OURS = ("value", "noisy")
_ELSEWHERE = {"values", "noisy", "estimate_risk", "domain", "parameters"}


def _host(array: Any) -> Any:
    """The array in this machine's memory, as NumPy: only for files, frames and printing."""
    if isinstance(array, np.ndarray):
        return array
    from array_api_compat import to_device

    detached = array.detach() if hasattr(array, "detach") else array
    return np.asarray(to_device(detached, "cpu") if hasattr(detached, "detach") else detached)


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{_shown(part)} {name}" for name, part in value.items())
    return str(value)
