"""What one unit costs: the integers that it can move, over the noise of the blocks that they are in.

A `UnitCost` knows limits and sizes, public facts alone, and answers exactly or rounded up for any scales of the noise.
`BinComponents` is that of statistics of the same rows; `workload.unit_cost.TableBlocks` that of a set of tables.

**Statistics of the same rows.** In every bin there are several integers (`Component`), each the sum over the kept rows
of what a row adds to it:

    rows       1
    signed     between -V and V where the row has a value, else 0        (centred values, centred squares)
    one sign   between 0 and V (or -V and 0) where it has a value, else 0  (values of a clip of one sign)
    missing    1 where the row has no value, else 0

The sums of a ratio are signed or of one sign: to them a row adds that much where another column has a value, too, and
nothing where it has none, which is within the same bounds.

Noise of scale s is added to each. Write p = (V/s)^2 for Gaussian noise, p = V/s for Laplace noise; P_rows is the p of
the number of rows, P_one the sum over components of one sign, and P_values the sum over columns of the larger of (the
p of its signed components together) and (the p of its missing one). A row has a value or has none, so it never adds to
both: the missing values cost nothing as long as their p is not the larger.

With n_b rows of a unit in bin b, k of them with a value and m = n_b - k without, its part of the whole vector is at
most, per bin and in units of the noise:

    Gaussian   P_rows n^2 + P_one n^2 + P_values n^2         because k^2 + m^2 <= n^2
    Laplace    (P_rows + P_one + P_values) n                 because k + m = n

so add-remove costs mu^2 <= (P_rows + P_one + P_values) sum n_b^2, and epsilon <= (...) sum n_b, which `Limits` bounds.

Replace: n rows of one unit against n' of another in the same bin. The rows differ by |n - n'|, signed components by at
most V (k + k'), missing ones by |m - m'|, components of one sign by V max(n, n'), and
(k + k')^2 + (m - m')^2 <= (n + n')^2, since |m - m'| <= max(m, m'). So a bin costs at most

    f(n, n') = P_rows (n - n')^2 + P_values (n + n')^2 + P_one max(n, n')^2
             <= (n^2 + n'^2) (max(P_rows + P_values, 2 P_values) + P_one),

where 2 n n' (P_values - P_rows) <= (n^2 + n'^2) (P_values - P_rows) if P_values is the larger, and <= 0 otherwise. Both
units have sum n_b^2 of at most the limit: twice that. In a single bin f is convex, so it is largest at a corner of
0 <= n, n' <= max_per_bin. (n' = 0 is possible: a filter can remove a unit's rows.) For Laplace noise a bin costs at
most P_rows |n - n'| + P_values (n + n') + P_one max(n, n') <= (P_rows + P_values + P_one) (n + n').

Laplace noise in mu^2: a number that moves by s steps costs at most A s^2 and B s (`gaussian_price.step_prices`). So the
sums above hold with A V^2 in place of (V/s)^2, and with B V in place of V/s; the lesser of both is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, Protocol, TypeVar

from flint import arb, fmpq

from leastnoise import errors
from leastnoise.privacy.calibration import proof
from leastnoise.privacy.gaussian_price import step_prices
from leastnoise.privacy.neighbours import Neighbours
from leastnoise.privacy.sensitivity import Limits

ComponentKind = Literal["rows", "missing", "signed", "one sign"]
Name = TypeVar("Name", str, tuple[str, ...])  # of a block
_Sizes = tuple[Fraction, Fraction, Fraction]  # P_rows, P_values and P_one


class UnitCost(Protocol[Name]):
    """What one unit can cost, exactly or rounded up, at given scales of the noise on each block."""

    def mu_squared(self, scales: Mapping[Name, float]) -> Fraction:
        """mu^2 of Gaussian noise of these standard deviations."""

    def epsilon(self, scales: Mapping[Name, float]) -> Fraction:
        """epsilon of Laplace noise of these scales."""

    def laplace_mu_squared(self, scales: Mapping[Name, float]) -> Fraction:
        """mu^2 of Laplace noise of these scales: what it costs of a budget that adds up mu^2."""


def least_noise(
    cost: Callable[[Mapping[Name, float]], Fraction], proportions: Mapping[Name, float], limit: Fraction, *, power: int
) -> tuple[dict[Name, float], Fraction]:
    """The scales in these proportions, as small as keeps the cost within the limit: proved; and that cost.

    cost: `mu_squared` or `epsilon` of a `UnitCost`. proportions: of the scales of the blocks. limit: above 0.
    power: 2 where the cost falls with the square of the scales (mu^2), 1 where it falls with them (epsilon).
    """
    if not limit > 0:
        raise errors.InvalidParameter("No finite noise costs nothing: the limit must be above 0.", value=float(limit))
    scales, reached, nudge = dict(proportions), cost(proportions), 0.0
    while reached > limit or not nudge:
        factor = _root_up(reached, limit, power) * (1 + nudge)
        scales = {name: scale * factor for name, scale in scales.items()}
        if not all(map(math.isfinite, scales.values())):
            raise errors.OutOfRange("No noise that a double can hold keeps this promise. Allow more epsilon.")
        reached, nudge = cost(scales), 2 * nudge or 2.0**-52
    return scales, reached


def _root_up(cost: Fraction, limit: Fraction, power: int) -> float:
    with proof.precision(128):
        ratio = arb(fmpq(cost.numerator, cost.denominator)) / arb(fmpq(limit.numerator, limit.denominator))
        return proof.upward(ratio.sqrt() if power == 2 else ratio)


@dataclass(frozen=True, slots=True)
class Component:
    """One integer in every bin. `largest` is the most, in size, that one row adds to it."""

    name: str
    kind: ComponentKind
    largest: int = 1
    column: int | None = None  # which of the columns of values it is about


@dataclass(frozen=True, slots=True)
class BinComponents:
    """What one unit costs where these components of every bin are released together: a `UnitCost`."""

    components: tuple[Component, ...]
    limits: Limits
    bins: int
    neighbours: Neighbours

    def mu_squared(self, scales: Mapping[str, float]) -> Fraction:
        """mu^2 at most, exactly, of Gaussian noise of these standard deviations."""
        return self._squared(self._sizes(lambda each: (each.largest / Fraction(scales[each.name])) ** 2))

    def epsilon(self, scales: Mapping[str, float]) -> Fraction:
        """epsilon at most, exactly, of Laplace noise of these scales."""
        return self._summed(self._sizes(lambda each: each.largest / Fraction(scales[each.name])))

    def laplace_mu_squared(self, scales: Mapping[str, float]) -> Fraction:
        """mu^2 at most of Laplace noise of these scales, rounded up."""
        rows = self._rows_in_a_bin * (2 if self.neighbours == "replace" else 1)  # by which a bin moves at most
        steps = {each.name: step_prices(Fraction(scales[each.name]), rows * each.largest) for each in self.components}
        squared = self._sizes(lambda each: each.largest**2 * steps[each.name][0])
        summed = self._sizes(lambda each: each.largest * steps[each.name][1])
        return min(self._squared(squared), self._summed(summed))

    @property
    def _rows_in_a_bin(self) -> int:
        return min(self.limits.max_rows, self.limits.max_per_bin)

    def _squared(self, sizes: _Sizes) -> Fraction:
        limits, (rows, values, one) = self.limits, sizes
        if self.neighbours == "add-remove":
            return limits.squared_norm * (rows + values + one)
        if self.bins == 1:
            return self._rows_in_a_bin**2 * (max(rows + values, 4 * values) + one)
        return 2 * limits.squared_norm * (max(rows + values, 2 * values) + one)

    def _summed(self, sizes: _Sizes) -> Fraction:
        limits, (rows, values, one) = self.limits, sizes
        if self.neighbours == "add-remove":
            return limits.max_rows * (rows + values + one)
        if self.bins == 1:
            return self._rows_in_a_bin * (max(rows + values, 2 * values) + one)
        return 2 * limits.max_rows * (rows + values + one)

    def _sizes(self, size_of: Callable[[Component], Fraction]) -> _Sizes:
        """P_rows, P_values and P_one."""
        total = dict.fromkeys(("rows", "one sign"), Fraction(0))
        by_column: dict[int | None, dict[str, Fraction]] = {}
        for each in self.components:
            group = total if each.kind in total else by_column.setdefault(each.column, {})
            group[each.kind] = group.get(each.kind, Fraction(0)) + size_of(each)
        values = sum((max(sizes.values()) for sizes in by_column.values()), Fraction(0))
        return total["rows"], values, total["one sign"]
