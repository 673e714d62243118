"""The predicted error of limits: what they leave out, the noise that they need, and both together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leastnoise.plot import canvas
from leastnoise.plot.canvas import BLUE, GREEN, INK, ORANGE, QUIET
from leastnoise.releases.limit_errors import kept_in_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from leastnoise.releases.limit_suggestion import LimitSuggestion


def limits(suggestion: LimitSuggestion, *, ax: Axes | None = None) -> Axes:
    """Predicted error of a bin against max_rows, each with its best max_per_bin; the proposal is marked.

    suggestion: what `Table.suggest_limits` gave, or `ln.load`. ax: where to draw; left out, in a new figure.
    """
    table, errors = suggestion._columns(), suggestion.errors
    best = errors.best
    ax = canvas.axes(ax)
    ax.plot(table["max_rows"], table["error"], color=BLUE, linewidth=2.2, label="both together")
    ax.plot(table["max_rows"], table["bias"], color=ORANGE, linewidth=1.4, linestyle="--", label="rows left out")
    ax.plot(table["max_rows"], table["noise"], color=GREEN, linewidth=1.4, linestyle=":", label="noise")
    ax.plot(errors.max_rows[best], errors.error[best], "o", color=INK, markersize=7)
    ax.axvline(errors.max_rows[best], color=QUIET, linewidth=0.8, linestyle=(0, (4, 3)))
    ax.set_xscale("log")
    ax.set_yscale("log")
    # What is left out falls to nothing, and a thirtieth of the error no longer matters.
    ax.set_ylim(bottom=float(errors.error[best]) / 30)
    ax.set_xlabel("max_rows, with the best max_per_bin")
    ax.set_ylabel("off by, root mean square of a bin")
    ax.legend(frameon=False, fontsize=9, labelcolor=INK)
    canvas.heading(ax, f"Proposed: {suggestion.limits_in_words()}")
    kept = kept_in_words(suggestion.kept, *suggestion.kept_interval)
    canvas.caption(
        ax,
        f"It keeps about {kept} of the rows. Predicted from counts of units, "
        + ("" if suggestion.earlier is None else f"{len(suggestion.looks)} looks, the last with ")
        + f"{suggestion.noise.mechanism.capitalize()} noise; {canvas.promise(suggestion.guarantee, suggestion.delta)}."
        + (" SEEDED: hides nothing." if suggestion.seeded else ""),
    )
    return ax
