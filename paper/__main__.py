"""`make paper`: every figure of the paper and what it leaves on the table, as PNG, PDF and CSV, and results.md.

    make paper                     all of it; what is up to date is kept (see sources.py), so an interrupted run goes on
                                   where it stopped, and a change to a denoiser measures again only what uses it
    make paper ONLY=taxi_maps      one figure
    make paper QUICK=1             few repetitions, in a minute: does every claim still point the same way?
    make paper OUT=folder          somewhere else than paper/figures

Each part is a module with `measure(quick)`, the rows of its CSV; `draw(rows)`, the picture, where there is one; and
`claims(rows)`. Figures and claims are functions of the rows. The exit code is 1 if a claim came out other than we know
it; on the synthetic city, which stands in where the real maps are absent, nothing is known and nothing judged.
"""

from __future__ import annotations

import json
import os
import sys
import time
from importlib import import_module
from pathlib import Path
from types import ModuleType

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy: many small products, and threads would only wait

import page
import places
import sources
import style
import trials
from page import PARTS

HERE = Path(__file__).parent


def main() -> int:
    quick = os.environ.get("QUICK", "") not in ("", "0")
    folder = Path(os.environ.get("OUT") or HERE / "figures" / ("quick" if quick else ""))
    folder.mkdir(parents=True, exist_ok=True)
    chosen = [name for name in os.environ.get("ONLY", "").split(",") if name]
    for name in chosen:
        if name not in PARTS:
            print(f"There is no figure {name!r}. Say ONLY= one of: {', '.join(PARTS)}.", file=sys.stderr)
            return 2
    began = time.perf_counter()
    for number, name in enumerate(chosen or PARTS, start=1):
        print(f"── {number}/{len(chosen or PARTS)} {name} ──", flush=True)
        make(import_module(name), folder, quick)
    print(f"{time.perf_counter() - began:.0f} s")
    return judge(chosen or list(PARTS), folder, quick)


def make(figure: ModuleType, folder: Path, quick: bool) -> None:
    """Measure and draw, unless the same was done before from the same sources, whose fingerprints are kept."""
    name = figure.__name__
    table, picture, stamps = folder / f"{name}.csv", folder / f"{name}.png", folder / "made_from.json"
    made_from = json.loads(stamps.read_text()) if stamps.exists() else {}
    numbers, look = sources.numbers(figure, quick), sources.look(figure) if hasattr(figure, "draw") else "no picture"
    before = made_from.get(name, {})
    measured = table.exists() and before.get("numbers") == numbers
    if measured and before.get("look") == look and (picture.exists() or look == "no picture"):
        print("   up to date")
        return
    began = time.perf_counter()
    if not measured:
        trials.write(table, figure.measure(quick))
        _keep(stamps, made_from | {name: {"numbers": numbers, "look": "not drawn"}})
    if hasattr(figure, "draw"):
        style.save(figure.draw(trials.read(table)), folder, name, quick=quick)
    _keep(stamps, made_from | {name: {"numbers": numbers, "look": look}})
    print(f"   {time.perf_counter() - began:.0f} s: {name}", flush=True)


def _keep(path: Path, stamps: dict[str, dict[str, str]]) -> None:
    path.write_text(json.dumps(stamps, indent=1, sort_keys=True) + "\n")


def judge(names: list[str], folder: Path, quick: bool) -> int:
    """Say which claims came out otherwise than we know, and write the page if everything is there."""
    found = {name: import_module(name).claims(trials.read(folder / f"{name}.csv")) for name in names}
    known = [name for name in names if places.REAL or not hasattr(import_module(name), "inputs")]
    surprising = [claim for name in known for claim in found[name] if claim.surprising]
    for claim in surprising:
        print(f"UNEXPECTED ({claim.agrees}, known: {claim.expected}): {claim.text} -- {claim.measured}")
    count = sum(len(found[name]) for name in known)
    print(f"{count - len(surprising)} of {count} claims came out as we know them. {places.NOTE}")
    if not quick and all((folder / f"{name}.csv").exists() for name in PARTS):
        page.write(folder, HERE / "results.md" if folder == HERE / "figures" else folder / "results.md")
    return 1 if surprising else 0


sys.exit(main())
