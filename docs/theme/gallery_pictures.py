"""docs/img/page-*.png: the first screen of published pages, from the code that docs/gallery.md shows.

Needs Chromium. Run it after a change of the pages' look: python docs/theme/gallery_pictures.py
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from PIL import Image

import leastnoise as ln
from leastnoise import datasets

IMAGES = Path(__file__).resolve().parents[1] / "img"
WIDTH = 1000
HEIGHTS = {"visits": 900, "tables": 1000, "summary": 1000, "limits": 900, "budget": 800}


def pages(desk: Path) -> None:
    visits = ln.table(desk / "visits.csv", unit="person", types={"month": "int", "minutes": "float"})
    keys = ln.domain.read(desk / "visits.toml")
    budget = ln.Budget.open(desk / "city.ledger", epsilon=2, delta=1e-6, unit="person")
    by = {name: keys[name] for name in ("service", "month")}
    advice = visits.suggest_limits("service", "month", keys=by, budget=budget, share=0.05, for_share=0.2)
    advice.report(desk / "limits.html")
    counts = visits.histogram("service", "month", keys=by, **advice.limits).release(budget=budget, share=0.2)
    counts.report(desk / "visits.html", estimate=counts.denoise(), title="Visits by service and month")
    summary = visits.summarize(
        "service",
        keys=keys["service"],
        max_rows=20,
        visits=ln.stats.count(),
        waited=ln.stats.mean("minutes", clip=(0, 60)),
        long=ln.stats.rate("minutes > 30"),
    )
    made = summary.release(budget=budget, share=0.2, note="waiting times")
    made.report(desk / "summary.html", title="Visits and waiting times by service")
    budget.report(desk / "budget.html")
    people = ln.table(datasets.people(), unit="person")
    tables = people.crosstabs(ways=2, keys=datasets.people_keys(), max_rows=1).release(epsilon=1, delta=1e-6)
    tables.report(desk / "tables.html", estimate=tables.denoise(), title="Who lives where")


def main() -> None:
    desk = datasets.write_files()
    pages(desk)
    with tempfile.TemporaryDirectory() as folder:
        for name, height in HEIGHTS.items():
            picture = Path(folder, f"{name}.png")
            flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
            flags += [f"--window-size={WIDTH},{height}", "--virtual-time-budget=3000", f"--screenshot={picture}"]
            subprocess.run(["chromium", *flags, (desk / f"{name}.html").as_uri()], check=True, capture_output=True)
            Image.open(picture).convert("RGB").quantize(64).save(IMAGES / f"page-{name}.png", "PNG", optimize=True)


if __name__ == "__main__":
    main()
