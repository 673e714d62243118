"""The low-bit attack on everyone: 0 and 1 with Gaussian noise of the sigma that (1, 1e-6) needs, audited from outside.

Noise made in floating point and added to a float leaves traces of the input in the last bits (Mironov 2012). The
audit searches events of that kind among half of the samples and judges them on the other half: a bound on the true
delta above 1e-6 proves, but for one audit in a million, that the promise is broken.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import peers
from findings import Findings, Headline, Table

import leastnoise as ln
from leastnoise.audit import last_bit, lower_bound

EPSILON, DELTA = 1.0, 1e-6
PEERS = ("opendp", "pydp", "diffprivlib", "tumult")
Outputs = Callable[[float, float, int], Any]


def run(*, toy: bool = False) -> Findings:
    size = 2000 if toy else 30_000
    rng = np.random.default_rng(1)
    sigma = ln.sigma(epsilon=EPSILON, delta=DELTA)
    makers: dict[str, Outputs] = {
        "leastnoise, whole numbers": lambda x, s, n: _released(np.full(n, int(x)), s),
        "leastnoise, floats": lambda x, s, n: _released(np.full(n, float(x)), s),
        "numpy normal, added": lambda x, s, n: x + s * rng.standard_normal(n),
    }
    found, missing = peers.present(*PEERS)
    for name, peer in found.items():
        makers[name] = lambda x, s, n, peer=peer: peer("outputs", value=x, scale=s, size=n).result  # type: ignore[misc]
    rows = [_audited(name, make, sigma, size) for name, make in makers.items()]
    worst = max(row["proved delta / claimed"] for row in rows[:2])
    return [
        Headline("low-bit audit: delta proved against us / claimed", worst, most=1),
        Table(
            "low_bits",
            f"{size:,} outputs for each of 0 and 1 at a claimed ({EPSILON:g}, {DELTA:g}):",
            rows,
            "A bound of 0 means that nothing was proved. Coarser than 2^-53: the lowest bit set is 2^-53 or higher. "
            "All were asked for noise on floats, tumult for `AddGaussianNoise` of tmlt.core.",
            missing,
        ),
    ]


def _released(x: Any, sigma: float) -> Any:
    """Every cell is an output of its own: the promise holds for a vector, so for each of its cells."""
    return ln.release(x, sensitivity=1.0, sigma=sigma).values


def _audited(name: str, make: Outputs, sigma: float, size: int) -> dict[str, Any]:
    zero, one = (np.asarray(make(x, sigma, size), dtype=float) for x in (0.0, 1.0))
    finding = lower_bound(zero, one, epsilon=EPSILON)
    return {
        "what": name,
        "proved delta / claimed": finding.delta / DELTA,
        "delta is at least": finding.delta,
        "event": finding.event,
        "0: coarser than 2^-53": float(np.mean(last_bit(zero) >= -53)),
        "1: coarser than 2^-53": float(np.mean(last_bit(one) >= -53)),
    }
