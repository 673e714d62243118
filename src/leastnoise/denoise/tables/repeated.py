"""A block is seen again in the blocks above it, wherever a column's shares are far from even.

Were column c independent of the columns A, the table over A and c would be T_A(i) s_c(j), with s_c the shares of c, so
its residual block would be r_A(i) w(j), w = s_c - 1/n_c. Hence

    z = sum over j of r_Ac(., j) w(j) / |w|^2

sees r_A once more, with noise of variance y_Ac / |w|^2, off by what the dependence on c is. That error sums to zero
and grows with the count: its standard deviation is taken as q T_A (1 - T_A/N), with q^2 the excess of (z - r_A)^2 over
the noise, by weighted least squares, pulled toward the median of all (A, c) of the order as far as it is not known: a
chi-square of few degrees of freedom says little, and too small a q would bias. All sights of a cell are averaged by
precision.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from leastnoise._support.validation import Floats
from leastnoise.denoise.tables.mixture import Uncertain
from leastnoise.workload.residuals import Table, project

LEAST_CONTRAST = 0.02  # of |w|^2, below which nothing is to be seen
CAUTION = 1.5  # times q^2
FEW = 8  # degrees of freedom, below which a block takes no less than the common q^2
LEAST_DEPARTURE = 0.05**2  # of q^2


def sights(
    direct: Mapping[Table, Uncertain],
    above: Mapping[Table, Uncertain],
    tables: Mapping[Table, Floats],
    columns: Sequence[str],
) -> dict[Table, Uncertain]:
    """What is known of each block of one order from itself and from the blocks with one column more.

    direct, above: the blocks of the order, and of the next. tables: first estimates of the tables of these blocks and
    of one-way tables. columns: all of them, in their order.
    """
    repeats = {a: _repeats(a, above, tables, columns) for a in direct}
    excess = {a: [_excess(direct[a], z, tables[a]) for z in repeats[a]] for a in direct}
    found = [e for a in direct for e in excess[a]]
    if not found:
        return dict(direct)
    common = _common(found)
    return {a: _averaged(direct[a], repeats[a], excess[a], tables[a], common) for a in direct}


def _repeats(
    a: Table, above: Mapping[Table, Uncertain], tables: Mapping[Table, Floats], columns: Sequence[str]
) -> list[Uncertain]:
    found = []
    for column in columns:
        larger = tuple(c for c in columns if c in a or c == column)
        if column in a or larger not in above:
            continue
        shares = tables[(column,)] / max(float(tables[()]), 1e-300)
        contrast = shares - shares.mean()
        square = float(contrast @ contrast)
        if square < LEAST_CONTRAST:
            continue
        axis = larger.index(column)
        sight = above[larger]
        block = np.tensordot(sight.value, contrast, axes=(axis, 0)) / square
        # A cell of the larger block has variance y p, p = prod (1 - 1/n); w sums to zero, so its own axis has no p.
        weight = contrast**2 / (1 - 1 / contrast.size)
        variance = np.tensordot(sight.variance, weight, axes=(axis, 0)) / square**2
        found.append(Uncertain(block, variance))
    return found


def _excess(direct: Uncertain, repeat: Uncertain, table: Floats) -> tuple[float, float]:
    """q^2 of this pair by least squares, and the information about it (one over its variance)."""
    size = _size(table)
    noise = direct.variance + repeat.variance
    beyond = (repeat.value - direct.value) ** 2 - noise
    weight = 1 / (noise + 0.01 * size) ** 2
    information = float((size**2 * weight).sum())
    freedom = float(np.prod([1 - 1 / n for n in table.shape]))
    return float((size * beyond * weight).sum()) / max(information, 1e-300), information * freedom / 2


def _size(table: Floats) -> Floats:
    """The square of T (1 - T/N): departures sum to zero, so a key that nearly everybody has can hardly depart."""
    share = table / max(float(table.sum()), 1e-300)
    return np.asarray((table * (1 - share)) ** 2)


def _common(found: Sequence[tuple[float, float]]) -> float:
    """The median q^2, those that are known better counting more: a few columns that depend strongly do not move it."""
    value, information = np.array(found).T
    order = np.argsort(value)
    weight = np.sqrt(information[order])
    middle = int(np.searchsorted(np.cumsum(weight), weight.sum() / 2))
    return max(float(value[order[min(middle, len(value) - 1)]]), LEAST_DEPARTURE)


def _averaged(
    direct: Uncertain, repeats: Sequence[Uncertain], excess: Sequence[tuple[float, float]], table: Floats, common: float
) -> Uncertain:
    precision = 1 / direct.variance
    total = direct.value * precision
    size, few = _size(table), math.prod(n - 1 for n in table.shape) < FEW
    for repeat, (value, information) in zip(repeats, excess, strict=True):
        prior = 1 / common**2
        own = (prior * common + information * value) / (prior + information)
        departure = max(own, common if few else common / 4, LEAST_DEPARTURE)
        weight = 1 / (repeat.variance + CAUTION * departure * size)
        precision = precision + weight
        total = total + weight * repeat.value
    return Uncertain(project(total / precision), 1 / precision)
