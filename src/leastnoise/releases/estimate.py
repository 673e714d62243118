"""An Estimate: a release with its noise taken back out, and how much of it is believed to be gone.

Everything here was computed from the noisy values and public facts, so it costs no privacy. `risk` is an estimate of
the mean squared error per bin, made without the truth; it is None where no honest one exists. It is not unbiased:
`sure` is, for a rule that was fixed beforehand. What a rule chose by it or fitted to the values is counted in `risk` to
an approximation, and `risk` is never below the variance that so many degrees of freedom must have.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.immutable import Frozen
from leastnoise._support.text import about, digits_beside, rounded
from leastnoise._support.validation import Floats, Number, as_host
from leastnoise.domain import Domain
from leastnoise.releases import average_coverage, records, risk_limits
from leastnoise.releases.average_coverage import NoiseKept
from leastnoise.releases.block import BinPromise, EstimateInterval
from leastnoise.releases.columns import key_columns
from leastnoise.releases.noise import Noise
from leastnoise.releases.provenance import SEEDED_WARNING, Provenance, of_arrays
from leastnoise.releases.published import Published
from leastnoise.releases.risk_limits import NoiseOfLoss, RmseLimit

KEPT = 1e-6  # of the noise's standard deviation: what moved less was not moved
POWER_LAW = "power law of sizes"  # the method of keys that nobody listed: see `denoise/shown_counts.py`


class RiskEstimate(NamedTuple):
    """How good an estimate is believed to be: mean squared error per bin, effective number of parameters, and Stein's
    formula as it stands, without the floor."""

    risk: float | None
    degrees_of_freedom: float | None
    sure: float | None = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Estimate(Published):
    """Denoised values. `values` and `noisy` belong to the caller's array library; nothing was copied to the host.

    `noise` and `provenance` are those of the release that it was made from: it keeps that release's promise.
    """

    values: Any
    noisy: Any
    noise: Noise
    sigmas: Any = None  # of every bin, where they differ; noise then has their root mean square
    method: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    estimate_risk: Callable[[], RiskEstimate]  # evaluated when asked: it reads the values once more
    posterior_std: float | None = None  # of every bin, where the posterior is Gaussian
    exact_std: Any = None  # of every bin, where the estimate is linear and unbiased
    nonnegative: bool = False  # whether the truth is known not to be negative
    denoise_again: Callable[[Floats, float], Floats] | None = None  # the same denoiser on values of another sigma
    noise_kept: NoiseKept = field(default_factory=NoiseKept)
    domain: Domain | None = None
    description: str = ""  # of what was done, where its name does not say it
    details: Any = None  # what was found on the way: a posterior, a mixture, a path; not kept in files
    provenance: Provenance = field(default_factory=of_arrays)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", Frozen(self.parameters))
        if isinstance(self.values, np.ndarray):
            self.values.flags.writeable = False

    def __reduce__(self) -> tuple[Any, tuple[type[Estimate], dict[str, Any]]]:
        """A copy and a pickle carry the risk itself: what computes it reads the values and may not travel."""
        facts = {f.name: getattr(self, f.name) for f in fields(self)}
        risk = partial(RiskEstimate, *self.estimate_risk())
        return _rebuild, (type(self), facts | {"estimate_risk": risk, "denoise_again": None})

    kind: ClassVar[str] = "estimate"
    is_estimate = True
    noun: ClassVar[str] = "denoised value"
    column: ClassVar[None] = None
    _what = "estimate"
    _picture = "estimate"

    _in_columns = Frozen(values="value", noisy="noisy", sigmas="sigma", exact_std="std")

    @property
    def bins(self) -> int:
        """How many values."""
        return math.prod(self.values.shape)

    @property
    def risk(self) -> float | None:
        """The estimated mean squared error per bin; None where there is no honest estimate.

        Close to unbiased, and no more than that: `sure`, with what was chosen by it or fitted counted to an
        approximation, and lifted to (sigma df / d)^2, the least variance of a linear rule with as many degrees of
        freedom, where chance takes it below. Where the truth is zero, or nearly so, the lift makes it too large.
        """
        return self.estimate_risk().risk

    @property
    def sure(self) -> float | None:
        """Stein's formula |y - h|^2/d + 2 sigma^2 df/d - sigma^2 as it stands, which can be negative.

        Unbiased for a rule that was fixed beforehand: James-Stein, a given threshold or penalty, linear rules. Of a
        rule that was chosen by it, it is too small on average. None where there is no such formula.
        """
        return self.estimate_risk().sure

    @property
    def degrees_of_freedom(self) -> float | None:
        """The divergence of the estimator: d for the raw values, 0 for a constant; None where unknown."""
        return self.estimate_risk().degrees_of_freedom

    @property
    def rmse(self) -> float | None:
        """The square root of `risk`, in the units of the values."""
        risk = self.risk
        return None if risk is None else math.sqrt(risk)

    def rmse_at_most(self, confidence: Number = 0.95, *, proved: bool = False) -> RmseLimit:
        """An upper limit for the root mean squared error of these values, with this `confidence`.

        `rmse` is right on average over the noise; for one release it may be far too small. This limit is the lesser of
        two, each with half of the risk: one that is asymptotic in the number of bins and does not count the choice
        between estimators, and the raw values' own limit plus how far denoising moved them. proved=True has a limit
        that holds for every truth and every number of bins, with data fission in place of the asymptotic one: it runs
        the denoiser eight more times, is looser, and exists for Gaussian noise only. What is returned is `proved` for
        noise without a grid; on a grid its allowance for the rounding is computed, not proved (see
        `releases/risk_limits.py`).
        """
        confidence = validation.number("confidence", confidence)
        if self.method == POWER_LAW:  # what shows was chosen by its noise, so neither limit holds
            raise self._unknown_error("and so no limit for it")
        if self.noise.is_none:  # |v - x| <= |v - y| + |y - x|, and the last is known
            reach = average_coverage.raw_half_width(self, confidence, self.bins)
            return RmseLimit(self._moved + reach, confidence, proved)
        half = (1 + confidence) / 2
        limit = self._proved_limit(half) if proved else self._asymptotic_limit(half)
        moved = self._moved
        other = risk_limits.moved_limit(moved, self._largest, self.bins, half, self.mechanism, self.grid)
        return RmseLimit(min(limit, other), confidence, proved and self.grid == 0)

    @property
    def _largest(self) -> float:
        """The standard deviation of the noise; the largest, where they differ (see `releases/risk_limits.py`)."""
        return self.std if self.sigmas is None else float(np.max(self.sigmas))

    def _asymptotic_limit(self, confidence: float) -> float:
        risk = self.risk
        if risk is None:
            raise self._unknown_error("and so no limit for it")
        return math.sqrt(self._loss_noise.limit(risk, confidence))

    @property
    def _loss_noise(self) -> NoiseOfLoss:
        return NoiseOfLoss.of_vector(self._largest, self.bins, self.mechanism)

    def _unknown_error(self, so: str) -> errors.InvalidParameter:
        """That it has no estimate of its own error, `so` what, and what there is instead."""
        if self.method == POWER_LAW:
            return errors.InvalidParameter(
                "Keys that nobody listed show by their noise. Denoised by a power law, which is believed and not "
                f"known, they have no estimate of their error, {so}; and no other denoiser takes them. The release's "
                "own intervals hold given that a key shows: release.interval(0.95)."
            )
        made = f'{self.method} with loss="absolute"' if self._absolute else self.method
        cure = 'Leave loss="absolute" out' if self._absolute else "Use auto, which has one"
        return errors.InvalidParameter(
            f"{made} has no estimate of its own error, {so}. {cure}; or use the release as it is, whose error is "
            "known: release.interval(0.95)."
        )

    @property
    def _absolute(self) -> bool:
        return self.parameters.get("loss") == "absolute"

    def _proved_limit(self, confidence: float) -> float:
        if self.sigmas is not None:
            raise errors.InvalidParameter(
                "The proof needs noise of one sigma in all bins, and here they differ. Leave proved out."
            )
        if self.mechanism != "gaussian":
            raise errors.InvalidParameter(
                "Laplace noise cannot be split in two independent parts, so there is no proved limit. Leave proved out."
            )
        if self.denoise_again is None:
            raise errors.InvalidParameter(
                "An estimate that was read from a file cannot be made again, and the proof needs that. Denoise the "
                "release once more, and ask the new estimate."
            )
        noisy, values = (np.asarray(as_host(part), dtype=np.float64) for part in (self.noisy, self.values))
        return risk_limits.fission_limit(self.denoise_again, noisy, self.std, values, confidence, self.grid)

    def interval(self, confidence: Number = 0.95) -> EstimateInterval:
        """Where the truth lies with this `confidence`, bin by bin; `promise` of what is returned says in which sense.

        "every bin": each by itself, whatever the truth is. Exactly so for estimates that are linear and unbiased;
        nearly so where the raw values' own interval is given because no other is shorter: the values decide that, so
        the chance that it is given and misses is at most 1 - confidence, and that it misses once given a little more.
        It is lengthened up to a denoised value that lies outside.
        "share of the bins": on average over bins and noise, for every truth, as nearly as bins are many and the
        estimator is linear (see `releases/average_coverage.py`); which are missed is not known. Where nearly all bins
        are empty, they go from zero to one height.
        "prior": under the prior that was stated. Where the truth is known not to be negative, a negative noisy value
        counts as zero, and ends are cut there: of a raw interval at least half the length is left.
        """
        return average_coverage.interval(self, validation.number("confidence", confidence))

    def _promised_of(self, confidence: Number) -> BinPromise:
        return self.interval(confidence).promise

    @property
    def better_than_raw(self) -> bool | None:
        """Whether its estimated error is below that of the raw values by more than chance; None where it has none.

        The difference of the two estimated risks misses that of the two errors in this draw by a standard error of
        2 sigma^2 sqrt(|v - y|^2 / sigma^2 + tr((I - J)^2)) / d (Bellec and Zhang, 2021, for Gaussian noise). d stands
        for the trace here, which it is at most where tr(J^2) <= 2 df, and nearly is where df is far below d: what
        smooths most is hardest to judge. False says that chance could make as much, not that it did. The choice among
        estimators is not counted. Where sigmas differ the largest stands for all, which makes the standard error
        larger.
        """
        estimated = self.estimate_risk()
        if estimated.risk is None or estimated.degrees_of_freedom is None:
            return None
        if self.kept or self.noise.is_none:
            return False
        error = self._loss_noise.gain_error(np.array([self._moved**2]), np.zeros(1))
        return risk_limits.is_beyond_chance(self.std**2 - estimated.risk, error)

    def compare(self) -> dict[str, float | None]:
        """Raw and denoised side by side: root mean squared errors, their ratio, and how far the values moved."""
        rmse = self.rmse
        ratio = None if rmse is None else rmse / self.std if self.std else 1.0
        return {"raw_rmse": self.std, "rmse": rmse, "ratio": ratio, "moved": self._moved}

    @property
    def _moved(self) -> float:
        """How far the values are from the noisy ones, root mean square."""
        gap = self.values - self.noisy
        squares = (gap * gap).sum() if hasattr(gap, "sum") else np.square(as_host(gap)).sum()
        return math.sqrt(float(squares) / max(1, self.bins))

    @property
    def kept(self) -> bool:
        """Whether the values are the noisy ones, to a millionth of the noise, and nothing was learnt from other bins:
        then their error is that of the noise, which is known."""
        if not self.bins or self._moved > KEPT * self.std:
            return False
        rmse = self.rmse
        return self.noise.is_none or (rmse is not None and rmse >= 0.999 * self.std)

    def explain(self) -> str:
        """What was done to the values, and what it is believed to be worth, in plain words."""
        chosen = {name: value for name, value in self.parameters.items() if name != "errors"}  # `description` has them
        parameters = ", ".join(f"{name} = {_in_words(value)}" for name, value in chosen.items())
        known = self.guarantee is not None
        lines = [
            f"{self._counted()} denoised by {self.method}" + (f" ({parameters})." if parameters else "."),
            self.provenance.left_out_in_words(),
            self.description,
            self.passed_over_in_words(),
            self.errors_in_words(),
            f"It reads only what release {self.id} published, and so keeps its promise." if known else "",
            self.provenance.explain() if known else "",
            self.provenance.strength_in_words(),
            "" if self.left_out else self.provenance.limits_in_words(),  # what is left out has them
            SEEDED_WARNING if self.seeded else "",
        ]
        return "\n".join(line for line in lines if line)

    def errors_in_words(self) -> str:
        """How far off a value is believed to be."""
        rmse = self.rmse
        if rmse is None:
            return f"The noise was {self.std:.4g}; what is left of it cannot be told without the truth."
        if self.noise.is_none:
            return "The noise is 0 in every value, but for a chance of 1e-18, so the values are kept as they are."
        if self.kept:
            return f"The values are kept as they were published, and so is their error: {self.spread_in_words(4)}."
        return f"The error of a value is {self.rmse_in_words()}; it was {self.std:.4g} before.{self.advice_in_words()}"

    def advice_in_words(self) -> str:
        """Whether to take it, where that is not clear: a gain within chance is none that the values can show."""
        rmse = self.rmse
        if self.better_than_raw or rmse is None:
            return ""
        if rmse < self.std:
            return " That is not better beyond chance: whether it is better, these values alone cannot tell."
        return " That is not better: use the noisy values as they are."

    def passed_over_in_words(self) -> str:
        """Why a candidate whose estimated error is less than the mixture's has no part in it; nothing without one."""
        rmse, weights = self.rmse, self.parameters.get("weights") or {}
        if rmse is None or not weights or "raw" in weights:
            return ""
        found = dict(self.parameters.get("errors") or {})
        less = [name for name, error in found.items() if error < rmse and about(error) != about(rmse)]
        names = [name.replace("_", " ") for name in less if name not in weights]
        if not names:
            return ""
        return (
            f"The estimated error of {' and '.join(names)} is less than the mixture's, but not by more than chance "
            f"could make it seem: {'it has' if len(names) == 1 else 'they have'} no weight."
        )

    def rmse_in_words(self) -> str:
        """The estimated root mean squared error and its upper limit: "about 9, at most 55 (95%)"."""
        rmse = self.rmse
        if rmse is None:
            return "unknown"
        if self.kept:
            return self.spread_in_words(4)
        return f"{about(rmse, beside=self.std)}, at most {self._limit_in_words(rmse)}"

    def _limit_in_words(self, rmse: float) -> str:
        return f"{rounded(self.rmse_at_most(0.95).value, digits_beside(rmse, self.std))} (95%)"

    def __repr__(self) -> str:
        rmse = self.rmse
        left = "error unknown" if rmse is None else f"rmse {rmse:.4g} and at most {self._limit_in_words(rmse)}"
        left = f"kept, {self.spread_in_words(4)}" if self.kept else f"{left}, was {self.std:.4g}"
        return f"<Estimate of {self._counted()} by {self.method}, {left}{self._seeded_mark}>"

    def to_numpy(self) -> Any:
        """The values as a NumPy array of their shape, in this machine's memory."""
        return as_host(self.values)

    def _columns(self) -> dict[str, Any]:
        keys = {"bin": np.arange(self.bins)} if self.domain is None else key_columns(self.domain, self.bins)
        columns = {**keys, "value": as_host(self.values).ravel(), "noisy": as_host(self.noisy).ravel()}
        if self.sigmas is not None:
            columns["sigma"] = np.ravel(self.sigmas)
        return columns if self.exact_std is None else {**columns, "std": np.ravel(self.exact_std)}

    def _shown_columns(
        self, confidence: Number = 0.95, estimate: Estimate | None = None, *, for_people: bool = False
    ) -> dict[str, Any]:
        """The columns of the file, keys as people wrote them where asked, and the interval where there is one."""
        if estimate is not None:
            raise errors.InvalidParameter(
                "An estimate has no estimate beside it. Leave estimate out, or ask the release."
            )
        columns = self._columns()
        if for_people and self.domain is not None:
            columns |= key_columns(self.domain, self.bins, for_people=True)
        noisy = columns.pop("noisy")
        error = {} if "std" in columns else error_where_known(self)
        return columns | ends_where_known(self, confidence, ("low", "high")) | error | {"noisy": noisy}

    @property
    def why_not_denoised(self) -> str:
        """It is denoised."""
        return "An estimate is what denoising made. Denoise the release it was made from, by another method."

    def _counted(self) -> str:
        return f"{self.bins:,} value" + ("" if self.bins == 1 else "s")


def ends_where_known(estimate: Estimate, confidence: Number, names: tuple[str, str]) -> dict[str, Any]:
    """The ends of its interval, under these names; nothing where no interval is known to hold."""
    try:
        found = estimate.interval(confidence)
    except errors.InvalidParameter:
        return {}
    return {name: as_host(end).ravel() for name, end in zip(names, found, strict=True)}


def error_where_known(estimate: Estimate) -> dict[str, Any]:
    """How far off a value is: its own standard deviation where that is known, else the root mean square over all of
    them, estimated without the truth. Nothing where there is neither."""
    if estimate.exact_std is not None:
        return {"denoised_error": np.ravel(estimate.exact_std)}
    return {} if estimate.rmse is None else {"denoised_error": np.full(estimate.bins, estimate.rmse)}


def _rebuild(kind: type[Estimate], facts: dict[str, Any]) -> Estimate:
    return kind(**facts)


def _in_words(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{_in_words(part)} {name}" for name, part in value.items())
    if isinstance(value, (list, tuple)) and all(isinstance(part, str) for part in value):
        return ", ".join(value)
    return str(value)


Numbers = NDArray[np.int64] | NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class StoredEstimate:
    """What a file has of an estimate: what was computed when it was asked is stated there."""

    values: NDArray[np.float64]
    noisy: Numbers
    sigmas: NDArray[np.float64] | None
    exact_std: NDArray[np.float64] | None
    noise: Noise
    provenance: Provenance
    method: str
    parameters: Mapping[str, records.Json]
    description: str
    risk: records.Overflowing | None
    degrees_of_freedom: records.Overflowing | None
    sure: records.Overflowing | None
    posterior_std: float | None
    nonnegative: bool
    noise_kept: float | None
    domain: Domain | None

    def _fits(self) -> dict[str, bool]:
        return {
            "risk": self.risk is None or self.risk >= 0,
            "domain": self.domain is None or self.domain.size == self.values.size,
            "posterior_std": self.posterior_std is None or self.posterior_std >= 0,
            "noise_kept": self.noise_kept is None or 0 <= self.noise_kept <= 1,
        }

    @classmethod
    def of(cls, estimate: Estimate) -> StoredEstimate:
        """With what is believed of its errors."""
        stated = {"noise_kept": estimate.noise_kept.known, **estimate.estimate_risk()._asdict()}
        arrays = {name: _on_host(getattr(estimate, name)) for name in Estimate._in_columns}
        same = {f.name: getattr(estimate, f.name) for f in fields(cls) if f.name not in stated | arrays}
        return cls(**same, **stated, **arrays)

    def estimate(self) -> Estimate:
        """What was saved."""
        facts = {f.name: getattr(self, f.name) for f in fields(self)}
        risk = RiskEstimate(*(facts.pop(name) for name in RiskEstimate._fields))
        return Estimate(**facts | {"estimate_risk": lambda: risk, "noise_kept": NoiseKept(known=self.noise_kept)})


def _on_host(array: Any) -> Any:
    return None if array is None else as_host(array)


records.RECORDS[Estimate] = (StoredEstimate, StoredEstimate.of, StoredEstimate.estimate)
