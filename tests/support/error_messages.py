"""The messages of errors as they stand in the source, for the rule that Python's arguments are not spelt out in them.

An error is phrased twice: as Python, and as options on the command line. What to type belongs into `example`.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from leastnoise import errors

SOURCE = Path(errors.__file__).parent

# The arguments of Python that are options of the same name.
ARGUMENTS = [
    "bins", "budget", "by", "clip", "column", "confidence", "delta", "engine", "epsilon", "error", "grid", "keys",
    "l1_sensitivity", "max_bins", "max_per_bin", "max_rows", "mechanism", "memory_limit", "neighbours",
    "pure_epsilon", "levels", "sensitivity", "share", "sigma", "table", "threshold_delta", "types", "unit", "where",
]  # fmt: skip
_HOLE = "\N{WHITE SQUARE}"  # stands for {...} of an f-string
_SYNTAX = re.compile(rf"(?<![\w-])(?:{'|'.join(ARGUMENTS)}|{_HOLE})=(?!=)")
_ERRORS = {name for name, kind in vars(errors).items() if inspect.isclass(kind) and issubclass(kind, Exception)}


def spelt_arguments(source: str) -> list[str]:
    """The messages in a module's source that spell out an argument, in a call of an error or a constant it names.

    >>> spelt_arguments('raise errors.MissingParameter("Say epsilon=1.")')
    ['Say epsilon=1.']
    >>> spelt_arguments('raise errors.MissingParameter("How private?", example={"epsilon": 1})')
    []
    """
    tree = ast.parse(source)
    constants = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and _makes_error(node.func))
    texts = (text for call in calls for part in _parts(call) for text in _texts(part, constants))
    return list(dict.fromkeys(text for text in texts if _SYNTAX.search(text)))


def _makes_error(function: ast.expr) -> bool:
    """errors.X(...), X(...), errors.X.of(...); and warnings.warn(...)."""
    names = []
    while isinstance(function, ast.Attribute):
        names.append(function.attr)
        function = function.value
    if isinstance(function, ast.Name):
        names.append(function.id)
    return bool(_ERRORS.intersection(names)) or names == ["warn", "warnings"]


def _parts(call: ast.Call) -> Iterator[ast.AST]:
    yield from call.args
    yield from (word.value for word in call.keywords)


def _texts(node: ast.AST, constants: dict[str, ast.expr]) -> Iterator[str]:
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Code"):
        return  # says itself how it is written on the command line
    if isinstance(node, ast.JoinedStr):
        yield "".join(str(part.value) if isinstance(part, ast.Constant) else _HOLE for part in node.values)
    elif isinstance(node, ast.Constant):
        yield from [node.value] if isinstance(node.value, str) else []
        return
    elif isinstance(node, ast.Name) and node.id in constants:
        yield from _texts(constants[node.id], {})
    for child in ast.iter_child_nodes(node):
        yield from _texts(child, constants)


def modules() -> list[Path]:
    """Every module, relative to the package."""
    return sorted(path.relative_to(SOURCE) for path in SOURCE.rglob("*.py"))
