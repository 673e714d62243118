"""What one unit costs when several statistics of the same rows are released together: the joint integer vector.

In every bin there are several whole numbers (`Part`), each the sum over the kept rows of what a row adds to it:

    rows       1
    signed     between -V and V where the row has a value, else 0        (centred values, centred squares)
    one sign   between 0 and V (or -V and 0) where it has a value, else 0  (values of a clip of one sign)
    missing    1 where the row has no value, else 0

The sums of a ratio are signed or of one sign: to them a row adds that much where another column has a value, too, and
nothing where it has none, which is within the same bounds.

Noise of scale s is added to each. Write p = (V/s)^2 for Gaussian noise, p = V/s for Laplace noise; P_rows is the p of
the number of rows, P_one the sum over parts of one sign, and P_values the sum over columns of the larger of (the p of
its signed parts together) and (the p of its missing part). A row has a value or has none, so it never adds to both: the
missing values cost nothing as long as their p is not the larger.

With n_b rows of a unit in bin b, k of them with a value and m = n_b - k without, its part of the whole vector is at
most, per bin and in units of the noise:

    Gaussian   P_rows n^2 + P_one n^2 + P_values n^2         because k^2 + m^2 <= n^2
    Laplace    (P_rows + P_one + P_values) n                 because k + m = n

so add-remove costs mu^2 <= (P_rows + P_one + P_values) sum n_b^2, and epsilon <= (...) sum n_b, which `Limits` bounds.

Replace: n rows of one unit against n' of another in the same bin. The rows differ by |n - n'|, signed parts by at most
V (k + k'), missing ones by |m - m'|, parts of one sign by V max(n, n'), and (k + k')^2 + (m - m')^2 <= (n + n')^2,
since |m - m'| <= max(m, m'). So a bin costs at most

    f(n, n') = P_rows (n - n')^2 + P_values (n + n')^2 + P_one max(n, n')^2
             <= (n^2 + n'^2) (max(P_rows + P_values, 2 P_values) + P_one),

where 2 n n' (P_values - P_rows) <= (n^2 + n'^2) (P_values - P_rows) if P_values is the larger, and <= 0 otherwise. Both
units have sum n_b^2 of at most the limit: twice that. In a single bin f is convex, so it is largest at a corner of
0 <= n, n' <= max_per_bin. (n' = 0 is possible: a filter can remove a unit's rows.) For Laplace noise a bin costs at
most P_rows |n - n'| + P_values (n + n') + P_one max(n, n') <= (P_rows + P_values + P_one) (n + n').
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from leastnoise.privacy.gaussian_price import step_prices
from leastnoise.privacy.neighbours import Neighbours
from leastnoise.privacy.sensitivity import Limits

PartKind = Literal["rows", "missing", "signed", "one sign"]
_Sizes = tuple[Fraction, Fraction, Fraction]  # P_rows, P_values and P_one


@dataclass(frozen=True, slots=True)
class Part:
    """One whole number in every bin. `largest` is the most, in size, that one row adds to it."""

    name: str
    kind: PartKind
    largest: int = 1
    column: int | None = None  # which of the columns of values it is about


def gaussian_cost(
    parts: Iterable[Part], scales: Mapping[str, float], *, limits: Limits, bins: int, neighbours: Neighbours
) -> Fraction:
    """mu^2 at most, exactly, of Gaussian noise of these standard deviations on whole numbers."""
    return _squared(
        _sizes(parts, lambda part: (part.largest / Fraction(scales[part.name])) ** 2), limits, bins, neighbours
    )


def _squared(sizes: _Sizes, limits: Limits, bins: int, neighbours: Neighbours) -> Fraction:
    rows, values, one = sizes
    if neighbours == "add-remove":
        return limits.squared_norm * (rows + values + one)
    if bins == 1:
        return min(limits.max_rows, limits.max_per_bin) ** 2 * (max(rows + values, 4 * values) + one)
    return 2 * limits.squared_norm * (max(rows + values, 2 * values) + one)


def laplace_cost(
    parts: Iterable[Part], scales: Mapping[str, float], *, limits: Limits, bins: int, neighbours: Neighbours
) -> Fraction:
    """epsilon at most, exactly, of Laplace noise of these scales on whole numbers."""
    return _summed(_sizes(parts, lambda part: part.largest / Fraction(scales[part.name])), limits, bins, neighbours)


def laplace_price(
    parts: Iterable[Part], scales: Mapping[str, float], *, limits: Limits, bins: int, neighbours: Neighbours
) -> Fraction:
    """mu^2 at most of Laplace noise of these scales, rounded up.

    A number that moves by s steps costs at most A s^2, and at most B s (`gaussian_price.step_prices`). So the sums
    above hold with A V^2 in place of (V/s)^2, and with B V in place of V/s; the lesser of both is taken.
    """
    kept, rows = tuple(parts), min(limits.max_rows, limits.max_per_bin) * (2 if neighbours == "replace" else 1)
    steps = {part.name: step_prices(Fraction(scales[part.name]), rows * part.largest) for part in kept}
    squared = _sizes(kept, lambda part: part.largest**2 * steps[part.name][0])
    summed = _sizes(kept, lambda part: part.largest * steps[part.name][1])
    return min(_squared(squared, limits, bins, neighbours), _summed(summed, limits, bins, neighbours))


def _summed(sizes: _Sizes, limits: Limits, bins: int, neighbours: Neighbours) -> Fraction:
    rows, values, one = sizes
    if neighbours == "add-remove":
        return limits.max_rows * (rows + values + one)
    if bins == 1:
        return min(limits.max_rows, limits.max_per_bin) * (max(rows + values, 2 * values) + one)
    return 2 * limits.max_rows * (rows + values + one)


def _sizes(parts: Iterable[Part], size_of: Callable[[Part], Fraction]) -> _Sizes:
    """P_rows, P_values and P_one."""
    rows, one = Fraction(0), Fraction(0)
    signed: dict[int | None, Fraction] = {}
    missing: dict[int | None, Fraction] = {}
    for part in parts:
        size = size_of(part)
        if part.kind == "rows":
            rows += size
        elif part.kind == "one sign":
            one += size
        else:
            group = signed if part.kind == "signed" else missing
            group[part.column] = group.get(part.column, Fraction(0)) + size
    values = sum(
        (max(signed.get(c, Fraction(0)), missing.get(c, Fraction(0))) for c in {*signed, *missing}), Fraction(0)
    )
    return rows, values, one
