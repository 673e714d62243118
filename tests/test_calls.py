"""A call that does not fit says what is missing and what to type, at every public name."""

from __future__ import annotations

import inspect
import pickle
import re
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import leastnoise as ln
from leastnoise import errors
from leastnoise._support.calls import explained

MADE_BY_US = {  # of these nobody calls the constructor
    "Budget", "Comparison", "CrosstabsEstimate", "CrosstabsRelease", "Estimate", "LimitSuggestion", "MeanRelease",
    "Plan", "QuantileRelease", "Query", "Release", "SparseRelease", "SummaryRelease", "Table",
}  # fmt: skip


def public() -> Iterator[tuple[str, Any, int]]:
    """Every public callable by its name, and how many values come before those that a caller gives."""
    modules: list[tuple[str, ModuleType]] = [("ln", ln)]
    modules += [(f"ln.{name}", getattr(ln, name)) for name in ln.__all__ if name != "errors"]
    modules = [(path, module) for path, module in modules if inspect.ismodule(module)]
    for prefix, module in modules:
        functions = [name for name, each in vars(module).items() if isinstance(each, FunctionType)]
        own = [name for name in functions if getattr(module, name).__module__ == module.__name__]
        names = getattr(module, "__all__", own)
        for name in names:
            found = getattr(module, name)
            if isinstance(found, type) and not issubclass(found, Exception):
                yield from methods(f"{prefix}.{name}", found)
            elif isinstance(found, FunctionType) and found.__module__.startswith("leastnoise"):
                yield f"{prefix}.{name}", found, 0


def methods(path: str, owner: type) -> Iterator[tuple[str, Any, int]]:
    """What is ours: get, keys, items and values of a Mapping are Python's, with its words."""
    for name, found in inspect.getmembers(owner):
        if getattr(found, "__module__", None) == "collections.abc":
            continue
        if not name.startswith("_") and (inspect.isfunction(found) or inspect.ismethod(found)):
            static = isinstance(inspect.getattr_static(owner, name), staticmethod)
            yield f"{path}.{name}", found, 0 if inspect.ismethod(found) or static else 1
    abstract = inspect.isabstract(owner) or getattr(owner, "_is_protocol", False)
    if "__init__" in vars(owner) and owner.__name__ not in MADE_BY_US and not abstract:
        yield path, owner, 0


CALLABLES = {path: (found, before) for path, found, before in public()}


def parameters(found: Any, before: int) -> list[inspect.Parameter]:
    return list(inspect.signature(found).parameters.values())[before:]


VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def needed(found: Any, before: int) -> list[str]:
    return [each.name for each in parameters(found, before) if each.default is each.empty and each.kind not in VARIABLE]


NEEDING = [path for path, found in CALLABLES.items() if needed(*found)]


def test_there_are_many_public_names() -> None:
    assert len(CALLABLES) > 300
    assert {"ln.sigma", "ln.release", "ln.Table.mean", "ln.stats.mean", "ln.Budget.open", "ln.Graph.path"} < set(
        NEEDING
    )


@pytest.mark.parametrize("path", NEEDING)
def test_a_call_without_what_is_needed_names_it_and_shows_how(path: str) -> None:
    found, before = CALLABLES[path]
    first = needed(found, before)[0]
    with pytest.raises(errors.MissingParameter) as refused:
        found(*[None] * before)
    assert isinstance(refused.value, TypeError)
    assert re.search(rf"needs {first}\b.*Say {first}=", str(refused.value))
    assert refused.value.__context__ is None


@pytest.mark.parametrize("path", CALLABLES)
def test_a_call_with_too_many_values_or_a_wrong_name_is_refused_in_our_words(path: str) -> None:
    found, before = CALLABLES[path]
    kinds = {each.kind for each in parameters(found, before)}
    if inspect.Parameter.VAR_POSITIONAL not in kinds:
        with pytest.raises(errors.WrongCall, match=r"by (place|name)"):
            found(*[None] * before, *[object()] * 40)
    if inspect.Parameter.VAR_KEYWORD not in kinds:
        with pytest.raises(errors.WrongCall, match="takes no sigmma"):
            found(*[None] * before, sigmma=1)


def test_what_a_newcomer_types_first() -> None:
    trips = ln.table(pa.table({"taxi": [1], "fare": [2.0]}), unit="taxi")
    for call, words in {
        lambda: trips.mean("fare"): ("mean() needs clip.", "Say clip=(0, 100)."),
        lambda: ln.release([1, 2], epsilon=1, delta=1e-6): ("release() needs sensitivity.", "Say sensitivity=1."),
        lambda: ln.sigma(1, 1e-6): ("takes every value by name", "Say epsilon=1, delta=1e-6."),
        lambda: ln.sigma(epsilon=1): ("a small probability, above 0 and below 1.", "Say delta=1e-6."),
        lambda: ln.stats.mean("fare"): ("the public ends (low, high) of one value.", "Say clip=(0, 100)."),
        lambda: trips.count(max_row=5): ("count() takes no max_row. Did you mean max_rows?", "It takes max_rows."),
        lambda: trips.mean("fare", column="fare"): ("mean() is given column twice", "Give it once."),
        lambda: ln.denoise.james_stein([1.0]): ("james_stein() needs sigma.", "Say sigma=3.0."),
        lambda: trips.count(max_rows=1).release(1, 1e-6): (
            "by name",
            "Say epsilon=1, delta=1e-6.",
        ),
    }.items():
        with pytest.raises(TypeError) as refused:
            call()
        assert isinstance(refused.value, errors.LeastnoiseError)
        assert all(word in str(refused.value) for word in words), str(refused.value)


def test_what_was_given_in_the_wrong_place_is_shown_only_where_it_is_one_number_or_word() -> None:
    """An array may be people's."""
    with pytest.raises(errors.WrongCall) as refused:
        ln.release([1], np.array([424242]), [424242], 1)  # type: ignore[misc]
    assert "424242" not in str(refused.value)


def test_an_error_of_another_kind_is_passed_on_as_it_is() -> None:
    @explained
    def fails(*, number: int) -> None:
        raise TypeError("of its own")

    with pytest.raises(TypeError, match="of its own") as found:
        fails(number=1)
    assert not isinstance(found.value, errors.LeastnoiseError)


def test_names_signatures_and_pickles_stay() -> None:
    assert list(inspect.signature(ln.sigma).parameters) == ["epsilon", "delta", "sensitivity", "steps", "sampling"]
    assert inspect.getdoc(ln.sigma).startswith("The least noise")  # type: ignore[union-attr]
    for function in (ln.sigma, ln.denoise.james_stein, ln.stats.mean, ln.baselines.zcdp_sigma):
        assert pickle.loads(pickle.dumps(function)) is function
