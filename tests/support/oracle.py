"""An oracle that shares nothing with the library: Theorem 8 exactly as printed, e^epsilon and all, in wide balls."""

from __future__ import annotations

from typing import Any

from flint import arb, ctx


def delta_ball(epsilon: float, sigma: float, sensitivity: float = 1.0, bits: int = 4000) -> Any:
    """Phi(D/2s - eps s/D) - e^eps Phi(-D/2s - eps s/D) as a ball."""
    with ctx.workprec(bits):
        mu = arb(sensitivity) / arb(sigma)
        shift = arb(epsilon) / mu
        return _phi(mu / 2 - shift) - arb(epsilon).exp() * _phi(-mu / 2 - shift)


def _phi(x: Any) -> Any:
    return (-x / arb(2).sqrt()).erfc() / 2
