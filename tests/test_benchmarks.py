"""The benchmarks at toy sizes, without peers: each runs, hands back sound tables, and hides nobody who is missing."""

from __future__ import annotations

import csv
import importlib
import math
import runpy
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from leastnoise.curator.quantile_mechanism import quantile_steps
from leastnoise.domain.round_numbers import StepWeights
from leastnoise.privacy.rank_noise import RankRates
from leastnoise.testing import seeded

pytestmark = pytest.mark.slow

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
PROGRAMME = runpy.run_path(str(BENCHMARKS / "programme.py"))["BENCHMARKS"]
GROWN = (
    "demo",
    "instructions",
    "spark_cost",
    "spark_loss",
    "spark_peers",
)  # no toy size, or a Spark session that others would meet
TOYS = [name for name in PROGRAMME if name not in GROWN]


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Import from benchmarks/ as its own __main__ does, and leave no trace."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.setenv("PEERS", "none")
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if str(BENCHMARKS) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.mark.parametrize("name", TOYS)
def test_every_benchmark_hands_back_sound_tables(bench: Any, name: str, tmp_path: Path) -> None:
    findings = bench("findings")
    found = bench(name).run(toy=True)
    tables = [finding for finding in found if isinstance(finding, findings.Table)]
    assert tables
    for table in tables:
        assert all(row.keys() == table.rows[0].keys() for row in table.rows)
        table.save(tmp_path)
        with (tmp_path / f"{table.name}.csv").open() as file:
            assert [list(row) for row in csv.DictReader(file)] == [list(row) for row in table.rows]
        lines = sum(line.startswith("| ") for line in table.markdown())
        assert lines == (0 if table.folded else len(table.rows) + 1)
    heads = [finding for finding in found if isinstance(finding, findings.Headline)]
    assert all(math.isfinite(head.ratio) and head.ratio >= 0 for head in heads)
    peers = getattr(bench(name), "PEERS", ())
    named = " ".join(" ".join(table.markdown()) for table in tables)
    assert all(f"{peer} (left out" in named for peer in peers)


def test_quantiles_in_doubles_are_drawn_like_the_exact_ones(bench: Any) -> None:
    """300 exact draws of three levels beside 3,000 in doubles, chi-square; false alarm 1e-6 for each level."""
    rates = RankRates((Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)), Fraction(1, 2))
    weights = StepWeights(np.array([0, 3, 4, 7, 8, 11, 12, 15, 16]), np.arange(8.0))
    steps, counts = np.array([1, 4, 6]), np.array([3, 9, 4])
    with seeded(5):
        exact = np.array([quantile_steps(steps, counts, rates, weights) for _ in range(300)])
    rng, draw = np.random.default_rng(2), bench("quantile_draws").steps_by_rank
    doubles = np.array([draw(steps, counts, rates, weights, rng) for _ in range(3_000)])
    for level in range(3):
        seen = np.array([np.bincount(drawn[:, level], minlength=8) for drawn in (exact, doubles)])
        common = seen[:, seen.sum(axis=0) > 50]
        assert chi2_contingency(common).pvalue > 1e-6


def test_the_programme_lists_modules_that_exist() -> None:
    assert all((BENCHMARKS / f"{name}.py").is_file() for name in PROGRAMME)


JOBS = """
def double(x):
    print("chatter that must not reach the pipe")
    return lambda: 2 * x

def broken():
    raise ValueError("no such luck")

def forever():
    return lambda: [None for _ in iter(int, 1)]

def dies():
    return lambda: __import__("os")._exit(1)
"""


@pytest.fixture
def peer(bench: Any, tmp_path: Path) -> Iterator[Any]:
    (tmp_path / "jobs.py").write_text(JOBS)
    (tmp_path / "requirements.txt").write_text("numpy==0\n")
    peer = bench("peers").Peer("toy", Path(sys.executable), tmp_path / "jobs.py", tmp_path / "log.txt")
    yield peer
    peer.close()


def test_a_peer_answers_with_its_own_seconds(peer: Any) -> None:
    import numpy as np

    lap = peer("double", x=21)
    assert lap.result == 42
    assert 0 <= lap.seconds < 1
    assert peer("versions").result == {"numpy": np.__version__}


def test_a_peer_that_fails_hangs_or_dies_says_so_and_can_be_asked_again(bench: Any, peer: Any) -> None:
    peers = bench("peers")
    with pytest.raises(peers.Failed, match="ValueError: no such luck"):
        peer("broken")
    with pytest.raises(peers.Late):
        peer("forever", patience=0.2)
    with pytest.raises(peers.Failed, match="ended"):
        peer("dies")
    assert peer("double", x=1).result == 2


def test_an_environment_that_does_not_install_is_reported(bench: Any, monkeypatch: Any, tmp_path: Path) -> None:
    peers = bench("peers")
    monkeypatch.setenv("PEERS", "opendp")
    monkeypatch.setattr(peers, "ENVIRONMENTS", tmp_path)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert peers.present("opendp") == ({}, {"opendp": "false ended with 1"})


def test_a_race_takes_turns_and_believes_a_peer_about_its_own_time(bench: Any) -> None:
    stopwatch = bench("stopwatch")
    order: list[str] = []

    def peer() -> Any:
        order.append("b")
        return stopwatch.Lap(8.0, 4.0)

    seen = stopwatch.race(
        {"a": lambda: order.append("a"), "b": peer},
        rounds=3,
        units={"b": 2},
        fewer={"b": 2},
    )
    assert order == ["a", "a", "b", "b", "a", "a"]  # warmed up, then there and back
    assert (seen["b"].median, seen["b"].processor, seen["b"].rounds) == (4.0, 2.0, 2)


@pytest.mark.parametrize("a", [1.2, 1.5, 3.0])
def test_tables_that_far_apart_share_no_good_limit(bench: Any, a: float) -> None:
    """What the bound on looks rests on, by brute force: k units of N rows in one of D bins each, noise 1, a = k/D."""
    bound = bench("limits_bound")
    regret, sizes = 0.5, (100.0, 100.0 * bound.apart(a, 0.5) * 1.01)
    limits = np.geomspace(0.1, 1e6, 200_001)
    good = []
    for rows in sizes:
        error = np.hypot(a * np.maximum(rows - limits, 0), limits)
        good.append(error <= (1 + regret) * error.min())
    assert all(some.any() for some in good)
    assert not (good[0] & good[1]).any()
    assert bound.least_share(1) > bound.least_share(2) > bound.least_share(100)


def test_no_threshold_tells_a_few_units_better_than_the_bound_allows(bench: Any) -> None:
    """Noise of one, and k units that move what is counted by k mu: the best threshold has the chance of the bound."""
    from scipy.special import ndtr

    bound, shift = bench("limits_bound"), 40 * 0.05
    thresholds = np.linspace(-5, 10, 100_001)
    worst = np.maximum(ndtr(-thresholds), ndtr(thresholds - shift))
    assert worst.min() == pytest.approx(bound.least_chance(40, 0.05), rel=1e-3)
    assert (worst >= bound.least_chance(40, 0.05) * (1 - 1e-12)).all()
