"""A budget over time: what was spent, by which release, and what is left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from leastnoise._support.spending_steps import steps
from leastnoise.plot import canvas
from leastnoise.plot.canvas import BLUE, GREEN, ORANGE, QUIET

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class BudgetHistory(Protocol):
    """What is read of a budget."""

    @property
    def terms(self) -> Any: ...
    def history(self) -> list[Any]: ...


CAPS = (
    ("gaussian", "Gaussian (mu²)", BLUE, "-"),
    ("pure", "Laplace (epsilon)", ORANGE, "--"),
    ("threshold", "unknown keys (delta)", GREEN, ":"),
)


def budget(budget: BudgetHistory, *, ax: Axes | None = None) -> Axes:
    """The share of each cap that is spent, entry by entry: nothing may pass 100 %. Hatched: what allocations hold.

    By date where the history is longer than a day, else by the number of the entry: releases come in bursts.
    """
    entries, terms = budget.history(), budget.terms
    ax = canvas.axes(ax)
    times = _times(entries, ax)
    for name, label, colour, style in CAPS:
        drawn = steps(entries, name)
        spent, used = (np.append(stairs, stairs[-1]) for stairs in (drawn.booked, drawn.released))
        if not spent.any() or not _counts(name, entries, terms):
            continue
        if (spent > used).any():
            ax.fill_between(
                times, used, spent, step="post", facecolor="none", edgecolor=colour, alpha=0.5, linewidth=0,
                hatch="////", label=f"{label}: allocated, not released",
            )  # fmt: skip
        ax.step(times, spent, where="post", color=colour, linewidth=2, linestyle=style, label=label)
        ax.fill_between(times, spent, step="post", color=colour, alpha=0.08, linewidth=0)
        end = (times[-1], spent[-1])
        ax.annotate(f"{spent[-1]:.4g} %", end, xytext=(5, 0), textcoords="offset points", va="center", fontsize=9)
    ax.axhline(100, color=QUIET, linewidth=1)
    ax.set(ylim=(0, 108), xlim=(times[0], times[-1] + 0.1 * (times[-1] - times[0])))
    ax.set_ylabel("spent, % of the cap")
    if len(ax.get_legend_handles_labels()[0]) > 1:
        ax.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(0, 0.92))
    whom = f"one {terms.unit}" if terms.unit else "one unit"
    canvas.heading(ax, "The budget, and what is left of it")
    when = (
        f" First {entries[0].created_at:%Y-%m-%d}, last {entries[-1].created_at:%Y-%m-%d}."
        if entries
        else " No release yet."
    )
    canvas.caption(
        ax,
        f"All releases together: epsilon = {float(terms.epsilon):g}, delta = {float(terms.delta):g} for {whom} "
        f"({terms.neighbours}).{when}",
    )
    return ax


def _counts(cap: str, entries: list[Any], terms: Any) -> bool:
    """Whether the cap still says what may be spent, where Laplace releases alone may spend all of epsilon instead."""
    if not terms.pure_instead:
        return True
    if cap == "pure":
        return all(entry.pure for entry in entries if entry.kind == "release")
    return all(sum(getattr(entry, name) for entry in entries) <= 1 for name in ("gaussian", "threshold"))


def _times(entries: list[Any], ax: Axes) -> Any:
    """Where each entry lies, the opening first, and a little beyond the last."""
    if not entries or (entries[-1].created_at - entries[0].created_at).days < 1:
        ax.set_xlabel("entry in the ledger")
        ax.locator_params(axis="x", integer=True)
        return np.append(np.arange(len(entries) + 1.0), len(entries) + 0.5)
    from matplotlib import dates as untyped

    dates: Any = untyped
    locator = dates.AutoDateLocator()
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))
    ax.set_xlabel("date (UTC)")
    made = np.asarray(dates.date2num([entry.created_at for entry in entries]))
    return np.concatenate([made[:1], made, made[-1:] + 0.03 * (made[-1] - made[0])])
