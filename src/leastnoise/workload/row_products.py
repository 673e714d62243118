"""How much the answers of two rows have in common, over all pairs of rows.

A row t adds the vector Phi(t) to the integers of all blocks, each block over its sigma. On one axis
(n I - J)^2 = n (n I - J), so for two rows that differ exactly in the columns D

    <Phi(t), Phi(t')> = g(D) = sum_A a_A prod over A and D of -1/(n_i - 1),
    a_A = prod over A of n_i (n_i - 1) / sigma_A^2.

g(no column) = |Phi(t)|^2 is the same for every row. What costs more than one row is about needs the least and the
greatest g(D) over the other D.

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

Table = tuple[str, ...]
MOST_TYPES = 2**20
_BITS = 256


@dataclass(frozen=True)
class RowProducts:
    """|Phi(t)|^2 of one row, rounded up; and the least and the greatest product of two rows that differ, outward."""

    same: float
    least: float
    greatest: float


def one_row(scales: Mapping[Table, float], sizes: Mapping[str, int]) -> float:
    """|Phi(t)|^2 alone, rounded up."""
    return _total(Counter(_quotients(scales, sizes).values()))


def row_products(scales: Mapping[Table, float], sizes: Mapping[str, int]) -> RowProducts:
    """Of these standard deviations of the noise on the integers of each block, which mean exactly what they are.

    sizes: of all columns in which rows may differ, in a block or not. Blocks with a column of one key are always zero.
    """
    scales = {block: sigma for block, sigma in scales.items() if all(sizes[column] > 1 for column in block)}
    parts = _quotients(scales, sizes)
    counted = Counter(parts.values())
    same = _total(counted)
    columns = [column for column, size in sizes.items() if size > 1]
    if not columns:
        return RowProducts(same, same, same)
    nearly = {part: float(Fraction(part[0]) / Fraction(part[1]) ** 2) for part in counted}
    costs = {block: nearly[part] for block, part in parts.items()}
    for classes in (_classes(costs, sizes, columns), [[column] for column in columns]):
        if math.prod(len(members) + 1 for members in classes) > MOST_TYPES:
            continue
        values = _by_type(costs, sizes, classes)
        if values is not None:
            others = values.ravel()[1:]
            slack = same * 2.0**-50 * sum(2 + len(members) for members in classes)
            return RowProducts(same, float(others.min()) - slack, min(float(others.max()) + slack, same))
    return _bounds(costs, sizes, columns, same)


def _quotients(scales: Mapping[Table, float], sizes: Mapping[str, int]) -> dict[Table, tuple[int, float]]:
    """For each block prod n_i (n_i - 1), and sigma."""
    squares = {column: size * (size - 1) for column, size in sizes.items()}
    return {block: (math.prod([squares[column] for column in block]), sigma) for block, sigma in scales.items()}


def _total(counted: Counter[tuple[int, float]]) -> float:
    """The sum of numerator/sigma^2, exact but for its last rounding, which is upward."""
    with proof.precision(_BITS):
        total = arb(0)
        for (numerator, sigma), count in counted.items():
            total += count * arb(numerator) / arb(sigma) ** 2
        return float(proof.upward(total))


def _classes(costs: Mapping[Table, float], sizes: Mapping[str, int], columns: list[str]) -> list[list[str]]:
    """Columns of one size whose blocks cost the same: they may be exchangeable, which `_by_type` checks."""
    seen: dict[str, Counter[tuple[int, float]]] = {column: Counter() for column in columns}
    for block, cost in costs.items():
        for column in block:
            if column in seen:
                seen[column][len(block), cost] += 1
    classes: dict[tuple[int, frozenset[tuple[tuple[int, float], int]]], list[str]] = defaultdict(list)
    for column in columns:
        classes[sizes[column], frozenset(seen[column].items())].append(column)
    return list(classes.values())


def _by_type(
    costs: Mapping[Table, float], sizes: Mapping[str, int], classes: list[list[str]]
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
        kappa = _kappa(len(members), sizes[members[0]], m)
        values = np.moveaxis(np.tensordot(kappa, values, axes=(1, axis)), 0, axis)
    return values


def _kappa(count: int, size: int, most: int) -> NDArray[np.float64]:
    other = Fraction(-1, size - 1)
    return np.array(
        [
            [
                float(sum(math.comb(k, j) * math.comb(count - k, t - j) * other**j for j in range(min(k, t) + 1)))
                for t in range(most + 1)
            ]
            for k in range(count + 1)
        ]
    )


def _bounds(costs: Mapping[Table, float], sizes: Mapping[str, int], columns: list[str], same: float) -> RowProducts:
    """Without any symmetry. A product of factors -1/(n - 1) is at least -1/(n_min - 1), n_min the least size in A, so

        g(D) >= g(no column) - sum over A with a column of a_A n_min/(n_min - 1);

    and if i is in D, the factor of a block with i is -1/(n_i - 1) for A = {i}, and at most 1/((n_i - 1)(n_j - 1)) with
    j the smallest other column; that of a block without i is at most one.
    """
    lost = math.fsum(
        cost * smallest / (smallest - 1)
        for block, cost in costs.items()
        if block and (smallest := min(sizes[column] for column in block)) > 1
    )
    with_it: dict[str, list[float]] = {column: [] for column in columns}
    for block, cost in costs.items():
        for column in block:
            if sizes[column] > 1:
                rest = min((sizes[other] - 1 for other in block if other != column), default=-1)
                with_it[column].append(cost - (cost / ((sizes[column] - 1) * rest) if rest else 0.0))
    greatest = max(same - math.fsum(changes) for changes in with_it.values())
    slack = same * 2.0**-44
    return RowProducts(same, same - lost - slack, min(same, greatest + slack))
