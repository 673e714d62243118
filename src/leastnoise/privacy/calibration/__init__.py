"""sigma, epsilon and delta of the Gaussian mechanism, each rounded toward privacy.

With mu = sensitivity/sigma, noise N(0, sigma^2) is (epsilon, delta)-DP if and only if (Theorem 8 of
Balle & Wang 2018)

    delta(epsilon, mu) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)  <=  delta.

One number in gives one number out, *proved* in ball arithmetic (`proof`): never below the optimum and
within 1e-12 of it. Arrays take the vectorised float path (`arrays`), whose margin covers its own error:
never below, within 1e-11. Many equal releases with Poisson sampling take the proved accountant (`accounting.sampled`).
`paper_algorithm.py` is the paper's Algorithm 1, to read and to compare with.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from flint import arb

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.validation import Floats, Number, numbers_or_arrays
from leastnoise.privacy.calibration import proof

__all__ = ["delta", "epsilon", "sigma"]

_UNPROVED = {
    "fixed-size": "Batches of a fixed size are another mechanism: at the same rate their epsilon can be ten times that "
    "of Poisson sampling",
    "shuffled": "Shuffled batches are another mechanism, whose epsilon can be many times that of Poisson sampling",
}


@numbers_or_arrays
def sigma(
    *, epsilon: Number, delta: Number, sensitivity: Number = 1.0, steps: int = 1, sampling: Number = 1.0
) -> float:
    """The least noise that is (epsilon, delta)-DP: the optimal standard deviation, rounded up.

    Theorem 8 of Balle & Wang (2018): f(x) + N(0, sigma^2 I), where one person moves f by at most Delta in L2, is
    (epsilon, delta)-DP if and only if

        Phi(Delta/(2 sigma) - epsilon sigma/Delta) - e^epsilon Phi(-Delta/(2 sigma) - epsilon sigma/Delta)  <=  delta.

    The left side falls in sigma, so there is a least one. The answer is proved to satisfy this in rigorous arithmetic,
    and proved not to when 1e-12 smaller (arrays: within 1e-11).

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
    return _answer("sigma", {"epsilon": epsilon, "delta": delta, "sensitivity": sensitivity}, steps, sampling)


@numbers_or_arrays
def epsilon(
    *,
    sigma: Number,
    delta: Number,
    sensitivity: Number = 1.0,
    steps: int = 1,
    sampling: Number = 1.0,
    accuracy: Number = 1e-3,
) -> float:
    """The least epsilon that noise of this sigma gives at this delta, rounded up (0 when none is needed).

    The least epsilon in the condition of Theorem 8 of Balle & Wang (2018), whose left side falls in epsilon (see
    `sigma`); proved like it.

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
    numbers = {"sigma": sigma, "delta": delta, "sensitivity": sensitivity}
    return _answer("epsilon", numbers, steps, sampling, accuracy)


@numbers_or_arrays
def delta(
    *,
    sigma: Number,
    epsilon: Number,
    sensitivity: Number = 1.0,
    steps: int = 1,
    sampling: Number = 1.0,
    accuracy: Number = 1e-3,
) -> float:
    """The least delta that noise of this sigma gives at this epsilon, rounded up (never 0, at most 1).

    It is the left side of the condition of Theorem 8 of Balle & Wang (2018) (see `sigma`), evaluated in rigorous
    arithmetic: what is returned is the double above it.

    sigma: the standard deviation of the noise. epsilon: how much an attacker may learn, at least 0.
    sensitivity: the L2 distance that one person can move the answer.
    Each is a number, or an array; arrays are broadcast.
    steps: how many such releases there are. sampling: the chance that a unit takes part in each, drawn by itself
        (Poisson sampling, add-remove, sums divided by the expected batch); the answer is then the proved accountant's.
    accuracy: with sampling, how far delta may be above the least one, relatively.

    >>> delta(sigma=21.2, epsilon=1, sensitivity=5)
    9.279633882842434e-07
    """
    numbers = {"sigma": sigma, "epsilon": epsilon, "sensitivity": sensitivity}
    return _answer("delta", numbers, steps, sampling, accuracy)


_PROVED: dict[str, Callable[[float, float, float], float]] = {
    "sigma": proof.sigma,
    "epsilon": proof.epsilon,
    "delta": proof.delta,
}


def _answer(name: str, given: dict[str, Any], steps: int, sampling: Number, accuracy: Number = 1e-3) -> float:
    """What `name` must be: of one release or of several, all units in each or a sample of them. An array of arrays."""
    once = validation.integer("steps", steps) == 1 and check_sampling(sampling) == 1
    one = _PROVED[name] if once else _of_many(name, steps, check_sampling(sampling), accuracy)
    if all(isinstance(value, (int, float)) for value in given.values()):
        return one(*(validation.number(each, value) for each, value in given.items()))
    numbers = {each: validation.numbers(each, value) for each, value in given.items()}
    if all(array.ndim == 0 for array in numbers.values()):
        return one(*(float(array) for array in numbers.values()))
    arrays = validation.broadcast(**numbers)
    if once:
        from leastnoise.privacy.calibration import arrays as in_doubles  # scipy.special takes a quarter of a second

        return cast(float, _finite(name, getattr(in_doubles, name)(*arrays)))
    answers = [one(*map(float, row)) for row in zip(*(array.ravel() for array in arrays), strict=True)]
    return cast(float, np.array(answers).reshape(arrays[0].shape))


def _of_many(name: str, steps: int, rate: float, accuracy: Number) -> Callable[[float, float, float], float]:
    """Where all take part, n releases are one of sqrt(n) times the sensitivity, and the closed form is asked; for a
    sample the proved accountant is."""
    from leastnoise.privacy.accounting import sampled
    from leastnoise.privacy.accounting.bracket import check_accuracy

    allowed = check_accuracy(accuracy)

    def at_once(first: float, second: float, sensitivity: float) -> float:
        with proof.precision(128):
            return _PROVED[name](first, second, proof.upward(arb(sensitivity) * arb(steps).sqrt()))

    def one(first: float, second: float, sensitivity: float) -> float:
        found: float = getattr(sampled, name)(first, second, sensitivity, rate, steps, allowed)
        return found

    return at_once if rate == 1 else one


def check_sampling(value: object) -> float:
    """A sampling rate: above 0, at most 1, rounded up. Other ways to make batches are refused by name."""
    if isinstance(value, str):
        reason = _UNPROVED.get(value, f"{value!r} is no rate")
        raise errors.InvalidParameter(
            f"{reason}; only Poisson sampling, where each unit is drawn by itself, is proved here. Its rate is the "
            "expected batch divided by the number of units.",
            parameter="sampling",
            value=value,
            example={"sampling": 0.01},
        )
    rate = validation.number("sampling", value, up=True)
    if rate > 1:
        why = "It is the chance that a unit takes part in a step."
        raise errors.InvalidParameter.must("sampling", "be at most 1", rate, why, example={"sampling": 0.01})
    return rate


def _finite(name: str, answers: Any) -> Floats:
    """The answers, unless one lies past the largest double."""
    finite = np.isfinite(answers)
    if finite.all():
        return np.asarray(answers)
    place = np.unravel_index(int(np.argmin(finite)), answers.shape)
    at = ", ".join(str(int(i)) for i in place)
    raise errors.OutOfRange(proof.too_large(name) + f" It happens first at index {at}.")
