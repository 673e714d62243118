"""Every golden file, and how each of its cases is computed again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import golden_budgets
import golden_commands
import golden_numbers
import golden_queries
import golden_refusals
import golden_requests


class File(NamedTuple):
    """The cases of one file, and what computes one of them; the folder is an empty one."""

    names: Iterable[str]
    of: Callable[[str, Path], Any]


FILES: dict[str, File] = {
    "queries": File(golden_queries.NAMES, golden_requests.about),
    "expectations": File(golden_queries.NAMES, golden_requests.expectations),
    "releases": File([*golden_queries.NAMES, *golden_requests.ARRAYS], golden_requests.releases),
    "exports": File([*golden_queries.NAMES, *golden_requests.ARRAYS], golden_requests.exports),
    "draws": File([*golden_queries.NAMES, *golden_requests.ARRAYS], golden_requests.draws),
    "numbers": File(golden_numbers.CALLS, golden_numbers.answer),
    "budgets": File(golden_budgets.BUDGETS, golden_budgets.account),
    "refusals": File(golden_refusals.CASES, golden_refusals.refused),
    "commands": File(golden_commands.lines(), golden_commands.done),
    "denoisers": File(golden_numbers.DENOISERS, golden_numbers.denoised),
}
