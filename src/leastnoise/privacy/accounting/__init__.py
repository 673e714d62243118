"""The proved accountant: what many releases of different kinds promise together, bracketed from above and below.

`leastnoise.compose`, `epsilon`, `delta` and `sigma` ask it. Here are the guarantees that it knows besides the usual
ones, and the way to and from the events of dp-accounting, which is imported only here, where it is installed.

A pair of distributions (P, Q) dominates a release if its profile is nowhere below that of the release. Products of
dominating pairs dominate the releases together, though each may depend on what was seen before (Theorem 10 of Zhu, Dong
& Wang 2022), so losses L = log dP/dQ add. The accountant adds them in whole numbers, once with every rounding up and
once with every rounding down: the first proves an epsilon enough, the second proves a smaller one too little.

    >>> import leastnoise as ln
    >>> step = ln.SampledGaussianDP.of(sigma=1.1, sampling=0.01)
    >>> whole = ln.compose(step * 1000, ln.LaplaceDP(0.1), delta=1e-6)
    >>> round(whole.epsilon, 2), 0 < 1 - whole.lower / whole.epsilon < 1e-3
    (1.8, True)
"""

from __future__ import annotations

from fractions import Fraction
from types import ModuleType
from typing import Any

from leastnoise import errors
from leastnoise._support.calls import explain_public
from leastnoise._support.rounding import round_down, round_up
from leastnoise.privacy.guarantees import (
    BoundedRangeDP,
    GaussianDP,
    Guarantee,
    LaplaceDP,
    Repeated,
    SampledGaussianDP,
    ThresholdDP,
)

__all__ = ["BoundedRangeDP", "LaplaceDP", "SampledGaussianDP", "ThresholdDP", "from_event", "to_event"]


def __dir__() -> list[str]:
    return __all__


def from_event(event: Any) -> list[Any]:
    """The guarantees of a dp-accounting event, for `compose(*from_event(event), delta=...)`.

    event: a GaussianDpEvent, LaplaceDpEvent, PoissonSampledDpEvent of a Gaussian one, NoOpDpEvent, or a ComposedDpEvent
        or SelfComposedDpEvent of such; its neighbours are those of adding or removing one unit. All others are refused.
    """
    events = _dp_accounting()
    match event:
        case events.NoOpDpEvent():
            return []
        case events.ComposedDpEvent():
            return [guarantee for each in event.events for guarantee in from_event(each)]
        case events.SelfComposedDpEvent():
            return [guarantee * event.count for guarantee in from_event(event.event)]
        case events.GaussianDpEvent():
            return [GaussianDP.of(sigma=event.noise_multiplier)]
        case events.LaplaceDpEvent():
            return [LaplaceDP(_reciprocal(event.noise_multiplier, up=True))]
        case events.PoissonSampledDpEvent(event=events.GaussianDpEvent()):
            noise = event.event.noise_multiplier
            return [SampledGaussianDP.of(sigma=noise, sampling=event.sampling_probability)]
    raise errors.InvalidParameter(
        f"{type(event).__name__} has no proved loss here. {_REASONS.get(type(event).__name__, _KNOWN)}"
    )


def to_event(*guarantees: Any) -> Any:
    """The dp-accounting event of these guarantees together.

    guarantees: each GaussianDP, SampledGaussianDP, continuous LaplaceDP, or one of them times a whole number, all with
        add-remove neighbours. Events of mechanisms cannot say what PureDP and ApproxDP do.
    """
    events = _dp_accounting()
    made = [_event(events, guarantee) for guarantee in guarantees]
    return made[0] if len(made) == 1 else events.ComposedDpEvent(made)


def _event(events: ModuleType, guarantee: Any) -> Any:
    if isinstance(guarantee, Guarantee) and getattr(guarantee, "neighbours", None) == "replace":
        raise errors.InvalidParameter(
            "Events written here are about adding or removing one unit, and this guarantee is about exchanging one.",
            parameter="neighbours",
            value="replace",
        )
    match guarantee:
        case Repeated():
            return events.SelfComposedDpEvent(_event(events, guarantee.guarantee), guarantee.times)
        case GaussianDP():
            return events.GaussianDpEvent(_reciprocal(guarantee.mu, up=False))
        case SampledGaussianDP():
            inner = events.GaussianDpEvent(guarantee.noise_multiplier)
            return events.PoissonSampledDpEvent(guarantee.sampling, inner)
        case LaplaceDP(grid_steps=None):
            each = events.LaplaceDpEvent(_reciprocal(guarantee.epsilon / guarantee.bins, up=False))
            return each if guarantee.bins == 1 else events.SelfComposedDpEvent(each, guarantee.bins)
    raise errors.InvalidParameter(
        f"{type(guarantee).__name__} is no event of dp-accounting: those are mechanisms, such as a GaussianDP."
    )


def _reciprocal(value: float, *, up: bool) -> float:
    """1/value, rounded."""
    exact = 1 / Fraction(value)
    return round_up(exact) if up else round_down(exact)


def _dp_accounting() -> ModuleType:
    try:
        from dp_accounting import dp_event  # type: ignore[import-untyped]
    except ImportError:
        raise errors.MissingPackage.named("dp-accounting", "to read and write its events") from None
    return dp_event  # type: ignore[no-any-return]


_KNOWN = "Known are Gaussian, Laplace, Poisson-sampled Gaussian, composed and self-composed ones."
_BATCHES = "Only Poisson sampling is proved: batches of a fixed size, or shuffled, are other mechanisms."
_REASONS = {
    "SampledWithoutReplacementDpEvent": _BATCHES,
    "SampledWithReplacementDpEvent": _BATCHES,
    "RepeatAndSelectDpEvent": _KNOWN,
}


explain_public(globals(), __all__)
