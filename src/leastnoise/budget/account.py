"""What a book promises, and what each release takes of it: exact arithmetic, rounded toward privacy.

A book has three caps, fixed when it is opened, and each is spent by itself:

    gaussian    mu_limit^2, the most that sum (sensitivity/sigma)^2 may reach
    pure        pure_epsilon, the most that the epsilons of Laplace releases may add up to
    threshold   threshold_delta, the most that the chances of showing a bin of one person's own may add up to

with delta_G(epsilon - pure_epsilon; mu_limit) + threshold_delta <= delta, delta_G being Theorem 8. Separate caps
are what makes this a valid filter when each release is chosen after seeing the earlier ones: on every path
the Gaussian parts together are mu_limit-GDP (Smith & Thakurta 2022), the pure parts change any likelihood ratio by
e^pure_epsilon at most, and the third kind is coupled, except with probability threshold_delta, to one that shows no
such bin. (Where the person is absent the last step costs delta_G(epsilon + log(1 - D)) instead, which is
<= delta_G(epsilon) + D for D <= 1/2: the slope of delta_G is -e^x Phi(-mu/2 - x/mu) = -phi(a) R(b), at least -1/2 for
x >= 0, and at least -e^x below.)

Amounts are whole numbers of atoms, 10^-30 of a cap. So 0.01 is exactly 1/100, every sum is exact, and a
hundred thousand of them need no more room than one. Shares are rounded down, costs up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from flint import arb, fmpq

from leastnoise import errors, parameters
from leastnoise.calibrate import proof
from leastnoise.guarantee import NEIGHBOURS, Neighbours, PureDP
from leastnoise.parameters import Number

ATOMS = 10**30


@dataclass(frozen=True, slots=True)
class Cost:
    """Parts of the three caps, in atoms."""

    gaussian: int = 0
    pure: int = 0
    threshold: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.gaussian + other.gaussian, self.pure + other.pure, self.threshold + other.threshold)

    def __sub__(self, other: Cost) -> Cost:
        return Cost(self.gaussian - other.gaussian, self.pure - other.pure, self.threshold - other.threshold)

    @property
    def within(self) -> bool:
        """Whether no cap is passed (and none was refunded below nothing)."""
        return all(0 <= part <= ATOMS for part in (self.gaussian, self.pure, self.threshold))

    def largest_share(self, left: Cost) -> int:
        """The largest share, in atoms, of the caps that this cost draws on."""
        parts = ((self.gaussian, left.gaussian), (self.pure, left.pure), (self.threshold, left.threshold))
        return min((rest for asked, rest in parts if asked > 0), default=0)


WHOLE = Cost(ATOMS, ATOMS, ATOMS)


@dataclass(frozen=True, slots=True)
class Terms:
    """The limits of a book, as typed, and whom it protects. All of epsilon as `pure_epsilon` leaves mu = 0."""

    epsilon: Fraction
    delta: Fraction
    pure_epsilon: Fraction
    threshold_delta: Fraction
    mu: Fraction  # mu_limit, rounded down
    unit: str | None
    table: str | None
    neighbours: Neighbours

    @classmethod
    def of(
        cls,
        *,
        epsilon: Number | None,
        delta: Number | None,
        pure_epsilon: Number,
        threshold_delta: Number,
        unit: str | None,
        table: str | None,
        neighbours: Neighbours | None,
    ) -> Terms:
        """The terms that these limits make, mu_limit proved in balls."""
        if epsilon is None:
            raise errors.MissingParameter("A new book needs its limits: say epsilon=3, delta=1e-6.")
        total, pure = typed("epsilon", epsilon), _reserve("pure_epsilon", pure_epsilon)
        if pure > total:
            raise errors.InvalidParameter(
                f"pure_epsilon = {float(pure):g} is more than all of epsilon = {float(total):g}, from which it is "
                f"taken. Say pure_epsilon={float(total):g} for a book of Laplace releases only, or less."
            )
        if delta is None and pure < total:
            raise errors.MissingParameter(
                "A book for Gaussian releases needs its delta: say delta=1e-6. (A book for Laplace releases only has "
                f"none: say pure_epsilon={float(total):g}.)"
            )
        nothing = delta is None or (delta == 0 and pure == total)
        chance = Fraction(0) if nothing else typed("delta", delta)  # type: ignore[arg-type]
        hidden = _reserve("threshold_delta", threshold_delta)
        if hidden and (pure == total or hidden >= chance or hidden > Fraction(1, 2)):
            raise errors.InvalidParameter(
                f"threshold_delta = {float(hidden):g} is taken from delta = {float(chance):g}, and the noise of "
                "unknown keys is Gaussian, so both need some of delta. Say threshold_delta= half of delta."
            )
        side = parameters.word("neighbours", neighbours or "add-remove", NEIGHBOURS)
        unit, table = _label("unit", unit), _label("table", table)
        terms = cls(total, chance, pure, hidden, Fraction(0), unit, table, side)  # type: ignore[arg-type]
        return terms if terms.laplace_only else replace(terms, mu=proof.mu(*terms.gaussian_promise))

    @property
    def laplace_only(self) -> bool:
        """Whether all of epsilon is reserved for Laplace releases."""
        return self.pure_epsilon == self.epsilon

    @property
    def gaussian_promise(self) -> tuple[float, float]:
        """(epsilon - pure_epsilon, delta - threshold_delta) as doubles: those typed, or rounded down."""
        epsilon = down(self.epsilon - self.pure_epsilon) if self.pure_epsilon else float(self.epsilon)
        delta = down(self.delta - self.threshold_delta) if self.threshold_delta else float(self.delta)
        return epsilon, delta

    def to_texts(self) -> dict[str, str]:
        """Exact texts, for the ledger."""
        named = {name: getattr(self, name) for name in self.__slots__}
        return {name: str(value) for name, value in named.items() if value is not None}

    @classmethod
    def from_texts(cls, texts: dict[str, str]) -> Terms:
        names = ("epsilon", "delta", "pure_epsilon", "threshold_delta", "mu")
        return cls(
            **{name: Fraction(texts[name]) for name in names},
            unit=texts.get("unit"),
            table=texts.get("table"),
            neighbours=parameters.word("neighbours", texts["neighbours"], NEIGHBOURS),  # type: ignore[arg-type]
        )

    def is_proved(self) -> bool:
        """Whether mu is what these limits allow; recomputed."""
        return self.mu <= (0 if self.laplace_only else proof.mu(*self.gaussian_promise))

    # What shares are worth

    def mu_squared(self, atoms: int) -> Fraction:
        """This many atoms of the Gaussian cap."""
        return Fraction(atoms, ATOMS) * self.mu**2

    def epsilon_of(self, atoms: int) -> float:
        """The epsilon of a Laplace release for this many atoms, rounded down: of the reserve, or else of mu^2."""
        if self.pure_epsilon:
            return down(Fraction(atoms, ATOMS) * self.pure_epsilon)
        return pure_epsilon_of(self.mu_squared(atoms))

    # What noise costs

    def gaussian_cost(self, *, sensitivity: float, sigma: float) -> Cost:
        """(sensitivity/sigma)^2, the sensitivity with its grid charge."""
        return Cost(gaussian=_atoms((Fraction(sensitivity) / Fraction(sigma)) ** 2, self.mu**2))

    def laplace_cost(self, *, l1_sensitivity: float, scale: float) -> Cost:
        """epsilon = l1_sensitivity/scale of the reserve; without one the mu^2 of the Gaussian curve below it."""
        exact = Fraction(l1_sensitivity) / Fraction(scale)
        if self.pure_epsilon:
            return Cost(pure=_atoms(exact, self.pure_epsilon))
        mu = PureDP(exact).to_gaussian().mu  # type: ignore[arg-type]  # a Fraction is rounded up at the door
        return Cost(gaussian=_atoms(Fraction(mu) ** 2, self.mu**2))

    def threshold_cost(self, chance: float) -> Cost:
        """The chance that a bin of one person's own shows."""
        return Cost(threshold=_atoms(Fraction(chance), self.threshold_delta))


def typed(name: str, value: Number) -> Fraction:
    """The decimal as typed: 0.01 is 1/100, not the double beside it."""
    parameters.number(name, value)
    if isinstance(value, (float, np.floating)):
        return Fraction(str(value))
    return Fraction(int(value)) if isinstance(value, np.integer) else Fraction(value)


def share_atoms(share: Number) -> int:
    """A share as typed, in atoms (a third is rounded down, so three of them fit)."""
    exact = typed("share", share)
    if exact > 1:
        raise errors.InvalidParameter(
            f"A share is a part of the whole budget, so at most 1. Got {share!r} instead. Say share=0.25."
        )
    atoms = math.floor(exact * ATOMS)
    if atoms == 0:
        raise errors.NotPositive(f"A share is at least 1e-30. Got {share!r} instead. Say share=0.01.")
    return atoms


def spendable(atoms: int) -> float:
    """The largest double that, typed as a share, asks for no more than this."""
    double = atoms / ATOMS
    while double > 0 and math.floor(Fraction(str(double)) * ATOMS) > atoms:
        double = math.nextafter(double, 0.0)
    return double


def pure_epsilon_of(mu_squared: Fraction) -> float:
    """The largest epsilon whose mu = -2 Phi^-1(1/(1 + e^epsilon)) is within: log(Phi(mu/2)/Phi(-mu/2)), rounded down.

    Past 700 mu is taken as 2 sqrt(2 epsilon) (see guarantee.py), so epsilon is mu^2/8.
    """
    if mu_squared > 5600:
        epsilon = down(mu_squared / 8)
    else:
        with proof.precision(1200):
            tail = proof.upper_tail(_ball(mu_squared).sqrt() / 2)
            epsilon = min(700.0, -proof.upward(-((1 - tail) / tail).log()))
    while epsilon > 0 and Fraction(PureDP(epsilon).to_gaussian().mu) ** 2 > mu_squared:
        epsilon *= 1 - 2.0**-52
    return epsilon


def _ball(value: Fraction) -> proof.Ball:
    return arb(fmpq(value.numerator, value.denominator))


def _atoms(amount: Fraction, cap: Fraction) -> int:
    """How many atoms of the cap, rounded up; without a cap, more than any book has."""
    return math.ceil(amount / cap * ATOMS) if cap else ATOMS + 1


def down(value: Fraction) -> float:
    """The largest double that is not above."""
    double = float(value)
    return double if Fraction(double) <= value else math.nextafter(double, -math.inf)


def _reserve(name: str, value: Number) -> Fraction:
    unset = isinstance(value, (int, float)) and not isinstance(value, bool) and value == 0
    return Fraction(0) if unset else typed(name, value)


def _label(name: str, value: object) -> str | None:
    if value is None or (isinstance(value, str) and value):
        return value
    raise errors.WrongType(f'{name} must be a name, such as {name}="taxi". Got {type(value).__name__} instead.')
