"""Whole numbers that add up."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leastnoise import errors
from leastnoise.denoise.tables import denoise_tables
from leastnoise.denoise.tables.integers import rounded
from made_up_tables import survey


def _add_up(found):
    for a, values in found.items():
        assert values.dtype == np.int64
        assert values.min() >= 0
        for b, other in found.items():
            both = [c for c in a if c in b]
            mine = values.sum(axis=tuple(i for i, c in enumerate(a) if c not in both))
            theirs = other.sum(axis=tuple(i for i, c in enumerate(b) if c not in both))
            assert (np.asarray(mine) == np.asarray(theirs)).all()


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6), st.integers(1, 7), st.integers(1, 7), st.integers(1, 4), st.sampled_from([0.1, 1.0, 50.0])
)
def test_pairs_add_up(seed, i, j, k, scale):
    rng = np.random.default_rng(seed)
    joint = rng.gamma(0.5, scale, (i, j, k)) * (rng.random((i, j, k)) < 0.7)
    tables = {
        (): joint.sum(), ("a",): joint.sum((1, 2)), ("b",): joint.sum((0, 2)), ("c",): joint.sum((0, 1)),
        ("a", "b"): joint.sum(2), ("a", "c"): joint.sum(1), ("b", "c"): joint.sum(0),
    }  # fmt: skip
    found = rounded({t: np.asarray(v) for t, v in tables.items()})
    _add_up(found)
    assert abs(int(found[()]) - joint.sum()) <= 0.5
    assert np.abs(found["a",] - tables["a",]).max() < 2
    assert np.abs(found["a", "b"] - tables["a", "b"]).max() < 4


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_trees_and_pairs_of_margins_add_up(seed):
    rng = np.random.default_rng(seed)
    joint = rng.gamma(0.3, 3.0, (3, 4, 2, 3))
    nested = {
        (): joint.sum(),
        ("a",): joint.sum((1, 2, 3)),
        ("a", "b"): joint.sum((2, 3)),
        ("a", "b", "c"): joint.sum(3),
    }
    _add_up(rounded({t: np.asarray(v) for t, v in nested.items()}))
    chain = {("a", "b"): joint.sum((2, 3)), ("a", "b", "c"): joint.sum(3), ("b", "c", "d"): joint.sum(0)}
    _add_up(rounded(chain))


def test_whole_numbers_stay():
    made = survey(people=300)
    found = rounded({t: made.truth[t] for t in made.tables})
    assert all((found[t] == made.truth[t]).all() for t in made.tables)


def test_three_margins_are_refused():
    made = survey(3, sizes={"a": 3, "b": 2, "c": 2})
    with pytest.raises(errors.InvalidParameter, match="3 margins"):
        rounded({t: made.truth[t] for t in made.tables})


def test_an_estimate_in_whole_numbers():
    made = survey(mu=0.02)
    estimate = denoise_tables(made.noisy(0), made.variances, made.sizes, made.tables)
    found = estimate.integers()
    _add_up(found)
    assert found.keys() == set(made.tables)
    assert max(np.abs(found[t] - estimate.table(t)).max() for t in made.tables) < 4
