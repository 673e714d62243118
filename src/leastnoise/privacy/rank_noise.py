"""Quantiles by the exponential mechanism on ranks: what it costs one unit, and how much of that buys how much.

**One quantile.** Of n rows, b(x) lie below the cut x, and D(x) = b(x) - q n. A step of the clip is drawn with
probability ~ w exp(-lambda d), d being the distance of 0 from the values of D over the step, and w its public weight.
Let a unit with k rows be added, a(x) of them below x. D(x) moves by a(x) - q k, which lies in [-q k, (1 - q) k]. The
distance from a set of cuts is the largest of linear functions of D (and 0), so it moves by at most k max(q, 1 - q) up
or down: lambda d has a *range* of 2 lambda k max(q, 1 - q) over the steps, and it is reached (all rows of the unit
above all others, q > 1/2: d grows by q k at low cuts and falls by q k at high ones). Weights are positive and public,
so the loss log(P/P') is lambda (d' - d) plus a constant, its range is the same, and 0 lies within it. Hence
epsilon-DP, and bounded range, with epsilon = 2 lambda k max(q, 1 - q) (`gaussian_price` proves the price in mu).
Replaced by a unit with k' rows, D moves by a' - a - q (k' - k), in size at most Q max(k, k') + (1 - Q) min(k, k'), Q =
max(q, 1 - q): with k rows each the range is 2 lambda k.

**Rate.** lambda = c/(2 Q): then a unit with k rows has range c k, whatever the level. c is the *rate*, epsilon a row.

**Several quantiles** are found in the order of `level_tree`: the middle one first, then those below it among the rows
below it. m levels have floor(log2 m) + 1 depths (Kaplan, Schnapp and Stemmer 2022, for distinct values), and the
quantiles of one depth are found among disjoint parts of the rows. The rows of the step that is cut are divided linearly
(a cut at the s-th of S places takes s/S of each row in the step), so the parts of one unit's rows add up to its k. A
part of k_i rows has range c k_i: together c k for epsilon. In mu they cost sum mu(c k_i)^2 <= mu(c k)^2, for mu^2 is a
convex function of epsilon that is 0 at 0: with t = mu/2 and psi(t) = -log Phi(-t), epsilon/2 = g(t) = psi(t) - psi(-t),
and d(mu^2)/d(epsilon) = 4 t/g'(t) rises as long as g' >= t g''. That holds: g' > psi'(t) > t (Mills), and g'' =
psi''(t) - psi''(-t) < 1, as 0 < psi'' < 1.

**Groups** are disjoint, too: epsilon = c max_rows however many a unit may enter; and as mu^2 is convex, the most that
the limits allow is the fullest groups, sum over these of mu(c k_g)^2.

**Depths** follow each other, each seeing what came out before, and so do the counts for intervals: epsilons add up, and
so do mu^2. A depth d has c_d = s_d c of the rate, public shares that add up to 1 (`depth_shares`), so all depths
together have c k for epsilon, and the sum of mu(c_d k)^2.

**Replace.** With lambda = c/(2 Q) a part has range c (max(k_i, k_i') + (1/Q - 1) min(k_i, k_i')) <= c (k_i + k_i'). So
epsilon is at most 2 c max_rows; and by convexity mu(c (k + k'))^2 <= (mu(2 c k)^2 + mu(2 c k')^2)/2: twice the rate
covers both. Where there is one part alone, 1/Q times the rate does.

**Intervals** come from noisy counts of the rows between public cuts around what was found: `counts`, Laplace or
Gaussian noise like that of any histogram, with a quarter of epsilon or of mu^2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Literal

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.rounding import round_down, round_up, sqrt_up
from leastnoise._support.validation import Number
from leastnoise.privacy.calibration import proof
from leastnoise.privacy.guarantees import BoundedRangeDP, GaussianDP, PureDP
from leastnoise.privacy.neighbours import Neighbours
from leastnoise.privacy.noise_plan import NoisePlan
from leastnoise.privacy.sensitivity import Limits, Sensitivity
from leastnoise.privacy.strength import protects_alone
from leastnoise.privacy.vector_noise import VectorPlan, VectorPlanner

INTERVAL_SHARE = Fraction(1, 4)  # of epsilon, or of mu^2
CUTS = 2**12  # places at which the rows of one step can be divided
_LEAST_RATE, _LARGEST_RATE = 2.0**-40, 2.0**40
_SHARE_PARTS = 4096  # of the rate: the shares of depths are so many-th parts


@dataclass(frozen=True, slots=True)
class Node:
    """One quantile: the share `relative` of the rows between two that were found before (None: an end of the clip)."""

    place: int  # among the levels
    below: int | None
    above: int | None
    relative: Fraction
    depth: int
    divides: bool  # whether others are found among the rows on its two sides

    @property
    def reach(self) -> Fraction:
        """max(q, 1 - q): how far one row moves the rows below a cut away from the share q of all."""
        return max(self.relative, 1 - self.relative)


def level_tree(levels: Sequence[Fraction]) -> tuple[Node, ...]:
    """The quantiles of rising levels in the order in which they are found.

    >>> [(node.place, str(node.relative)) for node in level_tree([Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)])]
    [(1, '1/2'), (0, '1/5'), (2, '4/5')]
    """
    found: list[Node] = []
    waiting = [(0, len(levels), 0)]
    for first, last, depth in waiting:
        if first == last:
            continue
        place = (first + last) // 2
        below, above = (first - 1 if first else None), (last if last < len(levels) else None)
        low = Fraction(0) if below is None else levels[below]
        high = Fraction(1) if above is None else levels[above]
        relative = (levels[place] - low) / (high - low)
        found.append(Node(place, below, above, relative, depth, divides=last - first > 1))
        waiting += [(first, place, depth + 1), (place + 1, last, depth + 1)]
    return tuple(found)


def depths(nodes: Sequence[Node]) -> int:
    """How many quantiles one row takes part in at most."""
    return 1 + max(node.depth for node in nodes)


@lru_cache(maxsize=64)
def depth_shares(nodes: tuple[Node, ...]) -> tuple[Fraction, ...]:
    """The part of the rate that each depth gets: what makes the sum of the levels' squared rank errors least.

    A quantile at the rate s has a variance of its own of reach^2/s^2 (times a constant), and receives (1 - relative)^2
    and relative^2 of its neighbours'. So the sum is sum_d A_d/s_d^2, least among shares that add up to 1 where s_d ~
    A_d^(1/3). The
    shares are public fractions that add up to exactly 1, whatever rounding does to A.

    >>> from fractions import Fraction
    >>> [float(s) for s in depth_shares(level_tree([Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)]))]
    [0.373046875, 0.626953125]
    """
    counts = {node.place: 1.0 for node in nodes}  # how much its variance counts in the sum
    totals = [0.0] * depths(nodes)
    for node in reversed(nodes):
        totals[node.depth] += counts[node.place] * float(node.reach) ** 2
        for place, part in ((node.below, 1 - node.relative), (node.above, node.relative)):
            if place is not None:
                counts[place] += counts[node.place] * float(part) ** 2
    roots = [total ** (1 / 3) for total in totals]
    parts = [max(1, round(_SHARE_PARTS * root / sum(roots))) for root in roots]
    return tuple(Fraction(part, sum(parts)) for part in parts)


@dataclass(frozen=True, slots=True)
class RankRates:
    """The exponential mechanism on ranks at this rate: epsilon for each row of a unit, over all depths."""

    levels: tuple[Fraction, ...]
    rate: Fraction

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The quantiles in the order in which they are found."""
        return level_tree(self.levels)

    def rank_rate(self, node: Node) -> Fraction:
        """lambda, a row, of one quantile: each depth has its share of the rate."""
        return self.rate * depth_shares(self.nodes)[node.depth] / (2 * node.reach)

    @property
    def rank_stds(self) -> tuple[float, ...]:
        """How far off the ranks are, in rows, where rows lie densely: sqrt 2/lambda of each by itself, and what the
        two between which it was found hand down, taken as independent."""
        own: dict[int | None, float] = {None: 0.0}
        for node in self.nodes:
            handed = float(1 - node.relative) ** 2 * own[node.below] + float(node.relative) ** 2 * own[node.above]
            own[node.place] = 2 / float(self.rank_rate(node)) ** 2 + handed
        return tuple(math.sqrt(own[place]) for place in range(len(self.levels)))

    @property
    def rank_std(self) -> float:
        """The root mean square over the levels."""
        return math.sqrt(sum(std**2 for std in self.rank_stds) / len(self.levels))

    def rank_errors(self, *, spread: float, confidence: float = 0.95) -> tuple[float, ...]:
        """By how many rows each rank is off at most, beyond the rows of its own step, with this confidence for all of
        a group at once, whatever the rows are.

        Of one quantile: some candidate has distance 0 and at least the least weight, so P[d >= h] <= spread
        exp(-lambda h), `spread` being the weight of all candidates over the least. What two others hand down adds up.

        spread: the weight of all steps together over that of the lightest one.
        """
        own: dict[int | None, float] = {None: 0.0}
        for node in self.nodes:
            size = spread * (CUTS if node.divides else 1) * len(self.levels) / (1 - confidence)
            handed = float(1 - node.relative) * own[node.below] + float(node.relative) * own[node.above]
            own[node.place] = math.log(size) / float(self.rank_rate(node)) + handed
        return tuple(own[place] for place in range(len(self.levels)))


@dataclass(frozen=True, slots=True, kw_only=True)
class RankPlan(NoisePlan):
    """The mechanism of one release, and what it promises; `counts` is the noise of the counts for intervals."""

    mechanism: Literal["exponential"] = "exponential"
    guarantee: GaussianDP | PureDP
    rates: RankRates
    counts: VectorPlan | None

    @property
    def described(self) -> str:
        """What a ledger says of it."""
        return f"exponential mechanism on ranks, epsilon {float(self.rates.rate):.6g} a row"


@dataclass(frozen=True, slots=True)
class RankPlanner:
    """What decides the price: levels, groups, limits, neighbours, and the sensitivity of the counts for intervals
    (None: there are no intervals)."""

    levels: tuple[Fraction, ...]
    groups: int
    limits: Limits
    neighbours: Neighbours
    counts: Sensitivity | None
    compares: ClassVar[bool] = False  # `promised` takes the better of two rates by itself
    explains: ClassVar[bool] = False

    @property
    def _share(self) -> Fraction:
        """Of the quantiles."""
        return 1 - INTERVAL_SHARE if self.counts else Fraction(1)

    def _factors(self) -> list[Fraction]:
        """By how much the whole rate counts at each depth."""
        nodes = level_tree(self.levels)
        shares = depth_shares(nodes)
        if self.neighbours == "add-remove":
            return list(shares)
        parts = [[node.reach for node in nodes if node.depth == depth] for depth in range(depths(nodes))]
        each = [1 / part[0] if len(part) == self.groups == 1 else Fraction(2) for part in parts]
        return [share * factor for share, factor in zip(shares, each, strict=True)]

    def epsilon(self, rate: Fraction) -> Fraction:
        """What one unit loses at most by the quantiles, exactly."""
        return rate * sum(self._factors()) * self.limits.max_rows

    def mu_squared(self, rate: Fraction) -> Fraction:
        """The price of the quantiles in mu^2, rounded up."""
        full, rest = self.limits.fullest
        total = Fraction(0)
        for factor in self._factors():
            each = rate * factor
            total += full * _mu_squared(each * self.limits.max_per_bin) + _mu_squared(each * rest)
        return total

    def price(self, plan: RankPlan) -> Fraction:
        """mu^2 of quantiles and counts, rounded up."""
        total = self.mu_squared(plan.rates.rate)
        return total if plan.counts is None else total + self._vector.price(plan.counts)

    def laplace(self, epsilon: Number) -> RankPlan:
        """The mechanism that is epsilon-DP."""
        spend = validation.number("epsilon", epsilon)
        if not spend:
            raise errors.InvalidParameter(
                "epsilon and delta cannot both be 0: nothing that depends on anybody could be published.",
                parameter="epsilon",
                value=spend,
                example={"epsilon": 1},
            )
        rate = _checked(Fraction(spend) * self._share / self.epsilon(Fraction(1)))
        counts = self._vector.laplace(round_down(Fraction(spend) * INTERVAL_SHARE)) if self.counts else None
        return self._plan(rate, counts, PureDP(spend, self.neighbours), Fraction(spend), 0.0)

    def gaussian(self, mu_squared: Fraction) -> RankPlan:
        """The mechanism that costs at most this in mu^2, to 1e-9 of its rate."""
        allowed = mu_squared * self._share
        rate = Fraction(_largest(lambda tried: self.mu_squared(Fraction(tried)) <= allowed))
        counts = self._vector.gaussian(mu_squared * INTERVAL_SHARE) if self.counts else None
        made = self._plan(rate, counts, GaussianDP(1.0, self.neighbours), Fraction(0), None)
        mu = sqrt_up(self.price(made))
        return replace(made, guarantee=GaussianDP(mu, self.neighbours), cost=Fraction(mu) ** 2)

    def promised(self, epsilon: Number, delta: Number) -> RankPlan:
        """The larger of two rates: that of epsilon-DP, and that of the mu of (epsilon, delta); the latter where
        epsilon-DP alone protects nobody."""
        spend = validation.number("epsilon", epsilon)
        if validation.is_zero(delta):
            return self.laplace(spend)
        chance = validation.number("delta", delta)
        allowed = proof.mu(spend, chance) ** 2
        pure = self.laplace(spend) if spend else None
        if pure is not None and self.mu_squared(pure.rates.rate) >= allowed * self._share:
            nobody = protects_alone(GaussianDP(sqrt_up(allowed), self.neighbours), pure.guarantee)
            if not nobody:
                return pure
        return replace(self.gaussian(allowed), delta=chance)

    def of_sigma(self, sigma: Number, *, laplace: bool) -> RankPlan:
        """Ranks have no noise of a standard deviation."""
        raise errors.InvalidParameter(
            "The exponential mechanism adds no noise that has a standard deviation. Say how private it must be.",
            parameter="sigma",
            value=sigma,
            example={"epsilon": 1, "delta": 0},
        )

    @property
    def _vector(self) -> VectorPlanner:
        """The noise of the counts for intervals."""
        assert self.counts is not None
        l1, l2 = self.counts.l1, self.counts.l2
        return VectorPlanner(
            bins=2, integers=True, sensitivity=l2, l1_sensitivity=l1, neighbours=self.neighbours, explains=False
        )

    def _plan(
        self,
        rate: Fraction,
        counts: VectorPlan | None,
        guarantee: PureDP | GaussianDP,
        cost: Fraction,
        delta: float | None,
    ) -> RankPlan:
        rates = RankRates(self.levels, rate)
        error = max(rates.rank_stds)
        return RankPlan(scales={}, cost=cost, error=error, guarantee=guarantee, delta=delta, rates=rates, counts=counts)


def _mu_squared(epsilon: Fraction) -> Fraction:
    """mu^2 of one part, rounded up."""
    return Fraction(BoundedRangeDP(round_up(epsilon)).to_gaussian().mu) ** 2 if epsilon else Fraction(0)


def _checked(rate: Fraction) -> Fraction:
    """The rate as a double, rounded down."""
    found = round_down(rate)
    if not _LEAST_RATE <= found <= _LARGEST_RATE:
        raise errors.OutOfRange(
            f"An epsilon of {found:.3g} a row is beyond what can be drawn exactly. Allow another epsilon, or fewer "
            "rows of a unit."
        )
    return Fraction(found)


def _largest(fits: Callable[[float], bool]) -> float:
    """The largest rate that fits, to 1e-9."""
    low, high = _LEAST_RATE, _LARGEST_RATE
    if not fits(low):
        raise errors.OutOfRange(
            "So small a part of the promise buys no quantile that could be drawn exactly. Allow more epsilon, or fewer "
            "rows of a unit."
        )
    while high > low * (1 + 1e-9):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
