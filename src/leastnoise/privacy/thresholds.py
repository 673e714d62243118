"""Unknown keys: noise and a threshold T so that a bin which only one person fills almost never appears.

Counts of rows get noise on the grid 1, and a bin is published when its noisy count reaches T. At count c that has the
probability Phi(-(T - 1/2 - c)/sigma) with rounded Gaussian noise, and q^(T - c)/(1 + q), q = exp(-1/b), with two-sided
geometric noise, P(k) proportional to q^|k|, for c <= T (more than the truth beyond). One person's rows fall into bins
of their own, which nobody else fills, and into shared ones. For each way to split them (a `Split`) let h be the chance
that no bin of their own shows, and delta_s the profile of the noise on shared bins. Own and shared bins have
independent noise, and given that no own bin shows the release is an ordinary mechanism on the shared ones, so it is
(epsilon, delta)-DP for add-remove neighbours when for every split

    1 - h + h delta_s(epsilon - log h)  <=  delta     (the person is in the data)
    delta_s(epsilon + log h)            <=  delta     (the person is not)

For replace neighbours either side may have bins of its own, so with the least h and the rows of both persons shared it
is enough that

    1 - h + delta_s(epsilon + log h)    <=  delta.

**Gaussian noise.** delta_s is the profile of Theorem 8 at mu = L2(shared part)/sigma; for replace neighbours at sqrt(2)
L2(all rows)/sigma.

**Laplace noise.** Of L1 = the rows that are shared, delta_s(x) = 0 where L1/b <= x. So with L the most rows of a person
(replace: of both persons) these conditions hold where

    L/b <= epsilon,     1 - h <= delta,     (L - 1)/b - log h <= epsilon

for every split with own bins, since one with own bins shares at most L - 1 rows. For replace neighbours P(A) = h_x
P_s(A) <= P_s(A) <= e^((L - 1)/b) Q_s(A) <= e^((L - 1)/b - log h) Q(A) for outcomes A that show no own bin, and what
shows one has probability 1 - h at most.

**Beside other numbers.** Where other numbers of the same rows are released with the counts, sigma (or b) is that of one
count which would cost as much as all of them together, and the counts themselves have `inflation` times that: it
decides h alone. Where one of these numbers moves with every row of a person, wherever it lies (how many rows all bins
have together), the rows in bins of their own move it too. If `total` is the part of mu^2 (or of L/b) that it has when
all rows are shared, a split costs total * (all) + (1 - total) * (shared) in place of (shared), and with Laplace noise
(L - 1 + total)/b in place of (L - 1)/b: see `CountsBesideTotal`.

Both kinds of noise are log-concave, and so are their distribution functions: h, a product of these, is least at the
same splits.

**The total of all keys.** The total has noise of its own beside that of the counts, and is the exact total plus that
noise. It is not the sum of noisy counts: this would have as much noise as there are bins, and so tell how many there
are.

A unit has n_b rows in bin b: M in all at most, and sum n_b^2 <= W. Let `part` = f of the cost be the total's. With
sigma that of one count which would cost as much as both together (that cost is W/sigma^2), the
noise is

    counts   sigma_k,   (1 - f) sigma_k^2 >= sigma^2,           total   sigma_t,   f W sigma_t^2 >= M^2 sigma^2,

so a unit whose rows in bins that others fill, too, have squared norm S moves both together by

    S/sigma_k^2 + M^2/sigma_t^2  <=  ((1 - f) S + f W)/sigma^2  <=  W/sigma^2.

The left one of these bounds is what the conditions take of a split: rows in bins of the unit's own, which do not show,
still move the total. The noise of the total is independent of that of bins, so given that no own bin shows the release
is the Gaussian mechanism on shared bins and the total, and the two conditions there are what they were, with this mu.
Budgets pay W/sigma^2 and the chance that an own bin shows, which is that of the noise sigma_k.

Laplace noise: scales b_k and b_t with (1 - f) b_k >= b and f L b_t >= M b, so that s shared rows cost at most ((1 - f)
s + f L)/b: all L of them L/b, and L - 1 with an own bin (L - 1 + f)/b, as the conditions have it.

Replace neighbours: the counts of two units differ by 2 W and L = 2 M at most, their totals by M still; 2 W and L stand
for W and L in the lines above. (It is a bound: counts and total do not both differ by as much.)

**Several statistics.** A bin shows when its noisy number of rows reaches T. All parts of a bin have independent noise,
so whether a bin of one person's own shows depends on the noise of rows alone; and given that none shows, the rest is
the joint mechanism of `unit_cost` on the shared bins. There one unit with n_b rows in bin b costs at most Z sum n_b^2
(Gaussian: mu^2) or Z sum n_b (Laplace: epsilon), as one count of sigma = Z^(-1/2), or of scale 1/Z, would. That is all
that the conditions ask of it; the chance that an own bin shows is that of the rows' own, wider noise: `inflation` times
as wide.

**Which noise.** By the error that is left, from public facts alone. Both numbers matter: what is below the threshold T
is not published at all, and what shows has noise. The loss weighs them where the sizes of keys follow Zipf's law, as
those of words, places and codes do: keys of size c or more are in number like 1/c. A key that stays below T is off by
its whole size c, one that shows by the noise, so that the squared error of all keys together is, up to a factor,

    integral from 0 to T of c^2/c^2 dc  +  integral from T on of variance/c^2 dc  =  T + variance/T.

With one row a person Laplace noise has both the lower threshold and the lesser noise. With many bins a person its
threshold grows with the number of rows, that of Gaussian noise with its root, and they part.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial

import numpy as np
from flint import arb

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.rounding import next_up, round_up, sqrt_up
from leastnoise._support.validation import Floats, Number
from leastnoise.privacy import baselines, calibration
from leastnoise.privacy.calibration import proof
from leastnoise.privacy.comparison import Comparison, Row
from leastnoise.privacy.distributions import Distribution, Gaussian, Laplace
from leastnoise.privacy.guarantees import GaussianDP, PureDP
from leastnoise.privacy.neighbours import Neighbours, check_neighbours
from leastnoise.privacy.noise_plan import Choice, Mechanism
from leastnoise.privacy.sensitivity import Limits, of_sum
from leastnoise.privacy.strength import protects_alone
from leastnoise.privacy.summary_noise import StatisticsPlanner, relative_sizes
from leastnoise.privacy.unit_cost import BinComponents

MAX_THRESHOLD = 2**50
LEAST_PART, LARGEST_PART = Fraction(1, 1000), Fraction(999, 1000)  # of the cost, that a total may have
ONE_ROW = Limits(max_rows=1, max_per_bin=1, max_bins=1)
SLACK = 1 + 1e-12  # by which other parts are noisier than they must be, so that rounding costs nobody anything
_MAX_SPLITS = 1_000
_MAX_OWN_BINS_ONE_BY_ONE = 256


@dataclass(frozen=True, slots=True)
class KeySelection:
    """Release the bins whose noisy count is at least `at_least`.

    scale: of the noise that was calibrated: its standard deviation if it is Gaussian, else that of Laplace noise.
    """

    mechanism: Mechanism
    scale: float
    at_least: int

    @property
    def sigma(self) -> float:
        """The standard deviation of the noise without its grid."""
        return self.scale if self.mechanism == "gaussian" else math.sqrt(2) * self.scale

    @property
    def distribution(self) -> Distribution:
        """The distribution of the noise, on whole numbers."""
        return Gaussian(self.scale, 1.0) if self.mechanism == "gaussian" else Laplace(self.scale, 1.0)

    def wider(self, times: float) -> KeySelection:
        """The same threshold, with so much more noise."""
        return replace(self, scale=self.scale * times)


@dataclass(frozen=True, slots=True)
class NoiseInflation:
    """How much noisier counts are than if they were released alone, by mechanism; and which part of the cost is that of
    a number beside them which every row moves, whichever bin it is in."""

    gaussian: float = 1.0
    laplace: float = 1.0
    total: float = 0.0

    def of(self, mechanism: Mechanism) -> float:
        """For this mechanism."""
        return self.gaussian if mechanism == "gaussian" else self.laplace


ALONE = NoiseInflation()


@dataclass(frozen=True, slots=True)
class Split:
    """One person's rows: `own` is (rows in a bin, how many such bins), the rest has squared L2 norm `shared`."""

    own: tuple[tuple[int, int], ...]
    shared: float


def loss(selection: KeySelection, inflation: NoiseInflation = ALONE) -> float:
    """T + variance/T."""
    std = inflation.of(selection.mechanism) * selection.distribution.std
    return selection.at_least + std**2 / selection.at_least


def choose(
    *,
    epsilon: Number,
    delta: Number,
    limits: Limits,
    neighbours: Neighbours = "add-remove",
    mechanism: Choice = "auto",
    inflation: NoiseInflation = ALONE,
) -> KeySelection:
    """The noise and the threshold of the mechanism asked for: the least T that is valid, and with it the least noise,
    proved in balls; of Laplace noise the scale is the least that epsilon allows, whatever T is. "auto" takes the
    mechanism of the lesser loss.

    >>> one, many = Limits.of(max_rows=1, bins=None), Limits.of(max_rows=20, max_per_bin=1, bins=None)
    >>> [choose(epsilon=1, delta=1e-6, limits=limits).mechanism for limits in (one, many)]
    ['laplace', 'gaussian']
    >>> [choose(epsilon=1, delta=1e-6, limits=one, mechanism=each).at_least for each in ("gaussian", "laplace")]
    [22, 15]
    """
    options = _options(epsilon, delta, limits, neighbours, mechanism, inflation)
    return min(options, key=lambda selection: loss(selection, inflation))


def _options(
    epsilon: Number,
    delta: Number,
    limits: Limits,
    neighbours: Neighbours,
    mechanism: Choice,
    inflation: NoiseInflation,
) -> list[KeySelection]:
    of = partial(_least, validation.number("epsilon", epsilon), validation.number("delta", delta), limits)
    side = check_neighbours(neighbours)
    if mechanism == "laplace":
        return [of(side, "laplace", inflation)]
    found = [of(side, "gaussian", inflation)]
    if mechanism == "auto" and not validation.is_zero(epsilon):
        with suppress(errors.OutOfRange):  # a threshold past 2^50 would not have won
            found.append(of(side, "laplace", inflation))
    return found


def _least(
    epsilon: float,
    delta: float,
    limits: Limits,
    neighbours: Neighbours,
    mechanism: Mechanism,
    inflation: NoiseInflation,
) -> KeySelection:
    """With noise of this kind."""
    if mechanism == "gaussian":
        return _least_gaussian(epsilon, delta, limits, neighbours == "replace", inflation.gaussian, inflation.total)
    if not epsilon:
        raise errors.InvalidParameter(
            "At epsilon 0 there is no Laplace noise. Take Gaussian noise.",
            parameter="mechanism",
            example={"mechanism": "gaussian"},
        )
    scale = baselines.laplace_scale(epsilon=epsilon, l1_sensitivity=rows_of(limits, neighbours))
    return laplace_within_chance(
        epsilon=epsilon, scale=scale, chance=delta, limits=limits, neighbours=neighbours, inflation=inflation
    )


@lru_cache(maxsize=64)  # public numbers in, public numbers out
def _least_gaussian(
    epsilon: float, delta: float, limits: Limits, replaced: bool, inflation: float, total: float
) -> KeySelection:
    found = _priced_splits(limits, "gaussian", replaced=replaced, total=total)
    search = _Search(Conditions("gaussian", epsilon, delta, replaced, inflation), found)
    floor = calibration.sigma(epsilon=epsilon, delta=delta, sensitivity=search.widest)
    high = _least_threshold(lambda at_least: search.best(at_least, floor)[1] <= 0)
    for at_least in (high, high + 1):
        sigma = search.least_proved_sigma(at_least, floor)
        if sigma is not None:
            return KeySelection("gaussian", sigma, at_least)
    raise errors.NotProved(
        "Rigorous arithmetic could not prove this threshold, so nothing is released. Change epsilon in its last digit."
    )


def chance_shown(
    *,
    limits: Limits,
    scale: float,
    at_least: int,
    neighbours: Neighbours = "add-remove",
    mechanism: Mechanism = "gaussian",
) -> float:
    """The largest chance that any bin of one person's own shows, rounded up: what a budget's threshold_delta pays.

    More rows in own bins never lower it, so for each number of own bins the fullest is the worst: the coarse list.
    Replace neighbours: either person may have such bins, so both chances are paid.
    """
    with proof.precision(192):
        noise, found = arb(scale), splits(limits, coarse=True)
        worst = max((1 - _hidden(split, mechanism, noise, at_least)).upper() for split in found)
        return min(1.0, proof.upward(worst * (2 if neighbours == "replace" else 1)))


def within_chance(
    *, limits: Limits, sigma: float, chance: float, neighbours: Neighbours = "add-remove"
) -> KeySelection:
    """The least T at which the chance that an own bin shows is at most this, at a given sigma of Gaussian noise."""

    def enough(at_least: int) -> bool:
        return chance_shown(limits=limits, scale=sigma, at_least=at_least, neighbours=neighbours) <= chance

    return KeySelection("gaussian", sigma, _least_threshold(enough))


def laplace_within_chance(
    *,
    epsilon: float,
    scale: float,
    chance: float,
    limits: Limits,
    neighbours: Neighbours = "add-remove",
    inflation: NoiseInflation = ALONE,
) -> KeySelection:
    """The least T at which an own bin shows with at most this chance, and all is epsilon-DP but for that, at a given
    scale of Laplace noise."""
    replaced = neighbours == "replace"
    found = _priced_splits(limits, "laplace", replaced=replaced, total=inflation.total)
    conditions = Conditions("laplace", epsilon, chance, replaced, inflation.laplace)
    at_least = _least_threshold(
        lambda at_least: all(conditions.hold(split, scale, at_least) for split in found),
        below=limits.max_per_bin,  # at T <= c a bin of one's own shows as likely as not
    )
    return KeySelection("laplace", scale, at_least)


def rows_of(limits: Limits, neighbours: Neighbours) -> int:
    """The L1 sensitivity of counts of unknown keys: L."""
    return limits.max_rows * (2 if neighbours == "replace" else 1)


def _least_threshold(enough: Callable[[int], bool], *, below: int = 0) -> int:
    """The least whole number above `below` that is enough."""
    low, high = below, max(1, 2 * below)
    while not enough(high):
        low, high = high, 2 * high
        if high > MAX_THRESHOLD:
            raise errors.OutOfRange(
                "The threshold for unknown bins would pass 2^50. Allow more epsilon or delta, or fewer rows a person."
            )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def splits(limits: Limits, *, coarse: bool = False) -> Iterator[Split]:
    """The most visible splits: for each number n of own bins and each number s of rows in them, one.

    The chance that no own bin shows is prod Phi((T - 1/2 - c_j)/sigma), and log Phi is concave, so over
    1 <= c_j <= p with sum s it is least at a vertex: bins with p rows, bins with 1, and one in between. The
    rest of the rows then does its worst in shared bins. The coarse list (safe, and short where there are
    many splits) pretends that own rows count as shared ones too, so that only the fullest s matters. Past 256
    own bins it takes numbers in blocks of 2 %, each with at least as many bins and rows as any n of the block.
    """
    m, p, top = limits.max_rows, limits.max_per_bin, min(limits.max_bins, limits.max_rows)
    coarse = coarse or m * top > _MAX_SPLITS
    yield Split((), limits.squared_norm)
    for n in range(1, min(top, _MAX_OWN_BINS_ONE_BY_ONE if coarse else top) + 1):
        most = min(m, n * p)
        for s in range(most if coarse else n, most + 1):
            full, rest = _vertex(n, s, p)
            own = ((p, full), (rest + 1, 1 if rest else 0), (1, n - full - (1 if rest else 0)))
            shared = limits.squared_norm if coarse else _shared(m - s, p, limits.max_bins - n)
            yield Split(tuple((c, k) for c, k in own if k), shared)
    low = _MAX_OWN_BINS_ONE_BY_ONE + 1
    while coarse and low <= top:
        high = min(top, low + low // 50)
        # Full bins grow with n while n p <= m and shrink after that; one more stands for the bin in between.
        full = high if low * p <= m else _vertex(low, m, p)[0] + 1
        yield Split(((p, full), (1, high)), limits.squared_norm)
        low = high + 1


def _priced_splits(limits: Limits, mechanism: Mechanism, *, replaced: bool, total: float) -> tuple[Split, ...]:
    """The splits, `shared` being what the noise is paid for: the squared L2 norm of shared rows, or their L1 norm; of
    which so large a part as `total` moves with all rows, own ones included. Rounded up."""
    if mechanism == "laplace":
        rows = limits.max_rows * (2 if replaced else 1)
        return tuple(
            Split(split.own, next_up(rows - 1 + total) if split.own and total else rows - bool(split.own))
            for split in splits(limits, coarse=True)
        )
    square, part = limits.squared_norm, Fraction(total)
    return tuple(
        Split(split.own, round_up(Fraction(split.shared) + part * (square - Fraction(split.shared))))
        for split in splits(limits, coarse=replaced)
    )


def _vertex(n: int, s: int, p: int) -> tuple[int, int]:
    """s rows in n bins, one at least in each: how many bins are full, and what one more has beyond its first row."""
    return divmod(s - n, p - 1) if p > 1 else (0, 0)


def _shared(rows: int, per_bin: int, bins: int) -> int:
    if rows == 0 or bins == 0:
        return 0
    return Limits.of(max_rows=rows, max_per_bin=per_bin, max_bins=bins, bins=None).squared_norm


@dataclass(frozen=True, slots=True)
class Conditions:
    """What noise and a threshold must satisfy for every split."""

    mechanism: Mechanism
    epsilon: float
    delta: float
    replaced: bool = False
    inflation: float = 1.0

    def hold(self, split: Split, scale: float, at_least: int) -> bool:
        """Whether they hold, proved in balls (False where that cannot be decided)."""
        for bits in (192, 512, 2048):
            with proof.precision(bits):
                hidden = _hidden(split, self.mechanism, arb(scale * self.inflation), at_least)
                if not hidden > 0:
                    return False
                sides = self._sides(split, arb(scale), hidden)
                if all(side <= self.delta for side in sides):
                    return True
                if any(side > self.delta for side in sides):
                    return False
        return False

    def _sides(self, split: Split, scale: proof.RealBall, hidden: proof.RealBall) -> list[proof.RealBall]:
        """The left sides of the conditions."""
        shift, epsilon = hidden.log(), arb(self.epsilon)  # log h <= 0
        if self.replaced:
            return [1 - hidden + self._of_shared(epsilon + shift, split, scale)]
        outside = self._of_shared(epsilon + shift, split, scale)
        return [1 - hidden + hidden * self._of_shared(epsilon - shift, split, scale), outside]

    def _of_shared(self, epsilon: proof.RealBall, split: Split, scale: proof.RealBall) -> proof.RealBall:
        """delta_s, or more."""
        if self.mechanism == "laplace":
            return arb(0) if arb(split.shared) / scale <= epsilon else arb(1)
        return _profile(epsilon, (arb(split.shared) * (2 if self.replaced else 1)).sqrt() / scale)


def _hidden(split: Split, mechanism: Mechanism, scale: proof.RealBall, at_least: int) -> proof.RealBall:
    """h, the chance that no own bin shows."""
    hidden = arb(1)
    for count, bins in split.own:
        away = at_least - count
        if mechanism == "gaussian":
            shows = proof.upper_tail((away - arb(1) / 2) / scale)
        else:
            shows = (-away / scale).exp() / (1 + (-1 / scale).exp())
        hidden *= (1 - shows) ** bins
    return hidden


def _profile(epsilon: proof.RealBall, mu: proof.RealBall) -> proof.RealBall:
    """delta_G, also for epsilon < 0, where delta_G(-e) = 1 - e^-e (1 - delta_G(e)) by symmetry."""
    if mu == 0:
        return (1 - epsilon.exp()).max(arb(0))
    if epsilon >= 0:
        return proof.profile(epsilon, mu)
    return 1 - epsilon.exp() * (1 - proof.profile(-epsilon, mu))


@dataclass(frozen=True, slots=True)
class _Search:
    """The search for Gaussian noise, in doubles: it proposes, `Conditions.hold` disposes."""

    conditions: Conditions
    splits: tuple[Split, ...]

    @property
    def widest(self) -> float:
        return math.sqrt(max(split.shared for split in self.splits) * (2 if self.conditions.replaced else 1))

    def excess(self, sigma: float, at_least: int) -> float:
        """log(the largest left side / delta)."""
        from scipy.special import log_ndtr

        epsilon, replaced = self.conditions.epsilon, self.conditions.replaced
        counts, bins, shared = _arrays(self.splits)
        log_hidden = (bins * log_ndtr((at_least - 0.5 - counts) / (sigma * self.conditions.inflation))).sum(axis=1)
        mu = np.sqrt(shared * (2.0 if replaced else 1.0)) / sigma
        shown = -np.expm1(log_hidden)
        outside = _profile_in_doubles(epsilon + log_hidden, mu)
        if replaced:
            worst = shown + outside
        else:
            worst = np.maximum(shown + (1 - shown) * _profile_in_doubles(epsilon - log_hidden, mu), outside)
        return math.log(float(worst.max()) / self.conditions.delta)

    def best(self, at_least: int, floor: float) -> tuple[float, float]:
        """The sigma at or above `floor` where the excess is least, and that excess: it falls, then rises."""
        from scipy.optimize import minimize_scalar  # half a second to import

        def above(log_ratio: float) -> float:
            return self.excess(floor * math.exp(log_ratio), at_least)

        found = minimize_scalar(above, bounds=(0.0, 3.0), method="bounded", options={"xatol": 1e-8})
        least, x = min((above(0.0), 0.0), (float(found.fun), float(found.x)))
        return floor * math.exp(x), least

    def least_proved_sigma(self, at_least: int, floor: float) -> float | None:
        low, high = floor, self.best(at_least, floor)[0]
        if self.excess(floor, at_least) <= 0:
            high = floor
        while high > low * (1 + 1e-13):
            middle = math.sqrt(low) * math.sqrt(high)
            low, high = (low, middle) if self.excess(middle, at_least) <= 0 else (middle, high)
        for nudge in (1e-12, 1e-10, 1e-8, 1e-6):
            sigma = high * (1 + nudge)
            if all(self.conditions.hold(split, sigma, at_least) for split in self.splits):
                return sigma
        return None


@lru_cache(maxsize=4)
def _arrays(splits: tuple[Split, ...]) -> tuple[Floats, Floats, Floats]:
    """Rows in a bin, how many such bins, and the shared norms, a split a row."""
    own = np.array([[*split.own, *[(0, 0)] * (3 - len(split.own))] for split in splits], dtype=np.float64)
    return own[:, :, 0], own[:, :, 1], np.array([split.shared for split in splits], dtype=np.float64)


def _profile_in_doubles(epsilon: Floats, mu: Floats) -> Floats:
    some = mu > 0
    above = calibration.delta(sigma=1.0, epsilon=np.abs(epsilon), sensitivity=np.where(some, mu, 1.0))
    gaussian = np.where(epsilon >= 0, above, 1 - np.exp(np.minimum(epsilon, 0)) * (1 - above))
    return np.where(some, gaussian, np.maximum(0.0, -np.expm1(np.minimum(epsilon, 0))))


def compare(
    *,
    epsilon: Number,
    delta: Number,
    limits: Limits,
    neighbours: Neighbours = "add-remove",
    inflation: NoiseInflation = ALONE,
) -> Comparison:
    """Both ways to release unknown keys, the one of the lesser loss first.

    epsilon, delta: the promise that both keep. limits: how much of one unit is used. neighbours: between which tables.
    inflation: how much noisier counts are beside other numbers.
    """
    alone = sorted(
        _options(epsilon, delta, limits, neighbours, "auto", inflation), key=lambda each: loss(each, inflation)
    )
    found = [each.wider(inflation.of(each.mechanism)) for each in alone]
    rows = [_row(each, one, limits, neighbours) for each, one in zip(found, alone, strict=True)]
    told = [
        f"{each.mechanism.capitalize()} noise shows bins from {each.at_least} on, with a standard deviation of "
        f"{each.distribution.std:.3g}"
        for each in found
    ]
    why = "it loses less of what is below the threshold and to noise, where sizes follow Zipf's law"
    verdict = f"Use {rows[0].mechanism.capitalize()} noise for one release alone: {why}. {'; '.join(told)}."
    spent, chance = validation.number("epsilon", epsilon), validation.number("delta", delta)
    normal = next(row for row in rows if row.mechanism == "gaussian")
    if rows[0] is not normal and protects_alone(GaussianDP(math.sqrt(normal.budget_cost)), PureDP(spent)):
        verdict = f"Use Gaussian noise: at this epsilon Laplace noise protects nobody in practice. {'; '.join(told)}."
    return Comparison(tuple(rows), verdict, spent, chance, 1)


def _row(found: KeySelection, alone: KeySelection, limits: Limits, neighbours: Neighbours) -> Row:
    """The noise of the counts, and what one count alone that costs as much as all would cost."""
    norms = of_sum(limits, low=0, high=1, bins=None, neighbours=neighbours)
    if alone.mechanism == "gaussian":
        cost = GaussianDP.of(sigma=alone.scale, sensitivity=norms.l2, neighbours=neighbours).mu ** 2
    else:
        cost = PureDP(math.nextafter(norms.l1 / alone.scale, math.inf), neighbours).to_gaussian().mu ** 2
    return Row.of(found.mechanism, found.distribution, cost, f"shows from {found.at_least} on")


@dataclass(frozen=True, slots=True)
class CountsBesideTotal:
    """How the cost is divided between the counts and the number of rows of all bins: `part` of it is the total's."""

    part: Fraction
    limits: Limits
    neighbours: Neighbours = "add-remove"

    def __post_init__(self) -> None:
        if not LEAST_PART <= self.part <= LARGEST_PART:
            rule = f"lie between {float(LEAST_PART)} and {float(LARGEST_PART)}"
            why = "It is the part of a release that is for the total of all keys."
            raise errors.InvalidParameter.must("others", rule, float(self.part), why, example={"others": 0.1})

    @property
    def inflation(self) -> NoiseInflation:
        """How much noisier the counts are than alone: the root of 1/(1 - f), or 1/(1 - f), two steps up, so that the
        product with a double rounds to no less."""
        counts = 1 / (1 - self.part)
        gaussian, laplace = (next_up(next_up(found)) for found in (sqrt_up(counts), round_up(counts)))
        return NoiseInflation(gaussian, laplace, round_up(self.part))

    def counts(self, selection: KeySelection) -> KeySelection:
        """The threshold, with the noise of the counts; what it must be is checked exactly."""
        made = selection.wider(self.inflation.of(selection.mechanism))
        power = 2 if selection.mechanism == "gaussian" else 1
        if (1 - self.part) * Fraction(made.scale) ** power < Fraction(selection.scale) ** power:
            raise errors.NotProved("The noise of counts beside a total could not be proved. Change others a little.")
        return made

    def total(self, selection: KeySelection) -> float:
        """The scale of the noise of the total, rounded up."""
        rows, scale = self.limits.max_rows, Fraction(selection.scale)
        if selection.mechanism == "laplace":
            return round_up(rows * scale / (self.part * rows_of(self.limits, self.neighbours)))
        square = self.limits.squared_norm * (2 if self.neighbours == "replace" else 1)
        return sqrt_up((rows * scale) ** 2 / (self.part * square))


@dataclass(frozen=True, slots=True)
class CountsBesideStatistics:
    """How the noise is divided among several statistics, in units of one count that costs as much as all of them."""

    asked: StatisticsPlanner
    rows: str  # the part that counts rows

    @property
    def inflation(self) -> NoiseInflation:
        """How much noisier the number of rows is than if it were released alone."""
        gaussian, laplace = (self._factors(power)[self.rows] for power in (1 / 2, 1 / 3))
        return NoiseInflation(gaussian, laplace)

    def scales(self, selection: KeySelection) -> dict[str, float]:
        """The scale of the noise of every part; their joint cost is checked exactly."""
        gaussian, base = selection.mechanism == "gaussian", selection.scale
        factors = self._factors(1 / 2 if gaussian else 1 / 3)
        found = {
            part.name: base * factors[part.name] * (1 if part.name == self.rows else part.largest * SLACK)
            for part in self.asked.parts
        }
        if self._one_row(found, gaussian=gaussian) * Fraction(base) ** (2 if gaussian else 1) > 1:
            raise errors.NotProved("The noise of several statistics could not be proved. Change epsilon a little.")
        return found

    def _factors(self, power: float) -> dict[str, float]:
        """s with noise s V base on a part to which one row adds V at most."""
        sizes = relative_sizes(self.asked, power)
        gaussian = power == 1 / 2
        rough = {
            part.name: part.largest / (math.sqrt(sizes[part.name]) if gaussian else sizes[part.name])
            for part in self.asked.parts
        }
        whole = float(self._one_row(rough, gaussian=gaussian))
        whole = math.sqrt(whole) if gaussian else whole
        return {part.name: whole * rough[part.name] / part.largest for part in self.asked.parts}

    def _one_row(self, scales: dict[str, float], *, gaussian: bool) -> Fraction:
        """Z: what one row of a unit costs; under replace neighbours half of what two such units do."""
        row = BinComponents(self.asked.parts, ONE_ROW, 2, self.asked.neighbours)
        cost = row.mu_squared(scales) if gaussian else row.epsilon(scales)
        return cost / 2 if row.neighbours == "replace" else cost
