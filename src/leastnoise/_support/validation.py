"""Checks of public parameters: what each may be, and how one that is no double is rounded toward privacy.

Everything here is public (epsilon, delta, sigma, ...), so messages may show the value and its place.
Never pass private data through this module.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from numbers import Rational
from typing import Any, Literal, ParamSpec, Protocol, cast, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leastnoise import errors
from leastnoise._support.rounding import round_down, round_up, step_where

Floats = NDArray[np.float64]
Number = float | int | Fraction | Decimal
Numbers = Number | ArrayLike

# Which way a number that is no double (2**53 + 1, Fraction(1, 3)) must go so that the guarantee survives:
# more sensitivity and less of everything that the noise may lean on.
TOWARD_PRIVACY: dict[str, Literal["up", "down"]] = {
    "sensitivity": "up",
    "l1_sensitivity": "up",
    "epsilon": "down",
    "delta": "down",
    "sigma": "down",
    "error": "down",
    "confidence": "up",
    "grid": "up",
    "mu": "up",
}

_MEANINGS = {
    "epsilon": "epsilon is how much an attacker may learn: a number >= 0.",
    "delta": "delta is a small probability: 0 < delta < 1.",
    "sensitivity": "The sensitivity is how far one person can move the answer (L2): a number > 0.",
    "l1_sensitivity": "The L1 sensitivity is how far one person can move the answer in L1: a number > 0.",
    "sigma": "sigma is the standard deviation of the noise: a number > 0.",
    "error": "The error is how far off a published number may be: a number > 0.",
    "confidence": "The confidence is how often the promise must hold: 0 < confidence < 1.",
    "share": "A share is a part of the whole budget: 0 < share <= 1.",
    "others": "others is the part of a release that is for the total of all keys: 0.001 <= others <= 0.999.",
    "bins": "bins is how many numbers are published: a whole number >= 1.",
    "steps": "steps is how many releases there are: a whole number >= 1.",
    "times": "times is how often a guarantee is repeated: a whole number >= 1.",
    "domain_size": "domain_size is the public number of bins, occupied or not: a whole number >= 1.",
    "sampling": "sampling is the chance that a unit takes part in a step: a number above 0 and at most 1.",
}
_EXAMPLES: dict[str, float] = {
    "epsilon": 1,
    "delta": 1e-6,
    "sensitivity": 1,
    "l1_sensitivity": 1,
    "error": 10,
    "confidence": 0.95,
    "share": 0.25,
    "others": 0.1,
    "steps": 1000,
    "domain_size": 10**12,
    "sampling": 0.01,
}


def number(name: str, value: object, *, up: bool | None = None) -> float:
    """One public number as a double, or the error that names the mistake.

    `up` overrides the direction of rounding: a guarantee *stated* rounds up, one *asked for* rounds down.
    """
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    numeric = isinstance(value, (int, float, Fraction, Decimal, np.integer, np.floating))
    if isinstance(value, (bool, np.bool_)) or not numeric:
        raise errors.WrongType.must(name, "be a number", value, _meaning(name), example=_example(name))
    if up is None:
        up = TOWARD_PRIVACY.get(name) == "up"
    double = _to_double(value, up)  # type: ignore[arg-type]
    if not 0 < double < (1 if name in ("delta", "confidence") else math.inf):  # inside, every name is content
        _check(name, np.asarray(double))
    return double


def numbers(name: str, value: Numbers) -> Floats:
    """An array (or one number) of public numbers as doubles, or the error that names the first bad element."""
    if _is_scalar(value):
        return np.asarray(number(name, value))
    try:
        array = np.asarray(value)
    except ValueError:
        raise errors.WrongType(
            f"{name} must be a number or a rectangular array of numbers. Got rows of different lengths instead.",
            parameter=name,
        ) from None
    if array.dtype.kind not in "iuf":
        raise errors.WrongType(
            f"{name} must be a number or an array of numbers. Got an array of {array.dtype} instead. {_meaning(name)}",
            parameter=name,
            example=_example(name),
        )
    if array.size == 0:
        raise errors.InvalidParameter(
            f"{name} is an empty array, so there is nothing to compute. {_meaning(name)}",
            parameter=name,
            example=_example(name),
        )
    doubles = _array_to_doubles(name, array)
    _check(name, doubles)
    return doubles


def broadcast(**named: NDArray[Any]) -> list[NDArray[Any]]:
    """The arrays at their common shape."""
    try:
        return [np.array(array) for array in np.broadcast_arrays(*named.values())]
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in named.items())
        raise errors.InvalidParameter(
            f"These shapes do not broadcast together: {shapes}. "
            "Give arrays of one shape, or single numbers beside one array."
        ) from None


def integer(name: str, value: object, *, least: int = 1) -> int:
    """One public whole number >= least."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise errors.WrongType.must(name, "be a whole number", value, _meaning(name), example=_example(name))
    if value < least:
        raise errors.InvalidParameter.must(
            name, f"be at least {least}", int(value), _meaning(name), example=_example(name)
        )
    return int(value)


def is_zero(value: object) -> bool:
    """Whether this is a number, of whatever type, and zero: delta = 0 asks for Laplace noise."""
    if isinstance(value, Decimal):
        return value.is_zero()  # a signalling NaN cannot be compared
    numeric = isinstance(value, (int, float, Fraction, np.integer, np.floating))
    return numeric and not isinstance(value, bool) and bool(value == 0)


def check_norms(l1: float, l2: float) -> None:
    """Refuse an L1 sensitivity below the L2 one."""
    if l1 < l2 * (1 - 1e-12):
        raise errors.InvalidParameter(
            f"The L1 sensitivity {l1:g} is below the L2 sensitivity {l2:g}, which cannot be: L2 <= L1 for every "
            "vector. Check which is which.",
            parameter="l1_sensitivity",
            value=l1,
        )


def word(name: str, value: object, choices: Iterable[str]) -> str:
    """One of the choices."""
    choices = list(choices)
    if isinstance(value, str) and value in choices:
        return value
    raise errors.InvalidParameter.among(name, value, choices)


def _is_scalar(value: object) -> bool:
    return np.isscalar(value) or value is None or isinstance(value, (Fraction, Decimal))


def _to_double(value: float | Fraction | Decimal, up: bool) -> float:
    """The double next to `value` on the side of privacy (exact for every double)."""
    try:
        double = float(value)
    except OverflowError:
        double = math.inf
    except ValueError:  # a signalling NaN
        double = math.nan
    if isinstance(value, float) or not math.isfinite(double) or (isinstance(value, int) and abs(value) <= 2**53):
        return double
    exact = Fraction(int(value), 1) if isinstance(value, np.integer) else _exact(value)
    return round_up(exact) if up else round_down(exact)


def _exact(value: float | Fraction | Decimal) -> Fraction:
    if isinstance(value, (Rational, Decimal)):
        return Fraction(value)
    return Fraction(*value.as_integer_ratio())


def _array_to_doubles(name: str, array: NDArray[np.generic]) -> Floats:
    with np.errstate(over="ignore"):  # a longdouble past the double range becomes inf, which is refused below
        doubles = array.astype(np.float64)
    if array.dtype.kind == "f" and array.dtype.itemsize <= 8:
        return doubles
    # Wider types may have been rounded; one ulp toward privacy covers it. Integers up to 2**53 are exact.
    rounded = np.abs(doubles) >= 2.0**53 if array.dtype.kind in "iu" else doubles != array
    return step_where(rounded, doubles, up=TOWARD_PRIVACY.get(name) == "up")


def _check(name: str, values: Floats) -> None:
    """The rules of a name, one after the other: the first that some number breaks is told, with the number's place."""
    for holds, rule, reason in (_FINITE, *_RULES.get(name, (_POSITIVE,))):
        good = holds(values)
        if not good.all():
            place = np.unravel_index(int(np.argmin(good)), good.shape)
            at = f" at index {', '.join(map(str, map(int, place)))}" if good.ndim else ""
            first = float(values[place])
            raise errors.InvalidParameter(
                f"{name} must {rule}. Got {first!r}{at} instead. {reason or _meaning(name)}",
                parameter=name,
                value=first,
                example=_example(name),
            )


_Rule = tuple[Callable[[Floats], Any], str, str | None]  # what holds, and what is said where it does not
_FINITE: _Rule = (np.isfinite, "be finite", None)
_POSITIVE: _Rule = (lambda values: values > 0, "be above 0", None)
_NOT_NEGATIVE: _Rule = (lambda values: values >= 0, "be at least 0", None)
_RULES: Mapping[str, tuple[_Rule, ...]] = {
    "epsilon": (_NOT_NEGATIVE,),
    "grid": (_NOT_NEGATIVE,),
    "confidence": ((lambda values: (values > 0) & (values < 1), "lie between 0 and 1", None),),
    "delta": (
        (
            lambda values: values != 0,
            "be above 0",
            "No Gaussian noise, however large, gives delta = 0. Use Laplace noise, or another delta.",
        ),
        _POSITIVE,
        (
            lambda values: values < 1,
            "be below 1",
            "A delta of 1 or more allows publishing everything, so it protects nobody.",
        ),
    ),
}


def _meaning(name: str) -> str:
    return _MEANINGS.get(name, "Give a finite number in its range.")


def _example(name: str) -> errors.Example | tuple[()]:
    return {name: _EXAMPLES[name]} if name in _EXAMPLES else ()


def as_host(array: Any) -> Any:
    """The array as NumPy's, without what its library remembers of its making; what is no array stays as it is."""
    if isinstance(array, (np.ndarray, np.generic)):
        return array
    import array_api_compat

    if not array_api_compat.is_array_api_obj(array):
        return array
    if array_api_compat.is_cupy_array(array):
        return array.get()
    detached = array.detach() if hasattr(array, "detach") else array
    return np.asarray(array_api_compat.to_device(detached, "cpu") if hasattr(detached, "detach") else detached)


P = ParamSpec("P")


class OverArrays(Protocol[P]):
    """A function from numbers to a number, and from arrays to an array."""

    @overload
    def __call__(self, *args: P.args, **options: P.kwargs) -> float: ...
    @overload
    def __call__(self, *args: Any, **options: Any) -> Floats: ...


def numbers_or_arrays(function: Callable[P, float]) -> OverArrays[P]:
    """The function as it is, for which `OverArrays` is true: where it is given an array it returns one."""
    return cast(OverArrays[P], function)


def over_arrays(*names: str) -> Callable[[Callable[P, float]], OverArrays[P]]:
    """Let the named parameters be arrays too. Every element is computed as it would be by itself."""

    def decorate(function: Callable[P, float]) -> OverArrays[P]:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def called(*args: Any, **options: Any) -> float | Floats:
            given = signature.bind(*args, **options).arguments
            several = {name: _array(name, value) for name, value in given.items() if name in names and _is_array(value)}
            if not several:
                return function(*args, **options)
            full = broadcast(**several)
            rows = zip(*(array.ravel().tolist() for array in full), strict=True)
            answers = [function(**{**given, **dict(zip(several, row, strict=True))}) for row in rows]  # type: ignore[call-arg]
            return np.array(answers, dtype=np.float64).reshape(full[0].shape)

        return cast(OverArrays[P], called)

    return decorate


def _is_array(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or (getattr(value, "ndim", 0) > 0)


def _array(name: str, value: Any) -> NDArray[Any]:
    try:
        array = np.asarray(value)
    except ValueError:
        array = np.zeros(0, dtype=object)
    if array.dtype.kind not in "iuf" or not array.size:
        raise errors.WrongType(
            f"{name} must be a number, or a rectangular array of numbers that is not empty.", parameter=name
        )
    return array
