"""The Estimate itself: files, frames, words, and how a release makes one."""

from __future__ import annotations

from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import leastnoise as ln
from leastnoise import errors, report, testing
from leastnoise.domain import Domain, Keys
from leastnoise.privacy.distributions import Gaussian
from leastnoise.releases.noise import Noise
from leastnoise.releases.release import Release

Y = np.array([12.0, -3.0, 0.0, 5.0, -1.0, 40.0, 2.0, 1.0])


def counts(kind: str = "count", mechanism: Any = "gaussian") -> Release:
    domain = Domain(("place",), (Keys(tuple("abcdefgh")),))
    return Release.of(Y.astype(np.int64), Noise(mechanism, 2.0, 1.0), kind=kind, domain=domain)


def test_a_release_denoises_itself_and_keeps_its_domain() -> None:
    made = counts().denoise()
    assert made.method == "auto"
    assert made.domain is not None
    assert list(made.to_pandas()["place"]) == list("abcdefgh")
    assert made.noise == counts().noise
    assert made.std == Gaussian(2.0, 1.0).std == made.compare()["raw_rmse"]  # the noise as it was drawn
    assert (made.noisy == Y).all()


def test_counts_are_not_negative_unless_you_say_so() -> None:
    assert (counts().denoise().values >= 0).all()
    assert counts().denoise("empirical_bayes").parameters["support"] == "nonnegative"
    assert counts("vector").denoise("empirical_bayes").parameters["support"] == "real"
    assert (counts().denoise("auto", nonnegative=False).values < 0).any()


@pytest.mark.parametrize("method", ["james_stein", "soft_threshold", "hard_threshold", "empirical_bayes", "isotonic"])
@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_both_doors_lead_to_the_same_estimate(method: str, mechanism: str) -> None:
    release = counts("vector", mechanism)
    one = release.denoise(method)
    two = ln.denoise.METHODS[method](Y, release.std, mechanism=mechanism)
    assert (one.values == two.values).all()
    assert one.mechanism == mechanism


@pytest.mark.parametrize("method", ["auto", "hard_threshold", "empirical_bayes", "soft_threshold"])
def test_what_is_saved_is_loaded(tmp_path: Path, method: str) -> None:
    made = counts().denoise(method)
    made.save(tmp_path / "e.parquet")
    back = ln.load(tmp_path / "e.parquet")
    assert isinstance(back, ln.Estimate)
    assert (back.values == made.values).all()
    assert (back.noisy == made.noisy).all()
    assert back.risk == made.risk
    assert back.degrees_of_freedom == made.degrees_of_freedom
    assert back.explain() == made.explain()
    assert dict(back.parameters) == dict(made.parameters)
    assert back.domain == made.domain


def test_noise_of_a_seed_is_told_kept_and_refused(tmp_path: Path) -> None:
    with testing.seeded(1):
        made = ln.release(np.arange(20), sensitivity=1, epsilon=1, delta=1e-6).denoise()
    assert made.seeded
    assert "SEEDED: hides nothing" in repr(made)
    assert "WARNING" in made.explain()
    for write in (made.save, made.report):
        with pytest.raises(errors.SeededRelease, match="allow_seeded=True"):
            write(tmp_path / "e.html")
    assert list(tmp_path.iterdir()) == []
    made.save(tmp_path / "e.parquet", allow_seeded=True)
    back = ln.load(tmp_path / "e.parquet")
    assert back.seeded
    mixed = ln.denoise.aggregate(back.noisy, back.std, {"one": back})
    for again in (back, mixed):
        with pytest.raises(errors.SeededRelease):
            again.save(tmp_path / "f.parquet")
    fresh = ln.release(np.arange(20), sensitivity=1, epsilon=1, delta=1e-6).denoise()
    assert not fresh.seeded
    assert "hides nothing" not in repr(fresh) + fresh.explain()


def _counted(epsilon: float, delta: float) -> ln.Release:
    import pyarrow as pa

    rows = {"taxi": np.arange(60), "zone": np.arange(60) % 5}
    query = ln.table(pa.table(rows), unit="taxi").histogram("zone", keys=range(5), max_rows=1)
    made = query.release(epsilon=epsilon, delta=delta)
    assert isinstance(made, ln.Release)
    return made


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-6), (0.5, 0), (8.0, 1e-4)])
def test_an_estimate_keeps_the_promise_of_its_release(epsilon: float, delta: float, tmp_path: Path) -> None:
    release = _counted(epsilon, delta)
    made = release.denoise()
    made.save(tmp_path / "e.parquet")
    for estimate in (made, ln.load(tmp_path / "e.parquet")):
        assert (estimate.guarantee, estimate.delta, estimate.unit) == (release.guarantee, release.delta, "taxi")
        assert (estimate.noise, estimate.provenance) == (release.noise, release.provenance)
        for line in release.promise_in_words().splitlines():
            about_the_noise = line == release.note or line.startswith("The question: ")
            assert (line in estimate.explain()) != about_the_noise
        assert release.id in estimate.explain()


def test_an_estimate_of_plain_arrays_promises_nothing(tmp_path: Path) -> None:
    made = ln.denoise.james_stein(Y, 2.0)
    made.save(tmp_path / "e.parquet")
    for estimate in (made, ln.load(tmp_path / "e.parquet")):
        assert (estimate.guarantee, estimate.id) == (None, "")
        assert "promise" not in estimate.explain()


def test_a_file_with_unknown_facts_is_refused(tmp_path: Path) -> None:
    from leastnoise.releases import file_format

    made = ln.denoise.james_stein(Y, 2.0)
    made.save(tmp_path / "e.parquet")
    table, what, facts = file_format.read(tmp_path / "e.parquet")
    file_format.write(tmp_path / "f.parquet", table, what=what, facts={**facts, "new": 1})
    with pytest.raises(errors.NotOurs):
        ln.load(tmp_path / "f.parquet")
    facts.pop("noise")
    file_format.write(tmp_path / "g.parquet", table, what=what, facts=facts)
    with pytest.raises(errors.NotOurs):
        ln.load(tmp_path / "g.parquet")


def test_an_interval_is_refused_where_none_is_honest() -> None:
    with pytest.raises(errors.InvalidParameter, match=r"release\.interval"):
        ln.denoise.hard_threshold(Y, 2.0).interval(0.95)
    assert ln.denoise.gaussian_prior(Y, 2.0, prior_std=3, mechanism="laplace").interval().promise != "prior"
    with pytest.raises(errors.InvalidParameter):
        ln.denoise.gaussian_prior(Y, 2.0, prior_std=3).interval(1.5)


def test_aggregate_finds_the_best_mixture_of_two() -> None:
    """Against a fine grid of weights."""
    rng = np.random.default_rng(1)
    y = np.repeat([0.0, 4.0], [3000, 1000]) + rng.standard_normal(4000)
    one = ln.denoise.soft_threshold(y, 1.0, threshold=1.0)
    two = ln.denoise.gaussian_prior(y, 1.0, prior_std=2.0)
    made = ln.denoise.aggregate(y, 1.0, {"one": one, "two": two})
    grid = [(a, b) for a in np.linspace(0, 1, 41) for b in np.linspace(0, 1 - a, 41)]

    def score(a: float, b: float) -> float:
        h = a * one.values + b * two.values + (1 - a - b) * y
        free = a * one.degrees_of_freedom + b * two.degrees_of_freedom + (1 - a - b) * y.size
        return float(((y - h) ** 2).sum() + 2 * free)

    found = made.parameters["weights"]
    assert score(found.get("one", 0), found.get("two", 0)) <= min(score(a, b) for a, b in grid) + 1e-3


def test_estimates_of_other_values_are_not_mixed() -> None:
    with pytest.raises(errors.InvalidParameter):
        ln.denoise.aggregate(Y, 2.0, {"other": ln.denoise.james_stein(Y[:5], 2.0)})


def test_estimates_can_be_copied_and_pickled() -> None:
    import copy
    import pickle

    made = _counted(0.5, 1e-6).denoise()
    for twin in (copy.deepcopy(made), copy.copy(made), pickle.loads(pickle.dumps(made))):
        assert (twin.values == made.values).all()
        assert (twin.rmse, twin.parameters, twin.limits) == (made.rmse, made.parameters, made.limits)
        assert (twin.noise, twin.provenance) == (made.noise, made.provenance)
        for change in (lambda facts: facts.update(x=1), lambda facts: facts.clear(), lambda facts: facts.pop("x", 0)):
            with pytest.raises(TypeError, match="what they were"):
                change(twin.limits)


def test_auto_says_why_what_seems_best_was_not_taken() -> None:
    """Few bins: empirical Bayes seems to gain most, and not by a standard error."""
    rng = np.random.default_rng(2)
    y = rng.gamma(0.5, 4, 34) + rng.laplace(0, 2**0.5, 34)
    made = ln.denoise.auto(y, 2.0, nonnegative=True, mechanism="laplace")
    assert made.parameters["errors"]["empirical_bayes"] < made.rmse
    assert "empirical_bayes" not in made.parameters["weights"]
    said = "The estimated error of empirical bayes is less than the mixture's, but not by more than chance"
    assert said in made.explain()
    assert said in unescape(report.page(made))
    assert ln.denoise.james_stein(y, 2.0).passed_over_in_words() == ""
