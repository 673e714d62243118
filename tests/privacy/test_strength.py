"""The word for a promise follows from what an attacker finds, and from nothing private."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

import leastnoise as ln
from leastnoise import errors
from leastnoise.curator.budget.terms import Terms, strength
from leastnoise.privacy.strength import BANDS, LAST_BAND, Strength, judge, warn_if_weak

ORDER = [name for _, name in BANDS] + [LAST_BAND]


@pytest.mark.parametrize(("found", "band"), [(0.149, 0), (0.151, 1), (0.399, 1), (0.401, 2), (0.749, 2), (0.751, 3)])
def test_the_bands_are_by_what_an_attacker_with_five_percent_false_alarms_finds(found: float, band: int) -> None:
    mu = float(norm.ppf(found) - norm.ppf(0.05))
    strength = judge(ln.GaussianDP(mu))
    assert strength.found == pytest.approx(found)
    assert strength.band == ORDER[band]
    assert f"{100 * found:.3g} %" in str(strength)


@pytest.mark.parametrize(("found", "band"), [(0.989, 3), (0.991, 4)])
def test_past_99_percent_it_protects_nobody(found: float, band: int) -> None:
    strength = judge(ln.GaussianDP(float(norm.ppf(found) - norm.ppf(0.05))))
    assert strength.band == ORDER[band]
    assert strength.protects_nobody == (band == 4)
    assert strength.is_weak


@given(st.floats(0.01, 30), st.floats(0.01, 30))
def test_a_larger_epsilon_is_never_stronger(one: float, other: float) -> None:
    small, large = sorted((one, other))
    for kind in (ln.PureDP, ln.GaussianDP):
        assert ORDER.index(judge(kind(small)).band) <= ORDER.index(judge(kind(large)).band)


@pytest.mark.parametrize(
    ("delta", "units", "nobody"),
    [(1e-6, None, False), (0.0099, None, False), (0.01, None, True), (0.5, None, True), (1e-4, 9_999, False),
     (1e-4, 10_001, True)],
)  # fmt: skip
def test_a_delta_of_one_percent_or_of_one_unit_protects_nobody(delta: float, units: int | None, nobody: bool) -> None:
    strength = judge(ln.ApproxDP(0.1, delta)).with_units(units)
    assert strength.protects_nobody == nobody
    assert ("everything may show" in str(strength)) == nobody


@pytest.mark.parametrize(
    ("delta", "units", "told"),
    [(1e-6, None, ""), (1e-5, None, ""), (0.005, None, "200 or more"), (1e-4, None, "10,000 or more"), (1e-4, 900, "")],
)
def test_a_delta_that_many_units_make_too_large_is_told(delta: float, units: int | None, told: str) -> None:
    strength = judge(ln.ApproxDP(1, delta)).with_units(units)
    assert (strength.band, strength.warns) == ("strong", bool(told))
    assert told in strength.in_words()
    assert ("everything" in strength.in_words()) == bool(told)


@pytest.mark.parametrize(
    ("epsilon", "delta", "cure"),
    [
        (100, 1e-6, "Take a smaller epsilon, or more noise."),
        (0.1, 0.5, "Take a smaller delta."),
        (1, 0.005, "Take a smaller delta."),
        (100, 0.02, "Take a smaller epsilon and a smaller delta, or more noise."),
    ],
)
def test_the_cure_names_what_makes_a_promise_weak(epsilon: float, delta: float, cure: str) -> None:
    with pytest.warns(errors.WeakPromise) as caught:
        warn_if_weak(judge(ln.ApproxDP(epsilon, delta)))
    assert str(caught[0].message).endswith(cure)


def test_unknown_keys_tell_from_how_many_units_on_their_delta_is_too_large(tmp_path: Path) -> None:
    rows = pd.DataFrame({"plane": range(4043), "place": ["here"] * 4000 + ["there"] * 43})
    query = ln.table(rows, unit="plane").histogram("place", max_rows=1)
    with pytest.warns(errors.WeakPromise, match=r"0\.005 everything: too much where units are 200 or more.*delta\.$"):
        made = query.release(epsilon=1, delta=0.005, mechanism="laplace")
    made.save(tmp_path / "made.parquet")
    again = ln.load(tmp_path / "made.parquet")
    assert again.strength == made.strength
    assert "200 or more" in again.explain()
    assert "200 or more" in str(query.expect(epsilon=1, delta=0.005, mechanism="laplace"))


def test_gaussian_noise_is_judged_by_its_mu_and_not_by_the_delta_that_was_typed() -> None:
    release = ln.release(np.zeros(3, int), sensitivity=1, epsilon=0.01, delta=0.01, mechanism="gaussian")
    assert release.strength is not None
    assert release.strength.band == "strong"
    assert release.strength.found < 0.06


@pytest.mark.parametrize("units", [0, -1, 2.5, True])
def test_a_number_of_units_is_a_whole_one(units: object) -> None:
    rows = pd.DataFrame({"p": [1], "k": ["a"]})
    with pytest.raises(errors.InvalidParameter, match="public_units must be"):
        ln.table(rows, unit="p", public_units=units)  # type: ignore[arg-type]


def test_a_public_number_of_units_is_held_against_delta_before_anything_is_paid(tmp_path: Path) -> None:
    """A delta that is small for few units is one somebody's for many; and one that is in doubt is not where it is
    known that there are few. It is told wherever the promise is: warned of, expected, in the release, on its page."""
    rows = pd.DataFrame({"plane": range(400), "place": ["here"] * 400})

    def ask(units: int | None) -> Any:
        return ln.table(rows, unit="plane", public_units=units).where("place <> ''").histogram("place", max_rows=1)

    asked: Any = {"epsilon": 1, "delta": 1e-6, "mechanism": "laplace"}
    told = r"1e-06 everything may show: too much for 2,000,000 units"
    assert ask(None).release(**asked).strength.band == "strong"
    assert ask(999_999).release(**asked).strength.band == "strong"
    with pytest.warns(errors.WeakPromise, match=told):
        made = ask(2_000_000).release(**asked)
    assert told in str(ask(2_000_000).expect(**asked))
    made.save(tmp_path / "made.parquet")
    again = ln.load(tmp_path / "made.parquet")
    assert again.strength == made.strength
    assert told in again.explain()
    assert "2,000,000 units" in again.report(tmp_path / "made.html", estimate=None).read_text(encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not ask(90).release(**{**asked, "delta": 0.005}).strength.warns


def test_a_budget_is_held_against_the_public_number_of_units(tmp_path: Path) -> None:
    rows = pd.DataFrame({"plane": range(400), "place": ["here"] * 400})
    budget = ln.Budget.open(tmp_path / "b.ledger", epsilon=1, delta=1e-6, threshold_delta=5e-7)
    query = ln.table(rows, unit="plane", public_units=3_000_000).histogram("place", max_rows=1)
    with pytest.warns(errors.WeakPromise, match="promise of the whole budget.*too much for 3,000,000 units"):
        made = query.release(budget=budget, share=0.5)
    assert made.strength is not None
    assert made.strength.of_budget
    assert made.strength.protects_nobody


@given(st.floats(0.01, 3), st.sampled_from([0, 1e-9, 1e-4, 0.03]))
def test_what_is_known_beyond_epsilon_and_delta_only_lowers_what_is_found(mu: float, chance: float) -> None:
    """The bound from mu is met by the worst case: reveal with probability `chance`, else one Gaussian draw."""
    whole = ln.ApproxDP(60, 0.1)
    bounded = judge(whole, mu=mu, chance=chance)
    assert bounded.found <= judge(whole).found
    revealing = chance + (1 - chance) * norm.cdf(mu + norm.ppf(0.05))
    assert bounded.found >= min(1, revealing) - 1e-12


def terms(**given: object) -> Terms:
    asked = {"pure_epsilon": 0, "threshold_delta": 0, "unit": None, "table": None, "neighbours": None, "delta": 1e-6}
    return Terms.of(**{**asked, **given})  # type: ignore[arg-type]


def strength_of(**given: object) -> Strength:
    """Of a budget before its first release."""
    return strength(terms(**given))


@pytest.mark.parametrize("reserve", [{}, {"threshold_delta": 5e-7}, {"pure_epsilon": 0.1}])
def test_a_budget_is_judged_by_all_that_it_allows_and_reserves_make_it_hardly_weaker(reserve: dict[str, float]) -> None:
    plain, strength = strength_of(epsilon=3), strength_of(epsilon=3, **reserve)
    assert strength.of_budget
    assert strength.band == plain.band == "moderate"
    assert strength.found <= plain.found + 0.01
    assert plain.found == pytest.approx(1 - ln.GaussianDP(float(terms(epsilon=3).mu)).tradeoff(0.05))


def test_a_weak_budget_is_called_that_wherever_it_is_shown(tmp_path: Path) -> None:
    with pytest.warns(errors.WeakPromise, match="Open one with a smaller epsilon"):
        weak = ln.Budget.open(tmp_path / "weak.ledger", epsilon=100, delta=1e-6)
    assert weak.strength.protects_nobody
    assert "The promise of the whole budget protects nobody in practice" in str(weak)
    assert weak.strength.in_words() in weak.report(tmp_path / "weak.html").read_text()
    usual = ln.Budget.open(tmp_path / "usual.ledger", epsilon=1, delta=1e-6)
    assert "attacker" not in str(usual) + usual.report(tmp_path / "usual.html").read_text()


@pytest.mark.parametrize("epsilon", [1, 100])
def test_a_picture_says_of_a_weak_promise_that_it_is(epsilon: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.WeakPromise)
        made = ln.release(np.arange(9), sensitivity=1, epsilon=epsilon, delta=1e-6)
    for of in (made, made.denoise("james_stein")):
        told = " ".join(text.get_text() for text in of.plot().figure.texts).replace("\n", " ")
        assert ("This promise protects nobody in practice." in told) == (epsilon == 100)


def test_a_budget_of_laplace_noise_is_judged_by_its_epsilon() -> None:
    strength = strength_of(epsilon=3, pure_epsilon=3, delta=None)
    assert strength.found == pytest.approx(1 - ln.PureDP(3).tradeoff(0.05))


def test_a_budget_that_may_show_one_in_fifty_protects_nobody() -> None:
    assert strength_of(epsilon=0.1, delta=0.04, threshold_delta=0.02).protects_nobody
    assert not strength_of(epsilon=0.1, delta=0.04).is_weak
