"""What one unit costs when the integers of all blocks are published with noise: mu^2, rounded up.

All blocks together are one long integer vector. With every block over its own sigma, adding noise of standard deviation
one to it is the ordinary Gaussian mechanism, so the cost is the largest squared L2 distance that one unit can move that
vector: mu^2. A row t adds Phi(t), all rows have the same norm, and two rows that differ in the columns D have the
product g(D) (`row_products`). Write a = |Phi(t)|^2 = g(no column), and let W be the most that the rows of one unit
weigh together, in whole steps: `max_rows` rows of weight at most `row_weight`, or a number of `parts` that a unit deals
over its rows.

**Add-remove: W^2 a, exactly.** |sum w_i Phi(t_i)| <= sum w_i sqrt a <= W sqrt a, attained by equal rows.

**Replace: W^2 max(a, 2 (a - min g)), exactly.** What a unit adds is W times a convex combination of zero and of
Phi(t)'s (zero, because a filter, a domain or a limit may leave rows out). The squared distance of two such points is
convex in both, so it is largest at the ends: Phi(t) against zero, a; or against Phi(t'), 2 a - 2 g(D). Where every unit
certainly weighs W in all (`always_counted`), zero is not among the ends, and it is W^2 2 (a - min g).

**Shared weights.** A public number L of parts dealt over the j rows of a unit that are kept is W = L: each row gets
L // j whole parts, and the first L mod j of them (in an order fixed for the unit) one more. They sum to L, so nobody
counts more than once. (Rounding L/j for each row to the nearest whole number instead may give more than L in all.)

**Rows in distinct cells of the finest table**, each of weight one. k rows cost a for each row with itself, and g(D)
with D not empty for each of the k (k - 1) ordered pairs: with add-remove at most S_k = k a + k (k - 1) max g, or the
most of that for fewer rows; never more than k^2 a. The rows still meet in the smaller tables, so this is far above k a.
With replace, for k and l rows, at most S_k + S_l - 2 k l min g. That is for plain counts alone: two ordered keys may be
nearly as much alike as one is like itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from flint import arb

from leastnoise import errors
from leastnoise._support import validation
from leastnoise.privacy.calibration import proof
from leastnoise.privacy.neighbours import Neighbours, check_neighbours
from leastnoise.workload.columns import ColumnStrategy
from leastnoise.workload.row_products import RowProducts, key_products, one_row, row_products

Table = tuple[str, ...]


def squared_cost(
    scales: Mapping[Table, float],
    sizes: Mapping[str, int],
    *,
    neighbours: Neighbours = "add-remove",
    max_rows: int = 1,
    row_weight: int = 1,
    parts: int | None = None,
    distinct: bool = False,
    always_counted: bool = False,
    strategies: Mapping[str, ColumnStrategy] | None = None,
) -> float:
    """mu^2 of publishing every block with this noise, rounded up: proved for the numbers as they are.

    scales: the standard deviation of the Gaussian noise on the integers prod (n I - J) m_A of each block, in whole
    steps; a double means exactly the number that it is.
    sizes: how many keys each column has, of every column in which rows may differ, in a table or not.
    neighbours: "add-remove" or "replace".
    max_rows: how many rows of a unit are kept at most.
    row_weight: the most that one row weighs, in whole steps; weights are never negative.
    parts: how many whole parts a unit deals over its rows, instead of max_rows and row_weight.
    distinct: whether the rows of a unit are in different cells of the finest table, that of all columns in sizes, each
    row of weight one.
    always_counted: whether every unit certainly weighs the whole amount, because nothing can leave a row out.
    strategies: of the columns that are published otherwise than by plain counts, `Workload.strategies`.

    >>> squared_cost({(): 4.0, ("sex",): 4.0}, {"sex": 2})     # 1/16 for the total, 2 (2 - 1)/16 for the block
    0.1875
    """
    check_neighbours(neighbours)
    rows = validation.integer("max_rows", max_rows)
    weight = validation.integer("row_weight", row_weight)
    together = rows * weight if parts is None else validation.integer("parts", parts)
    if distinct and (weight > 1 or parts is not None):
        raise errors.InvalidParameter("Rows in distinct cells cost less only where every row weighs one.")
    for block, sigma in scales.items():
        if not (math.isfinite(sigma) and sigma > 0):
            raise errors.InvalidParameter(f"The noise of block {block!r} must be positive.", parameter="scales")
    pairs = key_products(sizes, strategies or {})
    apart = distinct and rows > 1 and not strategies
    if neighbours == "add-remove" and not apart:
        return _upward(arb(one_row(scales, pairs)), together)
    products = row_products(scales, pairs)
    any_rows = _upward(_one_row(products, neighbours, always_counted), together)
    return min(any_rows, _upward(_distinct(products, rows, neighbours), 1)) if apart else any_rows


def _upward(cost: proof.RealBall, weight: int) -> float:
    with proof.precision(256):
        return float(proof.upward(cost * arb(weight) ** 2))


def _one_row(products: RowProducts, neighbours: Neighbours, always_counted: bool) -> proof.RealBall:
    with proof.precision(256):
        same = arb(products.same)
        if neighbours == "add-remove":
            return same
        exchanged = (2 * (same - arb(products.least))).max(arb(0))
        return exchanged if always_counted else exchanged.max(same)


def _distinct(products: RowProducts, rows: int, neighbours: Neighbours) -> proof.RealBall:
    with proof.precision(256):
        same, greatest, least = arb(products.same), arb(products.greatest), arb(products.least)
        # S_j = j a + j (j - 1) max g. Where max g < 0 it is concave, and largest beside its vertex.
        counts = {rows}
        if products.greatest < 0:
            vertex = int((products.same - products.greatest) / (-2 * products.greatest))
            counts = {min(rows, max(1, vertex + i)) for i in (-1, 0, 1, 2)}
        most = arb(0)
        for count in counts:
            most = most.max(count * same + count * (count - 1) * greatest)
        if neighbours == "add-remove":
            return most
        # S_k + S_l - 2 k l min g. With min g <= 0 it grows with k and l; else max g >= min g > 0, so it is convex in
        # each and largest at an end: both units with all their rows, or one with none.
        return most.max(2 * most - 2 * rows**2 * least)
