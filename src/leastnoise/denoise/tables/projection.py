"""The nearest non-negative table with given sums along every axis.

    argmin |t - x|^2   subject to   t >= 0,   the sum of t along axis i is margins[i]

Its dual is smooth and concave: t = max(x - sum of u_i, 0), with u_i constant along axis i. Maximising over one u_i is a
projection of every line along axis i onto a simplex, done exactly by throwing out negative cells until none is left
(Michelot 1986). Going round the axes converges linearly; for two axes Newton's method ends it, to rounding. Two margins
of equal sum always have such a table (a transportation polytope is never empty). Three or more may have none, and what
comes back then keeps the sums of the last axis only.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from leastnoise._support.runtime import compiled
from leastnoise._support.validation import Floats

ROUNDS, NEWTON_STEPS = 30, 40
EXACT = 1e-12  # relative to the table's sum


def nearest(table: Floats, margins: Sequence[Floats], *, rounds: int = ROUNDS) -> Floats:
    """The projection of `table`, where margins[i] is the sum along axis i."""
    if table.ndim == 1:
        found = table[None, :, None].copy()
        _lines(found, np.asarray(margins[0], dtype=np.float64).reshape(1, 1), np.empty((1, 1)))
        return found.reshape(-1)
    total = float(np.sum(margins[0]))
    shifts = [np.zeros(np.shape(margin)) for margin in margins]
    if table.ndim == 2:
        plain, columns, rows = (np.ascontiguousarray(each, dtype=np.float64) for each in (table, *margins))
        found, met = _two_axes(plain, columns, rows, shifts[0], shifts[1], rounds, EXACT * total)
        return found if met else _newton(table, margins[1], margins[0], shifts[1], shifts[0])
    for _ in range(rounds):
        found = _round(table, margins, shifts)
        if _defect(found, margins) <= EXACT * total:
            return found
    return found


def _round(table: Floats, margins: Sequence[Floats], shifts: list[Floats]) -> Floats:
    """Each axis in turn; `shifts` is renewed in place."""
    for axis in range(table.ndim):
        base = table.copy()
        for other, shift in enumerate(shifts):
            if other != axis:
                base -= np.expand_dims(shift, other)
        lines = base.reshape(int(np.prod(table.shape[:axis])), table.shape[axis], -1)
        level = np.empty((lines.shape[0], lines.shape[2]))
        _lines(lines, np.ascontiguousarray(margins[axis]).reshape(level.shape), level)
        shifts[axis] = level.reshape(np.shape(margins[axis]))
        found = base
    return found


def _defect(table: Floats, margins: Sequence[Floats]) -> float:
    return max(float(np.abs(table.sum(axis=axis) - margin).max()) for axis, margin in enumerate(margins))


@compiled
def _lines(lines, sums, level) -> None:  # type: ignore[no-untyped-def]
    """Project lines[o, :, i] onto {t >= 0, sum t = sums[o, i]}, in place; `level` is what was taken off."""
    outer, size, inner = lines.shape
    for o in range(outer):
        for i in range(inner):
            wanted = sums[o, i]
            if wanted <= 0:
                top = lines[o, 0, i]
                for j in range(size):
                    top = max(top, lines[o, j, i])
                for j in range(size):
                    lines[o, j, i] = 0.0
                level[o, i] = top
                continue
            total = 0.0
            for j in range(size):
                total += lines[o, j, i]
            kept, off = size, (total - wanted) / size
            while True:
                total, count = 0.0, 0
                for j in range(size):
                    if lines[o, j, i] > off:
                        total += lines[o, j, i]
                        count += 1
                if count >= kept or count == 0:
                    break
                kept, off = count, (total - wanted) / count
            level[o, i] = off
            for j in range(size):
                lines[o, j, i] = max(lines[o, j, i] - off, 0.0)


@compiled
def _two_axes(
    table: Floats, columns: Floats, rows: Floats, by_column: Floats, by_row: Floats, rounds: int, exact: float
) -> tuple[Floats, bool]:
    """Rounds over both axes, and whether both sums are met: `_round` without the price of a call for each array.

    columns, rows: the sums along axis 0 and 1. by_column, by_row: what is taken off along them, renewed in place.
    """
    height, width = table.shape
    found = np.empty((height, width))
    for _ in range(rounds):
        for i in range(height):
            for j in range(width):
                found[i, j] = table[i, j] - by_row[i]
        _lines(found.reshape(1, height, width), columns.reshape(1, width), by_column.reshape(1, width))
        for i in range(height):
            for j in range(width):
                found[i, j] = table[i, j] - by_column[j]
        _lines(found.reshape(height, width, 1), rows.reshape(height, 1), by_row.reshape(height, 1))
        worst = 0.0
        for i in range(height):
            worst = max(worst, abs(found[i].sum() - rows[i]))
        for j in range(width):
            worst = max(worst, abs(found[:, j].sum() - columns[j]))
        if worst <= exact:
            return found, True
    return found, False


def _newton(table: Floats, rows: Floats, columns: Floats, u: Floats, v: Floats) -> Floats:
    """Newton's method for the dual of two margins, from the shifts u of rows and v of columns.

    The dual's gradient is the defect of the sums, its curvature counts the positive cells of rows and columns. Rows
    and columns that sum to zero are empty and drop out; a shift of u by a constant and of v by its opposite changes
    nothing, so a trifle is added to the curvature.
    """
    keep = np.ix_(rows > 0, columns > 0)
    x, r, c = table[keep], rows[rows > 0], columns[columns > 0]
    u, v = u[rows > 0], v[columns > 0]
    found = np.zeros_like(table)
    if x.size == 0:
        return found
    r = r * (c.sum() / r.sum())
    t, value = _primal(x, u, v, r, c)
    for _ in range(NEWTON_STEPS):
        over, under = t.sum(axis=1) - r, t.sum(axis=0) - c
        if max(np.abs(over).max(), np.abs(under).max()) <= EXACT * c.sum():
            break
        active = (t > 0).astype(np.float64)
        a, b = active.sum(axis=1) + 1e-9, active.sum(axis=0) + 1e-9
        schur = np.diag(b) - active.T @ (active / a[:, None])
        schur[np.diag_indices_from(schur)] += 1e-10 * (1 + b.max())
        dv = np.linalg.solve(schur, under - active.T @ (over / a))
        du = (over - active @ dv) / a
        step = 1.0
        while step > 1e-8:
            t_new, value_new = _primal(x, u + step * du, v + step * dv, r, c)
            if value_new >= value - 1e-12 * abs(value):
                break
            step /= 2
        u, v, t, value = u + step * du, v + step * dv, t_new, value_new
    found[keep] = t
    return found


def _primal(x: Floats, u: Floats, v: Floats, r: Floats, c: Floats) -> tuple[Floats, float]:
    """t of the shifts, and the dual's value: -|t|^2/2 - u.r - v.c up to a constant."""
    t = np.maximum(x - u[:, None] - v, 0.0)
    return t, float(-0.5 * (t * t).sum() - u @ r - v @ c)
