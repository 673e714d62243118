"""Numbers of paper/results.md computed again, from the paper's formulas and the data, by code that shares none of ours.

mpmath solves Theorem 8 in fifty digits, risks are integrated or simulated from definitions with another generator, and
the data are read with pyarrow alone. Each test finds its numbers in the page; a page that says otherwise fails.
Simulated ones are allowed five standard errors, those of the page and of this file together: a false alarm in 1.7
million runs each (and the page's draws do not change with the run).
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from scipy import integrate, stats

PAGE = (Path(__file__).resolve().parents[2] / "paper" / "results.md").read_text()


def row(beginning: str) -> str:
    """The line of the page whose claim begins like this."""
    (line,) = [line for line in PAGE.splitlines() if line.startswith(f"| {beginning}")]
    return line


def numbers(pattern: str, text: str) -> list[float]:
    """What the groups of a pattern say, which must be there."""
    found = re.search(pattern, text)
    assert found is not None, (pattern, text)
    return [float(group.replace(",", "")) for group in found.groups()]


def phi(x: Any) -> Any:
    return mpmath.ncdf(x)


def delta_at(epsilon: Any, sigma: Any) -> Any:
    """Theorem 8 as printed, sensitivity 1, in fifty digits."""
    e, s = mpmath.mpf(epsilon), mpmath.mpf(sigma)
    return phi(1 / (2 * s) - e * s) - mpmath.e**e * phi(-1 / (2 * s) - e * s)


@cache
def least_sigma(epsilon: float, delta: str) -> float:
    with mpmath.workdps(50):
        low, high = mpmath.mpf("1e-6"), mpmath.mpf(10) ** 9
        for _ in range(120):
            middle = mpmath.sqrt(low * high)
            low, high = (low, middle) if delta_at(epsilon, middle) <= mpmath.mpf(delta) else (middle, high)
        return float(high)


def test_the_variance_gains_near_epsilon_1() -> None:
    stated = numbers(r"\| ([\d.]+) \(δ = 0\.01\), ([\d.]+) \(δ = 0\.0001\), ([\d.]+) \(δ = 1e-06\)", row("Near ε = 1"))
    for value, delta in zip(stated, ("0.01", "0.0001", "0.000001"), strict=True):
        classical = math.sqrt(2 * math.log(1.25 / float(delta))) / 0.99
        assert value == pytest.approx((classical / least_sigma(0.99, delta)) ** 2, abs=0.006)


def test_the_noise_of_the_maps() -> None:
    (stated,) = numbers(r"σ = ([\d.]+) at \(0\.5, 1e-6\)", row("Raw RMSE 40.29"))
    assert stated == pytest.approx(5 * least_sigma(0.5, "0.000001"), abs=6e-4)


def test_the_loss_passes_epsilon_twenty_times_as_often_as_delta() -> None:
    stated, times = numbers(r"P\[L ≥ 1\] = ([\d.e-]+), (\d+) times", row("P[L ≥ ε] ≤ δ is sufficient"))
    sigma = least_sigma(1.0, "0.000001")
    assert stated == pytest.approx(float(phi(1 / (2 * sigma) - sigma)), rel=3e-3)
    assert times == round(stated / 1e-6)


def test_the_counter_example_to_theorem_4() -> None:
    stated, bound = numbers(r"σ = ([\d.]+) < ([\d.]+) is proved", row("(ε, δ) with δ < 1/2"))
    assert stated == pytest.approx(least_sigma(1.0, "0.4"), abs=6e-6)
    assert bound == pytest.approx(1 / math.sqrt(2), abs=6e-5)


def test_where_the_classical_formula_fails() -> None:
    (stated,) = numbers(r"at ε = ([\d.]+) \(δ = 1e-6\)", row("For large ε, σ must scale"))
    scale = math.sqrt(2 * math.log(1.25e6))
    assert delta_at(stated - 0.01, scale / (stated - 0.01)) <= 1e-6 < delta_at(stated + 0.01, scale / (stated + 0.01))


def test_the_two_rules_of_theorem_11() -> None:
    """d = 5, w = sigma = 1: given y the truth is y/2 + N(0, 1/2), so a factor 1 - c/s errs 5/2 + E (1/2 - c/s)^2 s."""
    text = row("w² replaced by its maximum-likelihood estimate")
    stated, exact, james_stein = numbers(r"risks ([\d.]+) ± [\d.]+ \(([\d.]+) exactly\).*James-Stein ([\d.]+) ±", text)

    def risk(c: float) -> float:
        def moved(s: float) -> float:
            return (0.5 - c / s) ** 2 * s * float(stats.chi2.pdf(s / 2, 5)) / 2

        return 2.5 + float(integrate.quad(moved, 0, np.inf)[0])

    assert exact == pytest.approx(risk(5), abs=6e-4)
    assert stated == pytest.approx(risk(5), abs=5 * 0.009)
    assert james_stein == pytest.approx(risk(3), abs=5 * 0.004)


def test_james_stein_improves_least_far_away() -> None:
    """d = 3, truth of length 10: the gain is E[1/||y||^2], ||y||^2 noncentral chi-squared."""
    (stated,) = numbers(r"gain ([\d.]+)σ² at d = 3", row("James-Stein always improves"))
    inverse = integrate.quad(lambda s: float(stats.ncx2.pdf(s, 3, 100)) / s, 1e-9, 400, limit=400)[0]
    assert stated == pytest.approx(inverse, abs=6e-5)


def test_the_least_worst_error_over_the_cube() -> None:
    """Half on each of -1 and 1: the posterior mean is tanh y, and from 1 it errs (1 - tanh y)^2."""
    (stated,) = numbers(r"the truth is ([\d.]+), printed", row("For p ≥ 2"))
    one = mpmath.quad(lambda y: (1 - mpmath.tanh(y)) ** 2 * mpmath.npdf(y, 1, 1), [-10, 0, 1, 2, 12])
    assert stated == pytest.approx(100 * float(one), abs=0.006)


def threshold_risk(t: float, truth: float) -> float:
    """E (soft(truth + Z, t) - truth)^2, integrated piece by piece."""

    def lost(z: float) -> float:
        y = truth + z
        kept = math.copysign(max(abs(y) - t, 0.0), y)
        return (kept - truth) ** 2 * math.exp(-z * z / 2) / math.sqrt(2 * math.pi)

    cuts = sorted({-9.0, *(cut for cut in (-t - truth, t - truth) if -9 < cut < 9), 9.0})
    return sum(integrate.quad(lost, a, b, epsabs=1e-14)[0] for a, b in itertools.pairwise(cuts))


def test_the_ball_that_the_threshold_fails() -> None:
    text = row("So it is within 4.44 log d")
    stated, claimed = numbers(r"at least (\d+) times R\(S\) \(([\d.]+) claimed", text)
    t = math.sqrt(2 * math.log(1000))
    ratio = (999 * threshold_risk(t, 0.0) + threshold_risk(t, 0.01)) / 0.01**2  # one spike; answering zero errs 0.01^2
    assert stated == math.floor(ratio)
    assert claimed == pytest.approx(4.44 * math.log(1000), abs=0.06)


def test_the_threshold_on_a_dense_histogram() -> None:
    """Every count far above the noise of 10 moves by t, so errs 1 + t^2; near the bottom a little less."""
    (stated,) = numbers(r"d = s = 10,000: ([\d.]+) times", row("As s ≤ d"))
    t = math.sqrt(2 * math.log(10_000))
    share = np.arange(1, 10_001)
    counts = 1e7 * share / share.sum() / 10
    near = [threshold_risk(t, float(x)) for x in counts[counts < 12]]
    exact = (sum(near) + (1 + t * t) * (10_000 - len(near))) / 10_000
    assert stated == pytest.approx(exact, abs=0.06)  # 50 draws of 10,000: a standard error of 0.01, and one digit


def test_the_errors_of_plain_mechanisms_on_histograms() -> None:
    """d = 10,000, epsilon = 1: d times the mean size of one draw, 2/500 for Laplace, sigma sqrt(2/pi) for Gaussian."""
    text = row("At ε = 1 Laplace is even better")
    laplace, first, gaussian, second = numbers(
        r"Laplace ([\d.]+) ± ([\d.]+), analytic Gaussian ([\d.]+) ± ([\d.]+)", text
    )
    sigma = math.sqrt(2) / 500 * least_sigma(1.0, "0.0001")
    assert laplace == pytest.approx(10_000 * 2 / 500, abs=5 * first + 0.05)
    assert gaussian == pytest.approx(10_000 * sigma * math.sqrt(2 / math.pi), abs=5 * second + 0.05)


def test_the_errors_of_the_private_mean() -> None:
    """d = 10,000, epsilon = 0.01: the length of a Gaussian vector, exactly; denoisers by another generator."""
    text = row("At ε = 0.01 denoising improves")
    stated = numbers(
        r"classical Gaussian ([\d.]+) ± ([\d.]+), analytic Gaussian ([\d.]+) ± ([\d.]+), "
        r"aGM \+ James-Stein ([\d.]+) ± ([\d.]+), aGM \+ soft threshold ([\d.]+) ± ([\d.]+)",
        text,
    )
    d = 10_000
    length = math.sqrt(2) * math.exp(math.lgamma((d + 1) / 2) - math.lgamma(d / 2))
    unit = math.sqrt(d) / 500
    sigma = unit * least_sigma(0.01, "0.0001")
    assert stated[0] == pytest.approx(unit * math.sqrt(2 * math.log(12_500)) / 0.01 * length, abs=5 * stated[1])
    assert stated[2] == pytest.approx(sigma * length, abs=5 * stated[3])
    random = np.random.RandomState(20)
    errors: list[tuple[float, float]] = []
    for _ in range(100):
        truth = random.normal(size=d) + random.normal(size=d) * math.sqrt(1 / 12 / 500)  # the mean of 500 points
        y = truth + sigma * random.normal(size=d)
        shrunk = y - (d - 2) * sigma**2 / (y @ y) * y
        cut = np.sign(y) * np.maximum(np.abs(y) - sigma * math.sqrt(2 * math.log(d)), 0)
        errors.append((math.dist(shrunk, truth), math.dist(cut, truth)))
    for found, mean, error in zip(np.transpose(errors), stated[4::2], stated[5::2], strict=True):
        assert found.mean() == pytest.approx(mean, abs=5 * math.hypot(error, found.std() / 10) + 0.5)


def test_the_map_and_what_its_mean_would_err(data: Path) -> None:
    counts = pq.read_table(data / "taxi" / "junction_counts.parquet")["pickup_2013_01_01_00h"].to_numpy()
    assert numbers(r"source has ([\d,]+)", row("Manhattan has 3,784")) == [counts.size]
    (constant,) = numbers(r"the mean of all ([\d.]+)", row("Wavelets 12.28"))
    sigma = 5 * least_sigma(0.5, "0.000001")
    assert constant == pytest.approx(math.sqrt(counts.var() + sigma**2 / counts.size), abs=0.05)


def test_the_threshold_on_the_maps_at_little_noise(data: Path) -> None:
    """Its squared error over the plain one's on four maps at the two largest epsilons, integrated over the noise.

    The page has means of six draws of 3,874 junctions: the plain ones have a standard error of 0.9 %, the threshold's
    of less; 6 % are more than five of both together.
    """
    low, high = numbers(r"\| ([\d.]+) to ([\d.]+) times the MSE", row("At ε > 5 soft-thresholding"))
    table = pq.read_table(data / "taxi" / "junction_counts.parquet")
    maps = [table[name].to_numpy() for name in table.column_names if name.startswith(("pickup_20", "dropoff_20"))]
    daily = pq.read_table(data / "taxi" / "density_2011-10_daily.parquet")
    day = daily.filter(pc.equal(pc.strftime(daily["date"], "%Y-%m-%d"), "2011-10-05"))
    density = np.zeros(table.num_rows)
    density[day["node"].to_numpy()] = day["density"].to_numpy()
    z = np.linspace(-8, 8, 1601)
    mass = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi) * (z[1] - z[0])
    t = math.sqrt(2 * math.log(table.num_rows))
    ratios = []
    for epsilon in (5.623413, 10.0):
        for truth in (*maps, density):
            f = truth / (5 * least_sigma(epsilon, "0.000001"))
            y = f[:, None] + z
            kept = np.sign(y) * np.maximum(np.abs(y) - t, 0)
            ratios.append(float(((kept - f[:, None]) ** 2 @ mass).mean()))
    assert low == pytest.approx(min(ratios), rel=0.06)
    assert high == pytest.approx(max(ratios), rel=0.06)


def test_the_sections_and_the_trips(data: Path) -> None:
    several, single = numbers(r"\| ([\d,]+); without parallels and loops ([\d,]+)", row("They are connected by"))
    edges = pq.read_table(data / "taxi" / "edges_multi.parquet")
    pairs = {frozenset(pair) for pair in zip(edges["u"].to_pylist(), edges["v"].to_pylist(), strict=True)}
    assert (several, single) == (edges.num_rows, sum(len(pair) == 2 for pair in pairs))
    text = row("At most 5 trips a driver")
    cabs, share, most, beyond = numbers(r"of ([\d,]+) cabs .*? ([\d.]+)% made .*? busiest (\d+); .*? out (\d+)", text)
    trips = pq.read_table(data / "taxi" / "trips_2013-01-01_00h.parquet")
    hour = pc.and_(pc.less(pc.hour(trips["pickup_time"]), 1), pc.greater_equal(trips["pickup_node"], 0))
    each = trips.filter(hour).group_by("taxi_id").aggregate([("ride_id", "count")])["ride_id_count"].to_numpy()
    assert (cabs, most, beyond) == (each.size, each.max(), np.maximum(each - 5, 0).sum())
    assert share == pytest.approx(100 * (each <= 5).mean(), abs=0.06)


def test_the_paper_s_denoisers_on_real_histograms(data: Path) -> None:
    """Six draws of each: the geometric mean over thirteen histograms varies by less than half a per cent."""
    text = row("A relatively small price")
    stated = numbers(r"James-Stein ([\d.]+) \(worst [\d.]+\); aGM \+ soft threshold ([\d.]+) \(worst ([\d.]+)\)", text)
    sigma = least_sigma(0.1, "0.000001")

    def james_stein(y: Any) -> Any:
        return (1 - (y.size - 2) * sigma**2 / (y @ y)) * y

    def threshold(y: Any) -> Any:
        return np.sign(y) * np.maximum(np.abs(y) - sigma * math.sqrt(2 * math.log(y.size)), 0)

    means: list[float] = []
    for rule in (james_stein, threshold):
        over = _errors_over_plain(rule, data / "dpbench" / "histograms.npz", sigma)
        means += [math.exp(np.log(over).mean()), max(over)]
    assert stated[0] == pytest.approx(means[0], rel=0.005)
    assert stated[1] == pytest.approx(means[2], rel=0.01)
    assert stated[2] == pytest.approx(means[3], rel=0.01)


def _errors_over_plain(rule: Callable[[Any], Any], path: Path, sigma: float) -> list[float]:
    random = np.random.RandomState(13)
    over = []
    with np.load(path) as file:
        for name in file:
            truth = file[name].ravel().astype(float)
            errors = []
            for _ in range(6):
                y = truth + sigma * random.normal(size=truth.size)
                errors.append([math.sqrt(np.mean((values - truth) ** 2)) for values in (rule(y), y)])
            denoised, plain = np.mean(errors, axis=0)
            over.append(float(denoised / plain))
    return over
