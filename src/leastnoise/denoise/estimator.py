"""What makes a function an estimator: it can be run again on other values, which limits and intervals need."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ParamSpec

from leastnoise._support.renamed import renamed_arguments
from leastnoise.denoise.arrays import Floats, on_host
from leastnoise.releases.average_coverage import NoiseKept, noise_kept
from leastnoise.releases.estimate import Estimate

P = ParamSpec("P")


def estimator(function: Callable[P, Estimate]) -> Callable[P, Estimate]:
    """Give the estimates of `function(y, sigma, ...)` a way to be made again. The old name noise= is refused."""

    @renamed_arguments(noise="mechanism")
    @functools.wraps(function)
    def estimating(*args: P.args, **options: P.kwargs) -> Estimate:
        made = function(*args, **options)
        again = functools.partial(_again, function, options)

        def measure() -> float:
            return noise_kept(again, on_host(made.noisy).astype(float), made.std)

        return replace(made, denoise_again=again, noise_kept=NoiseKept(measure))

    return estimating


def _again(function: Callable[..., Estimate], options: dict[str, Any], y: Floats, sigma: float) -> Floats:
    options = {name: value for name, value in options.items() if name not in ("y", "sigma")}
    return on_host(function(y, sigma, **options).values).astype(float)
