"""The sparse route draws the law of the dense one: noise on every bin, then the threshold."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from leastnoise import errors
from leastnoise.curator.noise import entropy, gaussian
from leastnoise.curator.noise.sparse import sparse_gaussian
from noise_oracle import FALSE_ALARM, Script, cells, chi_square_p, gaussian_tail, seeded


def categories(values):
    """Dropped, <= -3, -2, 2, >= 3 (for at_least=2)."""
    return np.select([values <= -3, values == -2, values == 2, values >= 3], [1, 2, 3, 4], 0)


def category_probabilities(sigma, count):
    below_2, minus_2, dropped, two, above = cells(gaussian_tail, sigma, [-2 - count, -1 - count, 2 - count, 3 - count])
    return np.array([dropped, below_2, minus_2, two, above])


def densified(size, indices, values):
    out = np.zeros(size, dtype=np.int64)
    out[indices.astype(np.intp)] = values
    return out


# 20,000 blocks of three neighbouring bins, the middle one occupied: the joint law of a block is a product of
# three. False alarm 1e-6. Power: survival of empty bins off by 4 % of itself, or a dependence of neighbours
# of 0.03, shows.
def joint_p_value(draw):
    blocks = 20_000
    values = categories(draw(3 * blocks, np.arange(blocks) * 3 + 1, np.full(blocks, 2))).reshape(blocks, 3)
    observed = np.bincount(values @ [25, 5, 1], minlength=125)
    empty, full = category_probabilities(1.1, 0), category_probabilities(1.1, 2)
    return chi_square_p(observed, np.einsum("a,b,c->abc", empty, full, empty).ravel())


def test_the_joint_law_is_the_dense_one():
    def sparse(size, indices, counts):
        return densified(size, *sparse_gaussian(indices, counts, domain_size=size, sigma=1.1, at_least=2))

    def dense(size, indices, counts):
        values = densified(size, indices, counts) + gaussian.rounded_gaussian(1.1, size)
        return np.where(np.abs(values) >= 2, values, 0)

    with seeded(21):
        assert joint_p_value(dense) > FALSE_ALARM  # the same yardstick on the route that visits every bin
        assert joint_p_value(sparse) > FALSE_ALARM


def test_the_first_and_the_last_bin_survive_as_often_as_any():
    rounds, q = 1500, 1 - category_probabilities(1.1, 0)[0]
    with seeded(22):
        kept = [sparse_gaussian([], [], domain_size=2, sigma=1.1, at_least=2)[0].tolist() for _ in range(rounds)]
    observed = [kept.count(outcome) for outcome in ([], [0], [1], [0, 1])]
    assert sum(observed) == rounds
    assert chi_square_p(observed, [(1 - q) ** 2, q * (1 - q), q * (1 - q), q * q]) > FALSE_ALARM


def test_gaps_are_the_ones_their_bits_mean():
    """A gap is n when (1 - q)^(n + 1) < V < (1 - q)^n; the second word ends the domain."""
    q = float(1 - category_probabilities(1.1, 0)[0])
    for v in (0.999, 0.9, 0.5, 0.1, 1e-3, 1e-9):
        gap = math.floor(math.log(v) / math.log1p(-q))
        words = [int(v * 2**64), 1, 2**62]  # V, then a V that passes the end, then the survivor's value
        with entropy.source(Script(words)):
            kept, values = sparse_gaussian([], [], domain_size=gap + 2, sigma=1.1, at_least=2)
        assert kept.tolist() == [gap]
        assert abs(values[0]) >= 2


@pytest.mark.parametrize("domain", [10**12, 2**64 - 1, 2**64, 2**64 + 1, 2**200, 2**512])
def test_domains_of_any_size(domain):
    sigma = 21.1
    least = math.floor(sigma * math.sqrt(2 * math.log(domain))) + 1
    with seeded(23):
        kept, values = sparse_gaussian(
            [domain - 1, 5, domain - 1], [5000, -5000, 5000], domain_size=domain, sigma=sigma, at_least=least
        )
    assert kept.dtype == (np.uint64 if domain <= 2**64 else object)
    assert values.dtype == np.int64
    found = dict(zip(kept.tolist(), values.tolist(), strict=True))
    assert abs(found[5] + 5000) < 10 * sigma
    assert abs(found[domain - 1] - 10_000) < 10 * sigma
    assert kept.tolist() == sorted(set(kept.tolist()))


def test_empty_survivors_of_a_huge_domain_are_as_many_as_expected_and_anywhere():
    domain, sigma, least = 2**64, 1000.0, 8200
    expected = domain * float(gaussian_tail(sigma, least))
    with seeded(24):
        kept, values = sparse_gaussian([], [], domain_size=domain, sigma=sigma, at_least=least)
    assert abs(kept.size - expected) < 5 * math.sqrt(expected)  # false alarm 6e-7
    quarters = np.bincount((kept >> np.uint64(62)).astype(np.intp), minlength=4)
    assert chi_square_p(quarters, np.full(4, 0.25)) > FALSE_ALARM
    assert (np.abs(values) >= least).all()
    assert abs((values > 0).sum() - kept.size / 2) < 2.5 * math.sqrt(kept.size)


def noiseless(indices, counts, domain=100):
    """The summed counts: at sigma = 1e-3 the noise is zero but for one draw in 10^50000."""
    kept, values = sparse_gaussian(indices, counts, domain_size=domain, sigma=1e-3, at_least=1)
    return dict(zip(kept.tolist(), values.tolist(), strict=True))


def test_duplicates_are_added_first_and_what_cancels_is_empty():
    assert noiseless([3, 1, 3, 2, 2], [1, 5, 2, 7, -7]) == {1: 5, 3: 3}


def test_an_index_outside_the_domain_is_silently_no_bin():
    assert noiseless([-1, 100, 99, 2**64, 10**30], [1, 1, 4, 1, 1]) == {99: 4}
    assert noiseless(np.array([2**63, 4], dtype=np.uint64), np.array([9, 8])) == {4: 8}
    assert noiseless(np.array([-5, 4], dtype=np.int8), np.array([9, 8], dtype=np.uint8)) == {4: 8}


@pytest.mark.parametrize("domain", [10**12, 2**64, 2**200])
@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64, np.uint64])
def test_indices_of_every_integer_type_fit_every_domain(kind, domain):
    assert noiseless(np.array([3, 3, 120], dtype=kind), np.array([1, 2, 4]), domain) == {3: 3, 120: 4}


M = 2**62


@pytest.mark.parametrize(
    ("counts", "total"),
    [
        ([2**63 - 1], M),
        ([2**200], M),
        ([-(2**200)], -M),
        ([M, M, M, M, M], M),
        ([-M, -M, -M, -M, -M], -M),
        ([M, M, -M], M),
        ([M - 1, 1], M),
        ([M - 1], M - 1),
        ([M - 1, -1], M - 2),
        ([-M + 1], -M + 1),
        ([-M, 1], -M + 1),
        ([2**32 - 1, 1, -(2**33)], -(2**32)),
        (np.array([-(2**63), 2**63 - 1]), None),
        (np.array([2**64 - 1], dtype=np.uint64), M),
        (np.array([200, 100], dtype=np.uint8), 300),
    ],
)
def test_counts_never_wrap(counts, total):
    assert noiseless([7] * len(counts), counts).get(7) == total


def test_a_million_counts_at_the_limit_do_not_wrap():
    assert noiseless(np.full(10**6, 7), np.full(10**6, M)) == {7: M}
    assert noiseless(np.full(10**6, 7), np.full(10**6, -M)) == {7: -M}


def test_noise_on_empty_bins_reads_the_same_words_whatever_the_data():
    """The empty bins' part sees no data: after the occupied bins' words come the same ones, with the same
    result."""
    words = np.random.default_rng(5).integers(2**50, 2**64, 4000, dtype=np.uint64).tolist()
    with entropy.source(Script(words)):
        alone = sparse_gaussian([], [], domain_size=1000, sigma=1.1, at_least=3)
    with entropy.source(Script([2**63] * 500 + words)):
        beside = sparse_gaussian(range(500), [100] * 500, domain_size=1000, sigma=1.1, at_least=3)
    empty = alone[0] >= 500
    assert empty.sum() > 3
    assert beside[0][500:].tolist() == alone[0][empty].tolist()
    assert beside[1][500:].tolist() == alone[1][empty].tolist()


@pytest.mark.parametrize("kind", [list, lambda column: np.array(column, dtype=object)])
def test_what_is_no_integer_is_no_bin_or_no_count(kind: Any) -> None:
    """A refusal would tell that one person's cell is a fraction, a text or missing."""
    made = sparse_gaussian(
        kind([7, 1.5, None, "3", 8, 9]),
        kind([900, 900, 900, 900, 2.5, None]),
        domain_size=1000,
        sigma=1.1,
        at_least=50,
    )
    assert made[0].tolist() == [7]
    assert abs(made[1][0] - 900) < 20


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"domain_size": 0}, errors.InvalidParameter),
        ({"domain_size": 2**513}, errors.InvalidParameter),
        ({"domain_size": 1e12}, errors.WrongType),
        ({"domain_size": True}, errors.WrongType),
        ({"at_least": 0}, errors.InvalidParameter),
        ({"at_least": 2.5}, errors.WrongType),
        ({"at_least": 2**63}, errors.InvalidParameter),
        ({"sigma": 0.0}, errors.InvalidParameter),
        ({"sigma": 1e-300}, errors.InvalidParameter),
        ({"domain_size": 10**12, "at_least": 1}, errors.InvalidParameter),
        ({"indices": np.array([1.5])}, errors.WrongType),
        ({"counts": np.array(["3"])}, errors.WrongType),
        ({"counts": "3"}, errors.WrongType),
        ({"counts": {3}}, errors.WrongType),
        ({"counts": [1, 2]}, errors.InvalidParameter),
        ({"counts": np.array([[1]])}, errors.WrongType),
    ],
)
def test_public_mistakes_are_refused_before_any_word_is_read(change, error):
    given = {"indices": [1], "counts": [1], "domain_size": 10, "sigma": 1.0, "at_least": 3} | change
    indices, counts = given.pop("indices"), given.pop("counts")
    with entropy.source(Script([])), pytest.raises(error):
        sparse_gaussian(indices, counts, **given)
