"""The package seen from outside: its names, its error tree, its imports, its licences and versions."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import leastnoise as ln
from leastnoise import errors

ROOT = Path(__file__).resolve().parents[1]


def test_public_names_exist_and_are_listed_in_order() -> None:
    assert sorted(ln.__all__) == ln.__all__
    for name in ln.__all__:
        assert getattr(ln, name) is not None


def test_the_tree_at_the_top_of_errors_is_the_tree() -> None:
    """Every class is drawn once, under its own parent."""
    drawn: dict[str, str] = {}
    path: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        match = re.match(r"^([│├└─ ]*)([A-Z]\w+)(?: \((\w+)\))?", line)
        if not match or line.startswith("Every"):
            continue
        depth = len(match[1]) // 4
        path = [*path[:depth], match[2]]
        drawn[match[2]] = path[-2] if depth else match[3] or "Exception"
    classes = {name: cls for name, cls in vars(errors).items() if inspect.isclass(cls) and issubclass(cls, Exception)}
    assert drawn == {name: cls.__bases__[0].__name__ for name, cls in classes.items()}


def test_import_stays_light() -> None:
    heavy = "{'ibis', 'duckdb', 'pyspark', 'numba', 'matplotlib', 'pandas', 'polars', 'typer', 'rich'}"
    code = f"import sys, leastnoise; print({heavy} & set(sys.modules), 'scipy.special' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set() False"


def test_constraints_hold_versions_only() -> None:
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        assert re.fullmatch(r"[A-Za-z0-9_.\-]+==[A-Za-z0-9_.]+", line), line


def test_the_changelog_has_the_version() -> None:
    assert f"## {ln.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_every_slow_test_that_is_listed_exists() -> None:
    for line in (ROOT / "tests" / "slow_tests.txt").read_text().splitlines():
        if not line.startswith("#"):
            path, _, name = line.partition("::")
            assert (ROOT / path).exists(), line
            assert not name or re.search(rf"\b{name}\b", (ROOT / path).read_text()), line
