"""The first picture of the README: `python docs/theme/hero_picture.py` draws it again.

A table of made-up people as published, denoised, and in truth. It is one of several that were released together, with
seeded noise, so that the picture repeats.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import PowerNorm

import leastnoise as ln
from leastnoise import datasets, testing

PICTURE = Path(__file__).resolve().parents[1] / "img" / "hero.png"
AGES = range(90)  # that are shown
TOP = 300  # people, from which on a cell has the darkest colour
EPSILON, DELTA, SEED = 0.5, 1e-6, 1
INK, MUTED = "#15181c", "#5b6470"


def main() -> None:
    register, keys = datasets.people(), datasets.people_keys()
    query = ln.table(register, unit="person").crosstabs(ways=2, keys=keys, max_rows=1, other=False)
    with testing.seeded(SEED):
        release = query.release(epsilon=EPSILON, delta=DELTA)
    if not isinstance(release, ln.CrosstabsRelease):
        raise TypeError("a set of tables is a CrosstabsRelease")
    estimate = release.denoise()["age", "job"]
    frame = register.to_pandas()
    jobs = frame.groupby("job")["age"].mean().sort_values().index.tolist()
    cells = np.ix_(list(AGES), [keys["job"].index(job) for job in jobs])  # ages begin at 0, so a key is its position
    truth = frame.groupby(["age", "job"]).size().unstack(fill_value=0)
    panels = {
        "Published": (
            release["age", "job"].to_numpy()[cells],
            f"typical error ±{release['age', 'job'].std:.0f} people",
        ),
        "Denoised": (estimate.to_numpy()[cells], f"typical error ±{estimate.rmse:.0f} people, no privacy cost"),
        "Truth": (
            truth.reindex(index=list(AGES), columns=jobs, fill_value=0).to_numpy(),
            "for comparison; never published",
        ),
    }
    draw(panels, jobs, f"one of {len(release)} tables released together")


def draw(panels: dict[str, tuple[np.ndarray, str]], jobs: list[str], of_set: str) -> None:
    figure, axes = plt.subplots(1, 3, figsize=(12.5, 6.6), sharey=True)
    figure.subplots_adjust(left=0.065, right=0.93, top=0.795, bottom=0.21, wspace=0.085)
    text = {"ha": "left", "va": "top"}
    figure.text(0.02, 0.985, "Noise protects every person. Nearly half of the error can be removed again.", fontsize=18,
                fontweight="bold", color=INK, **text)  # fmt: skip
    subtitle = f"People by age and job in a made-up town of 50,000, published with epsilon = {EPSILON}; {of_set}"
    figure.text(0.02, 0.927, subtitle, fontsize=11, color=MUTED, **text)
    norm = PowerNorm(0.5, vmin=0, vmax=TOP, clip=True)
    extent = (-0.5, len(jobs) - 0.5, AGES.start - 0.5, AGES.stop - 0.5)
    for axis, (name, (values, error)) in zip(axes, panels.items(), strict=True):
        image = axis.imshow(values, aspect="auto", cmap="Blues", norm=norm, origin="lower", extent=extent)
        axis.text(0, 1.075, name, transform=axis.transAxes, fontsize=14, fontweight="bold", color=INK)
        axis.text(0, 1.02, error, transform=axis.transAxes, fontsize=11, color=MUTED)
        axis.set_xticks(range(len(jobs)), jobs, rotation=45, ha="right", rotation_mode="anchor", fontsize=9)
        axis.tick_params(length=0)
        axis.spines[:].set_visible(False)
    axes[0].set_ylabel("age")
    legend = figure.add_axes((0.945, 0.31, 0.01, 0.38))
    bar = figure.colorbar(image, cax=legend, ticks=[0, 30, 100, 200, TOP])
    bar.ax.set_yticklabels(["0", "30", "100", "200", f"{TOP}+"], fontsize=9)
    bar.ax.set_title("people", fontsize=9, loc="left")
    bar.ax.tick_params(length=0)
    bar.outline.set_visible(False)
    note = "Example data with a fixed random seed. Negative noisy counts are drawn as 0."
    figure.text(0.02, 0.02, note, fontsize=9, color=MUTED)
    figure.savefig(PICTURE, dpi=100)


if __name__ == "__main__":
    main()
