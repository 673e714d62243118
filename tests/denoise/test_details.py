"""What a denoiser found on its way: a prior and its posteriors, the candidates of a mixture, a path of penalties."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import laplace, norm

from leastnoise import errors
from leastnoise.denoise import Mixture, Posterior, aggregate, auto, empirical_bayes, james_stein
from leastnoise.denoise.npmle import different_noise
from leastnoise.graphs import Graph

Floats = np.ndarray[Any, Any]
laws = pytest.mark.parametrize("noise", ["gaussian", "laplace"])


def sample(seed: int, size: int = 400) -> Floats:
    rng = np.random.default_rng(seed)
    return np.where(rng.random(size) < 0.6, 0.0, rng.exponential(9, size)) + rng.standard_normal(size)


def by_hand(found: Posterior, noise: str) -> tuple[Floats, Floats, Floats]:
    """Posterior means, standard deviations and weights, one value at a time, by Bayes' rule."""
    law = norm if noise == "gaussian" else laplace
    sigma = np.broadcast_to(found.sigma, found.y.shape)
    rows = []
    for y, s in zip(found.y.ravel(), sigma.ravel(), strict=True):
        density = law.pdf((y - found.atoms) / (s if noise == "gaussian" else s / math.sqrt(2)))
        rows.append(found.weights * density / (found.weights @ density))
    weight = np.array(rows)
    mean = weight @ found.atoms
    return mean, np.sqrt(weight @ found.atoms**2 - mean**2), weight


@laws
@pytest.mark.parametrize("support", ["real", "nonnegative"])
def test_the_prior_and_bayes_rule_give_the_values(noise: Any, support: Any) -> None:
    """Atoms on neighbouring points of the lattice are shown as one, which moves no mean by a twentieth of sigma."""
    made = empirical_bayes(sample(1), 1.0, support=support, mechanism=noise)
    found = made.details
    mean, std, weight = by_hand(found, noise)
    assert found.weights.sum() == pytest.approx(1)
    assert (np.diff(found.atoms) > 0).all()
    assert np.allclose(found.mean, mean, atol=1e-9)
    assert np.allclose(found.std, std, atol=1e-6)
    assert np.abs(mean - made.values).max() < 0.05
    assert np.allclose(found.probability_of_zero, weight @ found.taken_for_zero)
    assert found.probability_of_zero[found.y < 0.5].mean() > (0.4 if support == "nonnegative" else -1)


@laws
def test_values_far_apart_have_atoms_where_they_are(noise: Any) -> None:
    y = np.concatenate([sample(2), 1e6 + sample(3), [-5e5]])
    found = empirical_bayes(y, 1.0, mechanism=noise).details
    assert found.atoms[0] == -5e5
    assert found.weights[0] == pytest.approx(1 / y.size)
    assert found.weights[found.atoms > 5e5].sum() == pytest.approx(400 / y.size, abs=1e-4)
    assert np.abs(found.mean - by_hand(found, noise)[0]).max() < 1e-6
    assert found.std[-1] == 0


@laws
def test_one_sigma_and_nearly_one_sigma_find_the_same_prior(noise: Any) -> None:
    y = sample(5)
    one = empirical_bayes(y, 1.0, support="nonnegative", mechanism=noise)
    many = empirical_bayes(y, 1 + 1e-9 * np.arange(y.size), support="nonnegative", mechanism=noise)
    assert np.abs(one.values - many.values).max() < 0.12
    assert np.sqrt(np.mean((one.values - many.values) ** 2)) < 0.03
    if noise == "gaussian":
        assert many.risk == pytest.approx(one.risk, rel=0.03)
    else:
        assert many.risk is None


@laws
def test_different_sigmas_against_another_solver(noise: Any) -> None:
    """No prior on the same atoms is likelier: against expectation-maximisation, and within the certificate of it."""
    rng = np.random.default_rng(6)
    sigma = rng.uniform(0.4, 3, 60)
    y = rng.choice([0.0, 4.0, 9.0], 60) + sigma * rng.standard_normal(60)
    atoms = different_noise.atoms_near(y, sigma, (-math.inf, math.inf), 0.0)
    assert np.diff(atoms).max() < 3.0 / 8
    assert (atoms.min(), atoms.max()) == (y.min(), y.max())
    made = different_noise.maximise_likelihood(y, sigma, atoms, noise, 1e-9)
    scale = sigma if noise == "gaussian" else sigma / math.sqrt(2)
    dense = (norm if noise == "gaussian" else laplace).pdf((y[:, None] - atoms) / scale[:, None])
    w = np.full(atoms.size, 1 / atoms.size)
    for _ in range(5000):
        w = w * (dense.T @ (1 / (dense @ w))) / y.size
    gained = float(np.log(dense @ made.weights).mean() - np.log(dense @ w).mean())
    assert -made.gap - 1e-12 <= gained < 1e-3
    assert (dense.T @ (1 / (dense @ made.weights)) / y.size).max() <= 1 + 1e-8


def test_what_fitting_costs_is_what_refitting_shows() -> None:
    """sum sigma_i^2 dh_i/dy_i by moving each value and fitting two atoms and their weights anew, without a lattice.

    The values spread less than their sigmas say, so that no third atom is worth having.
    """
    rng = np.random.default_rng(8)
    sigma = rng.uniform(0.5, 1.5, 40)
    y = np.where(np.arange(40) < 20, 0.0, 4.0) + 0.6 * sigma * rng.standard_normal(40)

    def means(values: Floats, start: Floats) -> tuple[Floats, Floats]:
        def less_likely(x: Floats) -> float:
            w = np.exp(np.append(x[2:], 0.0))
            f = norm.pdf((values[:, None] - x[:2]) / sigma[:, None]) @ (w / w.sum())
            return -float(np.log(f).sum())

        x = minimize(less_likely, start, method="BFGS", options={"gtol": 1e-9}).x
        w = np.exp(np.append(x[2:], 0.0))
        joint = norm.pdf((values[:, None] - x[:2]) / sigma[:, None]) * w
        return joint @ x[:2] / joint.sum(axis=1), x

    _, x = means(y, np.array([0.0, 4.0, 0.0]))
    w = np.exp(np.append(x[2:], 0.0))
    slope = 0.0
    for i in range(40):
        step = 1e-4 * np.eye(40)[i]
        slope += sigma[i] ** 2 * (means(y + step, x)[0] - means(y - step, x)[0])[i] / 2e-4
    found = Posterior(x[:2], w / w.sum(), y, sigma)
    spent = different_noise.fitting_spent(y, sigma, x[:2], w / w.sum(), np.zeros(2, dtype=bool))
    assert float((found.std**2).sum()) + spent == pytest.approx(slope, rel=1e-3)


@pytest.mark.parametrize("truth", ["sparse", "smooth"])
def test_the_risk_of_different_sigmas_is_right_on_average(truth: str) -> None:
    """Stein's figure with the cost of the fit, over 150 draws, within 5 standard errors and 0.03 of the raw risk."""
    rng = np.random.default_rng(9)
    f = np.where(rng.random(300) < 0.7, 0.0, 8 * rng.random(300) + 2) if truth == "sparse" else rng.normal(3, 2, 300)
    sigma = np.geomspace(0.5, 4, 300)
    off = np.empty(150)
    for k in range(150):
        made = empirical_bayes(f + sigma * rng.standard_normal(300), sigma)
        assert made.sure is not None
        off[k] = made.sure - np.mean((made.values - f) ** 2)
    assert abs(off.mean()) < 5 * off.std() / math.sqrt(150) + 0.03 * np.mean(sigma**2)
    assert off.std() / math.sqrt(150) < 0.03 * np.mean(sigma**2)  # so that the test can fail


def test_bounds_and_integers_hold_with_different_sigmas() -> None:
    rng = np.random.default_rng(10)
    sigma = rng.uniform(0.5, 3, 200)
    y = rng.poisson(2, 200) + sigma * rng.standard_normal(200)
    whole = empirical_bayes(y, sigma, support=(0, 5), integers=True)
    assert set(whole.details.atoms) <= set(range(6))
    assert (np.clip(whole.values, 0, 5) == whole.values).all()
    assert (empirical_bayes(y - 50, sigma, support="nonnegative").values == 0).all()
    assert (empirical_bayes(y, sigma, support="nonnegative", loss="absolute").values >= 0).all()
    with pytest.raises(errors.OutOfRange, match="one sigma"):
        empirical_bayes(np.arange(20_000.0), 1 + np.arange(20_000) % 2)


@laws
def test_groups_far_apart_are_fitted_by_themselves(noise: Any) -> None:
    """The prior of all is that of each group by its size; a value alone is kept, and costs one degree of freedom."""
    rng = np.random.default_rng(12)
    sigma = rng.uniform(0.5, 2, 90)
    near, far = (rng.choice([0.0, 5.0], n) + sigma[:n] * rng.standard_normal(n) for n in (40, 49))
    y = np.concatenate([near, 1e4 + far, [5e3]])
    own = np.concatenate([sigma[:40], sigma[:49], sigma[-1:]])
    order = rng.permutation(90)
    whole = empirical_bayes(y[order], own[order], mechanism=noise)
    first, second = (empirical_bayes(y[rows], own[rows], mechanism=noise) for rows in (slice(0, 40), slice(40, 89)))
    apart = np.concatenate([first.values, second.values, [5e3]])
    assert np.allclose(whole.values, apart[order], atol=1e-3)
    assert whole.details.weights[whole.details.atoms == 5e3] == pytest.approx([1 / 90])
    if noise == "gaussian":
        kept = [
            made.degrees_of_freedom * np.sum(s**2) / made.bins for made, s in ((first, own[:40]), (second, own[40:89]))
        ]
        assert whole.degrees_of_freedom * np.mean(own**2) == pytest.approx(sum(kept) + own[-1] ** 2, rel=1e-3)
    many = empirical_bayes(np.arange(5000) * 1e3, 1 + np.arange(5000) % 2, mechanism=noise)
    assert (many.values == many.noisy).all()


@laws
def test_whole_numbers_far_apart_beside_the_noise_are_rounded_to(noise: Any) -> None:
    """With a lattice fine enough for sigma = 1e-7 between whole numbers this would not end."""
    y = np.array([3.0, 3.0, -2.0, 7.0]) + 1e-7 * np.arange(4)
    made = empirical_bayes(y, 1e-7, integers=True, support=(0, 5), mechanism=noise)
    assert made.values == pytest.approx([3, 3, 0, 5])
    assert made.details.atoms == pytest.approx([0, 3, 5])
    assert made.details.weights.tolist() == [0.25, 0.5, 0.25]


@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_a_mixture_shows_every_candidate_and_its_weight(loss: Any) -> None:
    y = sample(7)
    made = auto(y, 1.0, graph=Graph.path(y.size), loss=loss)
    mixture = made.details
    assert isinstance(mixture, Mixture)
    assert {"raw", "empirical_bayes", "james_stein", "laplacian"} <= set(mixture.candidates) == set(mixture.weights)
    assert sum(mixture.weights.values()) == pytest.approx(1)
    assert {name for name, w in mixture.weights.items() if w > 0} == set(made.parameters["weights"])
    for name, error in made.parameters["errors"].items():
        assert mixture.candidates[name].rmse == pytest.approx(error)
    if loss == "squared":
        mixed = sum(w * mixture.candidates[name].values for name, w in mixture.weights.items())
        assert np.allclose(made.values, mixed)
    assert mixture.candidates["james_stein"].risk == james_stein(y, 1.0, positive_part="smooth").risk
    assert isinstance(mixture.candidates["empirical_bayes"].details, Posterior)
    again = pickle.loads(pickle.dumps(made)).details
    assert again.weights == dict(mixture.weights)
    assert "rmse" in repr(mixture)


def test_a_candidate_without_a_risk_is_shown_with_no_weight() -> None:
    y = sample(8)
    medians = empirical_bayes(y, 1.0, loss="absolute")
    mixture = aggregate(y, 1.0, {"medians": medians, "james_stein": james_stein(y, 1.0)}).details
    assert mixture.weights["medians"] == 0
    assert "unknown" in repr(mixture)
