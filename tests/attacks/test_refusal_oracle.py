"""An attacker who learns from failures alone: a condition that fails only on one person's row is an exact bit.

Noise hides what is answered, and no noise hides that nothing was. So the attacker writes a condition of which one
branch fails, lets `fare > x` choose the branch, and halves the interval at every query, however small its share.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from refusing import FARE, TRICKS, Attacker, both

TOP, QUERIES = 1310.72, 17  # 17 halvings of 131,072 cents


@pytest.mark.parametrize("name", TRICKS)
def test_whether_a_query_fails_does_not_depend_on_a_person(name: str, tmp_path: Path) -> None:
    present, absent = both(tmp_path)
    for x in (FARE - 0.01, FARE + 0.01):
        assert present.outcomes(TRICKS[name](x)) == absent.outcomes(TRICKS[name](x))


def halved(attacker: Attacker, trick: Callable[[float], Any]) -> tuple[list[float], list[str]]:
    """A binary search for the fare that takes whatever is no answer for a yes: what was asked, and what came back."""
    low, high, asked, seen = 0.0, TOP, [], []
    for _query in range(QUERIES):
        asked.append((low + high) / 2)
        seen.append(attacker.outcome(lambda rows: rows.where(trick(asked[-1]))))
        low, high = (low, asked[-1]) if seen[-1] == "an answer" else (asked[-1], high)
    return asked, seen


@pytest.mark.parametrize("name", ["a day without dashes", "half a double"])
def test_a_binary_search_over_failures_reads_no_bit(name: str, tmp_path: Path) -> None:
    present, absent = both(tmp_path)
    asked, seen = halved(present, TRICKS[name])
    assert seen == [absent.outcome(lambda rows, x=x: rows.where(TRICKS[name](x))) for x in asked]
