"""The figures of results.md, drawn from the CSV files beside them."""

from __future__ import annotations

import csv
import json
import re
from functools import partial
from pathlib import Path
from statistics import geometric_mean

BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#666666"  # Okabe & Ito: told apart by every eye
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#999999")
MARKERS = "osD^vP*X"
DOCS = Path(__file__).resolve().parents[1] / "docs" / "img"


def draw(folder: Path) -> None:
    import matplotlib as mpl

    with mpl.rc_context({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "svg.hashsalt": "0"}):
        _ratios(folder)
        _growth(folder)
        _error_limits(folder, DOCS)
        _both_bounds(folder, DOCS)


SUBJECTS = {  # of which benchmarks each part of the picture of ratios is
    "one sigma": ("calibration",),
    "many releases together": ("composition",),
    "exact noise": ("draws",),
    "tables": ("histogram", "spark_peers"),
    "sets of tables": ("crosstabs_denoising",),
    "denoising": ("prior", "graph_solvers", "graphs"),
}


def _ratios(folder: Path) -> None:
    """Peers' wall time over ours by subject: a row for each job, a mark for each peer; a square where it is faster."""
    import matplotlib.pyplot as plt

    parts = {subject: _jobs(folder, names) for subject, names in SUBJECTS.items()}
    parts = {subject: jobs for subject, jobs in parts.items() if jobs}
    if not parts:
        return
    heights = [len(jobs) + 0.6 for jobs in parts.values()]
    figure, panels = plt.subplots(
        len(parts),
        figsize=(10, 0.9 + 0.27 * sum(heights)),
        sharex=True,
        layout="constrained",
        squeeze=False,
        height_ratios=heights,
    )
    for axes, (subject, jobs) in zip(panels[:, 0], parts.items(), strict=True):
        for row, peers in enumerate(jobs.values()):
            ordered = sorted(peers.items(), key=lambda pair: pair[1])
            for _, ratio in ordered:
                axes.plot(ratio, row, "o" if ratio >= 1 else "s", ms=5, color=BLUE if ratio >= 1 else ORANGE)
            names = " · ".join(
                f"{peer} {f'{ratio:,.0f}' if ratio >= 100 else f'{ratio:.2g}'}" for peer, ratio in ordered
            )
            axes.text(1.01, row, names, transform=axes.get_yaxis_transform(), va="center", color=GREY, fontsize=7)
        axes.axvline(1, color=GREY, lw=0.8)
        axes.set(xscale="log", yticks=range(len(jobs)), yticklabels=list(jobs), ylim=(len(jobs) - 0.4, -0.6))
        axes.set_title(subject, loc="left", fontsize=10, fontweight="bold")
        axes.grid(axis="x", alpha=0.2)
        axes.tick_params(length=0)
        axes.margins(x=0.08)
    panels[-1, 0].set_xlabel("their time / ours (right of 1: ours is faster; a geometric mean over several penalties)")
    figure.savefig(folder / "ratios.png", dpi=110, metadata={"Software": ""})
    plt.close(figure)


# How headlines say that a peer took so many times our time, and what the job is called in the picture.
TIMES = (
    (r"(?P<job>.*?)(, penalty x [0-9.]+|, [0-9]+ penalties)?: (?P<peer>.*)'s time / ours", "{}"),
    (r"(?P<peer>.*?)(_spark)?'s processor time / ours, on Spark, (?P<job>.*)", "on Spark, processor, {}"),
    (r"(?P<job>.*): times faster than (?P<peer>.*)", "denoised, {}"),
)


def _jobs(folder: Path, names: tuple[str, ...]) -> dict[str, dict[str, float]]:
    """For every job its peers' ratios; runs that differ in a penalty alone are one job."""
    seen: dict[str, dict[str, list[float]]] = {}
    for name in names:
        path = folder / f"{name}.json"
        for head in json.loads(path.read_text())["headlines"] if path.is_file() else []:
            for pattern, called in TIMES:
                if found := re.fullmatch(pattern, head["what"]):
                    seen.setdefault(called.format(found["job"]), {}).setdefault(found["peer"], []).append(head["ratio"])
                    break
    return {job: {peer: geometric_mean(many) for peer, many in peers.items()} for job, peers in seen.items()}


def _both_bounds(folder: Path, docs: Path) -> None:
    """What is proved enough and what is proved too small, the truth between them."""
    import matplotlib.pyplot as plt

    path = folder / "accounting_bounds.csv"
    if not path.is_file():
        return
    with path.open() as file:
        rows = list(csv.DictReader(file))
    figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
    for colour, name in zip(COLOURS, dict.fromkeys(row["of"] for row in rows), strict=False):
        shown = [row for row in rows if row["of"] == name and float(row["lower"]) > 1e-12]
        epsilons, upper, lower = ([float(row[key]) for row in shown] for key in ("epsilon", "upper", "lower"))
        axes.fill_between(epsilons, lower, upper, color=colour, alpha=0.35, lw=0)
        axes.plot(epsilons, upper, color=colour, lw=1, label=name)
        axes.plot(epsilons, lower, color=colour, lw=1, ls=":")
    axes.axhline(1e-6, color=GREY, lw=0.8)
    axes.set(yscale="log", ylim=(1e-10, 1), xlim=(0, 6), xlabel="epsilon", ylabel="delta")
    axes.legend(frameon=False, title="proved enough (dotted: proved too small), to 3 % at delta = 1e-6")
    figure.savefig(docs / "accounting.png", dpi=110, metadata={"Software": ""})
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


KINDS = {
    "path": ("o", "8 histograms, 4,096 bins"),
    "grid": ("s", "5 histograms, 65,536 bins"),
    "map": ("^", "5 maps, 3,744 or 3,874 bins"),
    "few": ("x", "24 made-up truths, 6 to 1,000 bins"),
}
LAWS = {"gaussian": (BLUE, "Gaussian noise"), "laplace": (ORANGE, "Laplace noise")}


def _error_limits(folder: Path, docs: Path) -> None:
    """Every truth and noise level: the limit of the error beside the error, and how many bins intervals cover."""
    import matplotlib.pyplot as plt

    path = folder / "error_limits.csv"
    if not path.is_file():
        return
    with path.open() as file:
        rows = list(csv.DictReader(file))
    draws = sum(int(row["draws"]) for row in rows)
    held = sum(float(row["limit held"]) * int(row["draws"]) for row in rows) / draws
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.6), layout="constrained")
    for kind, (marker, _) in KINDS.items():
        for law, (colour, _) in LAWS.items():
            mine = [row for row in rows if (row["kind"], row["noise"]) == (kind, law)]
            look = {"marker": marker, "s": 26, "linewidths": 1.1, "alpha": 0.85}
            look |= {"color": colour} if marker == "x" else {"facecolors": "none", "edgecolors": colour}
            column = partial(_column, mine)
            left.scatter([max(x, 1e-3) for x in column("RMSE / sigma")], column("limit / sigma"), **look)
            right.scatter(column("length / raw"), [100 * share for share in column("covered")], **look)
    left.plot([1e-3, 1.2], [1e-3, 1.2], color=GREY, lw=0.8)
    left.set(xscale="log", yscale="log", xlim=(8e-4, 1.5), ylim=(0.04, 4))
    left.set_xlabel("true error / noise (RMSE, mean of the draws)")
    left.set_ylabel("95 % limit of the error / noise")
    left.set_title(f"The limit held in {100 * held:.1f} % of {draws:,} draws", loc="left", fontsize=11)
    right.axhline(95, color=GREY, lw=0.8)
    right.set_xlabel("length of the intervals / that of the raw ones")
    right.set_ylabel("bins covered, %")
    asked = sum(int(row["draws with intervals"]) for row in rows)
    covered = sum(float(row["covered"]) * int(row["draws with intervals"]) for row in rows) / asked
    right.set_title(f"95 % intervals covered {100 * covered:.1f} % of the bins", loc="left", fontsize=11)
    marks = [plt.Line2D([], [], ls="", marker=m, mfc="none", color=GREY, label=label) for m, label in KINDS.values()]
    marks += [plt.Line2D([], [], ls="", marker="o", color=colour, label=label) for colour, label in LAWS.values()]
    figure.legend(handles=marks, loc="outside lower center", ncols=3, frameon=False)
    for place in (folder, docs):
        figure.savefig(place / "error_limits.png", dpi=130, metadata={"Software": ""})
    plt.close(figure)


def _column(rows: list[dict[str, str]], name: str) -> list[float]:
    return [float(row[name]) for row in rows]
