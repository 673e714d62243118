"""Every move of a measure is safe: an upper one stays above, a lower one below, at every epsilon, negative ones too."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from flint import arb, ctx, fmpz
from hypothesis import given, settings
from hypothesis import strategies as st

from closed_forms import ball
from leastnoise.privacy.accounting.composing import coarsen, together, trim
from leastnoise.privacy.accounting.grids import Tolerance, regrid
from leastnoise.privacy.accounting.loss_measure import LossMeasure

BITS = 20
fractions = st.fractions(min_value=Fraction(1, 50), max_value=2, max_denominator=1000)
epsilons = st.fractions(min_value=-40, max_value=40, max_denominator=1000)


@st.composite
def measures(draw: Any, *, infinite: bool = True) -> LossMeasure:
    masses = draw(st.lists(st.integers(0, 2**BITS // 4), min_size=1, max_size=24))
    start = draw(st.fractions(min_value=-5, max_value=5, max_denominator=100))
    beyond = draw(st.integers(0, 2**10)) if infinite else 0
    whole = [fmpz(mass) for mass in masses]
    return LossMeasure(start, draw(fractions), whole, fmpz(beyond), draw(st.booleans()), BITS)


def exact(measure: LossMeasure, epsilon: Fraction) -> Any:
    """delta_A(epsilon), in units of 2^-bits, as a ball."""
    placed = ((measure.position(k), mass) for k, mass in enumerate(measure.masses))
    terms = (mass * (1 - ball(epsilon - loss).exp()) for loss, mass in placed if loss > epsilon)
    return sum(terms, arb(measure.infinite))


def safe(after: LossMeasure, before: Any, epsilon: Fraction) -> bool:
    now = exact(after, epsilon)
    allowed = arb(2) ** -200  # of equal sums of balls
    return bool(now >= before - allowed if after.upper else now <= before + allowed)


MOVES: dict[str, Callable[[LossMeasure], LossMeasure]] = {
    "coarsened, even": lambda measure: coarsen(measure, 0),
    "coarsened, odd": lambda measure: coarsen(measure, 1),
    "coarsened": coarsen,
    "trimmed": lambda measure: trim(measure, 0.2, 0.3),
    "on another step": lambda measure: regrid(measure, measure.step * Fraction(17, 10)),
    "on a finer step": lambda measure: regrid(measure, measure.step * Fraction(3, 7)),
}


@pytest.mark.parametrize("name", MOVES)
@settings(max_examples=60)
@given(measure=measures(), epsilon=epsilons)
def test_every_move_is_safe(name: str, measure: LossMeasure, epsilon: Fraction) -> None:
    with ctx.workprec(400):
        assert safe(MOVES[name](measure), exact(measure, epsilon), epsilon)


@settings(max_examples=60)
@given(measures(), measures(), epsilons)
def test_products_are_safe(first: LossMeasure, second: LossMeasure, epsilon: Fraction) -> None:
    """Against the sum over all pairs of losses."""
    second = LossMeasure(second.start, second.step, second.masses, second.infinite, first.upper, BITS)
    both = together(first, second, Tolerance(1.0, 1.0, 1e-6, 0.05))
    with ctx.workprec(400):
        true = second.infinite * arb(first.finite + first.infinite)
        for k, mass in enumerate(second.masses):
            true += mass * exact(first, epsilon - second.position(k))
        assert safe(both, true * arb(2) ** -BITS, epsilon)


@given(measures(), st.floats(1e-6, 0.999))
def test_what_is_read_off_is_on_the_safe_side(measure: LossMeasure, delta: float) -> None:
    epsilon = measure.epsilon(delta)
    if epsilon == float("inf"):
        assert int(measure.infinite) >= delta * 2**BITS
        return
    with ctx.workprec(400):
        allowed = arb(delta) * 2**BITS
        if measure.upper:
            assert exact(measure, Fraction(epsilon)) <= allowed
            if epsilon > 1e-9:
                assert exact(measure, Fraction(epsilon) * Fraction(999_999, 1_000_000)) > allowed
        elif epsilon > 0:
            assert exact(measure, Fraction(epsilon)) >= allowed


@given(measures(), epsilons)
def test_delta_is_rounded_to_its_side(measure: LossMeasure, epsilon: Fraction) -> None:
    with ctx.workprec(400):
        true = exact(measure, epsilon) * arb(2) ** -BITS
        found = arb(measure.delta(epsilon))
        assert (found >= true or found == 1) if measure.upper else found <= true
