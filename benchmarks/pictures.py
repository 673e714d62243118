"""The two figures of results.md, drawn from the CSV files beside them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from programme import BENCHMARKS

BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#666666"  # Okabe & Ito: told apart by every eye
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#999999")
MARKERS = "osD^vP*X"


def draw(folder: Path) -> None:
    import matplotlib as mpl

    with mpl.rc_context({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "svg.hashsalt": "0"}):
        _ratios(folder)
        _growth(folder)


def _ratios(folder: Path) -> None:
    """Peers' wall time over ours, a mark each, on a logarithmic axis; a square where they are faster."""
    import matplotlib.pyplot as plt

    heads = []
    for name in BENCHMARKS:
        if (folder / f"{name}.json").is_file():
            heads += json.loads((folder / f"{name}.json").read_text())["headlines"]
    shown = [(h["what"].replace("'s time / ours", ""), h["ratio"]) for h in heads if h["what"].endswith("time / ours")]
    if not shown:
        return
    shown.sort(key=lambda pair: pair[1])
    figure, axes = plt.subplots(figsize=(7, 0.6 + 0.26 * len(shown)), layout="constrained")
    for row, (_, ratio) in enumerate(shown):
        faster = ratio >= 1
        colour = BLUE if faster else ORANGE
        axes.plot([1, ratio], [row, row], color=colour, lw=1.5, solid_capstyle="round")
        axes.plot(ratio, row, "o" if faster else "s", color=colour)
        place = {"textcoords": "offset points", "va": "center", "color": GREY}
        axes.annotate(f"{ratio:,.0f}" if ratio >= 1000 else f"{ratio:.3g}", (max(ratio, 1), row), (6, 0), **place)
    axes.axvline(1, color=GREY, lw=0.8)
    axes.set(xscale="log", yticks=range(len(shown)), yticklabels=[what for what, _ in shown])
    axes.set_xlabel("their time / ours (right of 1: ours is faster)")
    axes.margins(x=0.1)
    figure.savefig(folder / "ratios.png", dpi=110, metadata={"Software": ""})
    plt.close(figure)


def _growth(folder: Path) -> None:
    import matplotlib.pyplot as plt

    path = folder / "growth.csv"
    if not path.is_file():
        return
    with path.open() as file:
        rows = list(csv.DictReader(file))
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for i, row in enumerate(rows):
        sizes = [float(size) for size in row["sizes"].split()]
        times = [float(row[place]) for place in ("smallest", "second", "third", "largest") if row.get(place)]
        label = f"{row['what']} (slope {float(row['slope']):.2f})"
        axes.loglog(sizes, times, marker=MARKERS[i % 8], color=COLOURS[i % 8], ls="-" if i < 8 else "--", label=label)
    axes.set(xlabel="size", ylabel="seconds of processor")
    axes.grid(alpha=0.2)
    figure.legend(loc="outside right upper", frameon=False, fontsize=7)
    figure.savefig(folder / "growth.png", dpi=110, metadata={"Software": ""})
    plt.close(figure)
