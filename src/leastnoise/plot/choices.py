"""How a denoiser chose: the path of penalties with its estimated errors, and the weights of a mixture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from leastnoise import errors
from leastnoise._support.number_format import percent
from leastnoise.plot import canvas
from leastnoise.plot.canvas import BLUE, INK, ORANGE, QUIET

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from leastnoise.releases.estimate import Estimate


class Path(Protocol):
    """Penalties tried, and for each Stein's unbiased estimate of the error and the degrees of freedom."""

    @property
    def penalties(self) -> Any: ...
    @property
    def sure(self) -> Any: ...
    @property
    def degrees_of_freedom(self) -> Any: ...


def path(path: Path, *, ax: Axes | None = None) -> Axes:
    """Estimated error against the penalty, the least marked; above it, how many parameters each penalty leaves."""
    penalties = np.asarray(path.penalties, dtype=float)
    order = np.argsort(penalties)
    penalties = penalties[order]
    sure, free = (np.asarray(column, dtype=float)[order] for column in (path.sure, path.degrees_of_freedom))
    ax = canvas.axes(ax)
    ax.plot(penalties, sure, color=BLUE, linewidth=1.8, marker=".", markersize=5)
    best = int(np.nanargmin(sure))
    ax.plot(penalties[best], sure[best], "o", color=ORANGE, markersize=8)
    ax.axvline(penalties[best], color=QUIET, linewidth=0.8, linestyle=(0, (4, 3)))
    if penalties[0] > 0:
        ax.set_xscale("log")
    ax.set_xlabel("penalty")
    ax.set_ylabel("estimated squared error per bin (SURE)")
    _freedom(ax, penalties, free)
    canvas.heading(ax, "The penalty with the least estimated error")
    canvas.caption(
        ax,
        f"Penalty {penalties[best]:.4g}: {free[best]:,.0f} degrees of freedom, estimated squared error "
        f"{sure[best]:.4g}. Each estimate is unbiased by itself and made without the truth.",
    )
    return ax


def _freedom(ax: Axes, penalties: Any, free: Any) -> None:
    """The same axis once more on top, in degrees of freedom."""
    top = ax.twiny()
    top.set(xscale=ax.get_xscale(), xlim=ax.get_xlim())
    top.spines[["right", "left", "bottom"]].set_visible(False)
    top.spines["top"].set_color(QUIET)
    if penalties[0] > 0:
        places = np.geomspace(penalties[0], penalties[-1], 6)
        left = np.interp(np.log(places), np.log(penalties), free)
    else:
        places = np.linspace(penalties[0], penalties[-1], 6)
        left = np.interp(places, penalties, free)
    top.minorticks_off()
    top.set_xticks(places, [f"{max(0.0, count):,.0f}" for count in left])  # an estimate may fall below none
    top.tick_params(colors=QUIET, labelsize=8.5, labelcolor=QUIET)
    top.set_xlabel("degrees of freedom", fontsize=8.5, color=QUIET)


def weights(estimate: Estimate, *, ax: Axes | None = None) -> Axes:
    """What a mixture is made of: the weight of each candidate, largest first."""
    shares = estimate.parameters.get("weights")
    if not isinstance(shares, Mapping) or not shares:
        raise errors.InvalidParameter(
            f'{estimate.method} is one estimator, not a mixture, so it has no weights. Draw those of denoise("auto").'
        )
    rows = sorted(shares.items(), key=lambda item: item[1])
    ax = canvas.axes(ax, 6.4, 1.5 + 0.42 * len(rows))
    ax.barh([name for name, _ in rows], [100 * share for _, share in rows], height=0.62, color=BLUE)
    for place, (_, share) in enumerate(rows):
        ax.annotate(
            percent(share),
            (100 * share, place),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
            color=INK,
        )
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(-0.7, max(2, len(rows)) - 0.3)
    ax.set_xlim(0, 100 * min(1.15, 1.25 * max(shares.values())))
    ax.set_xlabel("weight in the mixture, %")
    canvas.heading(ax, "What the estimate is made of")
    left = f" Estimated error of a bin {estimate.rmse_in_words()}; it was {estimate.std:.4g}."
    canvas.caption(ax, f"{estimate.bins:,} values.{left} Chosen for the least risk.")
    return ax
