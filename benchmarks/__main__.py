"""`make bench` runs every benchmark and writes results.md; `make bench ONLY=calibration` runs one of them.

Each module here has `run() -> list[str]`: lines of Markdown. Ratios come first, because machines are noisy:
everything that is compared was measured in the same run, interleaved.
"""

from __future__ import annotations

import os
import platform
from importlib import import_module, metadata
from pathlib import Path

HERE = Path(__file__).parent
BENCHMARKS = ("calibration", "draws", "ledger", "denoising", "graphs")


def main() -> None:
    only = os.environ.get("ONLY")
    names = [only] if only else BENCHMARKS
    lines = ["# Benchmarks", "", _machine(), ""]
    for name in names:
        print(f"── {name} ──", flush=True)
        part = import_module(name).run()
        print("\n".join(part), flush=True)
        lines += [f"## {name.capitalize()}", "", *part, ""]
    if not only:
        (HERE / "results.md").write_text("\n".join(lines))
        print(f"written: {HERE.name}/results.md")


def _machine() -> str:
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in ("numpy", "scipy", "python-flint"))
    return f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, {versions}."


main()
