"""The mechanisms side by side, so that a person can see which noise is least, and by how much."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.validation import Number
from leastnoise.privacy import baselines, calibration
from leastnoise.privacy.distributions import Distribution, Gaussian, Laplace
from leastnoise.privacy.gaussian_price import laplace_mu_squared
from leastnoise.privacy.guarantees import GaussianDP, PureDP
from leastnoise.privacy.sensitivity import l1_from_l2
from leastnoise.privacy.strength import protects_alone


class Sensitive(Protocol):
    """What `compare` reads of a query: its sensitivity, how many numbers it publishes, and in steps of what."""

    @property
    def sensitivity(self) -> Any: ...
    @property
    def size(self) -> int | None: ...
    @property
    def grid(self) -> float: ...


@runtime_checkable
class HasNoiseOptions(Protocol):
    """A query with several kinds of noise of its own to compare: a set of tables."""

    def compare(self, *, epsilon: Number, delta: Number) -> Comparison:
        """Its comparison at this promise."""


@dataclass(frozen=True, slots=True)
class Row:
    """One mechanism at the (epsilon, delta) that was asked for."""

    mechanism: str
    std: float
    half_width: float
    half_width_all: float
    variance_ratio: float  # its variance over the least
    budget_cost: float  # mu^2
    note: str

    @classmethod
    def of(cls, mechanism: str, noise: Distribution, budget_cost: float, note: str, bins: int = 1) -> Row:
        """Of noise with this distribution on so many numbers."""
        half, every = noise.half_width(0.95), noise.half_width(0.95, bins)
        return cls(mechanism, noise.std, half, every, 1.0, budget_cost, note)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The table, best first, and the sentence that says which to use."""

    rows: tuple[Row, ...]
    verdict: str
    epsilon: float
    delta: float
    bins: int

    def __post_init__(self) -> None:
        ratios = [row.std / min(each.std for each in self.rows) for row in self.rows]
        rows = (replace(row, variance_ratio=ratio * ratio) for row, ratio in zip(self.rows, ratios, strict=True))
        object.__setattr__(self, "rows", tuple(rows))

    @property
    def best(self) -> Row:
        """The mechanism with the least standard deviation."""
        return self.rows[0]

    def __getitem__(self, mechanism: str) -> Row:
        for row in self.rows:
            if row.mechanism == mechanism:
                return row
        raise errors.InvalidParameter.among("mechanism", mechanism, [row.mechanism for row in self.rows])

    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows as plain dictionaries, ready for a data frame."""
        return [asdict(row) for row in self.rows]

    def __getattr__(self, name: str) -> Any:
        hint = ". Draw it with ln.plot.comparison(...)" if name == "plot" else ""
        raise AttributeError(f"a Comparison has no {name!r}{hint}")

    def __str__(self) -> str:
        head = f"{'mechanism':<12}{'std':>11}{'95 % of one':>13}{'95 % of all':>13}{'variance':>10}{'budget mu^2':>13}"
        lines = [
            f"{r.mechanism:<12}{r.std:>11.5g}{r.half_width:>13.5g}{r.half_width_all:>13.5g}"
            f"{r.variance_ratio:>9.3g}x{r.budget_cost:>13.4g}"
            for r in self.rows
        ]
        return "\n".join([head, *lines, "", self.verdict])


def compare(
    query: Sensitive | None = None,
    /,
    *,
    sensitivity: Number | None = None,
    l1_sensitivity: Number | None = None,
    epsilon: Number,
    delta: Number,
    bins: int = 1,
) -> Comparison:
    """Every mechanism at this (epsilon, delta): standard deviation, half-widths, variance over the least, and
    what it would cost of a budget (mu^2).

    Gaussian noise is the least of Theorem 8 of Balle & Wang (2018); beside it stand what the Renyi and zCDP routes and
    Theorem 1, the classical one, would take. Laplace noise of scale L1/epsilon has a standard deviation of
    sqrt(2) L1/epsilon, and so the lesser one while L1/L2 < sigma_1 epsilon/sqrt(2), with sigma_1 the least Gaussian
    noise at sensitivity 1.

    query: what is to be released; or give the numbers below instead.
    sensitivity: how far one person can move the answer, in L2.
    l1_sensitivity: the same in L1; without it Laplace is shown with what is always true, L1 <= sqrt(bins) L2.
    epsilon, delta: the promise that all mechanisms keep.
    bins: how many numbers are published.

    >>> compare(sensitivity=5**0.5, l1_sensitivity=5, epsilon=0.5, delta=1e-6, bins=4000).best.mechanism
    'laplace'
    >>> compare(sensitivity=5, l1_sensitivity=25, epsilon=0.5, delta=1e-6, bins=4000).best.mechanism
    'gaussian'
    """
    if query is not None:
        if sensitivity is not None or l1_sensitivity is not None:
            raise errors.InvalidParameter(
                "The query knows its own sensitivity. Give the query, or a sensitivity, not both.",
                parameter="sensitivity",
            )
        if isinstance(query, HasNoiseOptions):
            return query.compare(epsilon=epsilon, delta=delta)
        sensitivity, l1_sensitivity, bins = query.sensitivity.l2, query.sensitivity.l1, query.size or 1
    grid = None if query is None else query.grid
    if sensitivity is None:
        raise errors.MissingParameter(
            "compare needs to know how far one person can move the answer. Give a query, or its sensitivity.",
            parameter="sensitivity",
            example={"sensitivity": 1},
        )
    l2 = validation.number("sensitivity", sensitivity)
    bins = validation.integer("bins", bins)
    l1 = l1_from_l2(l2, bins) if l1_sensitivity is None else validation.number("l1_sensitivity", l1_sensitivity)
    validation.check_norms(l1, l2)
    epsilon, delta = validation.number("epsilon", epsilon), validation.number("delta", delta)
    laplace_cost = _laplace_cost(l2, l1, epsilon, grid)
    rows = sorted(_rows(l2, l1, epsilon, delta, bins, laplace_cost), key=lambda row: row.std)
    verdict = _verdict(l2, l1, l1_sensitivity is not None, epsilon, delta, bins, laplace_cost)
    return Comparison(tuple(rows), verdict + _worst_bin(rows, bins), epsilon, delta, bins)


def _laplace_cost(l2: float, l1: float, epsilon: float, grid: float | None) -> float:
    """mu^2 of Laplace noise: by its own curve where its steps are known, else that of epsilon-DP at its worst."""
    if epsilon == 0:
        return math.inf
    worst = PureDP(epsilon).to_gaussian().mu ** 2
    if not grid:
        return worst
    one, two = (Fraction(norm) / Fraction(grid) for norm in (l1, l2))
    return min(worst, float(laplace_mu_squared(l1=one, l2=two, scale=one / Fraction(epsilon))))


def _rows(l2: float, l1: float, epsilon: float, delta: float, bins: int, laplace_cost: float) -> list[Row]:
    def gaussian(name: str, sigma: float, note: str) -> Row:
        return Row.of(name, Gaussian(sigma), GaussianDP.of(sigma=sigma, sensitivity=l2).mu ** 2, note, bins)

    rows = [gaussian("gaussian", calibration.sigma(epsilon=epsilon, delta=delta, sensitivity=l2), "analytic, exact")]
    if epsilon == 0:
        return rows
    distribution = Laplace(baselines.laplace_scale(epsilon=epsilon, l1_sensitivity=l1))
    rows.append(Row.of("laplace", distribution, laplace_cost, f"delta = 0; L1 = {l1:.5g}", bins))
    others: list[tuple[str, Callable[..., float], str, bool]] = [
        ("renyi", baselines.renyi_sigma, "Renyi DP, tight conversion", epsilon >= baselines.LEAST_RENYI_EPSILON),
        ("zcdp", baselines.zcdp_sigma, "zCDP, textbook conversion", True),
        ("classical", baselines.classical_sigma, "Theorem 1, for epsilon < 1 only", epsilon < 1),
    ]
    return rows + [
        gaussian(name, route(epsilon=epsilon, delta=delta, sensitivity=l2), note)
        for name, route, note, applies in others
        if applies
    ]


def _verdict(l2: float, l1: float, known: bool, epsilon: float, delta: float, bins: int, laplace_cost: float) -> str:
    """Which to use, and where the crossover lies: sqrt(2) L1/epsilon = sigma_1 L2 at L1/L2 = sigma_1 epsilon/sqrt 2."""
    if epsilon == 0:
        return "Use Gaussian noise: at epsilon = 0 there is no Laplace mechanism."
    crossover = calibration.sigma(epsilon=epsilon, delta=delta) * epsilon / math.sqrt(2)
    ratio = l1 / l2
    assumed = "" if known or bins == 1 else " (the L1 sensitivity was not given, so L1 = sqrt(bins) L2 is assumed)"
    facts = (
        f"at ({epsilon:g}, {delta:g}) Laplace has less noise while L1/L2 < {crossover:.3g}; "
        f"here it is {ratio:.3g}{assumed}"
    )
    exact = GaussianDP.of(sigma=calibration.sigma(epsilon=epsilon, delta=delta), sensitivity=1)
    if ratio < crossover and protects_alone(exact, PureDP(epsilon)):
        return f"Use Gaussian noise: {facts}, but at this epsilon Laplace noise protects nobody in practice."
    if ratio < crossover:
        times = laplace_cost * float(calibration.sigma(epsilon=epsilon, delta=delta)) ** 2
        return (
            f"Use Laplace noise for one release alone: {facts}. For several releases from one budget use Gaussian: "
            f"there Laplace costs {times:.3g} times as much."
        )
    return f"Use Gaussian noise: {facts}. For several releases from one budget it is the cheaper one too."


def _worst_bin(rows: list[Row], bins: int) -> str:
    """Laplace has heavier tails: over many bins its largest error may be larger though its typical one is not."""
    first = rows[0]
    calmer = min(rows, key=lambda row: row.half_width_all)
    if calmer.mechanism == first.mechanism:
        return ""
    return (
        f" If the worst of the {bins:,} bins matters more than the typical one, use {calmer.mechanism.capitalize()}: "
        f"all of them lie within {calmer.half_width_all:.4g} against {first.half_width_all:.4g}."
    )
