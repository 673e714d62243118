"""What is installed with us, under which licences, and whether a wheel can be built again byte for byte."""

from __future__ import annotations

import ast
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
FREE = ("MIT", "BSD", "Apache", "ISC", "PSF", "Python Software Foundation", "Zlib", "CC0", "HPND")
# The library below python-flint, and the driver of PostgreSQL: loaded at run time and replaceable, as the LGPL asks.
LESSER = {
    "python-flint": "MIT AND LGPL-3.0-or-later",
    "psycopg": "LGPL-3.0-only",
    "psycopg-binary": "LGPL-3.0-only",
}


def installed() -> dict[str, metadata.Distribution]:
    """Every distribution that an installation with all extras brings at run time, from the installed metadata."""
    extras = PROJECT["optional-dependencies"]
    chosen = [line for name in extras if name not in ("dev", "testing") for line in extras[name]]
    pending = [Requirement(line) for line in [*PROJECT["dependencies"], *chosen]]
    seen: set[tuple[str, frozenset[str]]] = set()
    found: dict[str, metadata.Distribution] = {}
    while pending:
        wanted = pending.pop()
        if (wanted.name, frozenset(wanted.extras)) in seen:
            continue
        seen.add((wanted.name, frozenset(wanted.extras)))
        one = metadata.distribution(wanted.name)
        found[one.metadata["Name"].lower()] = one
        for line in one.requires or []:
            below = Requirement(line)
            if below.marker is None or any(below.marker.evaluate({"extra": extra}) for extra in {"", *wanted.extras}):
                pending.append(below)
    return found


def licence(one: metadata.Distribution) -> str:
    """What it says itself: the expression, the classifiers, or the first line of the free text."""
    named = [line.split("::")[-1].strip() for line in one.metadata.get_all("Classifier") or [] if "License ::" in line]
    said = {name: one.metadata[name] for name in ("License", "License-Expression") if name in one.metadata}
    text = said.get("License", "").strip().splitlines()
    return said.get("License-Expression") or " AND ".join(named) or (text[0] if text else "unknown")


def test_every_package_at_run_time_is_freely_licensed() -> None:
    found = installed()
    assert {"numpy", "duckdb", "pyspark", "matplotlib"} <= set(found)
    for name, one in found.items():
        said = licence(one)
        if name in LESSER:
            assert said == LESSER[name]
        else:
            assert "GPL" not in said.upper(), (name, said)
            assert any(word in said for word in FREE), (name, said)


def imports(tree: ast.AST, *, optional: bool = False) -> Iterator[tuple[str, bool]]:
    """The first names of imported modules, and whether each is optional: imported in a function, or for types only."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from ((name.name.split(".")[0], optional) for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0], optional
        typing = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        inside = typing or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from imports(node, optional=optional or inside)


def test_every_package_that_we_import_is_declared() -> None:
    """Also what another package happens to bring: that one may stop bringing it."""
    extras = PROJECT["optional-dependencies"]
    always = {Requirement(line).name for line in PROJECT["dependencies"]}
    sometimes = {Requirement(line).name for name in extras if name != "dev" for line in extras[name]}
    providers = metadata.packages_distributions()
    seen: set[str] = set()
    for file in sorted((ROOT / "src").rglob("*.py")):
        for module, optional in imports(ast.parse(file.read_text())):
            if module in sys.stdlib_module_names or module in ("leastnoise", "__future__"):
                continue
            allowed = always | sometimes if optional or "studio" in file.parts else always  # imported at the call
            named = {canonicalize_name(name) for name in providers[module]}
            assert named & allowed, (str(file.relative_to(ROOT)), module)
            seen.add(module)
    assert {"numpy", "sqlglot", "flint", "pandas", "pyspark", "jinja2"} <= seen


def test_only_pythons_that_the_tests_ran_on_are_named() -> None:
    named = {line.split("::")[-1].strip() for line in PROJECT["classifiers"] if "Python :: 3." in line}
    assert f"{sys.version_info.major}.{sys.version_info.minor}" in named
    told = next(line for line in (ROOT / "CONTRIBUTING.md").read_text().splitlines() if "ran on Python" in line)
    assert named == set(re.findall(r"\b3\.\d+\b", told))


def build(folder: Path, mask: int, age: int) -> bytes:
    """A wheel from a fresh copy of the sources, with other permissions and times."""
    folder.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for path in folder.rglob("*"):
        os.utime(path, (age, age))
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", "out"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, umask=mask)
    (wheel,) = (folder / "out").glob("*.whl")
    return wheel.read_bytes()


def test_a_wheel_is_the_same_bytes_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1531353600")
    one, two = (build(tmp_path / str(age), mask, age) for mask, age in ((0o022, 10**9), (0o077, 1_700_000_000)))
    assert hashlib.sha256(one).hexdigest() == hashlib.sha256(two).hexdigest()
    (tmp_path / "wheel.zip").write_bytes(one)
    names = zipfile.ZipFile(tmp_path / "wheel.zip").namelist()
    assert "leastnoise/py.typed" in names
    assert all(name.startswith(("leastnoise/", "leastnoise-")) for name in names)
