"""What `make lowest` installs: every package that users' installations bring directly, at its declared floor.

python tests/support/lowest_versions.py      prints requirements: the floors, and what the fast tests use besides
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
TOOLS = {"array-api-strict", "clarabel", "cvxpy", "hatchling", "httpx", "igraph", "ipykernel", "mpmath", "nbclient",
         "nbformat", "openpyxl", "pytest", "pytest-xdist", "selenium"}  # fmt: skip


def floors() -> dict[str, str]:
    """The least version that `pyproject.toml` allows of each dependency, and of those of the extras but dev."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [line for name, lines in project["optional-dependencies"].items() if name != "dev" for line in lines]
    found: dict[str, str] = {}
    for wanted in map(Requirement, [*project["dependencies"], *extras]):
        (floor,) = (part.version for part in wanted.specifier if part.operator in (">=", "=="))
        asked = f"[{','.join(sorted(wanted.extras))}]" if wanted.extras else ""
        name = canonicalize_name(wanted.name)
        found[name] = f"{name}{asked}=={floor}" if asked or name not in found else found[name]
    return found


if __name__ == "__main__":
    print(*floors().values(), *sorted(TOOLS), sep="\n")
