"""Every entry of invariants.toml can be broken and names tests that exist, and AUDIT.md lists them all.

`make audit` breaks them; here is what can be read without running anything.
"""

from __future__ import annotations

import ast
import runpy
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RUNNER = runpy.run_path(str(ROOT / "tests" / "audit.py"))
INVARIANTS = RUNNER["invariants"]()


@cache
def names(file: str) -> set[str]:
    """The functions of a file, those of classes with the class before two colons; nothing where there is no file."""
    path = ROOT / file
    found: set[str] = set()
    for node in ast.parse(path.read_text()).body if path.is_file() else ():
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}::{part.name}" for part in node.body if isinstance(part, ast.FunctionDef)}
    return found


def test_the_text_to_break_is_there_once() -> None:
    for each in INVARIANTS:
        path = ROOT / "src" / "leastnoise" / each.code
        assert path.is_file(), each
        assert (path.read_text().count(each.text), each.text != each.broken) == (1, True), each


def test_every_test_that_is_named_exists() -> None:
    for each in INVARIANTS:
        for test in each.tests:
            file, _, name = test.partition("::")
            if file.endswith(".py") and name:
                assert name.partition("[")[0] in names(file), test
            else:
                assert (ROOT / file).exists(), test


def test_the_page_is_the_generated_one() -> None:
    """`python tests/audit.py --page` writes it."""
    assert (ROOT / "AUDIT.md").read_text() == RUNNER["page"](INVARIANTS)
