"""The package seen from outside: its names, its error tree, its imports, its licences and versions."""

from __future__ import annotations

import ast
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


def test_names_are_found_where_type_checkers_find_them() -> None:
    """The imports under TYPE_CHECKING, which never run, and the table that is used instead of them."""
    tree = ast.parse((ROOT / "src" / "leastnoise" / "__init__.py").read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    declared = {name.name: node.module for node in imports for name in node.names}
    assert set(declared) == set(ln._MODULES) == set(ln.__all__)
    for name, module in ln._MODULES.items():
        assert module in (declared[name], f"{declared[name]}.{name}")


PYTHON_ALONE = {"leastnoise", "leastnoise._support", "leastnoise._support.version"}
HEAVY = {"numpy", "flint", "scipy", "ibis", "duckdb", "pyarrow", "pyspark", "numba", "matplotlib", "pandas", "polars"}


def modules_after(code: str) -> set[str]:
    """What is imported once this has run, the interpreter's own modules left out."""
    code = f"import sys\ntry:\n    {code}\nexcept SystemExit:\n    pass\nprint(*sys.modules, sep='\\n')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    before = {"__main__", "_distutils_hack"}
    return {name for name in done.stdout.split() if name.split(".")[0] not in sys.stdlib_module_names} - before


def test_the_import_brings_nothing_until_a_name_is_used() -> None:
    assert modules_after("import leastnoise") == PYTHON_ALONE


def test_a_sigma_needs_numpy_and_balls_alone() -> None:
    brought = {
        name.split(".")[0] for name in modules_after("import leastnoise; leastnoise.sigma(epsilon=1, delta=1e-6)")
    }
    assert brought & HEAVY == {"numpy", "flint"}


def test_help_brings_the_command_line_alone() -> None:
    brought = modules_after("sys.argv = ['leastnoise', '--help']; import leastnoise.cli; leastnoise.cli.main()")
    assert not {name.split(".")[0] for name in brought} & HEAVY
    layers = {name.split(".")[1] for name in brought if name.startswith("leastnoise.")}
    assert layers <= {"_support", "errors", "stats", "cli", "jobs"}


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
