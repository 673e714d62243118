"""Compositions whose delta(epsilon) is known exactly, in balls, beside the accountant's measures of them."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb, ctx, fmpq, fmpz

from leastnoise.privacy.accounting.bracket import DirectedComposition, Parts, SaddlePoint
from leastnoise.privacy.accounting.grids import Tolerance
from leastnoise.privacy.accounting.loss_measure import LossMeasure
from leastnoise.privacy.calibration import proof
from leastnoise.privacy.loss_pairs import (
    BoundedRangePair,
    GaussianPair,
    LaplacePair,
    SampledGaussianPair,
    randomised_response,
    two_sided_geometric,
)

BITS = 600


@dataclass(frozen=True)
class Known:
    """A composition, one direction of it, and its delta at any epsilon."""

    name: str
    parts: Parts
    delta: Callable[[Fraction], Any]


def ball(value: Fraction) -> Any:
    return arb(fmpq(value.numerator, value.denominator))


def lattice_delta(losses: list[Fraction], chances: Callable[[], list[Any]]) -> Callable[[Fraction], Any]:
    """sum of P (1 - e^(epsilon - L))^+."""

    def delta(epsilon: Fraction) -> Any:
        terms = zip(losses, chances(), strict=True)
        return sum((p * (1 - ball(epsilon - loss).exp()) for loss, p in terms if loss > epsilon), arb(0))

    return delta


def at_random(chance: random.Random) -> Known:
    """One of the kinds with a closed form."""
    kind = chance.choice(["gaussian", "gaussian parts", "sampled", "responses", "laplace", "geometric", "range"])
    return MAKERS[kind](chance)


def _gaussian(chance: random.Random) -> Known:
    mu_squared = Fraction(10 ** chance.uniform(-2, 1.5))
    return Known("gaussian", [(GaussianPair(mu_squared), 1)], _gaussian_delta(mu_squared))


def _gaussian_parts(chance: random.Random) -> Known:
    """As many equal parts that the accountant is not told to be one."""
    times = int(10 ** chance.uniform(0, 5))
    each = Fraction(10 ** chance.uniform(-2, 1.2)) / times
    return Known(f"{times} gaussians", [(GaussianPair(each), times)], _gaussian_delta(each * times))


def _gaussian_delta(mu_squared: Fraction) -> Callable[[Fraction], Any]:
    return lambda epsilon: proof.profile(ball(epsilon), ball(mu_squared).sqrt())


def _sampled(chance: random.Random) -> Known:
    noise, rate = Fraction(10 ** chance.uniform(-0.4, 1)), Fraction(10 ** chance.uniform(-4, -0.01))
    way = chance.choice(["remove", "add"])
    pair = SampledGaussianPair(noise, rate, way)  # type: ignore[arg-type]

    def delta(epsilon: Fraction) -> Any:
        z, q = ball(noise), ball(rate)
        signed = ball(epsilon) if way == "remove" else -ball(epsilon)
        ratio = (signed.expm1() + q) / q
        if not ratio > 0:  # no loss is that large (or, to remove, all are)
            return arb(0) if way == "add" else 1 - ball(epsilon).exp()
        x = z * z * ratio.log() + arb(1) / 2
        side = 1 if way == "remove" else -1
        plain, moved = proof.upper_tail(side * x / z), proof.upper_tail(side * (x - 1) / z)
        mixed = (1 - q) * plain + q * moved
        p, other = (mixed, plain) if way == "remove" else (plain, mixed)
        return p - ball(epsilon).exp() * other

    return Known(f"sampled, {way}", [(pair, 1)], delta)


def _responses(chance: random.Random) -> Known:
    times, own = chance.randint(1, 300), Fraction(round(10 ** chance.uniform(-2, 0.3), 3))

    def chances() -> list[Any]:
        p = 1 / (1 + (-ball(own)).exp())
        return [arb(fmpz(math.comb(times, k))) * p**k * (1 - p) ** (times - k) for k in range(times + 1)]

    losses = [(2 * k - times) * own for k in range(times + 1)]
    return Known(f"{times} responses", [(randomised_response(own), times)], lattice_delta(losses, chances))


def _laplace(chance: random.Random) -> Known:
    own = Fraction(10 ** chance.uniform(-2, 1))

    def delta(epsilon: Fraction) -> Any:
        return 1 - (-ball(own - epsilon) / 2).exp() if epsilon < own else arb(0)

    return Known("laplace", [(LaplacePair(own), 1)], delta)


def _geometric(chance: random.Random) -> Known:
    steps, own = chance.randint(1, 40), Fraction(10 ** chance.uniform(-2, 1))
    pair = two_sided_geometric(own, steps)
    losses = [own * (2 * k - steps) / steps for k in range(steps + 1)]

    def chances() -> list[Any]:
        p = (-ball(own / steps)).exp()
        inner = [(1 - p) / (1 + p) * p ** (steps - k) for k in range(1, steps)]
        return [p**steps / (1 + p), *inner, 1 / (1 + p)]

    return Known(f"geometric, {steps} steps", [(pair, 1)], lattice_delta(losses, chances))


def _range(chance: random.Random) -> Known:
    own = Fraction(10 ** chance.uniform(-2, 1))

    def delta(epsilon: Fraction) -> Any:
        if epsilon >= own:
            return arb(0)
        return ((ball(own) / 2).exp() - (ball(epsilon) / 2).exp()) ** 2 / ball(own).expm1()

    return Known("bounded range", [(BoundedRangePair(own), 1)], delta)


MAKERS = {
    "gaussian": _gaussian,
    "gaussian parts": _gaussian_parts,
    "sampled": _sampled,
    "responses": _responses,
    "laplace": _laplace,
    "geometric": _geometric,
    "range": _range,
}


def both_measures(known: Known, chance: random.Random, bits: int | None = None) -> tuple[LossMeasure, LossMeasure]:
    """(upper, lower) at a random delta and accuracy."""
    delta, accuracy = 10 ** chance.uniform(-14, -2), 10 ** chance.uniform(-4, -2)

    epsilon, tilt = SaddlePoint(known.parts).at_delta(delta)
    way = DirectedComposition(known.parts, Tolerance(max(epsilon, 1e-9), tilt, delta, accuracy), bits=bits)
    return way.measure(upper=True), way.measure(upper=False)


def outside(known: Known, upper: LossMeasure, lower: LossMeasure, points: int) -> Iterator[tuple[float, Any]]:
    """Epsilons at which the exact delta does not lie between those of both measures."""
    top = max(float(upper.position(len(upper.masses) - 1)), 1e-3)
    for k in range(points):
        epsilon = Fraction(top * k / (points - 1))
        with ctx.workprec(BITS):
            exact = known.delta(epsilon)
            inside = arb(lower.delta(epsilon)) <= exact and exact <= arb(upper.delta(epsilon))
        if not inside:
            yield float(epsilon), exact
