"""What makes a rule a denoiser.

A rule is a function of one vector y, of sigma and of named options, and returns `Denoised`. `@denoiser()` makes of it
what users call: y is checked, made flat and brought to this machine's memory in doubles, and so are options of its
shape; a graph has a node for each value; what is returned is an `Estimate` in the shape of y, with its own error, that
can be run again. What else a rule takes is declared:

    sigmas        a sigma for every bin, where they differ: the rule is then given an array
    on_device     arrays of any library, in their type and on their device

The caller says by `axis` what one vector is:

    a vector                                 as it is
    an array with axis=None                  all of it one vector, as NumPy's own functions mean None
    an array with an axis, or several        a vector along those for each index of the others: `Estimates`
    an array of two dimensions or more       one vector where a graph or a shape says so; else it is refused, for a
                                             thousand draws in as many rows are not one vector, and nothing would tell
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial, wraps
from typing import Any, NamedTuple, ParamSpec, Protocol, cast, overload

import numpy as np

from leastnoise import errors
from leastnoise._support import validation
from leastnoise.denoise.arrays import (
    Floats,
    Mechanism,
    as_array,
    check_nodes,
    host_number,
    mean_square,
    namespace,
    of_library,
    on_host,
    one_sigma,
    sigmas_of,
    squares,
)
from leastnoise.denoise.risk import stein_estimate
from leastnoise.releases.average_coverage import NoiseKept, noise_kept
from leastnoise.releases.estimate import Estimate, RiskEstimate
from leastnoise.releases.noise import MECHANISMS, Noise
from leastnoise.releases.release import Release

P = ParamSpec("P")
Axis = int | tuple[int, ...]
ON_AXIS = """
axis: where one vector lies in an array of more dimensions, an axis or several: each is then denoised by itself, and
    all are returned as `Estimates`. None: the whole array is one vector.
"""


class Stein(NamedTuple):
    """What Stein's formula takes: the divergence of the rule at y; and ||y - h||^2, where that is not of the values."""

    degrees_of_freedom: float
    residual: float | None = None


Risk = Stein | RiskEstimate | None


class Denoised(NamedTuple):
    """What a rule returns.

    values: like y. parameters: what was given and what was chosen, by name.
    risk: what its error is estimated from, or a function for that; None where there is no honest figure.
    nonnegative: whether the truth is known not to be. details: what was found on the way.
    also: other fields of the `Estimate`.
    """

    values: Any
    parameters: Mapping[str, Any] = {}
    risk: Risk | Callable[[], Risk] = None
    nonnegative: bool = False
    details: Any = None
    also: Mapping[str, Any] = {}


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


def denoiser(*, sigmas: bool = False, on_device: bool = False) -> Callable[[Callable[P, Denoised]], Denoiser[P]]:
    """A denoiser from a rule. sigmas, on_device: what the rule takes (see above)."""

    def made_of(rule: Callable[P, Denoised]) -> Denoiser[P]:
        of_vector = partial(_of_vector, rule, sigmas, on_device)

        @wraps(rule)
        def denoising(y: Any, sigma: Any, *, axis: Any = UNSET, **options: Any) -> Estimate | Estimates:
            array = _array(rule.__name__, y)
            if isinstance(axis, Unset) and len(array.shape) > 1 and not _says_it_is_one(array.shape, options):
                raise _many_or_one(rule.__name__, tuple(array.shape))
            if axis is None or isinstance(axis, Unset):
                return of_vector(array, sigma, options)
            return _along(partial(of_vector, options=options), array, sigma, _axes_of(axis, len(array.shape)))

        signature = inspect.signature(rule)
        last = inspect.Parameter("axis", inspect.Parameter.KEYWORD_ONLY, default=UNSET, annotation="Axis | None")
        denoising.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[*signature.parameters.values(), last], return_annotation="Estimate"
        )
        denoising.is_denoiser = True  # type: ignore[attr-defined]
        denoising.__doc__ = _with_axis(rule.__doc__ or "")
        return cast(Denoiser[P], denoising)

    return made_of


def estimate_of(made: Denoised, method: str, y: Any, sigma: float | Floats, mechanism: Mechanism) -> Estimate:
    """The estimate of a flat y that a rule made."""

    @cache
    def estimate_risk() -> RiskEstimate:
        risk = made.risk() if callable(made.risk) else made.risk
        if risk is None or isinstance(risk, RiskEstimate):
            return risk or RiskEstimate(None, None)
        moved = risk.residual
        if moved is None:
            moved = host_number(squares(y - made.values, namespace(y)))
        return stein_estimate(
            moved, host_number(risk.degrees_of_freedom), math.prod(y.shape), math.sqrt(mean_square(sigma))
        )

    facts: dict[str, Any] = {
        "values": made.values,
        "noisy": y,
        "noise": Noise.of(mechanism, sigma=math.sqrt(mean_square(sigma))),
        "sigmas": None if isinstance(sigma, float) else sigma,
        "method": method,
        "parameters": made.parameters,
        "estimate_risk": estimate_risk,
        "nonnegative": made.nonnegative,
        "details": made.details,
    }
    return Estimate(**{**facts, **made.also})


def _of_vector(
    rule: Callable[..., Denoised], sigmas: bool, on_device: bool, y: Any, sigma: Any, options: dict[str, Any]
) -> Estimate:
    """An estimate in the shape of y, which the rule sees flat."""
    shape = tuple(y.shape)
    mechanism: Any = validation.word("mechanism", options.get("mechanism", "gaussian"), MECHANISMS)
    level = sigmas_of(sigma, shape)
    level = level if sigmas else one_sigma(level)
    array = of_library(y) if on_device else on_host(y).astype(np.float64)
    if options.get("graph") is not None:
        check_nodes(options["graph"], math.prod(shape))
    given = {name: _flat(value, shape) for name, value in options.items()}
    flat, own = _flat(array, shape), _flat(level, shape)
    found = estimate_of(rule(flat, own, **given), rule.__name__, flat, own, mechanism)

    def again(y: Floats, sigma: float) -> Floats:
        return np.asarray(on_host(rule(y.ravel(), sigma, **given).values).astype(np.float64).reshape(y.shape))

    def measure() -> float:
        return noise_kept(again, on_host(array).astype(np.float64), found.std)

    shaped: dict[str, Any] = {"values": _shaped(found.values, shape), "noisy": array}
    shaped |= {name: _shaped(getattr(found, name), shape) for name in ("sigmas", "exact_std")}
    if found.sigmas is None:  # what needs it to be run again is known for one sigma only
        shaped |= {"denoise_again": again, "noise_kept": NoiseKept(measure)}
    return replace(found, **shaped)


def _along(of_vector: Callable[[Any, Any], Estimate], y: Any, sigma: Any, axes: tuple[int, ...]) -> Estimates:
    """One vector after the other."""
    others = tuple(axis for axis in range(len(y.shape)) if axis not in axes)
    order = (*others, *axes)
    shape, vector = (tuple(int(y.shape[axis]) for axis in those) for those in (others, axes))
    if not math.prod(shape):
        raise errors.InvalidParameter(f"y has no vectors: its shape is {tuple(y.shape)}.", parameter="y")
    xp = namespace(y)
    rows = xp.reshape(xp.permute_dims(y, order), (-1, *vector))
    level = sigmas_of(sigma, tuple(y.shape), broadcast=True)
    levels = [level] * len(rows) if isinstance(level, float) else np.transpose(level, order).reshape(rows.shape)
    made = [of_vector(rows[i, ...], levels[i]) for i in range(math.prod(shape))]
    values = namespace(made[0].values).stack([one.values for one in made])
    back = tuple(order.index(axis) for axis in range(len(order)))
    values = namespace(values).permute_dims(_shaped(values, (*shape, *vector)), back)
    return Estimates(values=values, noisy=y, method=made[0].method, axis=axes, shape=shape, estimates=tuple(made))


def _axes_of(axis: Any, dimensions: int) -> tuple[int, ...]:
    """Which axes make up a vector, counted from zero, in increasing order."""
    named = axis if isinstance(axis, tuple) else (axis,)
    if not named or any(isinstance(one, bool) or not isinstance(one, (int, np.integer)) for one in named):
        raise errors.WrongType(
            f"axis must be a whole number, several in a tuple, or None. Got {axis!r} instead.", parameter="axis"
        )
    counted = sorted(int(one) + dimensions * (one < 0) for one in named)
    if counted[0] < 0 or counted[-1] >= dimensions or len(set(counted)) < len(counted):
        raise errors.InvalidParameter(
            f"axis must name different axes of an array of {dimensions} dimensions. Got {axis!r} instead.",
            parameter="axis",
            value=axis,
        )
    if len(counted) == dimensions:
        raise errors.InvalidParameter(
            "With all axes named there is only one vector. Say None, or leave axis out where y has one dimension.",
            parameter="axis",
            value=axis,
            example={"axis": None},
        )
    return tuple(counted)


def _array(name: str, y: Any) -> Any:
    """y as an array. A release denoises itself: it knows its noise, its keys and its guarantee."""
    if isinstance(y, Release):
        raise errors.WrongType(
            f"y is a release, which knows its noise and hands its keys and guarantee on. Say y.denoise({name!r}).",
            parameter="y",
        )
    return as_array(y)


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


def _flat(value: Any, shape: tuple[int, ...]) -> Any:
    """An array of this shape as a vector; whatever else as it is."""
    same = len(shape) != 1 and tuple(getattr(value, "shape", ())) == shape
    return namespace(value).reshape(value, (-1,)) if same else value


def _shaped(array: Any, shape: tuple[int, ...]) -> Any:
    return array if array is None else namespace(array).reshape(array, shape)


Index = int | tuple[int, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class Estimates:
    """What a denoiser returns where it was given `axis`: one estimate for each of many vectors.

    values, noisy: arrays of the shape that was given. method: which denoiser.
    axis: where one vector lies in them. shape: of what is left without those axes.
    estimates: the `Estimate` of each vector, in NumPy's order.

    `risk`, `rmse`, `sure` and `degrees_of_freedom` are arrays of that shape, with NaN where there is no honest figure.
    `e[3]`, or `e[3, 0]` where the shape has two axes, is the `Estimate` of one vector, with all that those can do.
    """

    values: Any
    noisy: Any = field(repr=False)
    method: str
    axis: tuple[int, ...]
    shape: tuple[int, ...]
    estimates: tuple[Estimate, ...] = field(repr=False)

    @cached_property
    def _risks(self) -> list[RiskEstimate]:
        return [one.estimate_risk() for one in self.estimates]

    def _figures(self, of: Callable[[RiskEstimate], float | None]) -> Floats:
        """One number for each vector, NaN for None."""
        return np.array([of(risk) for risk in self._risks], dtype=np.float64).reshape(self.shape)

    @property
    def risk(self) -> Floats:
        """The estimated mean squared error per bin of each vector."""
        return self._figures(lambda one: one.risk)

    @property
    def degrees_of_freedom(self) -> Floats:
        """The divergence of the estimator at each vector."""
        return self._figures(lambda one: one.degrees_of_freedom)

    @property
    def sure(self) -> Floats:
        """Stein's formula as it stands, of each vector; it can be negative."""
        return self._figures(lambda one: one.sure)

    @property
    def rmse(self) -> Floats:
        """The square root of `risk`."""
        return np.asarray(np.sqrt(self.risk))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Index) -> Estimate:
        place = index if isinstance(index, tuple) else (index,)
        if len(place) != len(self.shape):
            raise IndexError(
                f"these estimates have the shape {self.shape}, so one of them has {len(self.shape)} indices"
            )
        return self.estimates[int(np.arange(len(self.estimates)).reshape(self.shape)[place])]

    def __iter__(self) -> Iterator[Estimate]:
        """All of them, in NumPy's order."""
        return iter(self.estimates)

    def __repr__(self) -> str:
        many = " by ".join(f"{size:,}" for size in self.shape)
        each = f"{int(np.prod([self.values.shape[axis] for axis in self.axis])):,}"
        return f"<Estimates of {many} vectors of {each} values by {self.method}>"
