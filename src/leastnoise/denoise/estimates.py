"""Estimates: many vectors denoised by one call, each by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from typing import Any

import numpy as np

from leastnoise import errors
from leastnoise._support.validation import Floats
from leastnoise.releases.estimate import Estimate, RiskEstimate

Index = int | tuple[int, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class Estimates:
    """What a denoiser returns where it was given `axis`: one estimate for each of many vectors.

    values, noisy: arrays of the shape that was given. method: which denoiser.
    axis: where one vector lies in them. shape: of what is left without those axes.
    row: makes the Estimate of one vector. estimate_risks: its figures for all.

    `risk`, `rmse`, `sure` and `degrees_of_freedom` are arrays of that shape, with NaN where there is no honest figure.
    `e[3]`, or `e[3, 0]` where the shape has two axes, is the `Estimate` of one vector, with all that those can do.
    """

    values: Any
    noisy: Any = field(repr=False)
    method: str
    axis: tuple[int, ...]
    shape: tuple[int, ...]
    row: Callable[[int], Estimate] = field(repr=False)
    estimate_risks: Callable[[], RiskEstimate] = field(repr=False)

    @cached_property
    def _figures(self) -> list[Floats]:
        return [_reshaped(figure, self.shape) for figure in self.estimate_risks()]

    @property
    def risk(self) -> Floats:
        """The estimated mean squared error per bin of each vector."""
        return self._figures[0]

    @property
    def degrees_of_freedom(self) -> Floats:
        """The divergence of the estimator at each vector."""
        return self._figures[1]

    @property
    def sure(self) -> Floats:
        """Stein's formula as it stands, of each vector; it can be negative."""
        return self._figures[2]

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
        wrapped = tuple(int(i) + (size if i < 0 else 0) for i, size in zip(place, self.shape, strict=True))
        if not all(0 <= i < size for i, size in zip(wrapped, self.shape, strict=True)):
            raise IndexError(f"{index} is outside the shape {self.shape}")
        return self.row(int(np.ravel_multi_index(wrapped, self.shape)))

    def __iter__(self) -> Iterator[Estimate]:
        """All of them, in NumPy's order."""
        return map(self.row, range(int(np.prod(self.shape))))

    def __reduce__(self) -> tuple[Any, tuple[dict[str, Any]]]:
        """A copy and a pickle carry the figures; what computes them, and single rows, does not travel."""
        facts = {f.name: getattr(self, f.name) for f in fields(self)}
        figures: Any = self._figures
        return _rebuilt, (facts | {"row": _no_row, "estimate_risks": partial(RiskEstimate, *figures)},)

    def __repr__(self) -> str:
        many = " by ".join(f"{size:,}" for size in self.shape)
        each = f"{int(np.prod([self.values.shape[axis] for axis in self.axis])):,}"
        return f"<Estimates of {many} vectors of {each} values by {self.method}>"


def _rebuilt(facts: dict[str, Any]) -> Estimates:
    return Estimates(**facts)


def _no_row(index: int) -> Estimate:
    raise errors.InvalidParameter(
        f"Single estimates do not travel with a copy of many. Denoise vector {index} once more, by itself."
    )


def _reshaped(figure: Any, shape: tuple[int, ...]) -> Floats:
    """One number for each vector, NaN for None."""
    if figure is None:
        return np.full(shape, np.nan)
    return np.asarray(figure, dtype=np.float64).reshape(shape)
