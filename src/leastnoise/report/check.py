"""How to cite a release, what to type to check its page, and which file beside the page holds the release."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from leastnoise._support import outputs
from leastnoise._support.outputs import path_of
from leastnoise._support.text import rounded
from leastnoise._support.version import VERSION
from leastnoise.privacy.guarantees import GaussianDP
from leastnoise.releases.crosstabs import CrosstabsRelease
from leastnoise.releases.estimate import Estimate
from leastnoise.releases.provenance import Promised
from leastnoise.releases.published import Published
from leastnoise.releases.release import Release
from leastnoise.releases.summary import SummaryRelease
from leastnoise.releases.table_set import table_name
from leastnoise.report.sentences import short_guarantee
from leastnoise.report.shown import Shown

MOST_FILES = 500  # looked at


class Unsaved(str):
    """The name that a file may get: none that holds this was found."""

    __slots__ = ()


class Step(NamedTuple):
    """One thing to check: why, and what to type."""

    why: str
    code: str


def cite(of: Promised, name: str) -> str:
    """How to cite the release under the name of its page."""
    if isinstance(of, Estimate):
        source = "" if of.guarantee is None else f" from the differentially private release {of.id}"
        return f"{name}. Denoised with leastnoise {VERSION}{source}. {short_guarantee(of)}".strip()
    return (
        f"{name}. Differentially private release {of.id}, made {of.created_at:%Y-%m-%d} with leastnoise "
        f"{of.version}. {short_guarantee(of)}"
    )


def check(shown: Shown, file: str) -> list[Step]:
    """What to type to check the page, whose release is in this file."""
    of = shown.of
    steps = [check_file(file)]
    if isinstance(of, CrosstabsRelease):
        steps += _check_tables(shown)
    elif isinstance(of, SummaryRelease):
        first = next(iter(of))
        steps.append(
            Step(
                f"Every statistic is in it with every digit, {first} for example, and intervals that hold together:",
                f'print(r["{first}"].interval(0.95))\nprint(r.interval(0.95, simultaneous=True))\nprint(r.to_pandas())',
            )
        )
    steps += _guarantee(of)
    return [*steps, *([] if isinstance(of, Estimate) and of.guarantee is None else check_ledger(of))]


def check_file(name: str) -> Step:
    """What to type to read the file of this name."""
    which = f"The file that was saved of it, here {name}, says the same, and is read without anybody's data:"
    if isinstance(name, Unsaved):
        which = (
            f"This page was written before the release was saved. Once it is, for example as {name}, anyone can read "
            "it without access to the data:"
        )
    return Step(which, f'import leastnoise as ln\n\nr = ln.load("{name}")\nprint(r.explain())')


def _check_tables(shown: Shown) -> list[Step]:
    largest = tuple(column.name for column in max((table.columns for table in shown.tables), key=len))
    named = ", ".join(map(repr, largest)) or "()"
    why = f"Every table is in it with every digit, {table_name(largest)} for example:"
    return [Step(why, f"table = r[{named}]\nprint(table.interval(0.95))\nprint(table.to_pandas())")]


def _guarantee(of: Promised) -> list[Step]:
    """The guarantee computed anew, where the numbers of the file alone say what noise it needs."""
    guarantee = of.guarantee
    if guarantee is None:
        return []
    if isinstance(of, CrosstabsRelease):
        counted = of.mechanism == "gaussian" and of.weight is None and of.step == 1 and "max_rows" in of.limits
        if isinstance(guarantee, GaussianDP) and counted:  # its cost is a known function of the scales
            code = (
                f"cost = r.workload.squared_cost(r.scales, parts={of.limits['max_rows']}, "
                f"neighbours={guarantee.neighbours!r})\nprint(cost**0.5, r.guarantee)"
            )
            return [
                Step("The guarantee follows from the noise of all tables together, computed anew with proof:", code)
            ]
        return [check_guarantee(of)]
    plain = isinstance(of, Published) and not isinstance(of, Estimate)
    if isinstance(guarantee, GaussianDP) and plain and of.sensitivity is not None:
        code = (
            f"g = ln.GaussianDP.of(sigma={of.scale!r}, sensitivity={of.sensitivity!r})\n"  # type: ignore[attr-defined]
            f"print(g.to_approx(delta={of.delta or 1e-6!r}))"
        )
        return [Step("The guarantee follows from the noise, and is computed anew with proof:", code)]
    return [*_check_shown(of), check_guarantee(of)]


def check_guarantee(of: Promised) -> Step:
    """What to type to see what the guarantee means."""
    guarantee, strength = of.guarantee, of.strength
    found = "1 - g.tradeoff(0.05)"
    if strength is not None and strength.mu is not None:
        mu, chance = f"ln.{GaussianDP(strength.mu, guarantee.neighbours)!r}", strength.chance  # type: ignore[union-attr]
        found = f"min({found}, 1 - {mu}.tradeoff(0.05 + {chance!r}) + {chance!r})"
    return Step(
        "What the guarantee means, and what any attack can find at most at 5% false alarms:",
        f"g = ln.{guarantee!r}\nprint(g.explain())\nprint({found})",
    )


def _check_shown(of: Any) -> list[Step]:
    """What the noise of keys that nobody listed hides: all but the chance that a key of one unit's own shows, which is
    part of delta."""
    if not isinstance(of, Published) or isinstance(of, Estimate) or of.at_least is None:
        return []
    if of.sensitivity is None or of.l1_sensitivity is None:
        return []
    if of.mechanism == "laplace":
        typed = f"print({of.l1_sensitivity!r} / {of.scale!r})  # epsilon: the L1 sensitivity over the scale"
    else:
        typed = f"print(ln.GaussianDP.of(sigma={of.scale!r}, sensitivity={of.sensitivity!r}))  # in L2"
    counts = "What the noise of the counts guarantees, but for the chance that a key of one unit's own shows"
    return [Step(f"{counts}{_beside_total(of)}:", typed)]


def _beside_total(of: Published) -> str:
    """That the counts are one part of the guarantee, where a total of all keys is the other."""
    if not isinstance(of, Release) or of.all_keys is None:
        return ""
    total = f"the total of all keys, whose noise has standard deviation {rounded(of.all_keys.value_noise.std)}"
    return f". This is the counts' part of the guarantee above; the rest of it is for {total}"


def check_ledger(of: Promised) -> list[Step]:
    """What to type to find what was paid, where a budget paid: the ledger by its name, without its folder."""
    if of.ledger is None:
        return []
    return [
        Step(
            f"It was paid from a budget, whose ledger has its entry under {of.id}:",
            f"budget = ln.Budget.open({of.ledger!r})\nbudget.verify()\n"
            f"print([e for e in budget.history() if e.release == {of.id!r}])",
        )
    ]


def saved_file(page: str | os.PathLike[str], of: Promised, otherwise: str) -> str:
    """The name of the newest Parquet file of ours in the page's folder that holds this; `otherwise`, Unsaved, if none.

    An estimate has the id of its release, and is told from it.
    """
    try:
        found = sorted(path_of(page).absolute().parent.glob("*.parquet"), key=os.path.getmtime, reverse=True)
    except OSError:
        return Unsaved(otherwise)
    for path in found[:MOST_FILES]:
        try:
            facts = outputs.facts(path)
        except ValueError:
            continue
        if facts is not None and ("estimate" in facts["what"]) == isinstance(of, Estimate) and _has_id(facts, of.id):
            return path.name
    return Unsaved(otherwise)


def _has_id(facts: Any, release: str) -> bool:
    """Whether it is about this release: others may name it as the one that proposed their limits."""
    if isinstance(facts, dict):
        return (bool(release) and facts.get("id") == release) or any(_has_id(each, release) for each in facts.values())
    return isinstance(facts, list) and any(_has_id(each, release) for each in facts)
