"""`make paper`: every figure of the paper and what it leaves on the table, as PNG, PDF and CSV, and results.md.

    make paper                     all of it; what is up to date is kept, so an interrupted run goes on where it stopped
    make paper ONLY=taxi_maps      one figure
    make paper QUICK=1             few repetitions, in a minute: does every claim still point the same way?
    make paper OUT=folder          somewhere else than paper/figures

Each figure is a module with `measure(quick)`, the rows of its CSV; `draw(rows)`, the picture; and `claims(rows)`.
Figures and claims are functions of the rows. The exit code is 1 if a claim came out other than we know it; on the
synthetic city, which stands in where the real maps are absent, nothing is known and nothing judged.
"""

from __future__ import annotations

import ast
import hashlib
import os
import sys
import time
from importlib import import_module
from pathlib import Path
from types import ModuleType

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy: many small products, and threads would only wait

import page
import places
import style
import trials

import leastnoise

HERE = Path(__file__).parent
FIGURES = (
    "calibration",
    "errata",
    "mean_estimation",
    "histograms",
    "histogram_bound",
    "taxi_maps",
    "taxi_risk",
    "left_on_the_table",
    "real_histograms",
)
# Where numbers come from.
SOURCES = ("privacy/baselines.py", "privacy/calibration", "privacy/comparison.py", "datasets/taxi_city.py", "denoise", "graphs")


def main() -> int:
    quick = os.environ.get("QUICK", "") not in ("", "0")
    folder = Path(os.environ.get("OUT") or HERE / "figures" / ("quick" if quick else ""))
    folder.mkdir(parents=True, exist_ok=True)
    chosen = [name for name in os.environ.get("ONLY", "").split(",") if name]
    for name in chosen:
        if name not in FIGURES:
            print(f"There is no figure {name!r}. Say ONLY= one of: {', '.join(FIGURES)}.", file=sys.stderr)
            return 2
    began = time.perf_counter()
    for number, name in enumerate(chosen or FIGURES, start=1):
        print(f"── {number}/{len(chosen or FIGURES)} {name} ──", flush=True)
        make(import_module(name), folder, quick)
    print(f"{time.perf_counter() - began:.0f} s")
    return judge(chosen or list(FIGURES), folder, quick)


def make(figure: ModuleType, folder: Path, quick: bool) -> None:
    """Measure and draw, unless the same was done before from the same inputs.

    Their fingerprint lies in a file of its own, which git ignores: files that are kept change with the numbers alone.
    """
    name = figure.__name__
    table, picture, stamp = (folder / f"{name}.{ending}" for ending in ("csv", "png", "made_from"))
    numbers, look = fingerprint_of(figure, quick), hashlib.sha256((HERE / "style.py").read_bytes()).hexdigest()[:8]
    made_from = stamp.read_text() if stamp.exists() and table.exists() else ""
    if made_from == f"{numbers} {look}" and picture.exists():
        print("   up to date")
        return
    began = time.perf_counter()
    if made_from.split(" ")[0] != numbers:
        trials.write(table, figure.measure(quick))
        stamp.write_text(f"{numbers} not drawn")
    style.save(figure.draw(trials.read(table)), folder, name, quick=quick)
    stamp.write_text(f"{numbers} {look}")
    print(f"   {time.perf_counter() - began:.0f} s: {name}.csv, .png{'' if quick else ', .pdf'}", flush=True)


def judge(names: list[str], folder: Path, quick: bool) -> int:
    """Say which claims came out otherwise than we know, and write the page if everything is there."""
    found = {name: import_module(name).claims(trials.read(folder / f"{name}.csv")) for name in names}
    known = [name for name in names if places.REAL or not hasattr(import_module(name), "inputs")]
    surprising = [claim for name in known for claim in found[name] if claim.surprising]
    for claim in surprising:
        print(f"UNEXPECTED ({claim.agrees}, known: {claim.expected}): {claim.text} -- {claim.measured}")
    count = sum(len(found[name]) for name in known)
    print(f"{count - len(surprising)} of {count} claims came out as we know them. {places.NOTE}")
    if not quick and all((folder / f"{name}.csv").exists() for name in FIGURES):
        page.write(folder, FIGURES, HERE / "results.md" if folder == HERE / "figures" else folder / "results.md")
    return 1 if surprising else 0


def fingerprint_of(figure: ModuleType, quick: bool) -> str:
    """A hash of what the numbers come from: the scripts' measuring part, the data, and parts of the library."""
    package = Path(leastnoise.__file__).parent
    files = [HERE / f"{name}.py" for name in ("methods", "places", "trials")]
    for source in SOURCES:
        place = package / source
        files += sorted(place.rglob("*.py")) if place.is_dir() else [place]
    files += getattr(figure, "inputs", list)()
    digest = hashlib.sha256(b"quick" if quick else b"full")
    digest.update(_measuring(Path(str(figure.__file__)).read_text()).encode())
    for file in files:
        digest.update(file.name.encode() + b"\0" + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:16]


def _measuring(source: str) -> str:
    """A figure's script without its words, its drawing and its claims: what else changes may change the numbers."""
    module = ast.parse(source)
    kept = [part for part in module.body if getattr(part, "name", "") not in ("draw", "claims")]
    return ast.unparse(kept[1:])


sys.exit(main())
