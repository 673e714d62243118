"""Functions of numbers that also take arrays: broadcast by NumPy's rules, one number for each element."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, Protocol, cast, overload

import numpy as np

from leastnoise import errors
from leastnoise._support.validation import Floats

P = ParamSpec("P")


class OverArrays(Protocol[P]):
    """A function from numbers to a number, and from arrays to an array."""

    @overload
    def __call__(self, *args: P.args, **options: P.kwargs) -> float: ...
    @overload
    def __call__(self, *args: Any, **options: Any) -> Floats: ...


def over_arrays(*names: str) -> Callable[[Callable[P, float]], OverArrays[P]]:
    """Let the named parameters be arrays too. Every element is computed as it would be by itself."""

    def decorate(function: Callable[P, float]) -> OverArrays[P]:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def called(*args: Any, **options: Any) -> float | Floats:
            given = signature.bind(*args, **options).arguments
            listed = {name: value for name, value in given.items() if name in names and _is_array(value)}
            if not listed:
                return function(*args, **options)
            return _each(function, given, {name: _array(name, value) for name, value in listed.items()})

        return cast(OverArrays[P], called)

    return decorate


def _is_array(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or (getattr(value, "ndim", 0) > 0)


def _array(name: str, value: Any) -> np.ndarray[Any, Any]:
    try:
        array = np.asarray(value)
    except ValueError:
        array = np.zeros(0, dtype=object)
    if array.dtype.kind not in "iuf" or not array.size:
        raise errors.WrongType(
            f"{name} must be a number, or a rectangular array of numbers that is not empty.", parameter=name
        )
    return array


def _each(function: Callable[..., float], given: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> Floats:
    try:
        full = np.broadcast_arrays(*arrays.values())
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise errors.InvalidParameter(
            f"These shapes do not broadcast together: {shapes}. "
            "Give arrays of one shape, or single numbers beside one array."
        ) from None
    rows = zip(*(array.ravel().tolist() for array in full), strict=True)
    answers = [function(**{**given, **dict(zip(arrays, row, strict=True))}) for row in rows]
    return np.array(answers, dtype=np.float64).reshape(full[0].shape)
