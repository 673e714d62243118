"""What a figure's numbers come from: its script, the scripts it imports, the library's files that they use, its data.

A fingerprint ignores comments, docstrings and layout. Of the library only PARTS count, followed import by import from
the names that the scripts use: a change to the denoisers leaves the calibration alone. What draws noise and reads
tables moves no number as long as seeded draws stay the same, which the tests of the library see to.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

import leastnoise

HERE, PACKAGE = Path(__file__).parent, Path(leastnoise.__file__).parent
PARTS = ("privacy", "denoise", "graphs", "domain", "datasets")
WORDS = ("draw", "claims", "beside")  # functions of a script that make no number
LOOKS = ("style.py", "claims.py", "zero_or_mean.py")  # scripts that make none


def numbers(figure: ModuleType, quick: bool) -> str:
    """A fingerprint of what decides the figure's rows."""
    digest = hashlib.sha256(b"quick" if quick else b"full")
    for path in sorted(reached(Path(str(figure.__file__)))):
        digest.update(path.name.encode() + b"\0" + code(path).encode())
    for path in getattr(figure, "inputs", list)():
        digest.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


def look(figure: ModuleType) -> str:
    """A fingerprint of what decides how the rows are drawn."""
    tree = ast.parse(Path(str(figure.__file__)).read_text())
    drawing = [ast.unparse(part) for part in tree.body if getattr(part, "name", "") == "draw"]
    return hashlib.sha256("".join([code(HERE / "style.py"), *drawing]).encode()).hexdigest()[:8]


def code(path: Path) -> str:
    """A file's code without comments, docstrings and layout; of a script without its drawing and its claims."""
    return _code(path.read_text(), path.parent == HERE)


@cache
def _code(text: str, script: bool) -> str:
    tree = ast.parse(text)
    if script:
        # Imports are followed; which names they bring in shows where the names are used.
        tree.body = [
            part
            for part in tree.body
            if getattr(part, "name", "") not in WORDS and not isinstance(part, (ast.Import, ast.ImportFrom))
        ]
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and _is_text(body[0]):
            node.body = body[1:] or [ast.Pass()]
    return ast.unparse(tree)


def reached(script: Path) -> set[Path]:
    """The script and every file of ours that counts, import by import."""
    found: set[Path] = set()
    waiting = [script]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += [file for file in _imported(path) if _counts(file)]
    return found


def _imported(path: Path) -> Iterator[Path]:
    for node in _statements(path.read_text()):
        if isinstance(node, ast.Import):
            yield from (HERE / f"{name.name}.py" for name in node.names if (HERE / f"{name.name}.py").exists())
        elif isinstance(node, ast.ImportFrom) and node.module:
            if (HERE / f"{node.module}.py").exists():
                yield HERE / f"{node.module}.py"
            elif node.module.startswith("leastnoise"):
                yield from (_file(node.module, name.name) for name in node.names)
        elif isinstance(node, ast.Attribute) and path.parent == HERE:
            yield from _used(node)


@cache
def _statements(text: str) -> list[ast.AST]:
    """The nodes that may name a file."""
    return [node for node in ast.walk(ast.parse(text)) if isinstance(node, (ast.Import, ast.ImportFrom, ast.Attribute))]


def _file(module: str, name: str) -> Path:
    """Where `from module import name` leads: a submodule, or the module itself."""
    folder = PACKAGE.joinpath(*module.split(".")[1:])
    for place in (folder / f"{name}.py", folder / name / "__init__.py", folder.with_suffix(".py")):
        if place.exists():
            return place
    return folder / "__init__.py"


def _used(node: ast.Attribute) -> Iterator[Path]:
    """The file that `ln.denoise.auto` is defined in; nothing for other attributes."""
    names = [node.attr]
    inner = node.value
    while isinstance(inner, ast.Attribute):
        names.append(inner.attr)
        inner = inner.value
    if not isinstance(inner, ast.Name) or inner.id != "ln":
        return
    found: object = leastnoise
    for name in reversed(names):
        found = getattr(found, name, None)
        module = getattr(found, "__module__", None)
        if module is not None and module.startswith("leastnoise"):
            yield _file(module, "")


def _counts(path: Path) -> bool:
    if path.parent == HERE:
        return path.name not in LOOKS
    inside = path.is_relative_to(PACKAGE) and path.relative_to(PACKAGE).parts[:1]
    return bool(inside) and inside[0] in PARTS


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
