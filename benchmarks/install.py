"""What an installation brings: a wheel built, installed alone in a clean environment, tried there, weighed and timed.

Each extra is resolved against that environment, so that its size is what it adds. Sizes are of installed files, without
the bytecode that Python writes beside them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from findings import Findings, Headline, Table, timings
from stopwatch import Contestant, race

ROOT = Path(__file__).resolve().parents[1]
DEVELOPMENT = ("dev",)
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}  # no source folder
# The sizes of the distributions that are installed there.
SIZES = """
import json
from importlib.metadata import distributions
def size(file):
    path = file.locate()
    return path.stat().st_size if path.is_file() and path.suffix != ".pyc" else 0
sizes = {d.metadata["Name"]: sum(map(size, d.files or [])) for d in distributions()}
print(json.dumps({name.lower().replace("_", "-"): size for name, size in sizes.items()}))
"""
# From rows in a file to a release that is paid for, denoised, saved and read again, without a source folder.
TRIAL = """
import pathlib, leastnoise as ln, pyarrow as pa, pyarrow.parquet as pq
assert "site-packages" in ln.__file__, ln.__file__
pq.write_table(pa.table({"who": list(range(600)), "zone": ["a", "b", "c"] * 200}), "people.parquet")
budget = ln.Budget.open("city.ledger", epsilon=1, delta=1e-6)
question = ln.table("people.parquet", unit="who").histogram("zone", keys=["a", "b", "c"], max_rows=1)
made = question.release(budget=budget, share=0.5)
made.save("map.parquet")
assert ln.load("map.parquet").denoise().values.shape == (3,)
budget.verify()
"""


def run(*, toy: bool = False) -> Findings:
    if toy:
        return _times(sys.executable, rounds=1)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        wheel, python = _wheel(place), place / "clean" / "bin" / "python"
        subprocess.run([sys.executable, "-m", "venv", place / "clean"], check=True)
        bare = set(_sizes(python))
        _pip(python, "install", str(wheel))
        _try(python, place)
        sizes = _sizes(python)
        base = {name: size for name, size in sizes.items() if name not in bare}
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
        added = {name: _added(python, wheel, name) for name in extras if name not in DEVELOPMENT}
        times = _times(str(python), rounds=15)
        _pip(python, "install", *(f"{wheel}[{name}]" for name in added))
        sizes = _sizes(python)
        rows = [_row("leastnoise alone", set(base), sizes), *(_row(name, new, sizes) for name, new in added.items())]
        alone = (
            f"The wheel has {wheel.stat().st_size / 1e6:.2f} MB. Alone in a clean environment it released, "
            "paid for, denoised and loaded a table, and ran `leastnoise demo` to its end."
        )
        return [alone, "", Table("install", "What that brings, and what each extra adds, in MB:", rows), *times]


def _wheel(place: Path) -> Path:
    """Built from the sources alone, as for a package index."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = place.glob("*.whl")
    return wheel


def _pip(python: Path, *words: str) -> str:
    command = [str(python), "-m", "pip", "--disable-pip-version-check", "--quiet", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=CLEAN).stdout


def _try(python: Path, place: Path) -> None:
    """As a user would, in a folder with nothing of ours in it."""
    empty = place / "work"
    empty.mkdir()
    for words in (["-c", TRIAL], ["-m", "leastnoise", "demo"]):
        subprocess.run([str(python), *words], cwd=empty, env=CLEAN, check=True, capture_output=True)


def _sizes(python: Path) -> dict[str, int]:
    done = subprocess.run([str(python), "-c", SIZES], check=True, capture_output=True, text=True, env=CLEAN)
    found: dict[str, int] = json.loads(done.stdout)
    return found


def _added(python: Path, wheel: Path, extra: str) -> set[str]:
    """The distributions that this extra would bring into the environment."""
    report = json.loads(_pip(python, "install", "--dry-run", "--report", "-", f"{wheel}[{extra}]"))
    names = {item["metadata"]["name"].lower().replace("_", "-") for item in report["install"]}
    return names - {"leastnoise"}


def _row(what: str, names: set[str], sizes: dict[str, int]) -> dict[str, Any]:
    largest = sorted(names, key=lambda name: -sizes[name])[:3]
    return {
        "what": what,
        "MB": round(sum(sizes[name] for name in names) / 1e6, 1),
        "packages": len(names),
        "the largest": ", ".join(f"{name} {sizes[name] / 1e6:.3g}" for name in largest),
    }


def _times(python: str, *, rounds: int) -> Findings:
    """From the start of Python to its end, in turns. The goals are of processor time: it is the wall's when idle."""

    def start(*words: str) -> Contestant:
        command, place = [python, *words], tempfile.gettempdir()
        return lambda: subprocess.run(command, check=True, capture_output=True, cwd=place, env=CLEAN)

    sigma = "import leastnoise as ln; ln.sigma(epsilon=1, delta=1e-6)"
    contestants = {
        "python -c pass": start("-c", "pass"),
        "import numpy": start("-c", "import numpy"),
        "import leastnoise": start("-c", "import leastnoise"),
        "... and one sigma": start("-c", sigma),
        "... and ln.release": start("-c", "import leastnoise as ln; ln.release"),
        "... and ln.table": start("-c", "import leastnoise as ln; ln.table"),
        "leastnoise --help": start("-m", "leastnoise", "--help"),
        "leastnoise sigma": start("-m", "leastnoise", "sigma", "--epsilon", "1", "--delta", "1e-6"),
    }
    seen = race(contestants, rounds=rounds)
    return [
        Headline("`import leastnoise`, seconds of processor", seen["import leastnoise"].processor, most=0.25),
        Headline("`leastnoise --help`, seconds of processor", seen["leastnoise --help"].processor, most=0.4),
        Table("install_times", "From the start of Python to its end:", timings(seen, reference="import numpy")),
    ]
