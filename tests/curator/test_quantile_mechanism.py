"""Quantiles by rank: exact probabilities of small tables, beside every neighbour; and the draws follow them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx
from scipy.stats import chi2

from leastnoise.curator import quantile_mechanism
from leastnoise.curator.noise import entropy
from leastnoise.curator.noise.exponential import Pieces, choose, masses
from leastnoise.curator.quantile_mechanism import Part, candidates, counts_between, quantile_steps
from leastnoise.domain.round_numbers import StepWeights
from leastnoise.privacy.guarantees import GaussianDP
from leastnoise.privacy.neighbours import Neighbours
from leastnoise.privacy.noise_plan import NoiseReason
from leastnoise.privacy.rank_noise import Node, RankPlanner, RankRates
from leastnoise.privacy.sensitivity import Limits
from leastnoise.testing import seeded

HALF, MOST = Fraction(1, 2), Fraction(9, 10)
WHY = NoiseReason("requested")
Outcome = tuple[tuple[int, int], ...]


def weights(count: int) -> StepWeights:
    """Uneven ones."""
    each = np.where(np.arange(count) % 2 == 0, 3, 1)
    return StepWeights(np.concatenate([[0], np.cumsum(each)]), np.arange(count, dtype=float))


def single(part: Part, node: Node, rate: Fraction, known: StepWeights, cuts: int) -> dict[tuple[int, int], arb]:
    """The exact probability of every (step, cut) of one quantile."""
    pieces, begins, first = candidates(part, node, known)
    finer = part.scale * node.relative.denominator * (cuts if node.divides else 1)
    gaps = len(pieces.counts) - (2 if node.divides else 1) * len(part.steps)
    some = np.flatnonzero(pieces.counts > 0)
    kept = Pieces(*(getattr(pieces, name)[some] for name in ("weights", "counts", "starts", "steps")))
    total = sum(masses(kept, rate / finer), arb(0))
    found: dict[tuple[int, int], arb] = {}
    for at in some:
        for place in range(int(pieces.counts[at])):
            one = Pieces(*(getattr(pieces, name)[[at]] for name in ("weights", "counts", "starts", "steps")))
            one = Pieces(one.weights, np.ones(1, dtype=int), one.starts + one.steps * place, one.steps)
            away = rate / finer * (int(one.starts[0]) - int(min(kept.starts)))
            share = (-arb(away.numerator) / arb(away.denominator)).exp() / total
            if at < gaps:  # all steps of the gap by their weights; where no row is, every cut is the same
                places = cuts if node.divides else 1
                step, left = int(begins[at]), int(pieces.weights[at]) // places
                while left > 0:
                    own = int(known.before[step + 1] - known.before[step])
                    found |= {(step, cut): share * own for cut in range(places)}
                    step, left = step + 1, left - own
            else:
                under = node.divides and at < gaps + len(part.steps)
                cut = int(first[at]) + (-place if under else place)
                key = (int(begins[at]), cut)
                found[key] = found.get(key, arb(0)) + share * int(pieces.weights[at])
    return found


def joint(counts: tuple[int, ...], rates: RankRates, known: StepWeights, cuts: int) -> dict[Outcome, arb]:
    """The exact probability of every way to find all levels, cuts included: more than is published."""
    occupied = np.flatnonzero(counts)
    start = Part(occupied, np.array(counts, dtype=np.int64)[occupied], 0, len(counts) - 1)

    def grow(nodes: tuple[Node, ...], between: dict[Any, Part]) -> Iterator[tuple[Outcome, arb]]:
        if not nodes:
            yield (), arb(1)
            return
        node, rest = nodes[0], nodes[1:]
        part = between[node.below, node.above]
        for (step, cut), chance in single(part, node, rates.rank_rate(node), known, cuts).items():
            inner = dict(between)
            if node.divides:
                below, above = part.divided(step, cut)
                inner |= {(node.below, node.place): below, (node.place, node.above): above}
            for others, further in grow(rest, inner):
                yield ((step, cut), *others), chance * further

    found: dict[Outcome, arb] = {}
    for outcome, chance in grow(rates.nodes, {(None, None): start}):
        found[outcome] = found.get(outcome, arb(0)) + chance
    return found


def units(rows: int, count: int) -> list[tuple[int, ...]]:
    """Every way in which a unit's rows can lie in the steps."""
    places = itertools.combinations_with_replacement(range(count), rows)
    return [tuple(np.bincount(where, minlength=count)) for where in places]


def losses(one: dict[Outcome, arb], other: dict[Outcome, arb]) -> tuple[arb, arb]:
    assert one.keys() == other.keys()
    every = [(chance / other[outcome]).log() for outcome, chance in one.items()]
    return min(every, key=float), max(every, key=float)


def worst(levels: tuple[Fraction, ...], rate: Fraction, tables: list[Any], k: int, neighbours: Neighbours) -> arb:
    """The largest range of losses between neighbours with k rows a unit."""
    rates, count = RankRates(levels, rate), len(tables[0])
    known, found = weights(count), arb(0)
    for table in tables:
        made = [tuple(np.add(table, unit)) for unit in units(k, count)]
        pairs = [(table, one) for one in made] if neighbours == "add-remove" else itertools.combinations(made, 2)
        for one, other in pairs:
            low, high = losses(joint(one, rates, known, 1), joint(other, rates, known, 1))
            found = max(found, high - low, key=float)
    return found


TABLES = [(4, 0, 4), (0, 0, 0), (50, 45, 5), (5, 45, 50), (0, 5, 0), (1, 2, 9)]


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("level", [HALF, MOST, Fraction(1, 5)])
def test_losses_of_one_quantile_have_the_range_that_is_charged(level: Fraction, neighbours: Neighbours) -> None:
    """Exactly: 2 lambda k max(q, 1 - q), 2 lambda k under replace; it is reached, so a smaller charge is caught."""
    k = 2
    question = RankPlanner((level,), 1, Limits.of(max_rows=k, bins=1), neighbours, None)
    noise = question.laplace(1.0)
    reach = max(level, 1 - level)
    assert question.epsilon(noise.rates.rate) <= 1
    expected = 1 / (2 * k * reach) if neighbours == "add-remove" else Fraction(1, 2 * k)
    assert float(noise.rates.rank_rate(noise.rates.nodes[0])) == pytest.approx(float(expected), rel=1e-12)
    with ctx.workprec(200):
        found = worst((level,), noise.rates.rate, TABLES, k, neighbours)
        assert found < 1 + arb(2) ** -100
        assert found > 0.98
        # A mutant that charges a range of k is right for the median under add-remove, and caught everywhere else.
        more = 2 * reach if neighbours == "add-remove" else 2
        caught = worst((level,), noise.rates.rate * more, TABLES, k, neighbours) > 1 + arb(2) ** -100
        assert caught or more == 1


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_several_quantiles_lose_no_more_than_the_sum_of_depths(
    monkeypatch: pytest.MonkeyPatch, neighbours: Neighbours
) -> None:
    """Even of whoever sees at which cuts rows were divided. Three levels, two depths, two places to cut a step."""
    monkeypatch.setattr(quantile_mechanism, "CUTS", 2)
    levels = (Fraction(1, 4), HALF, Fraction(3, 4))
    question = RankPlanner(levels, 1, Limits.of(max_rows=2, bins=1), neighbours, None)
    rates, known = question.laplace(1.0).rates, weights(2)
    most = arb(0)
    with ctx.workprec(200):
        for table in [(3, 0), (2, 3), (0, 0)]:
            made = [tuple(np.add(table, unit)) for unit in units(2, 2)]
            pairs = [(table, one) for one in made] if neighbours == "add-remove" else itertools.combinations(made, 2)
            for one, other in pairs:
                first, second = joint(one, rates, known, 2), joint(other, rates, known, 2)
                assert abs(float(sum(first.values(), arb(0))) - 1) < 1e-30
                low, high = losses(first, second)
                most = max(most, -low, high, key=float)
        assert 0.3 < most < 1 + arb(2) ** -100


def both(one: dict[Outcome, arb], other: dict[Outcome, arb]) -> dict[Outcome, arb]:
    """The exact probabilities of what comes out of two groups."""
    return {a + b: p * q for a, p in one.items() for b, q in other.items()}


@pytest.mark.parametrize(("rows", "each", "groups"), [(2, 1, 2), (3, 2, 2), (2, 2, 1)])
def test_groups_that_one_unit_enters_are_all_charged(rows: int, each: int, groups: int) -> None:
    """Two groups, the unit's rows in every way that the limits allow: exactly epsilon, so a charge for the rows of one
    group is caught, as one for fewer groups is; and in mu by every trade-off."""
    limits = Limits.of(max_rows=rows, max_per_bin=each, max_bins=groups, bins=2)
    question = RankPlanner((MOST,), 2, limits, "add-remove", None)
    pure, priced = question.laplace(1.0), question.gaussian(Fraction(1, 2))
    one_group = RankPlanner((MOST,), 1, Limits.of(max_rows=each, bins=1), "add-remove", None)
    known, tables = weights(3), [(50, 45, 5), (50, 45, 5)]
    parts = [(k, rows - k) for k in range(rows + 1) if max(k, rows - k) <= each and (groups == 2 or k in (0, rows))]

    def losing(rates: RankRates) -> Iterator[tuple[dict[Outcome, arb], dict[Outcome, arb]]]:
        bases = [joint(table, rates, known, 1) for table in tables]
        for first, second in parts:
            for unit, other in itertools.product(units(first, 3), units(second, 3)):
                added = [np.add(table, more) for table, more in zip(tables, (unit, other), strict=True)]
                yield both(*bases), both(*(joint(tuple(table), rates, known, 1) for table in added))

    def most(rates: RankRates) -> arb:
        ranges = [high - low for low, high in (losses(*pair) for pair in losing(rates))]
        return max(ranges, key=float)

    with ctx.workprec(200):
        assert most(pure.rates) < 1 + arb(2) ** -100
        assert most(pure.rates) > 0.98
        caught = most(one_group.laplace(1.0).rates) > 1 + arb(2) ** -100
        assert caught == (groups == 2)
        assert isinstance(priced.guarantee, GaussianDP)
        for base, other in losing(priced.rates):
            for p, q in ((base, other), (other, base)):
                for epsilon in (0.0, 0.3, 0.6):
                    delta = sum(max(0.0, float(p[o] - q[o] * arb(epsilon).exp())) for o in p)
                    assert delta <= priced.guarantee.profile(epsilon) + 1e-15
    cheaper = one_group.gaussian(Fraction(1, 2))
    assert (question.mu_squared(cheaper.rates.rate) > Fraction(1, 2)) == (groups == 2)


def test_mu_covers_every_trade_off() -> None:
    """delta(epsilon) of the exact probabilities is below that of the mu that is charged, for one and three levels."""
    limits = Limits.of(max_rows=2, bins=1)
    for levels in [(HALF,), (MOST,)]:
        question = RankPlanner(levels, 1, limits, "add-remove", None)
        noise = question.gaussian(Fraction(1, 2))
        assert isinstance(noise.guarantee, GaussianDP)
        assert noise.guarantee.mu**2 <= 0.5 * (1 + 1e-12)
        with ctx.workprec(150):
            for table in TABLES:
                base = joint(table, noise.rates, weights(3), 1)
                for unit in units(2, 3):
                    other = joint(tuple(np.add(table, unit)), noise.rates, weights(3), 1)
                    for p, q in ((base, other), (other, base)):
                        for epsilon in (0.0, 0.2, 0.5, 0.8):
                            delta = sum(max(0.0, float(p[o] - q[o] * arb(epsilon).exp())) for o in p)
                            assert delta <= noise.guarantee.profile(epsilon) + 1e-15


def test_the_sampler_decides_beyond_what_doubles_hold() -> None:
    """A uniform number 2^-100 beside the end of a piece falls on its own side: doubles would not see the difference."""
    pieces = Pieces(*(np.array(row) for row in ([1, 1], [1, 1], [0, 1], [0, 0])))
    with ctx.workprec(400):
        first, second = masses(pieces, Fraction(1))
        edge = first / (first + second) * arb(2) ** 192
        middle = int(edge.floor().unique_fmpz())
    for moved, piece in ((-(2**92), 0), (2**92, 1)):
        words = [(middle + moved) >> shift & (2**64 - 1) for shift in (128, 64, 0)]
        script = iter([*words, 5, 7, 9])
        with entropy.source(lambda size, script=script: int(next(script)).to_bytes(8, "little") * (size // 8)):
            assert choose(pieces, Fraction(1))[0] == piece


@pytest.mark.parametrize("far", [0, 1, 2])
def test_far_pieces_are_drawn_with_their_own_probability(far: int) -> None:
    """Their share, e^-100 or so of the whole, lies at the end of the uniform numbers, wherever they stand."""
    starts = np.insert(np.array([0, 1]), far, 100)
    pieces = Pieces(np.ones(3, dtype=int), np.ones(3, dtype=int), starts, np.zeros(3, dtype=int))
    with ctx.workprec(400):
        share = masses(pieces, Fraction(1))[far] / sum(masses(pieces, Fraction(1)), arb(0))
        edge = int(((1 - share) * arb(2) ** 320).floor().unique_fmpz())
    for moved, found in ((2**92, far), (-(2**92), max(set(range(3)) - {far}))):
        words = [(edge + moved) >> shift & (2**64 - 1) for shift in (256, 192, 128, 64, 0)]
        script = iter([*words, 5, 7, 9])
        with entropy.source(lambda size, script=script: int(next(script)).to_bytes(8, "little") * (size // 8)):
            assert choose(pieces, Fraction(1))[0] == found


def test_draws_follow_the_exact_probabilities() -> None:
    """600 draws of three levels, gaps and cuts; false alarm 1e-6 for each level."""
    counts, known = np.array([3, 9, 4], dtype=np.int64), weights(8)
    steps = np.array([1, 4, 6])
    rates = RankRates((Fraction(1, 4), HALF, Fraction(3, 4)), Fraction(1, 2))
    dense = np.zeros(8, dtype=int)
    dense[steps] = counts
    part = Part(steps, counts, 0, 7)
    with ctx.workprec(100):
        exact = single(part, rates.nodes[0], rates.rank_rate(rates.nodes[0]), known, quantile_mechanism.CUTS)
    chances = np.zeros(8)
    for (step, _), chance in exact.items():
        chances[step] += float(chance)
    assert chances.sum() == pytest.approx(1, abs=1e-12)
    with seeded(3):
        drawn = np.array([quantile_steps(steps, counts, rates, known) for _ in range(600)])
    assert (np.diff(drawn, axis=1) >= 0).all()
    seen = np.bincount(drawn[:, 1], minlength=8)
    assert ((seen - 600 * chances) ** 2 / (600 * chances)).sum() < chi2.ppf(1 - 1e-6, 7)


def test_counts_of_any_size_are_exact() -> None:
    """The median of 2^61 rows on either side, and of none at all."""
    rates, known = RankRates((HALF,), Fraction(100)), weights(5)
    with seeded(1):
        huge = quantile_steps(np.array([0, 2, 4]), np.array([2**61, 3, 2**61]), rates, known)
        many = [quantile_steps(np.array([], dtype=int), np.array([], dtype=int), rates, known)[0] for _ in range(200)]
    assert huge[0] == 2
    assert set(many) == {0, 1, 2, 3, 4}


def test_rows_that_are_divided_many_times_add_up() -> None:
    """Twelve divisions of 2^40 rows: no 64-bit number holds them, and not one part of a row is lost."""
    part, rng = Part(np.array([1, 3, 6]), np.array([2**40, 7, 2**40], dtype=np.int64), 0, 7), np.random.default_rng(1)
    for _ in range(12):
        total, scale = sum(map(int, part.counts)), part.scale
        below, above = part.divided(int(rng.integers(part.first, part.last + 1)), int(rng.integers(1, 4095)))
        assert below.scale == above.scale == scale * quantile_mechanism.CUTS
        assert sum(map(int, below.counts)) + sum(map(int, above.counts)) == total * quantile_mechanism.CUTS
        part = max(below, above, key=lambda each: sum(map(int, each.counts)))


def test_every_row_is_counted_between_the_two_cuts_that_it_lies_between() -> None:
    """A row at a cut is above it, and one in the first or the last step is in the first or the last cell."""
    steps, counts = np.array([0, 3, 7]), np.array([2, 5, 2**40], dtype=np.int64)
    assert counts_between(steps, counts, np.array([0, 8])).tolist() == [7 + 2**40]
    assert counts_between(steps, counts, np.array([0, 1, 3, 4, 7, 8])).tolist() == [2, 0, 5, 0, 2**40]


def test_a_cut_at_the_lower_end_of_a_step_leaves_no_step_without_rows() -> None:
    """Else the next quantile would divide by its count: an error, or a warning, that depends on rows."""
    rows = Part(np.array([2, 5, 7]), np.array([1, 4, 2]), 0, 9)
    for large in (1, 10**15):
        part = Part(rows.steps, rows.counts * large, 0, 9)
        below, above = part.divided(5, 0)
        assert below.steps.tolist() == [2]
        assert above.steps.tolist() == [5, 7]
        again, rest = below.divided(2, 0)
        assert (len(again.steps), rest.steps.tolist()) == (0, [2])


@pytest.mark.parametrize("rows", [0, 1, 10**6])
def test_levels_of_many_digits_are_drawn_however_many_rows_there_are(rows: int) -> None:
    steps, counts = np.array([3])[: min(rows, 1)], np.array([rows])[: min(rows, 1)]
    for levels in ((Fraction(1, 10**20),), (Fraction(1, 10**20), HALF, MOST)):
        assert len(quantile_steps(steps, counts, RankRates(levels, Fraction(1)), weights(8))) == len(levels)
