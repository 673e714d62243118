"""What one unit costs in a set of tables: mu^2 or epsilon, rounded up.

All blocks together are one long integer vector. With every block over its own sigma, adding noise of standard deviation
one to it is the ordinary Gaussian mechanism, so the cost is the largest squared L2 distance that one unit can move that
vector: mu^2. A row t adds Phi(t); all rows have the same norm. Let W be the most that the rows of one unit weigh
together, in whole steps, and g a product <Phi(t), Phi(t')> of two rows that differ; a = |Phi(t)|^2.

**Add-remove: W^2 a, exactly.** |sum w_i Phi(t_i)| <= sum w_i sqrt a <= W sqrt a, attained by equal rows.

**Replace: W^2 max(a, 2 (a - min g)), exactly.** What a unit adds is W times a convex combination of zero and of
Phi(t)'s (zero, because a filter, a domain or a limit may leave rows out). The squared distance of two such points is
convex in both, so it is largest at the ends: Phi(t) against zero, a; or against Phi(t'), 2 a - 2 g.

**Shared weights.** A public number L of parts dealt over the j rows of a unit that are kept is W = L: each row gets
L // j whole parts, and the first L mod j of them (in an order fixed for the unit) one more. They sum to L, so nobody
counts more than once. (Rounding L/j for each row to the nearest whole number instead may give more than L in all.)

**Products of two rows.** On one axis (n I - J)^2 = n (n I - J). So for two rows whose leaves have their last common
ancestor at level j of the tree (the root alone where there is none: j = 0), and which differ exactly in the columns D,

    g(j, D) = sum over levels l <= j of sum over blocks A of a_lA prod over A and D of -1/(n_i - 1),
    a_lA = K_A^2 prod over A of n_i (n_i - 1)/sigma_lA^2,

because on level l > j they lie in different nodes, which share no number. *Other columns than plain counts* (`columns`)
have products of two keys anywhere between `least` and `norm`. The product of two rows is linear in that of each column
by itself, so it is least where every one is at an end: with least/norm in place of -1/(n - 1) and `norm` in place of
n (n - 1), g(j, D) is then at most every product of two rows, for some D, and a at least every squared norm.

*By types.* Columns are put into classes of equal size. Where sigma_lA depends only on how many columns A has of each
class (and every set with those numbers is a block of the level), g(j, D) depends only on how many columns k_c of each
class are in D:

    g(k) = sum over t of a_t prod_c kappa_c(k_c, t_c),   kappa(k, t) = sum_i C(k, i) C(d - k, t - i) (-1/(n - 1))^i,

d being the number of columns in the class. Classes of one column each are all sets D: g is then exact for any noise. Up
to 2^20 types (20 columns without any symmetry, or 100 of one size) are evaluated. Beyond, with rho the size of the
ratio of a column, such as 1/(n - 1), a product of ratios is at least minus the largest rho in A, so g is at least the
sum over levels of a_l{} - sum over A with a column of a_lA rho_max.

*Rounding.* |kappa(k, t)| <= C(d, t) = kappa(0, t), so all terms are in absolute value at most those of a, and the sums
in doubles are off by at most 2^-50 a times the number of roundings on the way.

**Laplace noise on plain tables.** The epsilons of the tables add up. One unit adds W times a convex combination of zero
and of single rows, and the sum of L1 distances over the scales b_R is convex, so it is largest at the ends: a row that
comes or goes, W sum_R 1/b_R; and with "replace" also a row against one that differs everywhere, 2 W times the sum of
1/b_R over the tables with more than one cell. In mu^2: a unit moves the integers of a table by at most W together, and
under "replace", where there is more than one cell, by twice as much; the noise of tables is independent: mu^2 adds up.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from flint import arb
from numpy.typing import NDArray

from leastnoise import errors
from leastnoise._support import validation
from leastnoise.privacy.calibration import proof
from leastnoise.privacy.gaussian_price import step_prices
from leastnoise.privacy.neighbours import Neighbours, check_neighbours
from leastnoise.workload.columns import ColumnStrategy, Table

if TYPE_CHECKING:
    from leastnoise.workload.tables import Workload

MOST_TYPES = 2**20
_BITS = 256
_Quotient = tuple[int, float]  # the product of the norms of a block's columns, and sigma


@dataclass(frozen=True, slots=True)
class TableBlocks:
    """What one unit costs where the blocks, or the tables, of a workload are released: a `privacy.unit_cost.UnitCost`.

    workload: its columns are all those in which rows may differ, in a table or not.
    weight: W, the most that the rows of one unit weigh together, in whole steps. neighbours: "add-remove" or "replace".

    >>> from leastnoise.workload import Workload
    >>> cost = TableBlocks(Workload({"sex": 2}, ways=1))
    >>> cost.mu_squared({(): 4.0, ("sex",): 4.0})     # 1/16 for the total, 2 (2 - 1)/16 for the block
    Fraction(3, 16)
    """

    workload: Workload
    weight: int = 1
    neighbours: Neighbours = "add-remove"

    def __post_init__(self) -> None:
        check_neighbours(self.neighbours)
        validation.integer("weight", self.weight)

    def mu_squared(self, scales: Mapping[Table, float]) -> Fraction:
        """mu^2 of Gaussian noise of these standard deviations on the integers of each block measured, rounded up.

        scales: by block; a double means exactly the number that it is.
        """
        by_level = self._quotients(scales)
        same = _total(Counter(each for quotients in by_level.values() for each in quotients.values()))
        with proof.precision(_BITS):
            cost = arb(same)
            if self.neighbours == "replace" and same:
                cost = (2 * (cost - arb(self._least_product(by_level, same)))).max(cost)
            return Fraction(float(proof.upward(cost * arb(self.weight) ** 2)))

    def epsilon(self, scales: Mapping[Table, float]) -> Fraction:
        """epsilon of Laplace noise of these scales on the integers of each table, rounded up over them as they are."""
        with proof.precision(_BITS):
            every, moved = arb(0), arb(0)
            for table, scale in scales.items():
                cost = arb(self.weight) / arb(scale)
                every += cost
                moved += 2 * cost if self.workload.cells_of(table) > 1 else arb(0)
            return Fraction(float(proof.upward(every if self.neighbours == "add-remove" else moved.max(every))))

    def laplace_mu_squared(self, scales: Mapping[Table, float]) -> Fraction:
        """mu^2 of Laplace noise of these scales, rounded up: what it costs of a budget that counts mu^2."""
        total, weight = Fraction(0), self.weight
        for table, scale in scales.items():
            several = self.neighbours == "replace" and self.workload.cells_of(table) > 1
            one, each = step_prices(Fraction(scale), weight)  # no cell moves further
            squared, moved = (2 * weight**2, 2 * weight) if several else (weight**2, weight)
            total += min(squared * one, moved * each)
        return total

    def _quotients(self, scales: Mapping[Table, float]) -> dict[int, dict[Table, _Quotient]]:
        """For each level its blocks of other columns. Blocks with a column of one key are always zero."""
        workload, made = self.workload, defaultdict[int, dict[Table, _Quotient]](dict)
        norms = {name: workload.column(name).norm for name in workload.others(workload.columns)}
        for block, sigma in scales.items():
            if not 0 < sigma < math.inf:
                raise errors.InvalidParameter(f"The noise of block {block!r} must be positive.", parameter="scales")
            own = workload.others(block)
            norm = workload.fineness(block) ** 2 * math.prod([norms[column] for column in own])
            if norm:
                made[workload.level_of(block)][own] = norm, sigma
        return made

    def _least_product(self, by_level: Mapping[int, Mapping[Table, _Quotient]], same: float) -> float:
        """The least product of two rows that differ, rounded down."""
        workload = self.workload
        columns = {name: workload.column(name) for name in workload.others(workload.columns)}
        columns = {name: column for name, column in columns.items() if column.norm}
        distinct = {each for quotients in by_level.values() for each in quotients.values()}
        nearly = {each: _nearly(each) for each in distinct}
        costs = {
            level: {block: nearly[each] for block, each in quotients.items()} for level, quotients in by_level.items()
        }
        for classes in (_classes(costs, columns), [[name] for name in columns]):
            if math.prod(len(members) + 1 for members in classes) > MOST_TYPES:
                continue
            products = {level: _by_type(own, columns, classes) for level, own in costs.items()}
            found = {level: each for level, each in products.items() if each is not None}
            if len(found) == len(products):
                roundings = sum(2 + len(members) for members in classes) + 2 * max(costs)
                return self._over_levels(found, same) - same * 2.0**-50 * roundings
        low = {level: np.asarray(_below_all(own, columns)) for level, own in costs.items()}
        return self._over_levels(low, same, bound=True) - same * 2.0**-44

    def _over_levels(self, products: Mapping[int, NDArray[np.float64]], same: float, *, bound: bool = False) -> float:
        """The least g(j, D) over the levels j at which two leaves may part, and over D; in the same node of the last
        level D is not empty."""
        total, least, last = np.zeros(()), math.inf, max(products)
        for level in range(last + 1):
            total = total + products[level] if level in products else total
            if level < last and (self.workload.shape.children[level] > 1).any():
                least = min(least, float(total.min()))
        apart = total.ravel() if bound else total.ravel()[1:]
        least = min(least, float(apart.min())) if apart.size else least
        return same if math.isinf(least) else least  # no two rows differ


def _nearly(quotient: _Quotient) -> float:
    return float(Fraction(quotient[0]) / Fraction(quotient[1]) ** 2)


def _total(counted: Counter[_Quotient]) -> float:
    """The sum of norm/sigma^2, exact but for its last rounding, which is upward."""
    with proof.precision(_BITS):
        total = arb(0)
        for (norm, sigma), count in counted.items():
            total += count * arb(norm) / arb(sigma) ** 2
        return float(proof.upward(total))


def _classes(costs: Mapping[int, Mapping[Table, float]], columns: Mapping[str, ColumnStrategy]) -> list[list[str]]:
    """Columns of equal products whose blocks cost the same: they may be exchangeable, which `_by_type` checks."""
    seen: dict[str, Counter[tuple[int, int, float]]] = {column: Counter() for column in columns}
    for level, own in costs.items():
        for block, cost in own.items():
            for column in block:
                seen[column][level, len(block), cost] += 1
    classes = defaultdict[object, list[str]](list)
    for name, strategy in columns.items():
        classes[strategy.norm, strategy.least, frozenset(seen[name].items())].append(name)
    return list(classes.values())


def _by_type(
    costs: Mapping[Table, float], columns: Mapping[str, ColumnStrategy], classes: list[list[str]]
) -> NDArray[np.float64] | None:
    """Of one level, for every number of columns of each class in which two rows differ; None where the classes are no
    symmetry."""
    member = {column: i for i, members in enumerate(classes) for column in members}
    found: dict[tuple[int, ...], Counter[float]] = defaultdict(Counter)
    for block, cost in costs.items():
        kind = [0] * len(classes)
        for column in block:
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
        kappa = _kappa(len(members), _ratio(columns[members[0]]), m)
        values = np.moveaxis(np.tensordot(kappa, values, axes=(1, axis)), 0, axis)
    return values


def _kappa(count: int, other: Fraction, most: int) -> NDArray[np.float64]:
    def one(k: int, t: int) -> float:
        return float(sum(math.comb(k, j) * math.comb(count - k, t - j) * other**j for j in range(min(k, t) + 1)))

    return np.array([[one(k, t) for t in range(most + 1)] for k in range(count + 1)])


def _below_all(costs: Mapping[Table, float], columns: Mapping[str, ColumnStrategy]) -> float:
    """What g of one level is not below, whatever D is."""
    rho = {name: abs(float(_ratio(column))) for name, column in columns.items()}
    return math.fsum(-cost * max(rho[name] for name in block) if block else cost for block, cost in costs.items())


def _ratio(column: ColumnStrategy) -> Fraction:
    return Fraction(column.least, column.norm)
