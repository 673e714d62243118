"""Which noise for bins that nobody listed: Gaussian or Laplace, by the error that is left, from public facts alone.

Both numbers matter: what is below the threshold T is not published at all, and what shows has noise. The loss weighs
them where the sizes of keys follow Zipf's law, as those of words, places and codes do: keys of size c or more are in
number like 1/c. A key that stays below T is off by its whole size c, one that shows by the noise, so that the squared
error of all keys together is, up to a factor,

    integral from 0 to T of c^2/c^2 dc  +  integral from T on of variance/c^2 dc  =  T + variance/T.

With one row a person Laplace noise has both the lower threshold and the lesser noise. With many bins a person its
threshold grows with the number of rows, that of Gaussian noise with its root, and they part.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.validation import Number
from leastnoise.privacy import laplace_threshold, partition_selection
from leastnoise.privacy.comparison import Comparison, Row
from leastnoise.privacy.guarantee import GaussianDP, PureDP
from leastnoise.privacy.neighbours import Neighbours
from leastnoise.privacy.noise_choice import Choice
from leastnoise.privacy.partition_selection import Threshold
from leastnoise.privacy.sensitivity import Limits, of_sum
from leastnoise.privacy.strength import protects_alone


@dataclass(frozen=True, slots=True)
class Spread:
    """How much noisier counts are than if they were released alone, by mechanism; and which part of the cost is that of
    a number beside them which every row moves, whichever bin it is in."""

    gaussian: float = 1.0
    laplace: float = 1.0
    total: float = 0.0

    def of(self, cut: Threshold) -> float:
        """For the mechanism of this threshold."""
        return self.gaussian if cut.scale is None else self.laplace


ALONE = Spread()


def loss(cut: Threshold, spread: Spread = ALONE) -> float:
    """T + variance/T."""
    return cut.at_least + (spread.of(cut) * cut.distribution.std) ** 2 / cut.at_least


def choose(
    *,
    epsilon: Number,
    delta: Number,
    limits: Limits,
    neighbours: Neighbours = "add-remove",
    mechanism: Choice = "auto",
    spread: Spread = ALONE,
) -> Threshold:
    """The noise and the threshold of the mechanism asked for; "auto" takes that of the lesser loss.

    >>> one, many = Limits.of(max_rows=1, bins=None), Limits.of(max_rows=20, max_per_bin=1, bins=None)
    >>> [choose(epsilon=1, delta=1e-6, limits=limits).mechanism for limits in (one, many)]
    ['laplace', 'gaussian']
    """
    options = _options(epsilon, delta, limits, neighbours, mechanism, spread)
    return min(options, key=lambda cut: loss(cut, spread))


def _options(
    epsilon: Number,
    delta: Number,
    limits: Limits,
    neighbours: Neighbours,
    mechanism: Choice,
    spread: Spread = ALONE,
) -> list[Threshold]:
    facts = {"epsilon": epsilon, "delta": delta, "limits": limits, "neighbours": neighbours}
    facts["total"] = spread.total
    if mechanism == "laplace":
        return [laplace_threshold.choose(**facts, spread=spread.laplace)]  # type: ignore[arg-type]
    found = [partition_selection.choose(**facts, spread=spread.gaussian)]  # type: ignore[arg-type]
    if mechanism == "auto" and not validation.is_zero(epsilon):
        with suppress(errors.OutOfRange):  # a threshold past 2^50 would not have won
            found.append(laplace_threshold.choose(**facts, spread=spread.laplace))  # type: ignore[arg-type]
    return found


def compare(
    *,
    epsilon: Number,
    delta: Number,
    limits: Limits,
    neighbours: Neighbours = "add-remove",
    spread: Spread = ALONE,
) -> Comparison:
    """Both ways to publish bins that nobody listed, the one of the lesser loss first.

    epsilon, delta: the promise that both keep. limits: how much of one unit is used. neighbours: between which tables.
    spread: how much noisier counts are beside other numbers.
    """
    found = sorted(_options(epsilon, delta, limits, neighbours, "auto", spread), key=lambda cut: loss(cut, spread))
    cuts = [cut.wider(spread.of(cut)) for cut in found]
    least = min(cut.distribution.std for cut in cuts)
    rows = tuple(_row(cut, one, least, limits, neighbours) for cut, one in zip(cuts, found, strict=True))
    told = [
        f"{cut.mechanism.capitalize()} noise shows bins from {cut.at_least} on, with a standard deviation of "
        f"{cut.distribution.std:.3g}"
        for cut in cuts
    ]
    why = "it loses less of what is below the threshold and to noise, where sizes follow Zipf's law"
    verdict = f"Use {rows[0].mechanism.capitalize()} noise for one release alone: {why}. {'; '.join(told)}."
    spent, chance = validation.number("epsilon", epsilon), validation.number("delta", delta)
    normal = next(row for row in rows if row.mechanism == "gaussian")
    if rows[0] is not normal and protects_alone(GaussianDP(math.sqrt(normal.budget_cost)), PureDP(spent)):
        verdict = f"Use Gaussian noise: at this epsilon Laplace noise protects nobody in practice. {'; '.join(told)}."
    return Comparison(rows, verdict, spent, chance, 1)


def _row(cut: Threshold, alone: Threshold, least: float, limits: Limits, neighbours: Neighbours) -> Row:
    """The noise of the counts, and what one count alone that costs as much as all would cost."""
    noise = cut.distribution
    norms = of_sum(limits, low=0, high=1, bins=None, neighbours=neighbours)
    if alone.scale is None:
        cost = GaussianDP.of(sigma=alone.sigma, sensitivity=norms.l2, neighbours=neighbours).mu ** 2
    else:
        cost = PureDP(math.nextafter(norms.l1 / alone.scale, math.inf), neighbours).to_gaussian().mu ** 2
    return Row(
        mechanism=cut.mechanism,
        std=noise.std,
        half_width=noise.half_width(0.95),
        half_width_all=noise.half_width(0.95),
        variance_ratio=(noise.std / least) ** 2,
        budget_cost=cost,
        note=f"shows from {cut.at_least} on",
    )
