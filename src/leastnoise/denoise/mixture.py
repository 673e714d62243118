"""Mixture: what a mixture of estimates was made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

from leastnoise.releases.average_coverage import NoiseKept
from leastnoise.releases.estimate import Estimate, RiskEstimate


@dataclass(frozen=True, slots=True, eq=False)
class Mixture:
    """Every candidate that was tried, the raw values among them, and its weight.

    candidates: the estimates by name, each with its own `values`, `risk` and `details`.
    weights: of each candidate, by name; zero where it took no part.

    They cannot be run again, and so have no intervals: call the denoiser itself for those.
    """

    candidates: Mapping[str, Estimate]
    weights: Mapping[str, float]

    @classmethod
    def of(cls, candidates: Mapping[str, Estimate], weights: Mapping[str, float]) -> Mixture:
        """Of candidates whose risks were asked for: what computes them is let go."""
        kept = {
            name: replace(
                e, estimate_risk=partial(RiskEstimate, *e.estimate_risk()), denoise_again=None, noise_kept=NoiseKept()
            )
            for name, e in candidates.items()
        }
        return cls(MappingProxyType(kept), MappingProxyType({name: float(weights.get(name, 0.0)) for name in kept}))

    def __reduce__(self) -> tuple[type[Mixture], tuple[dict[str, Estimate], dict[str, float]]]:
        return Mixture, (dict(self.candidates), dict(self.weights))

    def __repr__(self) -> str:
        rows = sorted(self.candidates, key=lambda name: -self.weights[name])
        told = ", ".join(
            f"{self.weights[name]:.0%} {name} (rmse {_figure(self.candidates[name].rmse)})" for name in rows
        )
        return f"<Mixture of {told}>"


def _figure(rmse: float | None) -> str:
    return "unknown" if rmse is None else f"{rmse:.4g}"
