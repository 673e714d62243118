"""AUDIT.md names functions and tests; all of them exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "AUDIT.md").read_text()
NAMED = re.findall(r"`([\w/]+\.py)::([\w.]+)`", PAGE)


def names(path: Path) -> set[str]:
    """Every function of a file, those of classes with the class before a dot."""
    found: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{part.name}" for part in node.body if isinstance(part, ast.FunctionDef)}
    return found


def test_every_function_and_test_that_the_audit_names_exists() -> None:
    assert len(NAMED) > 100
    for file, name in NAMED:
        path = ROOT / file if file.startswith("tests/") else ROOT / "src" / "leastnoise" / file
        assert name in names(path), (file, name)


def test_every_module_of_the_curator_is_in_the_audit() -> None:
    parts = {part for file, _ in NAMED if not file.startswith("tests/") for part in file.removesuffix(".py").split("/")}
    folder = ROOT / "src" / "leastnoise" / "curator"
    private = {path.stem for path in [*folder.glob("*"), *(folder / "aggregate").glob("*.py")]}
    assert private - {"__init__", "__pycache__"} <= parts


def test_the_last_sentence_counts_what_the_tables_say() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| `")]
    broken = [line for line in rows if not line.endswith("|  |")]
    assert all(line.endswith("| ✓ |") for line in broken)
    counts = re.search(r"Of these (\d+) functions (\d+) were broken", PAGE)
    assert counts is not None
    assert [int(number) for number in counts.groups()] == [len(rows), len(broken)]
