"""Unknown bins: sigma and a threshold T so that a bin which only one person fills almost never appears.

Counts of rows get rounded Gaussian noise (on the grid 1), and a bin is published when its noisy count reaches T:
with probability Phi(-(T - 1/2 - c)/sigma) at count c. One person's rows fall into bins of their own, which nobody
else fills, and into shared ones. For each way to split them (a `Split`) let delta_2 be the chance that any bin of
their own shows, and mu = L2(shared part)/sigma. Own and shared bins have independent noise, and given that no own
bin shows the release is the Gaussian mechanism on the shared ones, so it is (epsilon, delta)-DP for add-remove
neighbours when for every split

    delta_2 + (1 - delta_2) delta_G(epsilon - log(1 - delta_2); mu)  <=  delta     (the person is in the data)
    delta_G(epsilon + log(1 - delta_2); mu)                          <=  delta     (the person is not)

with delta_G the profile of Theorem 8. For replace neighbours either side may have bins of its own, so with the
largest delta_2 and the whole of both persons' rows shared it is enough that

    delta_2 + delta_G(epsilon + log(1 - delta_2); sqrt(2) L2/sigma)  <=  delta.

Where other numbers of the same rows are released with the counts, sigma is that of one count which would cost as much
as all of them together, and the counts themselves have `spread` times that: it decides delta_2 alone.

Where one of these numbers moves with every row of a person, wherever it lies (how many rows all bins have together),
the rows in bins of their own move it too. If `total` is the part of mu^2 that it has when all rows are shared, a split
costs total * (all) + (1 - total) * (shared) in place of (shared): see `keys_and_total`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal

import numpy as np
from flint import arb

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.directed_rounding import round_up
from leastnoise._support.validation import Floats, Number
from leastnoise.privacy import calibration
from leastnoise.privacy.calibration import proof
from leastnoise.privacy.distributions import Distribution, Gaussian, Laplace
from leastnoise.privacy.neighbours import Neighbours, check_neighbours
from leastnoise.privacy.sensitivity import Limits

_MAX_SPLITS = 1_000
_MAX_OWN_BINS_ONE_BY_ONE = 256


@dataclass(frozen=True, slots=True)
class Threshold:
    """Publish the bins whose noisy count is at least `at_least`.

    sigma: the standard deviation of the noise that was calibrated. scale: that of Laplace noise, whose sigma is scale
    * sqrt 2; None: the noise is Gaussian.
    """

    sigma: float
    at_least: int
    scale: float | None = None

    @property
    def mechanism(self) -> Literal["gaussian", "laplace"]:
        """Which noise."""
        return "gaussian" if self.scale is None else "laplace"

    @property
    def distribution(self) -> Distribution:
        """The distribution of the noise, on whole numbers."""
        return Gaussian(self.sigma, 1.0) if self.scale is None else Laplace(self.scale, 1.0)

    def wider(self, spread: float) -> Threshold:
        """The same threshold, with so much more noise."""
        return Threshold(self.sigma * spread, self.at_least, None if self.scale is None else self.scale * spread)


@dataclass(frozen=True, slots=True)
class Split:
    """One person's rows: `own` is (rows in a bin, how many such bins), the rest has squared L2 norm `shared`."""

    own: tuple[tuple[int, int], ...]
    shared: float


def choose(
    *,
    epsilon: Number,
    delta: Number,
    limits: Limits,
    neighbours: Neighbours = "add-remove",
    spread: float = 1.0,
    total: float = 0.0,
) -> Threshold:
    """The least whole T for which some sigma is valid, and with it the least such sigma, proved in balls.

    spread: the noise of the counts over the sigma that is chosen. total: the part of mu^2 that every row moves.

    >>> one = Limits.of(max_rows=1, bins=None)
    >>> choose(epsilon=1, delta=1e-6, limits=one).at_least
    22
    """
    replace = check_neighbours(neighbours) == "replace"
    spend, chance = validation.number("epsilon", epsilon), validation.number("delta", delta)
    return _choose(spend, chance, limits, replace, spread, total)


@lru_cache(maxsize=64)  # public numbers in, public numbers out
def _choose(epsilon: float, delta: float, limits: Limits, replace: bool, spread: float, total: float) -> Threshold:
    found = (_with_total(split, limits, total) for split in splits(limits, coarse=replace))
    ask = _Ask(epsilon, delta, replace, tuple(found), spread)
    floor = calibration.sigma(epsilon=ask.epsilon, delta=ask.delta, sensitivity=ask.widest)
    high = 1
    while ask.best(high, floor)[1] > 0:
        high *= 2
        if high > 2**50:
            raise errors.OutOfRange(
                "The threshold for unknown bins would pass 2^50. Allow more epsilon or delta, or fewer rows a person."
            )
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if ask.best(middle, floor)[1] <= 0 else (middle, high)
    for at_least in (high, high + 1):
        sigma = ask.least_proved_sigma(at_least, floor)
        if sigma is not None:
            return Threshold(sigma, at_least)
    raise errors.NotProved(
        "Rigorous arithmetic could not prove this threshold, so nothing is released. Change epsilon in its last digit."
    )


def chance_shown(*, limits: Limits, sigma: float, at_least: int, neighbours: Neighbours = "add-remove") -> float:
    """The largest chance that any bin of one person's own shows, rounded up: what a budget's threshold_delta pays.

    More rows in own bins never lower it, so for each number of own bins the fullest is the worst: the coarse list.
    Replace neighbours: either person may have such bins, so both chances are paid.
    """
    with proof.precision(192):
        worst = max((1 - _hidden(split, arb(sigma), at_least)).upper() for split in splits(limits, coarse=True))
        return min(1.0, proof.upward(worst * (2 if neighbours == "replace" else 1)))


def within_chance(*, limits: Limits, sigma: float, chance: float, neighbours: Neighbours = "add-remove") -> Threshold:
    """The least T at which the chance that an own bin shows is at most this, at a given sigma."""

    def enough(at_least: int) -> bool:
        return chance_shown(limits=limits, sigma=sigma, at_least=at_least, neighbours=neighbours) <= chance

    high = 1
    while not enough(high):
        high *= 2
        if high > 2**50:
            raise errors.OutOfRange("The threshold for unknown bins would pass 2^50. Take a larger share.")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return Threshold(sigma, high)


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


def _with_total(split: Split, limits: Limits, total: float) -> Split:
    """The split where so large a part of mu^2 moves with all rows, its own included; rounded up."""
    shared = Fraction(split.shared)
    return Split(split.own, round_up(shared + Fraction(total) * (limits.squared_norm - shared)))


def _vertex(n: int, s: int, p: int) -> tuple[int, int]:
    """s rows in n bins, one at least in each: how many bins are full, and what one more has beyond its first row."""
    return divmod(s - n, p - 1) if p > 1 else (0, 0)


def _shared(rows: int, per_bin: int, bins: int) -> int:
    if rows == 0 or bins == 0:
        return 0
    return Limits.of(max_rows=rows, max_per_bin=per_bin, max_bins=bins, bins=None).squared_norm


def is_private(
    split: Split,
    *,
    epsilon: float,
    delta: float,
    sigma: float,
    at_least: int,
    replace: bool = False,
    spread: float = 1.0,
) -> bool:
    """Whether the conditions hold for this split, proved in balls (False where that cannot be decided)."""
    for bits in (192, 512, 2048):
        with proof.precision(bits):
            hidden = _hidden(split, arb(sigma * spread), at_least)
            sides = _sides(split, arb(epsilon), arb(sigma), hidden, replace)
            if all(side <= delta for side in sides):
                return True
            if any(side > delta for side in sides):
                return False
    return False


def _sides(
    split: Split, epsilon: proof.RealBall, sigma: proof.RealBall, hidden: proof.RealBall, replace: bool
) -> list[proof.RealBall]:
    shift = hidden.log()  # log(1 - delta_2) <= 0
    if replace:
        return [1 - hidden + _profile(epsilon + shift, (2 * arb(split.shared)).sqrt() / sigma)]
    mu = arb(split.shared).sqrt() / sigma
    return [1 - hidden + hidden * _profile(epsilon - shift, mu), _profile(epsilon + shift, mu)]


def _hidden(split: Split, sigma: proof.RealBall, at_least: int) -> proof.RealBall:
    """The chance that no own bin shows."""
    hidden = arb(1)
    for count, bins in split.own:
        hidden *= (1 - proof.upper_tail((at_least - arb(1) / 2 - count) / sigma)) ** bins
    return hidden


def _profile(epsilon: proof.RealBall, mu: proof.RealBall) -> proof.RealBall:
    """delta_G, also for epsilon < 0, where delta_G(-e) = 1 - e^-e (1 - delta_G(e)) by symmetry."""
    if mu == 0:
        return (1 - epsilon.exp()).max(arb(0))
    if epsilon >= 0:
        return proof.profile(epsilon, mu)
    return 1 - epsilon.exp() * (1 - proof.profile(-epsilon, mu))


@dataclass(frozen=True, slots=True)
class _Ask:
    """The search, in doubles: it proposes, `is_private` disposes."""

    epsilon: float
    delta: float
    replace: bool
    splits: tuple[Split, ...]
    spread: float = 1.0

    @property
    def widest(self) -> float:
        return math.sqrt(max(split.shared for split in self.splits) * (2 if self.replace else 1))

    def excess(self, sigma: float, at_least: int) -> float:
        """log(the largest left side / delta)."""
        from scipy.special import log_ndtr

        counts, bins, shared = _arrays(self.splits)
        log_hidden = (bins * log_ndtr((at_least - 0.5 - counts) / (sigma * self.spread))).sum(axis=1)
        mu = np.sqrt(shared * (2.0 if self.replace else 1.0)) / sigma
        shown = -np.expm1(log_hidden)
        outside = _profile_in_doubles(self.epsilon + log_hidden, mu)
        if self.replace:
            worst = shown + outside
        else:
            worst = np.maximum(shown + (1 - shown) * _profile_in_doubles(self.epsilon - log_hidden, mu), outside)
        return math.log(float(worst.max()) / self.delta)

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
            if all(
                is_private(
                    split,
                    epsilon=self.epsilon,
                    delta=self.delta,
                    sigma=sigma,
                    at_least=at_least,
                    replace=self.replace,
                    spread=self.spread,
                )
                for split in self.splits
            ):
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
