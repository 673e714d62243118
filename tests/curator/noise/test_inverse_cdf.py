"""The fast path may decide only what is true of every number with that prefix; the exact path decides the
rest."""

from __future__ import annotations

import dataclasses
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx, fmpq
from scipy.special import ndtri

from leastnoise import errors
from leastnoise.curator.noise import entropy, gaussian, inverse_cdf, laplace, lazy_uniform
from noise_oracle import (
    FALSE_ALARM,
    Script,
    absolute_draw,
    cells,
    chi_square_p,
    count_cells,
    gaussian_tail,
    geometric_tail,
    seeded,
)

GAUSSIAN = (gaussian.rounded_gaussian, gaussian.ABSOLUTE_NORMAL, gaussian_tail)
GEOMETRIC = (laplace.two_sided_geometric, laplace.EXPONENTIAL, geometric_tail)
SCALES = [1e-3, 0.05, 0.3, 1.0, 7.3, 1e3, 2.0**20, 2.0**26 + 1 / 3, 2.0**36 / 3, 2.0**40, 2.0**52]
EXTENSION = np.random.default_rng(7).integers(0, 2**64, 8, dtype=np.uint64).tolist()


def prefixes_everywhere(seed, per_cell=1):
    """Both ends of every cell of the table, and as many points inside."""
    cell = np.arange(inverse_cdf.CELLS)
    width = 1 << (38 + (cell >> 9))
    low = (512 + (cell & 511)) * width
    inside = [low + np.random.default_rng(seed + i).integers(0, width) for i in range(per_cell)]
    return np.concatenate([low, low + (width - 1), *inside])


@pytest.mark.parametrize(("_", "law", "tail"), [GAUSSIAN, GEOMETRIC], ids=["gaussian", "geometric"])
@pytest.mark.parametrize("scale", [0.3, 7.3, 2.0**44 / 3, 2.0**48, Fraction(10**14, 7)])
def test_a_decided_floor_holds_for_the_whole_prefix(_, law, tail, scale):
    u = prefixes_everywhere(seed=1)[:: 1 if scale == 2.0**48 else 5]
    floors, decided = inverse_cdf._Enclosures.of(law, Fraction(scale)).floors(u)
    assert decided.mean() > 0.3  # else it would show nothing
    with ctx.workprec(160):
        for k, v in zip(floors[decided].tolist(), u[decided].tolist(), strict=True):
            assert tail(scale, k + 1) <= fmpq(v, 2**63)
            assert tail(scale, k) >= fmpq(v + 1, 2**63)


@pytest.mark.parametrize(("_", "law", "tail"), [GAUSSIAN, GEOMETRIC], ids=["gaussian", "geometric"])
@pytest.mark.parametrize("scale", [5e-324, 1e-3, 1.0, Fraction(1, 3), 2.0**30 / 3, 2.0**40, 2.0**52])
def test_an_enclosure_holds_the_true_value_at_both_ends_of_the_prefix(_, law, tail, scale):
    u = prefixes_everywhere(seed=2)[::7]
    whole, part, slack = inverse_cdf._Enclosures.of(law, Fraction(scale)).enclosures(u)
    with ctx.workprec(200):
        for w, p, s, v in zip(whole.tolist(), part.tolist(), slack.tolist(), u.tolist(), strict=True):
            for end in (v, v + 1):
                error = (
                    inverse_cdf.exact_magnitude(law, Fraction(scale), arb(fmpq(end, 2**63))) - fmpq(1, 2) - w - arb(p)
                )
                assert abs(error) <= s


@pytest.mark.parametrize(("draw", "_", "tail"), [GAUSSIAN, GEOMETRIC], ids=["gaussian", "geometric"])
@pytest.mark.parametrize("scale", SCALES)
def test_every_prefix_gives_the_draw_that_its_bits_mean(draw, _, tail, scale):
    """Adversarial prefixes: 0 and its neighbours, ends of octaves, and right where |K| turns from k - 1 to
    k."""
    prefixes = [0, 1, 2, 2**12 - 1, 2**12, 2**46, 2**63 - 1, 2**63 - 2]
    prefixes += [2**octave + d for octave in (47, 48, 53, 61, 62) for d in (-1, 0, 1)]
    with ctx.workprec(300):
        for k in {
            1,
            2,
            3,
            round(scale / 3),
            round(scale),
            round(2 * scale),
            round(4.2 * scale),
            round(6 * scale),
        }:
            turn = int((tail(scale, k) * 2**63).floor().unique_fmpz()) if k >= 1 else 0
            prefixes += [turn + d for d in (-1, 0, 1)]
    prefixes = sorted({u for u in prefixes if 0 <= u < 2**63})
    for i, u in enumerate(prefixes):
        bits = (u << 512) + sum(word << 64 * (7 - j) for j, word in enumerate(EXTENSION))
        sign = i & 1
        with entropy.source(Script([u << 1 | sign, *EXTENSION])):
            assert draw(scale, 1)[0] == (1 - 2 * sign) * absolute_draw(tail, scale, bits, 575)


@pytest.mark.parametrize(("draw", "_", "tail"), [GAUSSIAN, GEOMETRIC], ids=["gaussian", "geometric"])
def test_the_deepest_tail_is_reached_by_extending_the_same_prefix(draw, _, tail):
    for zeros in range(1, 9):
        words = [0, *[0] * (zeros - 1), *EXTENSION]
        bits = sum(word << 64 * (7 - j) for j, word in enumerate(EXTENSION))
        with entropy.source(Script(words)):
            expected = absolute_draw(tail, 1e6, bits, 63 + 64 * (zeros - 1 + 8))
            assert draw(1e6, 1)[0] == expected


def test_extra_bits_decide_at_a_turning_point():
    """The prefix that contains P(|K| >= k): the next bits alone say on which side the draw is."""
    with ctx.workprec(300):
        turn = gaussian_tail(7.3, 5) * 2**63
        u = int(turn.floor().unique_fmpz())
    for following, expected in ((0, 5), (2**64 - 1, 4)):
        script = Script([u << 1, following, *EXTENSION])
        with entropy.source(script):
            assert gaussian.rounded_gaussian(7.3, 1)[0] == expected
        assert script.used >= 2


def test_a_word_is_one_draw_and_every_further_word_is_read_for_one_undecided_draw():
    words = np.random.default_rng(3).integers(2**49, 2**64, 20_000, dtype=np.uint64)
    script = Script(words.tolist())
    with entropy.source(script):
        gaussian.rounded_gaussian(1.0, 20_000)
    assert script.used == 20_000


def test_an_endless_run_of_zeros_is_refused():
    with entropy.source(bytes), pytest.raises(errors.NotProved, match="randomness is broken"):
        gaussian.rounded_gaussian(1.0, 1)


# False alarm 1e-6 each (and none at all: the words are fixed). Power: at 200,000 draws a mean moved by 0.02
# standard deviations, or a spread wrong by 2 %, is seen with probability above 0.99.
@pytest.mark.parametrize(("draw", "_", "tail"), [GAUSSIAN, GEOMETRIC], ids=["gaussian", "geometric"])
@pytest.mark.parametrize("scale", [0.2, 0.3, 1.0, 7.3, 1e3, 2.0**20, 2.0**36])
def test_draws_follow_the_exact_law(draw, _, tail, scale):
    edges = np.unique(np.floor(scale * np.linspace(-5, 5, 61)).astype(np.int64))
    with seeded(11):
        draws = draw(scale, 200_000)
    assert chi_square_p(count_cells(draws, edges), cells(tail, scale, edges)) > FALSE_ALARM


def test_neighbouring_draws_are_independent():
    with seeded(12):
        draws = np.sign(gaussian.rounded_gaussian(100.0, 200_000)) + 1
    pairs = np.bincount(3 * draws[:-1:2] + draws[1::2], minlength=9)
    one = cells(gaussian_tail, 100.0, [0, 1])
    assert chi_square_p(pairs, np.outer(one, one).ravel()) > FALSE_ALARM


def test_tiny_noise_is_zero():
    with seeded(13):
        assert not gaussian.rounded_gaussian(0.05, 10_000).any()
        assert not gaussian.rounded_gaussian(1e-3, 10_000).any()
        assert not laplace.two_sided_geometric(1e-3, 10_000).any()


@pytest.mark.parametrize(("sigma", "least"), [(1.0, 5), (7.3, 1), (1e-3, 1), (2.0**40, 2**42), (21.0, 400)])
def test_tail_draws_are_the_draws_their_bits_mean(sigma, least):
    for i, u in enumerate([0, 1, 2**40, 2**62, 2**63 - 1, *(word >> 1 for word in EXTENSION)]):
        bits = (u << 512) + sum(word << 64 * (7 - j) for j, word in enumerate(EXTENSION))
        with entropy.source(Script([u << 1 | (i & 1), *EXTENSION])):
            draw = gaussian.tail_gaussian(sigma, least, 1)[0]
        assert abs(draw) >= least
        assert draw == (1 - 2 * (i & 1)) * absolute_draw(gaussian_tail, sigma, bits, 575, given=least)


def test_a_tail_draw_at_its_very_edge_needs_no_more_bits():
    """All ones: P may be anything up to P(|K| >= least) itself, and every such P gives `least`."""
    with entropy.source(Script([2**64 - 1])):
        assert gaussian.tail_gaussian(7.3, 11, 1)[0] == -11


def test_a_tail_from_zero_is_the_whole_law():
    with seeded(14):
        whole = gaussian.rounded_gaussian(3.0, 100)
    with seeded(14):
        assert (gaussian.tail_gaussian(3.0, -5, 100) == whole).all()


def test_memory_is_the_output_and_little_more():
    gaussian.rounded_gaussian(1.0, 1)
    tracemalloc.start()
    gaussian.rounded_gaussian(1.0, 1_000_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8_000_000 + 4_000_000


@pytest.mark.parametrize("size", [0, 1, inverse_cdf.DRAWS_PER_CHUNK, 3 * inverse_cdf.DRAWS_PER_CHUNK + 5])
def test_there_are_as_many_draws_as_were_asked_for(size):
    assert laplace.two_sided_geometric(2.0, size).shape == (size,)


@pytest.mark.parametrize(
    ("scale", "error"),
    [
        (0.0, errors.InvalidParameter),
        (-1.0, errors.InvalidParameter),
        (float("nan"), errors.InvalidParameter),
        (float("inf"), errors.InvalidParameter),
        (2.0**53, errors.OutOfRange),
        ("1", errors.WrongType),
        (True, errors.WrongType),
        (None, errors.WrongType),
        (1j, errors.WrongType),
    ],
)
def test_a_scale_that_cannot_be_is_refused_before_any_word_is_read(scale, error):
    script = Script([])
    with entropy.source(script):
        for draw in (gaussian.rounded_gaussian, laplace.two_sided_geometric):
            with pytest.raises(error):
                draw(scale, 10)
        with pytest.raises(error):
            gaussian.tail_gaussian(scale, 1, 10)


@pytest.mark.parametrize("size", [-1, 2.5, True, "3", None])
def test_a_size_that_cannot_be_is_refused(size):
    with pytest.raises(errors.InvalidParameter, match="size"):
        gaussian.rounded_gaussian(1.0, size)


def test_a_long_double_keeps_its_last_bits():
    a_little_more = np.longdouble(1) + np.finfo(np.longdouble).eps
    assert inverse_cdf.scale_in_steps("sigma", a_little_more) == 1 + Fraction(
        *np.finfo(np.longdouble).eps.as_integer_ratio()
    )


def test_a_table_whose_centres_are_off_is_refused():
    for shift in (0.002, -0.002, 1.0, float("nan")):

        def off(p, shift=shift):
            return shift - ndtri(p / 2)

        law = dataclasses.replace(gaussian.ABSOLUTE_NORMAL, approximate_inverse=off)
        with pytest.raises(errors.NotProved, match="bug"):
            inverse_cdf._table(law)


def test_a_constant_that_stays_unknown_is_refused():
    with pytest.raises(errors.NotProved, match="not known"):
        lazy_uniform.within(lambda: arb(1, 0.5), 2**-60)


@pytest.mark.parametrize("scale", [np.float32(1.5), np.longdouble(1.5), np.float64(1.5), Fraction(3, 2), 1.5])
def test_every_kind_of_real_means_the_same_scale(scale):
    with seeded(15):
        expected = gaussian.rounded_gaussian(1.5, 50)
    with seeded(15):
        assert (gaussian.rounded_gaussian(scale, 50) == expected).all()
