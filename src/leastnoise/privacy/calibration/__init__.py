"""sigma, epsilon and delta of the Gaussian mechanism, each rounded toward privacy.

With mu = sensitivity / sigma, noise N(0, sigma^2) is (epsilon, delta)-DP if and only if (Theorem 8 of
Balle & Wang 2018)

    delta(epsilon, mu) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)  <=  delta.

One number in gives one number out, *proved* in ball arithmetic (`proof`): never below the optimum and
within 1e-12 of it. Arrays take the vectorised float path (`arrays`), whose margin covers its own error:
never below, within 1e-11. `paper_algorithm.py` is the paper's Algorithm 1, to read and to compare with.
"""

from __future__ import annotations

from types import ModuleType
from typing import overload

import numpy as np

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.validation import Floats, Number, Numbers
from leastnoise.privacy.calibration import proof, repeated

__all__ = ["delta", "epsilon", "sigma"]


@overload
def sigma(  # type: ignore[overload-overlap]
    *, epsilon: Number, delta: Number, sensitivity: Number = 1.0, steps: int = 1, sampling: Number = 1.0
) -> float: ...
@overload
def sigma(
    *, epsilon: Numbers, delta: Numbers, sensitivity: Numbers = 1.0, steps: int = 1, sampling: Number = 1.0
) -> Floats: ...
def sigma(
    *, epsilon: Numbers, delta: Numbers, sensitivity: Numbers = 1.0, steps: int = 1, sampling: Number = 1.0
) -> float | Floats:
    """The least noise that is (epsilon, delta)-DP: the optimal standard deviation, rounded up.

    epsilon: how much an attacker may learn, at least 0. delta: a small probability, above 0 and below 1.
    sensitivity: the L2 distance that one person can move the answer.
    Each is a number, or an array; arrays are broadcast.
    steps: how many such releases there are. sampling: the chance that a unit takes part in each, drawn by itself
        (Poisson sampling, add-remove, sums divided by the expected batch); the answer is then the proved accountant's.
        4e-4 less sigma is proved too little, or a warning says that it could not be proved.

    >>> sigma(epsilon=1, delta=1e-6, sensitivity=5)
    21.12339444663418
    >>> sigma(epsilon=[0.1, 1, 10], delta=1e-6).round(3)
    array([36.305,  4.225,  0.541])
    >>> round(sigma(epsilon=1, delta=1e-6, steps=4), 3)
    8.449
    """
    numbers = _numbers(epsilon=epsilon, delta=delta, sensitivity=sensitivity)
    if repeated.differ(steps, sampling):
        return repeated.sigma(numbers, steps, sampling)
    if all(array.ndim == 0 for array in numbers.values()):
        return proof.sigma(*map(float, numbers.values()))
    return _finite("sigma", _arrays().sigma(*validation.broadcast(**numbers)))


@overload
def epsilon(  # type: ignore[overload-overlap]
    *,
    sigma: Number,
    delta: Number,
    sensitivity: Number = 1.0,
    steps: int = 1,
    sampling: Number = 1.0,
    accuracy: Number = 1e-3,
) -> float: ...
@overload
def epsilon(
    *,
    sigma: Numbers,
    delta: Numbers,
    sensitivity: Numbers = 1.0,
    steps: int = 1,
    sampling: Number = 1.0,
    accuracy: Number = 1e-3,
) -> Floats: ...
def epsilon(
    *,
    sigma: Numbers,
    delta: Numbers,
    sensitivity: Numbers = 1.0,
    steps: int = 1,
    sampling: Number = 1.0,
    accuracy: Number = 1e-3,
) -> float | Floats:
    """The least epsilon that noise of this sigma gives at this delta, rounded up (0 when none is needed).

    sigma: the standard deviation of the noise. delta: a small probability, above 0 and below 1.
    sensitivity: the L2 distance that one person can move the answer.
    Each is a number, or an array; arrays are broadcast.
    steps: how many such releases there are. sampling: the chance that a unit takes part in each, drawn by itself
        (Poisson sampling, add-remove, sums divided by the expected batch); the answer is then the proved accountant's.
    accuracy: with sampling, how far epsilon may be above the least one, relatively.

    >>> epsilon(sigma=21.2, delta=1e-6, sensitivity=5)
    0.9961058441642968
    >>> round(epsilon(sigma=1, delta=1e-6, steps=100, sampling=0.01), 2)
    0.95
    """
    numbers = _numbers(sigma=sigma, delta=delta, sensitivity=sensitivity)
    if repeated.differ(steps, sampling):
        return repeated.epsilon(numbers, steps, sampling, accuracy)
    if all(array.ndim == 0 for array in numbers.values()):
        return proof.epsilon(*map(float, numbers.values()))
    return _finite("epsilon", _arrays().epsilon(*validation.broadcast(**numbers)))


@overload
def delta(  # type: ignore[overload-overlap]
    *,
    sigma: Number,
    epsilon: Number,
    sensitivity: Number = 1.0,
    steps: int = 1,
    sampling: Number = 1.0,
    accuracy: Number = 1e-3,
) -> float: ...
@overload
def delta(
    *,
    sigma: Numbers,
    epsilon: Numbers,
    sensitivity: Numbers = 1.0,
    steps: int = 1,
    sampling: Number = 1.0,
    accuracy: Number = 1e-3,
) -> Floats: ...
def delta(
    *,
    sigma: Numbers,
    epsilon: Numbers,
    sensitivity: Numbers = 1.0,
    steps: int = 1,
    sampling: Number = 1.0,
    accuracy: Number = 1e-3,
) -> float | Floats:
    """The least delta that noise of this sigma gives at this epsilon, rounded up (never 0, at most 1).

    sigma: the standard deviation of the noise. epsilon: how much an attacker may learn, at least 0.
    sensitivity: the L2 distance that one person can move the answer.
    Each is a number, or an array; arrays are broadcast.
    steps: how many such releases there are. sampling: the chance that a unit takes part in each, drawn by itself
        (Poisson sampling, add-remove, sums divided by the expected batch); the answer is then the proved accountant's.
    accuracy: with sampling, how far delta may be above the least one, relatively.

    >>> delta(sigma=21.2, epsilon=1, sensitivity=5)
    9.279633882842434e-07
    """
    numbers = _numbers(sigma=sigma, epsilon=epsilon, sensitivity=sensitivity)
    if repeated.differ(steps, sampling):
        return repeated.delta(numbers, steps, sampling, accuracy)
    if all(array.ndim == 0 for array in numbers.values()):
        return proof.delta(*map(float, numbers.values()))
    return np.asarray(_arrays().delta(*validation.broadcast(**numbers)))


def _arrays() -> ModuleType:
    """The float path, imported when first needed: scipy.special takes a quarter of a second."""
    from leastnoise.privacy.calibration import arrays

    return arrays


def _numbers(**named: Numbers) -> dict[str, Floats]:
    return {name: validation.numbers(name, value) for name, value in named.items()}


def _finite(name: str, answers: Floats) -> Floats:
    """The answers, unless one lies past the largest double."""
    if np.isfinite(answers).all():
        return answers
    place = np.unravel_index(int(np.argmin(np.isfinite(answers))), answers.shape)
    at = ", ".join(str(int(i)) for i in place)
    raise errors.OutOfRange(proof.too_large(name) + f" It happens first at index {at}.")
