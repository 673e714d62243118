"""What makes a function a denoiser: it can be run again on other values, and on many vectors at once.

A function that is decorated here sees one vector (`estimator`), or an array whose last axis is the vector
(`rowwise_estimator`). What the caller gives is, by `axis`:

    a vector                                 as it is
    an array with axis=None                  all of it one vector, as NumPy's own functions mean None
    an array with an axis, or several        a vector along those for each index of the others: `Estimates`
    an array of two dimensions or more       one vector where a graph or a shape says so; else it is refused, for a
                                             thousand draws in as many rows are not one vector, and nothing would tell
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial, wraps
from typing import Any, ParamSpec, Protocol, cast, overload

import numpy as np

from leastnoise import errors
from leastnoise.denoise.arrays import Floats, as_array, namespace, on_host, sigmas_of
from leastnoise.denoise.estimates import Estimates
from leastnoise.denoise.rows import Rows, all_at_once, axes_of, one_by_one
from leastnoise.errors import Code
from leastnoise.releases.average_coverage import NoiseKept, noise_kept
from leastnoise.releases.estimate import Estimate
from leastnoise.releases.release import Release

P = ParamSpec("P")
Axis = int | tuple[int, ...]
ON_AXIS = """
axis: where one vector lies in an array of more dimensions, an axis or several: each is then denoised by itself, and
    all are returned as `Estimates`. None: the whole array is one vector.
"""


class Unset:
    """Stands for an axis that was not given."""

    def __repr__(self) -> str:
        return "..."


UNSET = Unset()


class Denoiser(Protocol[P]):
    """A denoiser: of one vector, and of each of many along an axis."""

    @overload
    def __call__(self, *args: P.args, **options: P.kwargs) -> Estimate: ...
    @overload
    def __call__(self, y: Any, sigma: Any, *, axis: None, **options: Any) -> Estimate: ...
    @overload
    def __call__(self, y: Any, sigma: Any, *, axis: Axis, **options: Any) -> Estimates: ...


def estimator(function: Callable[P, Estimate]) -> Denoiser[P]:
    """A denoiser from a function of one vector."""
    return _denoiser(function, rowwise=False)


def rowwise_estimator(function: Callable[P, Estimate]) -> Denoiser[P]:
    """A denoiser from a function of arrays whose last axis is the vector, and whose risk has a number for each row."""
    return _denoiser(function, rowwise=True)


def _denoiser(function: Callable[P, Estimate], *, rowwise: bool) -> Denoiser[P]:
    @wraps(function)
    def denoising(y: Any, sigma: Any, *, axis: Any = UNSET, **options: Any) -> Estimate | Estimates:
        if isinstance(y, Release):
            return _of_release(function.__name__, y, sigma, axis, options)
        array = as_array(y)
        one_vector = partial(_one_vector, function, options)
        if isinstance(axis, Unset) and len(array.shape) > 1 and not _says_it_is_one(array.shape, options):
            raise _many_or_one(function.__name__, tuple(array.shape))
        if axis is None or isinstance(axis, Unset):
            return one_vector(array, sigma)
        rows = Rows(array, sigma, axes_of(axis, len(array.shape)))
        if rowwise:
            return all_at_once(partial(function, **_flat(options, rows.vector)), one_vector, rows)
        return one_by_one(one_vector, rows)

    signature = inspect.signature(function)
    axis = inspect.Parameter("axis", inspect.Parameter.KEYWORD_ONLY, default=UNSET, annotation="Axis | None")
    denoising.__signature__ = signature.replace(parameters=[*signature.parameters.values(), axis])  # type: ignore[attr-defined]
    denoising.__doc__ = _with_axis(function.__doc__ or "")
    return cast(Denoiser[P], denoising)


def _of_release(name: str, release: Release, sigma: Any, axis: Any, options: dict[str, Any]) -> Estimate:
    """A release knows its noise, its keys and its promise, and the estimate keeps them."""
    if release.noise.is_none:  # there is nothing to take out, whatever sigma is
        sigma = 1.0
    one = sigmas_of(sigma, release.values.shape)
    near = isinstance(one, float) and any(abs(one / known - 1) < 0.01 for known in (release.std, release.sigma))
    if not near and not release.noise.is_none:
        shown = f"{one:.6g}" if isinstance(one, float) else "another for each value"
        raise errors.InvalidParameter(
            f"The noise of this release has the standard deviation {release.std:.6g}, and sigma was {shown}. It "
            "is in the unit of the values, and no variance. Give the release's own.",
            parameter="sigma",
            value=sigma,
            example={"sigma": Code("release.std", "the release's own")},
        )
    if not (axis is None or isinstance(axis, Unset)):
        options = {**options, "axis": axis}
    options = {key: value for key, value in options.items() if key != "mechanism"}
    return release.denoise(name, along=None, **options)


def _with_axis(text: str) -> str:
    """A docstring with what axis means: before its example, or at its end. (Since Python 3.13 it has no indent.)"""
    words, prompt, example = inspect.cleandoc(text).partition("\n\n>>>")
    return f"{words.rstrip()}{ON_AXIS.rstrip()}{prompt}{example}"


def _says_it_is_one(shape: tuple[int, ...], options: dict[str, Any]) -> bool:
    """Whether a graph is given that has not a node for each of a row, or the shape of a table with these cells."""
    graph, cells = options.get("graph"), options.get("shape")
    one_row = getattr(graph, "size", None) == shape[-1] and math.prod(shape) != shape[-1]
    return (graph is not None and not one_row) or (cells is not None and math.prod(cells) == math.prod(shape))


def _many_or_one(name: str, shape: tuple[int, ...]) -> errors.InvalidParameter:
    return errors.InvalidParameter(
        f"{name} was given an array of the shape {shape}, which may be many vectors or one. With axis -1 every row "
        "along the last axis is denoised by itself; with axis None all of it is one vector, such as a table's cells.",
        parameter="axis",
        example=[{"axis": -1}, {"axis": None}],
    )


def _one_vector(function: Callable[..., Estimate], options: dict[str, Any], y: Any, sigma: Any) -> Estimate:
    """An estimate in the shape of y, which the function sees flat."""
    shape = tuple(y.shape)
    level = sigmas_of(sigma, shape)
    flat = y if len(shape) == 1 else _reshaped(y, (-1,))
    made = function(flat, level if isinstance(level, float) else level.ravel(), **_flat(options, shape))
    if len(shape) != 1:
        made = replace(
            made,
            values=_reshaped(made.values, shape),
            noisy=_reshaped(made.noisy, shape) if isinstance(made.noisy, np.ndarray) else y,
            sigmas=None if made.sigmas is None else made.sigmas.reshape(shape),
            exact_std=None if made.exact_std is None else made.exact_std.reshape(shape),
        )
    if made.sigmas is not None:  # what needs it to be run again is known for one sigma only
        return made
    again = partial(_again, function, options)

    def measure() -> float:
        return noise_kept(again, on_host(made.noisy).astype(float), made.std)

    return replace(made, denoise_again=again, noise_kept=NoiseKept(measure))


def _again(function: Callable[..., Estimate], options: dict[str, Any], y: Floats, sigma: float) -> Floats:
    made = function(y.ravel(), sigma, **_flat(options, y.shape))
    return on_host(made.values).astype(float).reshape(y.shape)


def _flat(options: dict[str, Any], shape: tuple[int, ...]) -> dict[str, Any]:
    """The options, with arrays of the shape of y made flat as y is."""
    if len(shape) == 1:
        return options
    alike = {name: value for name, value in options.items() if getattr(value, "shape", None) == shape}
    return options | {name: _reshaped(value, (-1,)) for name, value in alike.items()}


def _reshaped(array: Any, shape: tuple[int, ...]) -> Any:
    return namespace(array).reshape(array, shape)
