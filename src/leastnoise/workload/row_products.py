"""How much the answers of two rows have in common, over all pairs of rows.

A row t adds the vector Phi(t) to the integers of all blocks, each block over its sigma. On one axis
(n I - J)^2 = n (n I - J), so for two rows that differ exactly in the columns D

    <Phi(t), Phi(t')> = g(D) = sum_A a_A prod over A and D of -1/(n_i - 1),
    a_A = prod over A of n_i (n_i - 1) / sigma_A^2.

g(no column) = |Phi(t)|^2 is the same for every row. What costs more than one row is about needs the least and the
greatest g(D) over the other D.

*Other columns than plain counts* (`columns`) have products of two keys anywhere between `least` and `norm`. The product
of two rows is linear in that of each column by itself, so it is least where every one is at an end: with least/norm in
place of -1/(n - 1) and `norm` in place of n (n - 1), g(D) is then at most every product of two rows, for some D, and
g(no column) at least every squared norm. So what follows from g(no column) and the least g(D) holds, as a bound; the
greatest g(D) says nothing.

*By types.* Columns are put into classes of equal size. Where sigma_A depends only on how many columns A has of each
class (and every set with those numbers is a block), g(D) depends only on how many columns k_c of each class are in D:

    g(k) = sum over t of a_t prod_c kappa_c(k_c, t_c),   kappa(k, t) = sum_j C(k, j) C(d - k, t - j) (-1/(n - 1))^j,

d being the number of columns in the class. Classes of one column each are all sets D: g is then exact for any noise. Up
to 2^20 types (20 columns without any symmetry, or 100 of one size) are evaluated; beyond there are bounds.

*Rounding.* |kappa(k, t)| <= C(d, t) = kappa(0, t), so all terms are in absolute value at most those of g(no column),
and the sums in doubles are off by at most 2^-50 g(no column) times the number of roundings on the way.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb
from numpy.typing import NDArray

from leastnoise.privacy.calibration import proof
from leastnoise.workload.columns import ColumnStrategy

Table = tuple[str, ...]
MOST_TYPES = 2**20
_BITS = 256


@dataclass(frozen=True)
class KeyProducts:
    """Of one column: the largest squared norm of what a key adds, and the least product of two keys."""

    norm: int
    least: int

    @property
    def ratio(self) -> Fraction:
        """The least over the largest."""
        return Fraction(self.least, self.norm)


@dataclass(frozen=True)
class RowProducts:
    """|Phi(t)|^2 of one row, rounded up; and the least and the greatest product of two rows that differ, outward."""

    same: float
    least: float
    greatest: float


def key_products(
    sizes: Mapping[str, int], strategies: Mapping[str, ColumnStrategy] | None = None
) -> dict[str, KeyProducts]:
    """Of every column: n (n - 1) and -n of plain counts.

    sizes: how many keys each column has. strategies: of the columns that are published otherwise.
    """
    made = {column: KeyProducts(size * (size - 1), -size) for column, size in sizes.items()}
    return made | {column: KeyProducts(each.norm, each.least) for column, each in (strategies or {}).items()}


def one_row(scales: Mapping[Table, float], pairs: Mapping[str, KeyProducts]) -> float:
    """|Phi(t)|^2 alone, rounded up."""
    return _total(Counter(_quotients(scales, pairs).values()))


def row_products(scales: Mapping[Table, float], pairs: Mapping[str, KeyProducts]) -> RowProducts:
    """Of these standard deviations of the noise on the integers of each block, which mean exactly what they are.

    pairs: of all columns in which rows may differ, in a block or not. Blocks with a column of one key are always zero.
    """
    scales = {block: sigma for block, sigma in scales.items() if all(pairs[column].norm for column in block)}
    parts = _quotients(scales, pairs)
    counted = Counter(parts.values())
    same = _total(counted)
    columns = [column for column, pair in pairs.items() if pair.norm]
    if not columns:
        return RowProducts(same, same, same)
    nearly = {part: float(Fraction(part[0]) / Fraction(part[1]) ** 2) for part in counted}
    costs = {block: nearly[part] for block, part in parts.items()}
    for classes in (_classes(costs, pairs, columns), [[column] for column in columns]):
        if math.prod(len(members) + 1 for members in classes) > MOST_TYPES:
            continue
        values = _by_type(costs, pairs, classes)
        if values is not None:
            others = values.ravel()[1:]
            slack = same * 2.0**-50 * sum(2 + len(members) for members in classes)
            return RowProducts(same, float(others.min()) - slack, min(float(others.max()) + slack, same))
    return _bounds(costs, pairs, columns, same)


def _quotients(scales: Mapping[Table, float], pairs: Mapping[str, KeyProducts]) -> dict[Table, tuple[int, float]]:
    """For each block the product of the norms, and sigma."""
    norms = {column: pair.norm for column, pair in pairs.items()}
    return {block: (math.prod([norms[column] for column in block]), sigma) for block, sigma in scales.items()}


def _total(counted: Counter[tuple[int, float]]) -> float:
    """The sum of numerator/sigma^2, exact but for its last rounding, which is upward."""
    with proof.precision(_BITS):
        total = arb(0)
        for (numerator, sigma), count in counted.items():
            total += count * arb(numerator) / arb(sigma) ** 2
        return float(proof.upward(total))


def _classes(costs: Mapping[Table, float], pairs: Mapping[str, KeyProducts], columns: list[str]) -> list[list[str]]:
    """Columns of equal products whose blocks cost the same: they may be exchangeable, which `_by_type` checks."""
    seen: dict[str, Counter[tuple[int, float]]] = {column: Counter() for column in columns}
    for block, cost in costs.items():
        for column in block:
            if column in seen:
                seen[column][len(block), cost] += 1
    classes: dict[tuple[KeyProducts, frozenset[tuple[tuple[int, float], int]]], list[str]] = defaultdict(list)
    for column in columns:
        classes[pairs[column], frozenset(seen[column].items())].append(column)
    return list(classes.values())


def _by_type(
    costs: Mapping[Table, float], pairs: Mapping[str, KeyProducts], classes: list[list[str]]
) -> NDArray[np.float64] | None:
    """g for every number of columns of each class in which two rows differ; None where the classes are no symmetry."""
    member = {column: i for i, members in enumerate(classes) for column in members}
    found: dict[tuple[int, ...], Counter[float]] = defaultdict(Counter)
    for block, cost in costs.items():
        kind = [0] * len(classes)
        for column in block:
            if column in member:
                kind[member[column]] += 1
        found[tuple(kind)][cost] += 1
    most = [max(numbers[i] for numbers in found) for i in range(len(classes))]
    values = np.zeros([m + 1 for m in most])
    for numbers, seen in found.items():
        everyone = math.prod(math.comb(len(members), t) for members, t in zip(classes, numbers, strict=True))
        if len(seen) > 1 or next(iter(seen.values())) != everyone:
            return None
        values[numbers] = next(iter(seen))
    for axis, (members, m) in enumerate(zip(classes, most, strict=True)):
        kappa = _kappa(len(members), pairs[members[0]].ratio, m)
        values = np.moveaxis(np.tensordot(kappa, values, axes=(1, axis)), 0, axis)
    return values


def _kappa(count: int, other: Fraction, most: int) -> NDArray[np.float64]:
    return np.array(
        [
            [
                float(sum(math.comb(k, j) * math.comb(count - k, t - j) * other**j for j in range(min(k, t) + 1)))
                for t in range(most + 1)
            ]
            for k in range(count + 1)
        ]
    )


def _bounds(
    costs: Mapping[Table, float], pairs: Mapping[str, KeyProducts], columns: list[str], same: float
) -> RowProducts:
    """Without any symmetry. With rho the size of the ratio of a column, such as 1/(n - 1), a product of ratios is at
    least minus the largest rho in A, so

        g(D) >= g(no column) - sum over A with a column of a_A (1 + rho_max);

    and if i is in D, the factor of a block with i is the ratio of i for A = {i}, and at most rho_i rho_j with j the
    other column of the largest rho; that of a block without i is at most one.
    """
    rho = {column: abs(float(pairs[column].ratio)) if pairs[column].norm else 0.0 for column in pairs}
    lost = math.fsum(cost * (1 + max(rho[column] for column in block)) for block, cost in costs.items() if block)
    with_it: dict[str, list[float]] = {column: [] for column in columns}
    for block, cost in costs.items():
        for column in block:
            if column in with_it:
                rest = max((rho[other] for other in block if other != column), default=-1.0)
                with_it[column].append(cost - cost * rho[column] * rest)
    greatest = max(same - math.fsum(changes) for changes in with_it.values())
    slack = same * 2.0**-44
    return RowProducts(same, same - lost - slack, min(same, greatest + slack))
