"""Many equal releases, all units in each or a sample of them: one number after the other, by the proved accountant.

Where all take part, n releases are one of sqrt(n) times the sensitivity, and the closed form is asked.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from flint import arb

from leastnoise import errors
from leastnoise._support import callers, validation
from leastnoise._support.validation import Floats, Number
from leastnoise.privacy.calibration import proof


def differ(steps: object, sampling: object) -> bool:
    """Whether this is anything but one release of all units; checked."""
    return validation.integer("steps", steps) != 1 or _rate(sampling) != 1


def sigma(numbers: dict[str, Floats], steps: int, sampling: Number) -> float | Floats:
    """The least sigma, proved enough."""
    rate = _rate(sampling)
    if rate == 1:
        return _each(numbers, lambda epsilon, delta, moved: proof.sigma(epsilon, delta, _spread(moved, steps)))

    def one(epsilon: float, delta: float, moved: float) -> float:
        from leastnoise.privacy.accounting.sampled import CLOSE, least_noise

        if epsilon == 0:
            raise errors.InvalidParameter(
                "With sampling, an epsilon of 0 is not searched for.", parameter="epsilon", example={"epsilon": 1}
            )
        noise, tight = least_noise(epsilon, delta, rate, steps)
        if not tight:
            warnings.warn(
                f"sigma is proved enough; that {CLOSE:g} less is too little could not be proved in reasonable time.",
                errors.Wasteful,
                stacklevel=callers.outside(),
            )
        with proof.precision(128):
            return proof.upward(arb(noise) * arb(moved))

    return _each(numbers, one)


def epsilon(numbers: dict[str, Floats], steps: int, sampling: Number, accuracy: Number) -> float | Floats:
    """The least epsilon, proved enough."""
    rate, allowed = _rate(sampling), _accuracy(accuracy)
    if rate == 1:
        return _each(numbers, lambda sigma, delta, moved: proof.epsilon(sigma, delta, _spread(moved, steps)))

    def one(sigma: float, delta: float, moved: float) -> float:
        from leastnoise.privacy.accounting.sampled import sampled_epsilon

        return sampled_epsilon(Fraction(sigma) / Fraction(moved), rate, steps, delta, allowed).upper

    return _each(numbers, one)


def delta(numbers: dict[str, Floats], steps: int, sampling: Number, accuracy: Number) -> float | Floats:
    """The least delta, proved enough."""
    rate, allowed = _rate(sampling), _accuracy(accuracy)
    if rate == 1:
        return _each(numbers, lambda sigma, epsilon, moved: proof.delta(sigma, epsilon, _spread(moved, steps)))

    def one(sigma: float, epsilon: float, moved: float) -> float:
        from leastnoise.privacy.accounting.sampled import sampled_delta

        return sampled_delta(Fraction(sigma) / Fraction(moved), rate, steps, epsilon, allowed).upper

    return _each(numbers, one)


def _each(numbers: dict[str, Floats], one: Callable[[float, float, float], float]) -> float | Floats:
    if all(array.ndim == 0 for array in numbers.values()):
        return one(*map(float, numbers.values()))
    arrays = validation.broadcast(**numbers)
    answers = [one(*map(float, row)) for row in zip(*(array.ravel() for array in arrays), strict=True)]
    return np.array(answers).reshape(arrays[0].shape)


def _spread(sensitivity: float, steps: int) -> float:
    """sensitivity sqrt(steps), rounded up."""
    with proof.precision(128):
        return proof.upward(arb(sensitivity) * arb(steps).sqrt())


def _rate(sampling: object) -> float:
    if isinstance(sampling, (int, float)) and sampling == 1:
        return 1.0
    from leastnoise.privacy.accounting.guarantees import check_sampling

    return check_sampling(sampling)


def _accuracy(accuracy: Number) -> float:
    from leastnoise.privacy.accounting.bracket import check_accuracy

    return check_accuracy(accuracy)
