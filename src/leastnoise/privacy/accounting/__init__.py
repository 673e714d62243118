"""The proved accountant: what many releases of different kinds promise together, bracketed from above and below.

`leastnoise.compose`, `epsilon`, `delta` and `sigma` ask it. Here are the guarantees that it knows besides the usual
ones, and the way to and from dp-accounting's events.
"""

from __future__ import annotations

from leastnoise._support.calls import explain_public
from leastnoise.privacy.accounting.events import from_event, to_event
from leastnoise.privacy.accounting.guarantees import BoundedRangeDP, LaplaceDP, SampledGaussianDP, ThresholdDP

__all__ = ["BoundedRangeDP", "LaplaceDP", "SampledGaussianDP", "ThresholdDP", "from_event", "to_event"]


def __dir__() -> list[str]:
    return __all__


explain_public(globals(), __all__)
