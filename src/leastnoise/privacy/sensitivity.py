"""What one unit can change: limits on its rows -> L1, L2 and Linf of the answer, rounded toward privacy.

Bounding keeps at most p = max_per_bin rows of a unit in a bin, then B = max_bins of its bins, then m =
max_rows of its rows. Each step looks at one unit only, so a neighbouring table changes the rows of one
unit and no others. The counts n of one unit therefore satisfy n_b <= p, at most B of them positive, sum
n <= m, and among those the norms are largest when the bins are filled one after another: q = min(B,
floor(m/p)) full bins and, if q < B, one with r = m - q p rows (convexity: moving a row from a smaller
bin to a larger one never lowers the L2 norm).

Everything is exact rational arithmetic; a square root is taken once, at the end, and rounded up to a
double.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from numbers import Integral

from flint import arb

from leastnoise._support.rounding import next_up, round_up, sqrt_up
from leastnoise.errors import ContributionUnbounded, InvalidParameter, WrongType
from leastnoise.privacy.calibration import proof
from leastnoise.privacy.neighbours import Neighbours

LARGEST_LIMIT = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """Upper bounds on the norms of the change that one unit can cause."""

    l1: float
    l2: float
    linf: float


class ChosenLimit(int):
    """A limit that knows with which release it was chosen, so that what is released under it can say so.

    >>> ChosenLimit(5, "3f2a") + 1
    6
    """

    chosen_with: str

    def __new__(cls, value: int, chosen_with: str) -> ChosenLimit:
        limit = super().__new__(cls, value)
        limit.chosen_with = chosen_with
        return limit

    def __reduce__(self) -> tuple[type[ChosenLimit], tuple[int, str]]:
        return ChosenLimit, (int(self), self.chosen_with)


class ChosenClip(tuple[float, float]):
    """The same of a clip.

    >>> ChosenClip((0.0, 6.0), "3f2a")
    (0.0, 6.0)
    """

    chosen_with: str

    def __new__(cls, ends: tuple[float, float], chosen_with: str) -> ChosenClip:
        clip = super().__new__(cls, ends)
        clip.chosen_with = chosen_with
        return clip

    def __reduce__(self) -> tuple[type[ChosenClip], tuple[tuple[float, ...], str]]:
        return ChosenClip, (tuple(self), self.chosen_with)


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of one unit is kept, complete: every limit is a number, none larger than the others allow."""

    max_rows: int
    max_per_bin: int
    max_bins: int
    chosen: tuple[tuple[str, str], ...] = ()  # the names of those that a release proposed, and its id

    @property
    def numbers(self) -> dict[str, int]:
        """The three limits by name."""
        return {"max_rows": self.max_rows, "max_per_bin": self.max_per_bin, "max_bins": self.max_bins}

    @classmethod
    def of(
        cls,
        *,
        max_rows: int | None,
        max_per_bin: int | None = None,
        max_bins: int | None = None,
        bins: int | None,
        unit: str = "unit",
        what: str = "the answer",
    ) -> Limits:
        """The limits given, filled up with what they imply; `bins` is the size of the domain, None when
        unknown."""
        given = {"max_rows": max_rows, "max_per_bin": max_per_bin, "max_bins": max_bins}
        max_rows, max_per_bin = _checked("max_rows", max_rows), _checked("max_per_bin", max_per_bin)
        max_bins = _checked("max_bins", max_bins)
        widest = LARGEST_LIMIT if bins is None else min(bins, LARGEST_LIMIT)
        if max_rows is None and (max_per_bin is None or (max_bins is None and widest > 1)):
            raise _unbounded(unit, what, max_per_bin, max_bins)
        allowed_bins = min(max_bins or widest, widest)
        rows = max_rows if max_rows is not None else (max_per_bin or 1) * allowed_bins
        per_bin = min(max_per_bin or rows, rows)
        allowed_bins = min(allowed_bins, rows)
        rows = min(rows, per_bin * allowed_bins)
        found = cls(int(rows), int(per_bin), int(allowed_bins))
        proposed = [(name, limit) for name, limit in given.items() if isinstance(limit, ChosenLimit)]
        chosen = tuple((name, limit.chosen_with) for name, limit in proposed if limit == found.numbers[name])
        return replace(found, chosen=chosen)

    @property
    def fullest(self) -> tuple[int, int]:
        """(q, r): q bins with max_per_bin rows each and one more with r rows, the worst a unit can do."""
        full = min(self.max_bins, self.max_rows // self.max_per_bin)
        return full, (self.max_rows - full * self.max_per_bin if full < self.max_bins else 0)

    @property
    def squared_norm(self) -> int:
        """q p^2 + r^2, the largest squared L2 norm of one unit's counts."""
        full, rest = self.fullest
        return full * self.max_per_bin**2 + rest**2


def of_sum(
    limits: Limits, *, low: Fraction | int, high: Fraction | int, bins: int | None, neighbours: Neighbours
) -> Sensitivity:
    """A sum per bin of values within [low, high], the ends after quantisation; counts are low = 0, high
    = 1.

    Add-remove: the vector of one unit, V times its counts. Replace: the difference of two such vectors.
    With one sign the entries of the two subtract, so the worst case is disjoint bins: L1 doubles, L2
    grows by sqrt 2, Linf stays. With both signs they may add up in the same bins: twice everything. In a
    single bin the old unit may give high and the new one low, or either nothing at all because a filter
    removed its rows.
    """
    largest = max(abs(Fraction(low)), abs(Fraction(high)))
    rows, in_bin, square = limits.max_rows, min(limits.max_rows, limits.max_per_bin), limits.squared_norm
    if neighbours == "add-remove":
        return _norms(largest * rows, largest**2 * square, largest * in_bin)
    if bins == 1:
        spread = max(Fraction(high), Fraction(0)) - min(Fraction(low), Fraction(0))
        return _norms(in_bin * spread, (in_bin * spread) ** 2, in_bin * spread)
    if low >= 0 or high <= 0:
        return _norms(2 * largest * rows, 2 * largest**2 * square, largest * in_bin)
    return _norms(2 * largest * rows, 4 * largest**2 * square, 2 * largest * in_bin)


def of_mean(limits: Limits, *, half: Fraction | int, bins: int | None, neighbours: Neighbours) -> Sensitivity:
    """(S, h N) per bin: centred sums S of values within [-h, h] and counts N scaled by the same h = `half`.

    Add-remove: one bin with n rows changes by (+-h n, h n): L2 is h sqrt 2 times the norm of the counts.
    Replace, n against n' rows in a bin: (h (n + n'))^2 + (h (n - n'))^2 = 2 h^2 (n^2 + n'^2), so twice the
    add-remove square, whether the bins are shared or not. L1: h (n + n') + h |n - n'| = 2 h max(n, n').
    """
    reach = Fraction(half)
    rows, in_bin, square = limits.max_rows, min(limits.max_rows, limits.max_per_bin), limits.squared_norm
    if neighbours == "add-remove":
        return _norms(2 * reach * rows, 2 * reach**2 * square, reach * in_bin)
    distinct = 1 if bins == 1 else 2
    return _norms(2 * reach * rows * distinct, 4 * reach**2 * square, 2 * reach * in_bin)


def of_vector_sum(
    *, norm: Fraction | int, length: int, max_rows: int, counted: bool, neighbours: Neighbours
) -> Sensitivity:
    """A sum of vectors of L2 norm at most `norm`, and with `counted` also norm times the number of rows.

    Quantised vectors are inside the ball exactly, so no allowance for the grid is needed. By
    Cauchy-Schwarz L1 <= sqrt(length) L2 for the vector part. With n rows against n': |s - s'| <= C (n +
    n'), and as for the mean C^2 (n + n')^2 + C^2 (n - n')^2 = 2 C^2 (n^2 + n'^2).
    """
    reach = Fraction(norm) * max_rows
    moved = reach if neighbours == "add-remove" else 2 * reach
    square = moved**2 + (reach**2 if counted and neighbours == "add-remove" else 0)
    extra = reach if counted else Fraction(0)
    l1 = sqrt_up(length * moved**2) + (round_up(extra) if counted else 0.0)
    return Sensitivity(l1=next_up(l1) if counted else l1, l2=sqrt_up(square), linf=round_up(moved))


def of_kernel(limits: Limits, *, neighbours: Neighbours) -> Sensitivity:
    """Rows that spread non-negative weights summing to at most one: each row has L1, L2 and Linf at most
    one."""
    rows = Fraction(limits.max_rows)
    if neighbours == "add-remove":
        return _norms(rows, rows**2, rows)
    return _norms(2 * rows, 2 * rows**2, rows)


def of_copies(*, copies: int, divided: int, steps: Fraction | int, neighbours: Neighbours) -> Sensitivity:
    """The rows of one unit, `steps` in all, counted in each of several tables, `divided` of which have several cells.

    Replace: old and new rows may lie in different cells of every table that has several; or a filter drops either."""
    size, moved = Fraction(steps), copies if neighbours == "add-remove" else max(copies, 2 * divided)
    return _norms(size * moved, size**2 * moved, size)


def l1_from_l2(l2: float, bins: int) -> float:
    """The L1 sensitivity is at most sqrt(bins) times the L2 one: that, rounded up (inf past the double range)."""
    with proof.precision(128):
        return proof.upward(arb(bins).sqrt() * arb(l2))


def _norms(l1: Fraction | int, l2_squared: Fraction | int, linf: Fraction | int) -> Sensitivity:
    return Sensitivity(l1=round_up(Fraction(l1)), l2=sqrt_up(Fraction(l2_squared)), linf=round_up(Fraction(linf)))


def _checked(name: str, value: int | None) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Integral):  # NumPy's integers are Integral, too
        raise WrongType.must(name, "be a whole number", value, example={name: 5})
    value = int(value)
    if value < 1:
        rule = "be at least 1: with no row kept there is nothing to release"
        raise InvalidParameter.must(name, rule, value, "The least noise is at 1.", example={name: 1})
    if value > LARGEST_LIMIT:
        rule = (
            f"be at most {LARGEST_LIMIT}, more than any unit has: noise grows with it, and no number would be left to "
            "see"
        )
        cure = "Limit it to what a typical unit needs."
        raise InvalidParameter.must(name, rule, value, cure, example={name: 5})
    return value


def _unbounded(unit: str, what: str, max_per_bin: int | None, max_bins: int | None) -> ContributionUnbounded:
    missing = "max_bins" if max_per_bin is not None else "max_rows"
    given = f" {max_per_bin} rows a bin limit one bin only, not how many bins." if max_per_bin else ""
    given = f" {max_bins} bins limit bins, not the rows in one." if max_bins and not given else given
    return ContributionUnbounded(
        f'one "{unit}" may add any number of rows to {what}, so no finite noise can hide it.{given} '
        "Limit it to what a typical unit needs; suggest_limits (leastnoise suggest-limits) proposes a limit.",
        parameter=missing,
        example={missing: 5},
    )
