"""`make bench` runs every benchmark and writes results.md; `make bench ONLY=calibration` runs one of them.

Each module named below has `run(toy=False)` and hands back findings: tables, headlines, or lines of Markdown. Ratios
come first, because machines are noisy: everything that is compared was measured in the same run, in turns. The peers
are built once, each in its own environment (peers/). PEERS="opendp pydp" asks these peers only, PEERS=none nobody.
"""

from __future__ import annotations

import json
import os
import platform
import time
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import peers
from findings import Findings, Headline, Table
from programme import BENCHMARKS

HERE = Path(__file__).parent
RESULTS = HERE / "results"


def main() -> None:
    only = os.environ.get("ONLY")
    for name in [only] if only else BENCHMARKS:
        print(f"── {name} ──", flush=True)
        begin, load = time.time(), os.getloadavg()[0]
        found = import_module(name).run()
        stamp = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(begin))
        when = (
            f"{stamp}, {time.time() - begin:.0f} s, load average {load:.1f} before and {os.getloadavg()[0]:.1f} after"
        )
        _keep(name, found, when)
        print("\n".join(_lines(found)), flush=True)
    (HERE / "results.md").write_text("\n".join(_page()))
    print(f"written: {HERE.name}/results.md and {HERE.name}/results/")


def _keep(name: str, found: Findings, when: str) -> None:
    """Every part is kept as it was measured, so that a later ONLY= renews its own part of the page alone."""
    RESULTS.mkdir(exist_ok=True)
    for finding in found:
        if isinstance(finding, Table):
            finding.save(RESULTS)
    heads = [finding.row() for finding in found if isinstance(finding, Headline)]
    part = {"when": when, "headlines": heads, "lines": _lines(found)}
    (RESULTS / f"{name}.json").write_text(json.dumps(part, indent=1) + "\n")


def _lines(found: Findings) -> list[str]:
    lines: list[str] = []
    for finding in found:
        if isinstance(finding, Table):
            lines += [*finding.markdown(), ""]
        elif isinstance(finding, str):
            lines.append(finding)
    return lines


def _page() -> list[str]:
    parts: dict[str, Any] = {}
    for name in BENCHMARKS:
        if (RESULTS / f"{name}.json").is_file():
            parts[name] = json.loads((RESULTS / f"{name}.json").read_text())
    heads = [head for part in parts.values() for head in part["headlines"]]
    lines = ["# Benchmarks", "", *_machine(), ""]
    if heads:
        lines += [*Table("ratios", "The ratios that matter:", heads).markdown(), ""]
    for name, part in parts.items():
        lines += [f"## {name.replace('_', ' ').capitalize()}", "", f"*{part['when']}*", "", *part["lines"], ""]
    return lines


def _machine() -> list[str]:
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in ("numpy", "scipy", "python-flint", "duckdb"))
    cpu = next(
        (row.split(":")[1].strip() for row in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in row),
        platform.machine(),
    )
    beside = "; ".join(f"{name}: {', '.join(peers.pins(name))}" for name in peers.names())
    return [
        f"{cpu}, {os.cpu_count()} cores, Python {platform.python_version()}, {versions}.",
        f"Peers' environments: {beside}. One that does not install is named below each table it is missing from.",
        "Written by `make bench`. Every comparison was measured in turns in one run. A load average above one means",
        "that other work shared the cores: trust ratios before seconds, and the processor's before the wall's.",
    ]


if __name__ == "__main__":
    main()
