"""What users see is as it was: integers, scales, costs, guarantees, refusals, columns, keys of JSON, exit codes.

Nothing here imports anything but public names, so it holds whatever is rebuilt below them. A change on purpose is
written by `make golden`, and its diff is reviewed in the commit that makes it.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import golden_files
from golden_cases import FILES


@cache
def stored(name: str) -> dict[str, Any]:
    return golden_files.read(name)


@pytest.mark.parametrize(("name", "case"), [(name, case) for name, file in FILES.items() for case in file.names])
@pytest.mark.filterwarnings("ignore::leastnoise.errors.WeakPromise", "ignore::leastnoise.errors.Wasteful")
def test_facts_are_as_they_were(name: str, case: str, tmp_path: Path) -> None:
    assert case in stored(name), f"{name}.json has no {case!r}. Write it: make golden"
    found = golden_files.as_stored(FILES[name].of(case, tmp_path))
    lines = list(golden_files.differences(stored(name)[case], found, (name, case)))
    assert not lines, "\n".join([*lines[:20], "If that is meant: make golden, and review the diff."])


@pytest.mark.parametrize("name", FILES)
def test_no_case_is_stored_that_nothing_computes(name: str) -> None:
    assert sorted(stored(name)) == sorted(FILES[name].names)


def test_nothing_but_public_names_is_imported() -> None:
    public = {"leastnoise", "leastnoise.testing"}
    for path in golden_files.FOLDER.glob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text())))
        named = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
        named |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
        assert {name for name in named if name.partition(".")[0] == "leastnoise"} <= public, path.name
        attributes = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
        private = {name for name in attributes if name.startswith("_") and not name.endswith("__")}
        assert private <= {"_fields"}, path.name  # of named tuples
