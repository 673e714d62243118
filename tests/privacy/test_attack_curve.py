"""The curve of what an attack finds at most is drawn nowhere below it, and hardly above it."""

from __future__ import annotations

import re
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leastnoise as ln
from leastnoise import plot
from leastnoise.pictures import guarantees, svg
from leastnoise.privacy.guarantees import Guarantee
from leastnoise.privacy.strength import AttackCurve, attack_curve, judge

EPSILONS = st.floats(1e-3, 30.0)
GUARANTEES = st.one_of(
    EPSILONS.map(ln.PureDP),
    st.builds(ln.ApproxDP, EPSILONS, st.floats(1e-12, 0.5)),
    EPSILONS.map(ln.GaussianDP),
)
ROUNDING = 1e-12
CORNER = float(1 / (1 + np.e))  # of PureDP(1), whose attack finds e times as much there


def found(guarantee: ln.PureDP | ln.ApproxDP | ln.GaussianDP, rates: np.ndarray) -> np.ndarray:
    return 1 - guarantee.tradeoff(rates)


def everywhere(*more: float) -> np.ndarray:
    return np.unique(np.concatenate([np.geomspace(1e-9, 1, 2_000), np.linspace(1e-6, 1, 20_001), more]))


def drawn(curve: AttackCurve, rates: np.ndarray) -> np.ndarray:
    return np.interp(rates, *curve)


@given(GUARANTEES)
def test_the_line_is_nowhere_below_what_an_attack_finds(guarantee: Guarantee) -> None:
    corner = float(1 / (1 + np.exp(getattr(guarantee, "epsilon", 1.0))))
    rates = everywhere(corner)
    most = found(guarantee, rates)
    line = drawn(attack_curve(partial(found, guarantee)), rates)
    assert (line >= most - ROUNDING).all()
    assert (line <= 1).all()
    later = rates >= 0.001
    assert (line - most)[later].max() <= 0.02


@given(st.floats(0.01, 5.0), st.floats(0.01, 5.0), st.floats(0, 0.1))
def test_the_smaller_of_two_bounds_is_drawn_likewise(epsilon: float, mu: float, chance: float) -> None:
    guarantee = ln.PureDP(epsilon)
    strength = judge(guarantee, mu=mu, chance=chance)
    rates = everywhere()
    line = drawn(attack_curve(partial(strength.most_found, guarantee)), rates)
    assert (line >= np.minimum(strength.most_found(guarantee, rates), 1) - ROUNDING).all()


def test_a_corner_is_drawn_exactly() -> None:
    curve = attack_curve(partial(found, ln.PureDP(1)))
    assert drawn(curve, np.array([CORNER]))[0] == pytest.approx(np.e * CORNER, abs=1e-9)


def test_pages_and_pictures_draw_the_corner() -> None:
    """At epsilon 1 an attack with 26.9 % false alarms finds 73.1 %; samples every 2 % had 71.9."""
    most = partial(found, ln.PureDP(1))
    picture = guarantees.attack(most)
    points = re.search(r'class="stroke-main"[^>]* d="M([^"]*)"', svg.svg(picture))
    assert points is not None
    steps = [pair.split(" ") for pair in points[1].split("l")]  # from one point to the next
    x, y = np.cumsum(np.array(steps, dtype=float), axis=0).T
    across, down = svg._scales(picture, *(100 * side for side in picture.size))
    at = np.interp(across(100 * CORNER), x, y)
    assert at == pytest.approx(down(100 * np.e * CORNER), abs=0.03)
    for rate in np.linspace(0.001, 0.999, 999):
        higher = np.interp(across(100 * rate), x, y)  # pixels are counted from the top
        assert higher <= down(100 * float(most(np.array(rate)))) + 1e-9
    line = max(plot.tradeoff(ln.PureDP(1)).get_lines(), key=lambda one: len(one.get_xdata()))
    shown = np.interp(100 * CORNER, np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float))
    assert shown == pytest.approx(100 * np.e * CORNER, abs=1e-7)


def test_nobody_is_called_people_who_is_a_taxi() -> None:
    assert "people" not in svg.svg(guarantees.attack(partial(found, ln.PureDP(1))))
    assert "people" not in plot.tradeoff(ln.PureDP(1)).get_ylabel()
