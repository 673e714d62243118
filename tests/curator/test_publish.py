"""From a table to a release: every kind of question, what to expect of it, and what never depends on the rows."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import leastnoise as ln
from leastnoise import errors
from leastnoise.curator.queries.query import Query
from leastnoise.curator.table import Table
from leastnoise.domain import IntegerRange
from leastnoise.privacy.guarantee import GaussianDP
from leastnoise.privacy.sensitivity import Limits
from leastnoise.releases.mean import MeanRelease
from leastnoise.releases.quantile import QuantileRelease
from leastnoise.releases.release import Release
from leastnoise.testing import aggregate, seeded

ASK: dict[str, Any] = {"epsilon": 1, "delta": 1e-6}


@pytest.fixture(scope="module")
def people() -> Table:
    rng = np.random.default_rng(1)
    n = 20_000
    frame = pd.DataFrame(
        {
            "person": rng.integers(0, 5000, n),
            "ward": rng.choice(["north", "east", "south"], n, p=[0.7, 0.25, 0.05]),
            "age": rng.integers(0, 100, n),
            "cost": rng.gamma(2.0, 30.0, n),
        }
    )
    return ln.table(frame, unit="person")


WARDS = ["north", "east", "south", "west"]


def _questions(t: Table) -> dict[str, Any]:
    return {
        "count": t.count(max_rows=3),
        "units": t.count_units(),
        "histogram": t.histogram("ward", keys=WARDS, max_rows=3, max_per_bin=1),
        "sum": t.sum("cost", clip=(0, 200), max_rows=3),
        "sum by": t.sum("age", clip=(0, 99), by="ward", keys=WARDS, max_rows=3),
        "mean": t.mean("cost", clip=(0, 200), max_rows=3),
        "mean by": t.mean("age", clip=(0, 99), by="ward", keys=WARDS, max_rows=3),
        "quantile": t.quantile("age", [0.1, 0.5], clip=(0, 100), bins=100, max_rows=3),
        "vector": t.vector_mean(["age", "cost"], clip_norm=300, max_rows=3),
        "unknown": t.histogram("ward", max_rows=3),
        "sparse": t.histogram("age", keys=IntegerRange(0, 2**40), max_rows=3),
    }


KINDS = list(
    _questions(ln.table(pd.DataFrame({"person": [1], "ward": ["x"], "age": [1], "cost": [1.0]}), unit="person"))
)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_expected_is_what_is_released(kind: str, people: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    question = _questions(people)[kind]
    with monkeypatch.context() as patch:
        patch.setattr(Query, "_aggregate", lambda q: pytest.fail("expect has read rows"))
        expected = question.expect(**ASK)
    made = question.release(**ASK)
    parts = getattr(made, "components", made)
    assert parts.sigma == expected.sigma
    assert (made.at_least if kind == "sparse" else parts.threshold) == expected.threshold
    assert "off by at most" in str(expected)
    assert made.explain()
    assert dict(parts.limits) == expected.limits
    assert parts.unit == "person"
    assert parts.query == question.describe()


@pytest.mark.parametrize("kind", ["count", "units", "histogram", "sum", "sum by"])
def test_values_are_the_integers_plus_noise(kind: str, people: Table) -> None:
    question = _questions(people)[kind]
    made = question.release(**ASK)
    exact = aggregate(question).values * question.grid
    reach = made.distribution.half_width(1 - 1e-9, exact.size)
    assert (np.abs(made.values - exact) <= reach).all()
    assert (made.values.dtype == np.int64) == (question.grid == 1)
    assert made.domain is question.domain


def test_frames_have_the_keys(people: Table) -> None:
    frame = _questions(people)["histogram"].release(**ASK).to_pandas()
    assert frame["ward"].tolist() == WARDS
    frame = _questions(people)["mean by"].release(**ASK).to_pandas()
    assert list(frame.columns) == ["ward", "mean", "low", "high", "enough", "sum", "count"]


def test_components_of_a_vector_have_no_mean_over_all(people: Table) -> None:
    with pytest.raises(errors.InvalidParameter, match="no bins"):
        _questions(people)["vector"].release(**ASK).overall()


@pytest.mark.parametrize("kind", KINDS)
def test_every_answer_is_the_same_frame_in_every_library(kind: str, people: Table) -> None:
    made = _questions(people)[kind].release(**ASK)
    ours, arrow, polars = made.to_pandas(), made.to_arrow().to_pandas(), made.to_polars()
    pd.testing.assert_frame_equal(ours, arrow, check_dtype=False)
    assert polars.columns == list(ours.columns)
    assert polars.to_arrow().to_pylist() == made.to_arrow().to_pylist()
    ours.iloc[:, -1] = 0  # it is free to change
    assert made.to_arrow().to_pandas().equals(arrow)


def test_means_are_near_and_inside_their_intervals(people: Table) -> None:
    """The intervals miss with a chance of 1e-7 each. Near is within 2.3 standard deviations (the seed is fixed)."""
    question = people.mean("age", clip=(0, 99), by="ward", keys=WARDS, max_rows=100)
    for mechanism in ("gaussian", "laplace"):
        with seeded(21):
            made = question.release(**ASK, mechanism=mechanism)
        assert isinstance(made, MeanRelease)
        exact = aggregate(question).values.astype(float)
        truth = made.centre + exact[:3] / (exact[4:7] / question.clip.half)
        low, high = made.interval(1 - 1e-7)
        assert ((low[:3] <= truth) & (truth <= high[:3])).all()
        assert np.abs(made.values[0] - truth[0]) < 5
        assert (low[3], high[3]) == (0.0, 99.0)  # nobody in the west: nothing is known


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
@pytest.mark.parametrize("count", [5, 40, 400])
def test_fieller_intervals_cover(mechanism: Any, count: int) -> None:
    """20,000 means at 90 %: coverage below the 1e-7 quantile would be a false alarm of 1e-7 (the seed is fixed)."""
    n, half, theta = 20_000, 10.0, 6.0
    exact = np.concatenate([np.full(n, theta * count), np.full(n, half * count)])
    with seeded(8):
        parts = ln.release(exact, sensitivity=20, l1_sensitivity=20, epsilon=0.5, delta=1e-6, mechanism=mechanism)
    made = MeanRelease(
        components=parts,
        centre=3.0,
        half_range=half,
        within=(-7.0, 13.0),
        domain=ln.domain.Domain(("k",), (IntegerRange(0, n),)),
    )
    low, high = made.interval(0.9)
    inside = ((low <= 3 + theta) & (3 + theta <= high)).sum()
    assert inside >= binom.ppf(1e-7, n, 0.9)
    if mechanism == "gaussian" and count == 400:
        assert inside <= binom.ppf(1 - 1e-7, n, 0.9)  # and exactly so, where the noise is Gaussian
    assert (low >= -7).all()
    assert (high <= 13).all()


def test_quantiles_are_near_monotone_and_inside_their_intervals(people: Table) -> None:
    question = people.quantile("age", [0.9, 0.1, 0.5], clip=(0, 100), bins=100, max_rows=100)
    ages = np.sort(people.rows.to_pyarrow()["age"].to_numpy())
    for mechanism in ("gaussian", "laplace"):
        with seeded(5):
            made = question.release(**ASK, mechanism=mechanism)
        assert isinstance(made, QuantileRelease)
        values = made.values
        assert values[1] < values[2] < values[0]
        low, high = made.interval(1 - 1e-6)
        for q, v, a, b in zip((0.9, 0.1, 0.5), values, low, high, strict=True):
            truth = ages[int(q * len(ages))]
            assert abs(v - truth) < 15
            assert a <= truth <= b + 1


@pytest.mark.slow
def test_quantile_intervals_cover() -> None:
    """2,000 medians at 90 %, noise only; false alarm 1e-7."""
    rng = np.random.default_rng(2)
    counts = rng.integers(0, 60, 50)
    edges = np.arange(51.0)
    cumulative = np.concatenate([[0], np.cumsum(counts)])
    truth = int(np.flatnonzero(cumulative >= 0.5 * cumulative[-1])[0])
    covered = 0
    with seeded(12):
        for _ in range(2000):
            parts = ln.release(counts, sensitivity=1, **ASK)
            low, high = QuantileRelease(components=parts, levels=(0.5,), edges=edges).interval(0.9)
            covered += low[0] <= truth <= high[0]
    assert covered >= binom.ppf(1e-7, 2000, 0.9)


def test_vector_means(people: Table) -> None:
    made = _questions(people)["vector"].release(**ASK)
    assert made.bins == 2
    assert made.counts.size == 1
    assert (made.interval().low < made.interval().high).all()
    assert made.to_pandas()["component"].tolist() == [0, 1]


def test_unknown_keys_show_the_large_bins_only() -> None:
    frame = pd.DataFrame({"p": range(5000), "k": ["big"] * 4000 + ["mid"] * 999 + ["tiny"]})
    made = ln.table(frame, unit="p").histogram("k", max_rows=1).release(**ASK)
    assert made.to_pandas()["k"].tolist() == ["big", "mid"]
    two = ln.table(frame.assign(j=1), unit="p").histogram("k", "j", max_rows=1).release(**ASK)
    assert two.to_pandas()[["k", "j"]].to_numpy().tolist() == [["big", 1], ["mid", 1]]
    nulls = frame.assign(k=frame["k"].where(frame["k"] != "big", None))
    with_bin = ln.table(nulls, unit="p").histogram("k", max_rows=1, nulls="bin").release(**ASK)
    assert with_bin.to_pandas()["k"].tolist()[0] == "mid"
    assert with_bin.bins == 2


def test_sparse_domains_release_keys(people: Table) -> None:
    made = _questions(people)["sparse"].release(epsilon=8, delta=1e-6)
    assert isinstance(made, ln.SparseRelease)
    frame = made.to_pandas()
    assert (frame["age"] == frame["index"]).all()
    assert made.domain_size == 2**40


@pytest.mark.parametrize("kind", KINDS)
def test_a_release_is_a_total_function_of_the_rows(kind: str) -> None:
    """No rows, rows of nobody, rows outside every bin, missing numbers: noise like any other table, never an error."""
    plain = pd.DataFrame({"person": [1], "ward": ["north"], "age": [5], "cost": [1.0]})
    tables = [
        plain.iloc[:0],
        plain.assign(person=pd.array([None], dtype="Int64")),
        plain.assign(ward="elsewhere", age=10**15, cost=math.inf),
        plain.assign(cost=math.nan, age=-(2**62)),
        plain.assign(cost=-math.inf, ward=""),
    ]
    for frame in tables:
        frame = frame.astype({"person": "Int64", "ward": "string", "age": "int64", "cost": "float64"})
        made = _questions(ln.table(frame, unit="person"))[kind].release(**ASK)
        parts = getattr(made, "components", made)
        assert np.isfinite(parts.values.astype(float)).all()


@pytest.mark.parametrize(
    ("asked", "mistake"),
    [
        ({}, errors.MissingParameter),
        ({"epsilon": 1}, errors.MissingParameter),
        ({"epsilon": -1, "delta": 1e-6}, errors.InvalidParameter),
        ({"epsilon": 1, "delta": 1e-6, "mechanism": "laplac"}, errors.InvalidParameter),
        ({"epsilon": 1, "delta": 0, "mechanism": "gaussian"}, errors.InvalidParameter),
    ],
)
def test_public_mistakes_are_found_before_any_row_is_read(
    asked: Any, mistake: type[Exception], people: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Query, "_aggregate", lambda q: pytest.fail("rows were read"))
    for kind in ("histogram", "mean", "quantile"):
        with pytest.raises(mistake):
            _questions(people)[kind].release(**asked)
    for kind in ("unknown", "sparse"):
        with pytest.raises(errors.InvalidParameter):
            _questions(people)[kind].release(**ASK, mechanism="laplace")


def test_kernel_weights_never_go_the_sparse_way() -> None:
    """They are counted in steps of 2^-20, which the sparse release does not know."""
    from types import SimpleNamespace

    graph = SimpleNamespace(coordinates=np.array([[0.0, 0.0], [0.001, 0.0]]))
    t = ln.table(pd.DataFrame({"u": [1], "lon": [0.0], "lat": [0.0]}), unit="u")
    near = t.nearest(graph, lon="lon", lat="lat", within=500, kernel_width=50)
    with pytest.raises(errors.BadDomain):
        near.histogram("node", keys=range(10**8), max_rows=1)
    assert near.histogram("node", keys=range(2), max_rows=1).release(**ASK).bins == 2


def test_key_columns_with_our_own_names_are_refused_before_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Query, "_aggregate", lambda q: pytest.fail("rows were read"))
    t = ln.table(pd.DataFrame({"u": [1], "value": [1]}), unit="u")
    with pytest.raises(errors.BadDomain, match="collides"):
        t.histogram("value", keys=[0, 1], max_rows=1).release(**ASK)


def test_numpy_numbers_are_numbers(people: Table) -> None:
    assert people.count(max_rows=np.int64(5)).limits.max_rows == 5
    q = people.quantile("age", np.array([0.25, 0.5]), clip=np.array([0, 100]), bins=np.int64(50), max_rows=1)  # type: ignore[arg-type]
    assert q.levels == (0.25, 0.5)


def test_a_budget_pays_for_queries_before_rows_are_read(tmp_path: Path, people: Table) -> None:
    book = ln.Budget.open(tmp_path / "b.ledger", epsilon=1, delta=1e-6, threshold_delta=1e-7)

    def spent() -> int:
        return len(ln.Budget.open(tmp_path / "b.ledger").history())

    seen = []
    question = people.histogram("ward", keys=WARDS, max_rows=3)
    real = Query._aggregate

    def watched(q: Any) -> Any:
        seen.append(spent())
        return real(q)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Query, "_aggregate", watched)
        made = question.release(budget=book, share=0.25)
        mean = people.mean("age", clip=(0, 99), max_rows=3).release(budget=book, share=Decimal("0.25"))
        unknown = people.histogram("ward", max_rows=3).release(budget=book, share=0.25)
    assert seen == [1, 2, 3]
    ids = [entry.release for entry in book.history()]
    assert ids == [made.id, mean.components.id, unknown.id]
    assert book.remaining.share == pytest.approx(0.25)
    assert made.mechanism == "gaussian"
    with pytest.raises(ln.BudgetExhausted):
        question.release(budget=book, share=0.3)
    assert spent() == 3


@pytest.mark.slow
def test_the_command_line_pays(tmp_path: Path) -> None:
    pd.DataFrame({"p": range(50), "k": ["a"] * 50}).to_parquet(tmp_path / "t.parquet")
    ln.Budget.open(tmp_path / "b", epsilon=1, delta=1e-6)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "leastnoise", *arguments, "--budget", str(tmp_path / "b")],
            capture_output=True,
            text=True,
            env={"PATH": "/usr/bin:/bin", "COLUMNS": "300", "NO_COLOR": "1", "TERM": "dumb"},
            check=False,
        )

    out = str(tmp_path / "o.parquet")
    source = str(tmp_path / "t.parquet")
    ask = ["histogram", source, "--by", "k", "--keys", "a,b", "--unit", "p", "--max-rows", "1"]
    assert run(*ask, "--share", "0.7", "-o", out).returncode == 0
    done = run(*ask, "--share", "0.7", "-o", out)
    assert done.returncode == 1
    assert "BudgetExhausted" in done.stderr
    assert run(*ask, "--share", "much", "-o", out).returncode == 2
    done = run(*ask, "--share", "0.1", "-o", source)
    assert "would be replaced" in done.stderr
    assert len(ln.Budget.open(tmp_path / "b").history()) == 1
    np.save(tmp_path / "v.npy", np.arange(5))
    assert run("release", str(tmp_path / "v.npy"), "--sensitivity", "1", "--share", "0.2", "-o", out).returncode == 0
    assert len(ln.Budget.open(tmp_path / "b").history()) == 2


def test_laplace_and_gaussian_are_chosen_by_the_querys_own_norms(people: Table) -> None:
    assert people.histogram("ward", keys=WARDS, max_rows=3, max_per_bin=1).release(**ASK).mechanism == "laplace"
    wide = people.histogram("age", keys=range(100), max_rows=100, max_per_bin=1)
    made = wide.release(**ASK)
    assert made.mechanism == "gaussian"
    assert isinstance(made.guarantee, GaussianDP)
    assert made.guarantee.profile(1.0) <= 1e-6


@pytest.mark.parametrize("kind", [k for k in KINDS if k != "sparse"])
def test_every_answer_can_be_saved_and_loaded(kind: str, people: Table, tmp_path: Path) -> None:
    made = _questions(people)[kind].release(**ASK)
    made.save(tmp_path / "a.parquet")
    back = ln.load(tmp_path / "a.parquet")
    assert type(back) is type(made)
    np.testing.assert_array_equal(back.values, made.values)
    assert (back.interval(0.9).low == made.interval(0.9).low).all()
    assert back.guarantee == made.guarantee
    assert back.to_arrow().equals(made.to_arrow())
    with seeded(1):
        hollow = _questions(people)[kind].release(**ASK)
    with pytest.raises(errors.SeededRelease):
        hollow.save(tmp_path / "b.parquet")


def test_the_paper_s_map_on_real_trips(data: Path) -> None:
    """Pick-ups of 2013-01-01 00-01h, at most five a taxi: integers against pandas, and the noise's size."""
    trips = ln.table(str(data / "taxi" / "trips_2013-01-01_00h.parquet"), unit="taxi_id")
    nodes = pd.read_parquet(data / "taxi" / "nodes.parquet")["id"].tolist()
    hour = trips.where("pickup_time < '2013-01-01 01:00'")
    question = hour.histogram("pickup_node", keys=nodes, max_rows=5, max_per_bin=1)
    assert (question.sensitivity.l1, question.sensitivity.linf) == (5.0, 1.0)
    assert question.sensitivity.l2 == pytest.approx(math.sqrt(5))
    frame = pd.read_parquet(data / "taxi" / "trips_2013-01-01_00h.parquet")
    frame = frame[(frame["pickup_time"] < "2013-01-01 01:00") & frame["pickup_node"].isin(nodes)]
    once = frame.drop_duplicates(["taxi_id", "pickup_node"])
    few = once.groupby("taxi_id").filter(lambda g: len(g) <= 5)
    exact = aggregate(question).values
    assert exact.sum() == once.groupby("taxi_id").size().clip(upper=5).sum()
    sure = few.groupby("pickup_node").size().reindex(nodes, fill_value=0).to_numpy()
    assert (exact >= sure).all()  # taxis within the limit keep every row
    assert (exact <= once.groupby("pickup_node").size().reindex(nodes, fill_value=0).to_numpy()).all()
    made = question.release(epsilon=0.5, delta=1e-6)
    assert isinstance(made, Release)
    assert made.mechanism == "laplace"
    rmse = float(np.sqrt(np.mean((made.values - exact) ** 2)))
    assert 12.5 < rmse < 16  # 14.14 with 3,874 draws: four standard errors either way


def test_the_command_line_on_real_trips(data: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "map.parquet")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "leastnoise", "histogram", str(data / "taxi" / "trips_2013-01-01_00h.parquet")),
            *("--by", "pickup_node", "--keys", f"{data / 'taxi' / 'nodes.parquet'}:id", "--unit", "taxi_id"),
            *("--where", "pickup_time < '2013-01-01 01:00'", "--max-rows", "5", "--max-per-bin", "1"),
            *("--epsilon", "0.5", "--delta", "1e-6", "-o", out, "--json"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["mechanism"] == "laplace"
    assert ln.load(out).to_pandas().shape == (3874, 2)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["histogram", "--by", "warp", "--unit", "person", "--max-rows", "3"], 'Did you mean "ward"'),
        (["histogram", "--by", "ward", "--keys", "a", "--keys", "b", "--unit", "person"], "one --keys for each"),
        (["histogram", "--by", "ward", "--keys", "none.parquet:x", "--unit", "person"], "no file 'none.parquet'"),
        (["histogram", "--by", "ward", "--unit", "nobody", "--max-rows", "3"], "nobody"),
        (["histogram", "--by", "ward", "--keys", "a,a", "--unit", "person", "--max-rows", "3"], "twice"),
        (["histogram", "--by", "ward", "--keys", "a,b", "--unit", "person"], "--max-rows 5"),
        (["sum", "--column", "age", "--clip", "9", "--unit", "person"], "two numbers"),
        (["sum", "--column", "age", "--clip", "9,1", "--unit", "person", "--max-rows", "3"], "clip"),
        (["count", "--unit", "person", "--max-rows", "0"], "max_rows"),
        (["count", "--unit", "person", "--max-rows", "3", "--where", "drop table"], "drop"),
        (["quantile", "--column", "age", "--q", "1.5", "--clip", "0,9", "--unit", "person"], "between 0 and 1"),
    ],
)
def test_mistakes_on_the_command_line(arguments: list[str], words: str, tmp_path: Path) -> None:
    source = tmp_path / "t.parquet"
    pd.DataFrame({"person": [1], "ward": ["a"], "age": [1]}).to_parquet(source)
    command, *rest = arguments
    done = subprocess.run(
        [
            *(sys.executable, "-m", "leastnoise", command, str(source), *rest),
            *("--epsilon", "1", "--delta", "1e-6", "-o", str(tmp_path / "out.parquet")),
        ],
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", "COLUMNS": "300", "NO_COLOR": "1", "TERM": "dumb"},
        check=False,
    )
    assert done.returncode in (1, 2)
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["t.parquet"]


def test_means_module_reads_back_only_what_it_wrote(tmp_path: Path, people: Table) -> None:
    question = people.mean("age", clip=(0, 99), max_rows=3)
    made = question.release(**ASK)
    made.save(tmp_path / "m.parquet")
    assert ln.load(tmp_path / "m.parquet").half_range == made.half_range


def test_a_lazy_frame_stays_lazy_until_the_release() -> None:
    import polars as pl

    calls: list[int] = []

    def watched(frame: pl.DataFrame) -> pl.DataFrame:
        calls.append(1)
        return frame

    lazy = pl.LazyFrame({"p": range(100), "k": ["a", "b"] * 50, "n": [None] * 100}).map_batches(watched)
    question = ln.table(lazy, unit="p").histogram("k", keys=["a", "b"], max_rows=1)
    question.expect(**ASK)
    assert calls == []
    assert aggregate(question).values.tolist() == [50, 50]
    assert calls


def test_intervals_of_bins_that_showed_hold_given_that_they_do() -> None:
    """3,000 bins with true counts around the threshold: of those that show, 90 % intervals hold at least so often that
    less would have a chance below 1e-7; plain ones (value +- half-width) fail clearly."""
    from leastnoise.curator.mechanism import publish_unknown
    from leastnoise.privacy import partition_selection

    truth = np.tile([1, 10, 15, 20, 25, 60], 4000)
    one = Limits.of(max_rows=1, bins=None)
    cut = partition_selection.choose(epsilon=1, delta=1e-6, limits=one)
    with seeded(6):
        made = publish_unknown(range(truth.size), truth, cut, ln.ApproxDP(1, 1e-6), ["bin"])
    shown = truth[[made.domain.key(i) for i in range(made.bins)]]  # type: ignore[union-attr]
    low, high = made.interval(0.9)
    covered = ((low <= shown) & (shown <= high)).sum()
    assert covered >= binom.ppf(1e-7, made.bins, 0.9)
    plain = np.abs(made.values - shown) <= made.distribution.half_width(0.9)
    near = shown < 22
    assert plain[near].mean() < 0.8
    assert ((low <= shown) & (shown <= high))[near].mean() >= 0.88
    total = made.total(confidence=0.95)
    assert total.low <= shown.sum() <= total.high
    with pytest.raises(errors.InvalidParameter, match="List the keys"):
        made.denoise()
    assert "too high on average" in made.explain()


def test_expect_knows_the_budget(tmp_path: Path, people: Table) -> None:
    book = ln.Budget.open(tmp_path / "b", epsilon=1, delta=1e-6)
    question = people.histogram("ward", keys=WARDS, max_rows=3)
    expected = question.expect(budget=book, share=0.5)
    assert book.history() == []
    assert question.release(budget=book, share=0.5).sigma == expected.sigma


def test_methods_that_need_options_say_so(people: Table) -> None:
    made = people.histogram("ward", keys=WARDS, max_rows=3).release(**ASK)
    with pytest.raises(errors.MissingParameter, match="p and radius"):
        made.denoise("lp_ball")
    assert made.denoise("lp_ball", p=1, radius=5.0).bins == 4
    with pytest.raises(errors.MissingParameter, match='unit="taxi"'):
        ln.table(pd.DataFrame({"a": [1]}), unit=None)  # type: ignore[arg-type]
    with pytest.raises(errors.InvalidParameter, match="list the keys"):
        people.histogram("ward", max_rows=3).release(epsilon=1, delta=0)
    assert repr(people).startswith("<Table")
    assert {"table", "denoise", "lattice"} <= set(dir(ln))


def test_the_sum_of_a_mean_is_the_sum_of_its_values(people: Table) -> None:
    question = people.mean("age", clip=(0, 99), max_rows=100)
    frame = question.release(epsilon=100, delta=1e-6).to_pandas()
    exact = people.rows.to_pyarrow()["age"].to_numpy().sum()
    assert frame["sum"][0] == pytest.approx(exact, rel=0.01)
    assert frame["mean"][0] == pytest.approx(frame["sum"][0] / frame["count"][0], rel=1e-6)


def test_a_relation_stays_unread_until_the_release() -> None:
    """Were it read when opened, the rows that come after would be missing."""
    import duckdb

    there = duckdb.connect()
    there.execute("CREATE TABLE t AS SELECT range AS p, 'a' AS k FROM range(3)")
    question = ln.table(there.sql("SELECT * FROM t"), unit="p").histogram("k", keys=["a", "b"], max_rows=1)
    question.expect(**ASK)
    there.execute("INSERT INTO t SELECT 10 + range, 'b' FROM range(4)")
    assert aggregate(question).values.tolist() == [3, 4]
