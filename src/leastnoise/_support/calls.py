"""A call that does not fit a public function says what is missing, why, and what to type: Python's own error does not.

`explained` is one decorator for functions, and for classes, whose public methods and construction it covers. The name,
the signature and the docstring stay. A call that fits is only passed on.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from difflib import get_close_matches
from types import FunctionType
from typing import Any, TypeVar

from leastnoise.errors import InvalidParameter, MissingParameter, WrongCall

T = TypeVar("T")
EXAMPLES: Mapping[str, Any] = {
    "clip": (0, 100), "over_clip": (0, 100), "column": "fare", "over": "miles", "condition": "hour < 6",
    "clip_norm": 1.0, "sensitivity": 1, "epsilon": 1, "delta": 1e-6, "sigma": 3.0, "error": 10, "mu": 0.5,
    "share": 0.25, "reason": "the disk was full; it is replaced", "sampling": 0.01, "noise_multiplier": 1.1,
    "step": 0.01, "within": 100, "lon": "lon", "lat": "lat", "on": "zone", "domain_size": 1_000_000, "radius": 10,
    "p": 1, "onto": "nonnegative", "prior_std": 10, "bins": 100, "unit": "person",
}  # fmt: skip
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def explained(thing: T) -> T:
    """The function with its own errors for calls that do not fit; a class with such methods, its bases' as well."""
    if isinstance(thing, type):
        for owner in thing.__mro__:
            if owner.__module__.partition(".")[0] == "leastnoise":
                _explain_methods(owner)
        return thing
    return _explained(thing, thing.__name__) if isinstance(thing, FunctionType) else thing


def explain_public(names: MutableMapping[str, Any], public: Iterable[str]) -> None:
    """The same for the public names of a module, among its globals.

    A function is then that of this module, so that it can be pickled by its name.
    """
    for name in public:
        found = names[name] = explained(names[name])
        if isinstance(found, FunctionType) and hasattr(found, "__wrapped__"):
            found.__module__ = names["__name__"]


def _explain_methods(owner: type) -> None:
    for name, method in list(vars(owner).items()):
        if name.startswith("_") and name != "__init__":
            continue
        function = method.__func__ if isinstance(method, classmethod | staticmethod) else method
        if not isinstance(function, FunctionType) or hasattr(function, "_explains"):
            continue
        called = _explained(function, owner.__name__ if name == "__init__" else name)
        setattr(owner, name, type(method)(called) if function is not method else called)


def _explained(function: FunctionType, title: str) -> Any:
    if hasattr(function, "_explains"):
        return function

    @functools.wraps(function)
    def called(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except TypeError:
            mistake = _mistake(function, title, args, options)
            if mistake is None:
                raise
        raise mistake

    called._explains = True  # type: ignore[attr-defined]
    return called


def _mistake(
    function: Callable[..., Any], title: str, args: Sequence[Any], options: Mapping[str, Any]
) -> InvalidParameter | None:
    """What is wrong with a call; None where the arguments fit the function."""
    signature = inspect.signature(function)
    try:
        signature.bind(*args, **options)
    except TypeError:
        pass
    else:
        return None
    parameters = list(signature.parameters.values())
    if parameters and parameters[0].name in ("self", "cls"):
        parameters, args = parameters[1:], args[1:]
    kinds = {parameter.kind for parameter in parameters}
    named = [each for each in parameters if each.kind in (*_POSITIONAL, inspect.Parameter.KEYWORD_ONLY)]
    placed = [each.name for each in parameters if each.kind in _POSITIONAL]
    unknown = [name for name in options if name not in {each.name for each in named}]
    if unknown and inspect.Parameter.VAR_KEYWORD not in kinds:
        several = [f"*{each.name}" for each in parameters if each.kind is inspect.Parameter.VAR_POSITIONAL]
        return _unknown(title, unknown[0], [*several, *(each.name for each in named)])
    if len(args) > len(placed) and inspect.Parameter.VAR_POSITIONAL not in kinds:
        later = [each.name for each in named if each.name not in (*placed, *options)]
        return _placed(title, placed, later, args)
    twice = [name for name in placed[: len(args)] if name in options]
    if twice:
        return WrongCall(f"{title}() is given {twice[0]} twice: by its place, and by its name. Give it once.")
    needed = [each.name for each in named if each.default is each.empty and each.name not in options]
    missing = [name for name in needed if name not in placed[: len(args)]]
    return _missing(title, missing, inspect.getdoc(function) or "") if missing else None


def _missing(title: str, missing: Sequence[str], doc: str) -> MissingParameter:
    words = {name: _described(doc, name) for name in missing}
    known = " ".join(f"{name}: {text}" for name, text in words.items() if text)
    listed = " and ".join(", ".join(missing).rsplit(", ", 1))
    example = {name: EXAMPLES.get(name, ...) for name in missing}
    return MissingParameter(f"{title}() needs {listed}. {known}".strip(), parameter=missing[0], example=example)


def _placed(title: str, placed: Sequence[str], later: Sequence[str], args: Sequence[Any]) -> WrongCall:
    """Values that stand where none is taken. Only single numbers and words are shown: an array may be anybody's."""
    extra = args[len(placed) :]
    if not later or len(extra) > len(later):
        takes = f"takes {' and '.join(placed)}" if placed else "takes nothing"
        return WrongCall(f"{title}() {takes} by place, and is given {len(args):,} values. Leave the others out.")
    shown = {
        name: value if type(value) in (int, float, bool, str) else ...
        for name, value in zip(later, extra, strict=False)
    }
    first = f"{', '.join(placed)} by place and all else" if placed else "every value"
    return WrongCall(
        f"{title}() takes {first} by name, so that no number is taken for another.", parameter=later[0], example=shown
    )


def _unknown(title: str, name: str, known: Sequence[str]) -> WrongCall:
    near = get_close_matches(name, known, n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    listed = f" It takes {', '.join(known)}." if known else " It takes nothing."
    return WrongCall(f"{title}() takes no {name}.{hint}{listed}", parameter=name)


def _described(doc: str, name: str) -> str:
    """What a docstring says of a parameter in its first sentence; nothing where it has no line of it.

    >>> _described("Noise.\\n\\nsigma, grid: of the noise,\\n    in steps. More.\\ndelta: a probability.", "grid")
    'of the noise, in steps.'
    """
    found = re.search(rf"(?:^|[.] )((?:\w+, )*{name}(?:, \w+)*): (.+?[.;])(?:\s|$)", doc, re.MULTILINE | re.DOTALL)
    return " ".join(found[2].split()).replace(";", ".") if found else ""
