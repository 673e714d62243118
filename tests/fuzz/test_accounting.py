"""The accountant against closed forms: the truth lies between both bounds, whatever the accuracy, delta and bits."""

from __future__ import annotations

import random
import time
from dataclasses import replace
from typing import Any

import pytest

import closed_forms
from fuzzing import add, seeds
from leastnoise.privacy.accounting import composing, grids
from leastnoise.privacy.accounting.loss_measure import LossMeasure, floor

pytestmark = pytest.mark.slow
POINTS = 25


def failures(few: int, bits: int | None) -> tuple[int, list[Any]]:
    """How many points were asked, and those outside."""
    asked, found = 0, []
    for seed in seeds(few):
        chance = random.Random(seed)
        known = closed_forms.at_random(chance)
        upper, lower = closed_forms.both_measures(known, chance, bits)
        found += [(seed, known.name, *bad) for bad in closed_forms.outside(known, upper, lower, POINTS)]
        asked += POINTS
    return asked, found


@pytest.mark.parametrize("bits", [None, 40, 24])
def test_the_truth_lies_between_both_bounds(bits: int | None) -> None:
    begun = time.monotonic()
    asked, found = failures(8 if bits is None else 5, bits)
    add("the accountant's bounds", asked, time.monotonic() - begun)
    assert not found


def test_rounding_the_wrong_way_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Floor for ceil in the masses, or in their products alone: the bounds above catch both."""
    exact = LossMeasure.__mul__

    def floored(first: LossMeasure, second: LossMeasure) -> LossMeasure:
        lower = replace(first, upper=False)
        return replace(exact(lower, lower if second is first else replace(second, upper=False)), upper=first.upper)

    def caught(kind: str) -> bool:
        for seed in range(5):
            chance = random.Random(seed)
            known = closed_forms.MAKERS[kind](chance)
            if any(closed_forms.outside(known, *closed_forms.both_measures(known, chance, 24), POINTS)):
                return True
        return False

    assert not caught("responses")
    assert not caught("laplace")
    with monkeypatch.context() as mutant:
        mutant.setattr(LossMeasure, "__mul__", floored)
        assert caught("responses")
    with monkeypatch.context() as mutant:
        for module in (composing, grids):
            mutant.setattr(module, "ceiling", floor)
        assert caught("laplace")
