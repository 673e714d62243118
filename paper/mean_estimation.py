"""Figure 1, right, and Figure 3, right: the private mean of 500 vectors, L2 error against the dimension.

Above the error itself; below the same over the analytic Gaussian mechanism's, where denoisers can be told apart.
"""

from __future__ import annotations

import methods
import numpy as np
import style
from claims import Claim, clearly_above, settings, standing, verdict
from matplotlib.figure import Figure
from trials import Row, best, column, over, shown, steps, summary, the, where

import leastnoise as ln

PEOPLE, DELTA = 500, 1e-4
EPSILONS = (1, 0.1, 0.01)
PAPERS = ("Lap", "cGM", "aGM", "JS", "TH")
METHODS = (*PAPERS, "ours")
HIGH = 10_000


def measure(quick: bool) -> list[Row]:
    dimensions = (3, 10, 300, HIGH) if quick else (3, 10, 30, 100, 300, 1000, 3000, HIGH, 30_000)
    rows = []
    for d in steps(dimensions, "dimension"):
        repetitions = (40 if d < 100 else 6) if quick else 100 if d <= 300 else 30
        errors = [_errors(np.random.default_rng([2, d, i]), d) for i in range(repetitions)]
        seen = {key: [e[key] for e in errors] for key in errors[0]}
        for (epsilon, method), samples in seen.items():
            row = {"epsilon": epsilon, "dimension": d, "method": method, **summary(samples)}
            if method == "ours":
                row |= over(samples, seen[best(seen, [(epsilon, m) for m in PAPERS])])
            elif method in PAPERS and np.mean(seen[epsilon, "ours"]) > row["mean"]:
                row |= over(seen[epsilon, "ours"], samples, "ours over it")
            rows.append(row)
    return rows


def _errors(rng: np.random.Generator, d: int) -> dict[tuple[float, str], float]:
    """One dataset, and every mechanism on it."""
    truth = rng.standard_normal(d)  # the centre
    for _ in range(PEOPLE // 50):
        truth += (rng.random((50, d), dtype=np.float32) - 0.5).sum(axis=0) / PEOPLE
    sensitivity, l1 = np.sqrt(d) / PEOPLE, d / PEOPLE
    errors = {}
    for epsilon in EPSILONS:
        promise = {"epsilon": epsilon, "delta": DELTA, "sensitivity": sensitivity}
        exact, best = methods.gaussian(**promise), methods.least(**promise, l1_sensitivity=l1)
        noisy = truth + exact.draw(rng, d)
        ours = noisy if best.mechanism == "gaussian" else truth + best.draw(rng, d)
        found = {
            "Lap": truth + methods.laplace(epsilon=epsilon, l1_sensitivity=l1).draw(rng, d),
            "cGM": truth + methods.classical(**promise).draw(rng, d),
            "aGM": noisy,
            "JS": methods.james_stein(noisy, exact.std),
            "JS+": ln.denoise.james_stein(noisy, exact.std).values,
            "TH": methods.soft_threshold(noisy, exact.std),
            "ours": ln.denoise.auto(ours, best.std, mechanism=best.mechanism).values,
        }
        errors |= {(epsilon, name): float(np.linalg.norm(values - truth)) for name, values in found.items()}
    return errors


def draw(rows: list[Row]) -> Figure:
    figure, (above, below) = style.panels(2, 3, 4.7, sharey="row", sharex=True)
    for top, bottom, epsilon in zip(above, below, EPSILONS, strict=True):
        plain = column(where(rows, epsilon=epsilon, method="aGM"), "mean")
        for method in METHODS:
            some = where(rows, epsilon=epsilon, method=method)
            d, mean, error = (column(some, name) for name in ("dimension", "mean", "error"))
            curve = style.curve if method != "cGM" or epsilon < 1 else _dashed
            curve(top, method, d, mean, error)
            if method != "Lap":
                curve(bottom, method, d, mean / plain, error / plain)
        top.set(xscale="log", yscale="log", title=f"ε = {epsilon:g}")
        bottom.set(xscale="log", yscale="log", xlabel="dimension d", ylim=(0.015, 5))
        bottom.set_yticks([0.02, 0.1, 0.5, 1, 2, 4], ["0.02", "0.1", "0.5", "1", "2", "4"])
    above[0].set_ylabel(r"$L_2$ error of the private mean")
    below[0].set_ylabel("... over the analytic Gaussian's")
    style.legend_below(figure, above[1], 3)
    return figure


def _dashed(ax: object, method: str, *values: object) -> None:
    style.curve(ax, method, *values, linestyle=(0, (2, 2)))


def beside(rows: list[Row]) -> str:
    """How our curve stands beside each of the paper's."""
    theirs = {style.LOOKS[name].label: where(rows, method=name) for name in PAPERS}
    return standing(where(rows, method="ours"), theirs, lambda row: f"ε = {row['epsilon']:g}, d = {row['dimension']:,}")


def claims(rows: list[Row]) -> list[Claim]:
    top = max(row["dimension"] for row in rows)
    low = {m: the(rows, epsilon=0.01, dimension=HIGH, method=m) for m in METHODS}
    sizes = sorted({row["dimension"] for row in rows})
    least = sizes[0]
    few, cut_few = (the(rows, epsilon=0.01, dimension=least, method=m) for m in ("aGM", "TH"))
    ahead = [_denoised_ahead(rows, d) for d in sizes]
    ratio = low["cGM"]["mean"] / low["JS"]["mean"]
    wide = [row for row in where(rows, method="aGM") if row["dimension"] >= 100]
    seen = [row for row in wide if row["dimension"] >= 1000]
    better = [_beats(rows, row, "JS", "TH") for row in seen]
    zero = the(rows, epsilon=0.01, dimension=top, method="TH")
    drowned = the(rows, epsilon=0.01, dimension=top, method="JS")
    gain = {(r["epsilon"], r["dimension"]): r["mean"] / _better(rows, r) for r in seen}
    halved = [ratio >= 2 for ratio in gain.values()]
    gains = {e: gain[e, HIGH] for e in EPSILONS}
    lost = [_gap(rows, row) for row in wide]
    pairs = [(row["epsilon"], row["dimension"]) for row in wide]
    found = [[the(rows, epsilon=e, dimension=d, method=m)["mean"] for m in ("ours", "JS")] for e, d in pairs]
    ratios = [one / theirs for one, theirs in found]
    ours = where(rows, method="ours")
    behind = clearly_above(ours)
    level = sum(r["over their best"] <= 1.02 for r in ours)
    cut = (
        the(rows, epsilon=1, dimension=HIGH, method="TH")["mean"]
        / the(rows, epsilon=1, dimension=HIGH, method="aGM")["mean"]
    )
    return [
        Claim(
            "At ε = 0.01 denoising improves on all other methods, sometimes by orders of magnitude",
            "§5.2, Figure 1",
            "d = 10⁴: "
            + ", ".join(f"{style.LOOKS[m].label} {shown(low[m])}" for m in METHODS)
            + f"; classical over James-Stein {ratio:.0f}",
            settings(ahead) if ratio > 10 else "no",
            f"at {sum(ahead)} of {len(ahead)} sizes; at d = {least} the threshold errs {shown(cut_few)}, the analytic "
            f"Gaussian {shown(few)}",
            "in part",
        ),
        Claim(
            "James-Stein is the better one in the high-dimensional setting",
            "§5.2, Figure 1",
            f"James-Stein beats the threshold in {sum(better)} of {len(better)} settings with d ≥ 1000: all with "
            f"ε ≥ 0.1 (d = {top:,}, ε = 0.1: {shown(the(rows, epsilon=0.1, dimension=top, method='JS'))} against "
            f"{shown(the(rows, epsilon=0.1, dimension=top, method='TH'))}); not at ε = 0.01 (d = {top:,}: "
            f"{shown(drowned)} against {shown(zero)})",
            settings(better),
            "where the noise drowns everything, the threshold answers zero and James-Stein still pays for guessing one "
            f"factor (its positive part: {shown(the(rows, epsilon=0.01, dimension=top, method='JS+'))})",
            "in part",
        ),
        Claim(
            "Points in an L∞ ball of radius 1: sensitivities √d/n and d/n of their mean",
            "§5.2",
            f"n = 500, d = 100: replacing a point by another moves it by up to {_moved(-1, 1):.4f} = 2√d/n (L1: "
            f"{_moved(-1, 1, 1):.4f}), taking it to the centre by {_moved(0, 1):.4f} = √d/n; the data, whose "
            f"coordinates lie within 1/2 of the centre, by {_moved(-0.5, 0.5):.4f}",
            verdict(_moved(-1, 1) <= 0.02 + 1e-12, _moved(-0.5, 0.5) <= 0.02 + 1e-12),
            "right for a ball of radius 1/2, which the data keep to, or for removing a person (the centre takes the "
            "place); replacing one within radius 1 needs twice as much. And the centre must be public, which x₀ is not",
            "in part",
        ),
        Claim(
            "Denoising dramatically improves the accuracy in the high-dimensional regime",
            "abstract",
            "the plain error over the better denoiser's at d = 10⁴: "
            + ", ".join(f"{gains[e]:.3g} (ε = {e:g})" for e in EPSILONS)
            + f"; over {len(halved)} settings with d ≥ 1000 it is halved in {sum(halved)}",
            settings(halved),
            "at ε = 1 the noise is no larger than the signal, and there is little to remove",
            "in part",
        ),
        Claim(
            "the threshold can hurt: dense vectors at ε = 1",
            "",
            f"d = 10⁴, ε = 1: {cut:.2f} times the error of the plain mechanism",
            verdict(cut > 1.2),
        ),
        Claim(
            "auto stays beside James-Stein, which is optimal here (a Gaussian prior)",
            "",
            f"with d ≥ 100 it loses at most {max(lost):.1%} of the plain error to it; in its own terms it is up to "
            f"{max(ratios):.2f} times James-Stein's error (at ε = 0.01, where little is left to lose)",
            verdict(max(lost) < 0.04),
        ),
        Claim(
            "least noise + auto is within 2 % of the best of the paper's methods, or below it",
            "",
            f"in {level} of {len(ours)} settings; above it by more than two standard errors of the paired ratio in "
            f"{len(behind)}: "
            + ", ".join(_ratio(r) for r in behind if r["over their best"] > 1.01)
            + ", others by 1 % "
            "at most",
            settings([r["over their best"] <= 1.02 for r in ours]),
            "the truth is drawn from the very prior for which James-Stein is right. A rule that must first find that "
            "out pays for it, most with ten to a hundred numbers; what is the best of five is known only afterwards",
            "in part",
        ),
    ]


def _ratio(row: Row) -> str:
    return f"{row['over their best']:.3f} ± {row['its error']:.3f} (ε = {row['epsilon']:g}, d = {row['dimension']:,})"


def _beats(rows: list[Row], at: Row, one: str, other: str) -> bool:
    mean = {m: the(rows, epsilon=at["epsilon"], dimension=at["dimension"], method=m)["mean"] for m in (one, other)}
    return bool(mean[one] <= mean[other])


def _denoised_ahead(rows: list[Row], d: int) -> bool:
    """Whether both denoisers are below every plain mechanism at epsilon = 0.01."""
    mean = {m: the(rows, epsilon=0.01, dimension=d, method=m)["mean"] for m in METHODS}
    return bool(max(mean["JS"], mean["TH"]) < min(mean["Lap"], mean["cGM"], mean["aGM"]))


def _better(rows: list[Row], at: Row) -> float:
    """The error of the better of the paper's two denoisers."""
    here = {"epsilon": at["epsilon"], "dimension": at["dimension"]}
    return min(float(the(rows, **here, method=m)["mean"]) for m in ("JS", "TH"))


def _moved(old: float, new: float, order: int = 2, d: int = 100) -> float:
    """How far the mean of 500 points moves when one of them, all of whose coordinates are `old`, becomes all `new`."""
    before, after = np.zeros((PEOPLE, d)), np.zeros((PEOPLE, d))
    before[0], after[0] = old, new
    return float(np.linalg.norm(after.mean(axis=0) - before.mean(axis=0), order))


def _gap(rows: list[Row], at: Row) -> float:
    """By how much of the plain error auto is behind James-Stein."""
    mean = {m: the(rows, epsilon=at["epsilon"], dimension=at["dimension"], method=m)["mean"] for m in ("ours", "JS")}
    return float((mean["ours"] - mean["JS"]) / at["mean"])
