"""To and from the events of dp-accounting, which is imported only here, where it is installed."""

from __future__ import annotations

from fractions import Fraction
from types import ModuleType
from typing import Any

from leastnoise import errors
from leastnoise._support.directed_rounding import round_down, round_up
from leastnoise.privacy.accounting.guarantees import LaplaceDP, SampledGaussianDP
from leastnoise.privacy.guarantee import GaussianDP
from leastnoise.privacy.repeated import Repeatable, Repeated


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
    if isinstance(guarantee, Repeatable) and getattr(guarantee, "neighbours", None) == "replace":
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
