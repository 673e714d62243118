"""The picture of a table as published, denoised and in truth: `python docs/theme/tables_picture.py` draws it anew.

The noise is seeded, so that the picture repeats; the people are made up. What it shows is one table of the set that was
released together.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import PowerNorm

import leastnoise as ln
from leastnoise import datasets, testing

PICTURE = Path(__file__).resolve().parents[1] / "img" / "tables.png"
AGES = range(16, 86)  # that are shown
EPSILON, DELTA, SEED = 0.5, 1e-6, 1


def main() -> None:
    register = datasets.people()
    keys = datasets.people_keys()
    jobs = sorted(keys["job"])
    order = np.ix_(list(AGES), [keys["job"].index(job) for job in jobs])  # ages are from 0, so a key is its position
    people = ln.table(register, unit="person")
    query = people.crosstabs(ways=2, keys=keys, max_rows=1, other=False)
    with testing.seeded(SEED):
        release = query.release(epsilon=EPSILON, delta=DELTA)
    if not isinstance(release, ln.CrosstabsRelease):
        raise TypeError("a set of tables is a CrosstabsRelease")
    published, estimate = release["age", "job"].to_numpy()[order], release.denoise()["age", "job"].to_numpy()[order]
    frame = register.to_pandas()
    truth = frame.groupby(["age", "job"]).size().unstack(fill_value=0)
    exact = truth.reindex(index=list(AGES), columns=jobs, fill_value=0).to_numpy()
    panels = {"published": published, "denoised": estimate, "truth": exact}
    for name, found in panels.items():
        print(f"{name}: off by {np.sqrt(np.mean((found - exact) ** 2)):.1f}")
    caption = (
        f"One of {len(release)} tables released together at epsilon = {EPSILON}: noise of standard deviation "
        f"{release['age', 'job'].std:.1f} in a cell. SEEDED: hides nothing."
    )
    draw(panels, jobs, caption)


def draw(panels: dict[str, np.ndarray], jobs: list[str], caption: str) -> None:
    figure, axes = plt.subplots(1, 3, figsize=(10, 6), sharey=True, layout="constrained")
    scale = PowerNorm(0.5, vmin=0, vmax=float(np.quantile(panels["truth"], 0.98)), clip=True)
    extent = (-0.5, len(jobs) - 0.5, AGES.start - 0.5, AGES.stop - 0.5)
    for axis, (name, values) in zip(axes, panels.items(), strict=True):
        image = axis.imshow(values, aspect="auto", cmap="magma_r", norm=scale, origin="lower", extent=extent)
        axis.set_title(name, loc="left", fontweight="bold")
        axis.set_xticks(range(len(jobs)), jobs, rotation=90)
        axis.tick_params(length=0)
        axis.spines[:].set_visible(False)
    axes[0].set_ylabel("age")
    figure.colorbar(image, ax=axes, label="people", shrink=0.8, extend="max", ticks=[0, 10, 50, 100, 200])
    figure.supxlabel(caption, x=0.01, ha="left", fontsize="small", color="0.4")
    figure.savefig(PICTURE, dpi=100)


if __name__ == "__main__":
    main()
