"""What every picture shares: where it is drawn, its colours, its caption.

Colours are Okabe & Ito's, which every kind of colour vision can tell apart. Lightness, line style or place repeat what
they say, so that a grey print loses nothing.
"""

from __future__ import annotations

import textwrap
import warnings
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from leastnoise import errors
from leastnoise._support.validation import Floats, Number
from leastnoise.privacy.guarantee import ApproxDP, GaussianDP, Guarantee
from leastnoise.releases.column_labels import labelled_facts
from leastnoise.releases.display import TOO_FEW
from leastnoise.releases.left_out import left_out_in_short
from leastnoise.releases.promised import Promised
from leastnoise.releases.published import Published

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, ORANGE, SKY, GREEN = "#0072B2", "#D55E00", "#56B4E9", "#009E73"
INK, QUIET, FAINT = "#222222", "#6b6b6b", "#d9d9d9"
LETTERS_PER_INCH, LEAST_LETTERS = 16.5, 34  # of the caption's type, and of a line
PAD = 8  # pixels between a figure's edges and what is in it


def check_installed() -> None:
    """Raise MissingPackage where there is no matplotlib: before anything is imported from it."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise errors.MissingPackage.named("matplotlib", "A picture", extra="plot") from None


def figure(
    width: float = 6.4, height: float = 4.0, layout: Literal["constrained", "compressed"] = "constrained"
) -> Any:
    """A new Figure that belongs to nobody else."""
    check_installed()
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout=layout, dpi=100, facecolor="white")


def axes(ax: Axes | None, width: float = 6.4, height: float = 4.0) -> Axes:
    """The Axes given, or those of a new figure, without its box."""
    ax = figure(width, height).add_subplot() if ax is None else ax
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(QUIET)
    ax.tick_params(colors=QUIET, labelsize=9, labelcolor=INK)
    ax.xaxis.label.set(fontsize=9.5, color=INK)
    ax.yaxis.label.set(fontsize=9.5, color=INK)
    return ax


def heading(ax: Axes, text: str) -> None:
    """The picture's one sentence, above it."""
    ax.set_title(text, loc="left", fontsize=11, fontweight="bold", color=INK, pad=10)


def caption(ax: Axes, text: str, *, below: float = 36.0, inches: float | None = None) -> None:
    """Units, noise and guarantee, below the picture; `below` in points, in lines of so many inches, or shorter ones
    where labels leave less room."""
    figure = ax.figure.get_figure(root=True)
    wide = inches or figure.get_size_inches()[0] * ax.get_position().width
    note = ax.annotate(
        wrapped(text, wide),
        xy=(0, 0),
        xycoords="axes fraction",
        xytext=(0, -below),
        textcoords="offset points",
        va="top",
        fontsize=8,
        color=QUIET,
        linespacing=1.35,
    )
    room = figure.bbox.width - _left(ax) - PAD
    while note.get_window_extent().width > room and LETTERS_PER_INCH * wide > LEAST_LETTERS:
        wide *= 0.97
        note.set_text(wrapped(text, wide))


def _left(ax: Axes) -> float:
    """How far right of the figure's edge the picture begins at least, in pixels: its labels are left of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # letters that the font lacks are told when it is drawn
        labels = ax.yaxis.get_tightbbox()
    moved = ax.figure.get_figure(root=True).get_layout_engine() is not None  # when it is drawn, as labels need
    return float(ax.bbox.x0 if not moved or labels is None else ax.bbox.x0 - labels.x0)


def wrapped(text: str, wide: float) -> str:
    """A caption in lines of so many inches."""
    return "\n".join(textwrap.wrap(text, max(LEAST_LETTERS, int(LETTERS_PER_INCH * wide))))


def promise(guarantee: Guarantee | None, delta: float | None = None) -> str:
    """A guarantee in one clause."""
    if guarantee is None:
        return "guarantee unknown"
    if isinstance(guarantee, GaussianDP):
        at = guarantee.to_approx(delta=delta or 1e-6)
        return f"{guarantee.mu:.4g}-GDP, that is ({at.epsilon:.4g}, {at.delta:g})-DP"
    if isinstance(guarantee, ApproxDP):
        return f"({guarantee.epsilon:.4g}, {guarantee.delta:g})-DP"
    return f"{guarantee.to_pure().epsilon:.4g}-DP"


def noise_and_promise(release: Published) -> str:
    """The noise of a release and its guarantee, for the caption."""
    words = release.mechanism_in_words
    noise = f"{words[0].upper()}{words[1:]}, {release.spread_in_words(4)}"
    told = f"{noise}; {promise(release.guarantee, release.delta)}.{weak(release)}{seeded(release)}{left_out(release)}"
    return f"{told} {release._others_in_words()}".strip()


def left_out(release: Published) -> str:
    """Which rows are not in the numbers, for the caption; nothing where all are."""
    short = left_out_in_short(labelled_facts(release.left_out, release.provenance.labels), release.provenance.whom)
    return f" {short}" if short else ""


def intervals(of: Promised, confidence: Number, marks: str = "Lines") -> str:
    """What the lines or bands of a picture are, for its caption, and what they do not cover."""
    told = f"{marks} are {100 * float(confidence):g} % intervals."
    return f"{told} {of.provenance.covered_in_words('They')}" if of.left_out else told


def weak(of: Published) -> str:
    """The word for a weak promise, for the caption; nothing of others."""
    return "" if of.strength is None or not of.strength.is_weak else f" This promise {of.strength.verb_and_band}."


def too_few(values: Floats) -> str:
    """What a caption says of means that cannot be told."""
    return f" Bins without a mark are {TOO_FEW}." if np.isnan(values).any() else ""


def seeded(release: Published) -> str:
    """The warning of a caption, where the noise came from a test's seed."""
    return " SEEDED: hides nothing." if release.seeded else ""
