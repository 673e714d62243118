"""A Release after it was made: intervals, totals, words, frames, files."""

from __future__ import annotations

import dataclasses
import io
import json
import math
import resource
import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

import leastnoise as ln
from leastnoise import domain as domains
from leastnoise import errors
from leastnoise._support import atomic_files
from leastnoise.domain import Domain
from leastnoise.privacy.distributions import Distribution, Gaussian, Laplace
from leastnoise.testing import seeded

ASK: dict[str, Any] = {"sensitivity": 1, "epsilon": 1, "delta": 1e-6}


def made(values: Any = (120, 0, 45), **change: Any) -> ln.Release:
    return ln.release(np.array(values), **{**ASK, **change})


@pytest.mark.parametrize("change", [{}, {"l1_sensitivity": 1}, {"sigma": 0.4, "epsilon": None, "delta": None}])
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_intervals_cover_as_often_as_they_say(change: dict[str, Any], dtype: type) -> None:
    """100,000 bins at 90 %: covering fewer than the 1e-7 quantile allows would be a false alarm of 1e-7 (and the
    seed is fixed). Intervals on a grid cover at least, not exactly, what they say."""
    n = 100_000
    truth = np.linspace(-50, 50, n).astype(dtype)
    with seeded(21):
        r = ln.release(truth, **{**ASK, **change})
    low, high = r.interval(0.9)
    assert ((low <= truth) & (truth <= high)).sum() >= binom.ppf(1e-7, n, 0.9)
    together = r.interval(0.9, simultaneous=True)
    assert ((together.low <= truth) & (truth <= together.high)).all()
    assert (together.high > high).all()


def test_simultaneous_intervals_hold_all_at_once() -> None:
    """2,000 releases of 50 bins at 90 %: false alarm 1e-7."""
    with seeded(22):
        r = ln.release(np.zeros(100_000, dtype=int), **ASK)
    half = r.distribution.half_width(0.9, 50)
    together = (np.abs(r.values.reshape(2000, 50)) <= half).all(axis=1).sum()
    assert together >= binom.ppf(1e-7, 2000, 0.9)
    smaller = (np.abs(r.values.reshape(2000, 50)) <= half - 1).all(axis=1).sum()
    assert smaller < together


laws = st.builds(Gaussian, st.floats(0.1, 8), st.just(1.0)) | st.builds(Laplace, st.floats(0.1, 8), st.just(1.0))


@given(laws, st.integers(2, 5), st.floats(0.5, 0.999))
def test_the_law_of_a_total_is_the_convolution(law: Distribution, count: int, confidence: float) -> None:
    k = int(45 * max(law.std, 1))
    one = np.array([law.cell(i) for i in range(-k, k + 1)])
    total = one
    for _ in range(count - 1):
        total = np.convolve(total, one)
    centre = len(total) // 2
    covered = np.array([total[centre - h : centre + h + 1].sum() for h in range(centre)])
    h = law.sum_half_width(count, confidence)
    assert covered[int(h)] >= confidence - 1e-9
    assert h == 0 or covered[int(h) - 1] < confidence + 1e-9


@pytest.mark.parametrize("law", [Gaussian(100.0, 1.0), Gaussian(1.0), Laplace(100.0, 1.0), Laplace(1.0)], ids=repr)
def test_totals_of_fine_laws_cover(law: Distribution) -> None:
    """20,000 totals of 7 bins against NumPy's own noise; the quantile is off by less than 2 %."""
    rng = np.random.default_rng(5)
    draw = (
        rng.normal(0, law.sigma, (200_000, 7)) if isinstance(law, Gaussian) else rng.laplace(0, law.scale, (200_000, 7))
    )
    want = float(np.quantile(np.abs(draw.sum(axis=1)), 0.95))
    assert law.sum_half_width(7, 0.95) == pytest.approx(want, rel=0.02)


def test_total_takes_positions_masks_slices_and_keys() -> None:
    r = made(domain=["a", "b", "c"])
    v = r.values.tolist()
    assert r.total().value == sum(v)
    assert r.total(["a", "c"]).value == v[0] + v[2] == r.total(np.array([True, False, True])).value
    assert r.total(slice(0, 2)).value == v[0] + v[1]
    assert made().total([0, 0, 1]).std == pytest.approx(made().std * math.sqrt(2))  # a bin counts once
    assert r.total("b").value == v[1]
    t = r.total(["a"])
    assert (t.low, t.high) == (r.interval(0.95).low[0], r.interval(0.95).high[0])
    assert r.total([]).value == made().total([]).value == 0.0
    ten = made(np.arange(10) * 100)
    assert ten.total([-1, 9]).value == ten.values[9]  # the same bin twice is one bin
    two = made(range(4), domain=Domain(("a", "b"), (domains.axis(["x", "y"]), domains.axis([1, 2]))))
    assert two.total([("x", 2)]).value == two.total(("x", 2)).value == two.values[1]
    with pytest.raises(errors.BadDomain):
        two.total("x")
    with pytest.raises(errors.BadDomain, match="no bin 'z'"):
        r.total(["z"])
    with pytest.raises(errors.BadDomain, match="3 bins"):
        made().total([7])
    with pytest.raises(errors.WrongType):
        made().total([0.5])
    with pytest.raises(errors.WrongType):
        made().total(np.array([True]))


def test_a_release_is_frozen_to_the_last_value() -> None:
    r = made()
    with pytest.raises(dataclasses.FrozenInstanceError):
        r.noise = ln.releases.Noise("gaussian", 1.0)  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        r.noise.scale = 0.0  # type: ignore[misc]
    with pytest.raises((AttributeError, TypeError)):  # which of them, the Python version decides
        r.scale = 0.0  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        r.values[0] = 1
    with pytest.raises(TypeError):
        r.limits["max_rows"] = 5  # type: ignore[index]


def test_releases_can_be_copied_and_pickled() -> None:
    import copy
    import pickle

    r = made(domain=["a", "b", "c"])
    r = dataclasses.replace(r, provenance=dataclasses.replace(r.provenance, limits={"max_rows": 5}))
    for twin in (copy.deepcopy(r), copy.copy(r), pickle.loads(pickle.dumps(r))):
        assert twin.limits == {"max_rows": 5}
        assert (twin.values == r.values).all()
        assert (twin.id, twin.domain, twin.guarantee) == (r.id, r.domain, r.guarantee)


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_the_promise_is_to_the_unit_not_to_the_person_behind_it(mechanism: str) -> None:
    rows = pd.DataFrame({"trip": [1, 2, 3], "zone": ["a", "a", "b"]})
    query = ln.table(rows, unit="trip").histogram("zone", keys=["a", "b"], max_rows=1)
    text = query.release(epsilon=1, delta=1e-6, mechanism=mechanism).explain()
    assert "any one trip" in text
    assert "person" not in text


def test_it_explains_itself() -> None:
    text = made().explain()
    assert "3 values with Gaussian noise" in text
    assert "(1, 1e-06)-DP" in text
    assert repr(made()) == "<Release of 3 values, gaussian noise, std 4.235>"
    html = made(domain=["<b>", "&", "c"])._repr_html_()
    assert "&lt;b&gt;" in html
    assert "<b>" not in html


def test_rich_rendering_shows_ten_rows_and_counts_the_rest() -> None:
    from rich.console import Console

    console = Console(width=100, record=True, file=io.StringIO())
    console.print(made(range(25)))
    assert "15 more" in console.export_text()


def test_frames_carry_the_keys() -> None:
    r = made(
        range(6),
        domain=Domain(("day", "cell"), (domains.Days(date(2024, 1, 1), date(2024, 1, 4)), domains.axis(["x", "y"]))),
    )
    for frame in (r.to_pandas(), r.to_polars().to_pandas(), r.to_arrow().to_pandas()):
        assert list(frame.columns) == ["day", "cell", "value"]
        assert frame["cell"].tolist() == ["x", "y"] * 3
        assert frame["value"].tolist() == r.values.tolist()
        assert str(frame["day"][2])[:10] == "2024-01-02"
    assert list(made().to_pandas().columns) == ["bin", "value"]


axes = [
    domains.Keys(("a", "b", "c")),
    domains.Keys((5, 3)),
    domains.IntegerRange(2, 9, 3),
    domains.Edges((0.0, 0.5, 2.0)),
    domains.Steps(0.0, 1.0, 4),
    domains.Days(date(2024, 1, 1), date(2024, 1, 4)),
    domains.Hours(datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 1, 3, tzinfo=UTC)),
    domains.Lattice("lon", "lat", 0.5).box(x=(0, 1), y=(0, 1)),
    domains.OrNull(domains.Keys(("a", "b"))),
    domains.OrNull(domains.IntegerRange(0, 3)),
]


@pytest.mark.parametrize("first", axes, ids=lambda a: type(a).__name__)
@pytest.mark.parametrize("second", [None, *axes[:3]], ids=lambda a: type(a).__name__)
def test_files_bring_everything_back(first: Any, second: Any, tmp_path: Path) -> None:
    both = [first] if second is None else [first, second]
    domain = Domain(("one", "two")[: len(both)], tuple(both))
    r = made(np.arange(domain.size), domain=domain)
    r.save(tmp_path / "r.parquet")
    back = ln.load(tmp_path / "r.parquet")
    assert isinstance(back, ln.Release)
    for field in dataclasses.fields(r):
        mine, theirs = getattr(r, field.name), getattr(back, field.name)
        assert np.array_equal(mine, theirs) if field.name == "values" else mine == theirs, field.name
    assert back.values.dtype == r.values.dtype


def test_real_and_laplace_and_wrapped_releases_come_back(tmp_path: Path) -> None:
    for r in (made([0.1, 0.2]), made(l1_sensitivity=1), ln.wrap([1.5, 2.5], sigma=3, mechanism="laplace")):
        r.save(tmp_path / "r.parquet")
        back = ln.load(tmp_path / "r.parquet")
        assert (back.values == r.values).all()
        assert (back.sigma, back.guarantee, back.distribution) == (r.sigma, r.guarantee, r.distribution)


@pytest.mark.parametrize("size", [1000, 10**12, 2**100])
def test_sparse_releases_come_back(size: int, tmp_path: Path) -> None:
    r = ln.release_sparse([5, size - 1], [10_000, 10_000], domain_size=size, **ASK)
    r.save(tmp_path / "s.parquet")
    back = ln.load(tmp_path / "s.parquet")
    assert isinstance(back, ln.SparseRelease)
    assert back.indices.tolist() == r.indices.tolist()
    assert (back.values == r.values).all()
    assert (back.domain_size, back.noise, back.provenance) == (r.domain_size, r.noise, r.provenance)


def test_whatever_was_released_or_wrapped_comes_back(tmp_path: Path) -> None:
    """Noise far finer than its grid, and noise at both ends of the doubles."""
    for r in (
        *(made(sensitivity=size) for size in (1e-10, 1e-300, 1e-310)),
        *(made([0.5, 2.0], sensitivity=size) for size in (1e-310, 1e301, 2e305)),
        made(sensitivity=1e-10, l1_sensitivity=1e-10),
        *(ln.wrap([1.0, 2.0], sigma=sigma) for sigma in (5e-324, 1e301, 1e306)),
        ln.wrap([1.0, 2.0], sigma=1e306, mechanism="laplace"),
    ):
        r.save(tmp_path / "r.parquet")
        back = ln.load(tmp_path / "r.parquet")
        assert (back.values == r.values).all()
        assert back.distribution == r.distribution


def test_noise_too_large_for_an_interval_is_refused_when_wrapped() -> None:
    with pytest.raises(errors.OutOfRange, match="overflows doubles"):
        ln.wrap([1.0, 2.0], sigma=1.7e308)


def test_anyone_can_read_the_file_without_us(tmp_path: Path) -> None:
    r = made(domain=["a", "b", "c"])
    r.save(tmp_path / "r.parquet")
    frame = pd.read_parquet(tmp_path / "r.parquet")
    assert frame["value"].tolist() == r.values.tolist()
    facts = json.loads(pq.read_schema(tmp_path / "r.parquet").metadata[b"leastnoise"])
    assert facts["noise"]["scale"] == r.scale
    assert facts["provenance"]["guarantee"]["type"] == "GaussianDP"


def _rewrite(path: Path, change: Any) -> None:
    """Edit the facts of a file: a dictionary within a dictionary changes some of its facts only."""
    table = pq.read_table(path)
    facts = _merged(json.loads(table.schema.metadata[b"leastnoise"]), change)
    pq.write_table(table.replace_schema_metadata({b"leastnoise": json.dumps(facts).encode()}), path)


def _merged(facts: Any, change: Any) -> Any:
    if not isinstance(facts, dict) or not isinstance(change, dict):
        return change
    kept = {name: value for name, value in facts.items() if change.get(name) is not MISSING}
    return kept | {name: _merged(facts.get(name), new) for name, new in change.items() if new is not MISSING}


MISSING = object()
EDITED = "edited or damaged"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": 99}, "newer leastnoise"),
        ({"format": 1}, "older leastnoise"),
        ({"format": "one"}, "not written by"),
        ({"what": "picture"}, "picture"),
        ({"colour": "blue"}, "colour"),
        ({"noise": {"colour": "blue"}}, "colour"),
        ({"provenance": {"l1_sensitivity": MISSING}}, "lacks l1_sensitivity"),
        ({"noise": MISSING}, "lacks noise"),
        ({"noise": 3}, EDITED),
        ({"noise": {"mechanism": "cauchy"}}, EDITED),
        ({"noise": {"scale": "1"}}, EDITED),
        ({"noise": {"scale": True}}, EDITED),
        ({"noise": {"scale": math.nan}}, EDITED),
        ({"noise": {"scale": 0}}, EDITED),
        ({"noise": {"scale": 2**70}}, EDITED),
        ({"noise": {"scale": 10**400}}, EDITED),
        ({"noise": {"grid": -1}}, EDITED),
        ({"kind": 3}, EDITED),
        ({"threshold": 1.5}, EDITED),
        ({"provenance": {"created_at": "yesterday"}}, EDITED),
        ({"provenance": {"created_at": 2026}}, EDITED),
        ({"provenance": {"id": '"]); print("0123456789abcdef'}}, EDITED),
        ({"provenance": {"id": "0123456789abcdef\n"}}, EDITED),
        ({"provenance": {"id": 1234567890123456}}, EDITED),
        ({"provenance": {"id": ""}}, EDITED),
        ({"provenance": {"guarantee": {"type": "Nonsense"}}}, EDITED),
        ({"provenance": {"guarantee": {"mu": -1}}}, EDITED),
        ({"provenance": {"guarantee": {"mu": "x"}}}, EDITED),
        ({"provenance": {"guarantee": [1]}}, EDITED),
        ({"provenance": {"delta": 5}}, EDITED),
        ({"provenance": {"sensitivity": 0}}, EDITED),
        ({"provenance": {"limits": {"max_rows": 1.5}}}, EDITED),
        ({"provenance": {"limits": [3]}}, EDITED),
        ({"provenance": {"unit": ["taxi"]}}, EDITED),
        ({"provenance": {"seeded": 0}}, EDITED),
        ({"provenance": {"version": None}}, EDITED),
        ({"provenance": {"reason": {"code": "whim"}}}, EDITED),
        ({"provenance": {"reason": {"other_std": "x"}}}, EDITED),
        ({"domain": [{"name": "bin", "axis": {"type": "Keys", "size": 7}}]}, EDITED),
        ({"domain": 7}, EDITED),
    ],
)
def test_strange_files_are_refused(change: Any, words: str, tmp_path: Path) -> None:
    made().save(tmp_path / "r.parquet")
    _rewrite(tmp_path / "r.parquet", change)
    with pytest.raises(errors.NotOurs, match=words):
        ln.load(tmp_path / "r.parquet")


def _mean_and_quantile(folder: Path) -> None:
    table = ln.table(pd.DataFrame({"who": [1, 2], "fare": [3.0, 4.0]}), unit="who")
    asked: Any = {"clip": (0, 5), "max_rows": 1}
    table.mean("fare", **asked).release(epsilon=1, delta=1e-6).save(folder / "mean")
    table.quantile("fare", [0.5], **asked).release(epsilon=1, delta=1e-6).save(folder / "quantile")
    ln.release_sparse([5], [10_000], domain_size=10**12, **ASK).save(folder / "sparse")
    made(range(5)).denoise("james_stein").save(folder / "estimate")


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("mean", {"components": {"provenance": {"id": "one"}}}),
        ("mean", {"components": {"noise": {"scale": -1}}}),
        ("mean", {"components": None}),
        ("mean", {"values": ["x"]}),
        ("mean", {"values": [1, 2, 3]}),
        ("mean", {"within": [5, 0]}),
        ("mean", {"half_range": 0}),
        ("mean", {"column": 5}),
        ("quantile", {"levels": [2]}),
        ("quantile", {"levels": "0.5"}),
        ("quantile", {"edges": [0, 1]}),
        ("quantile", {"edges": None}),
        ("sparse", {"domain_size": -5}),
        ("sparse", {"domain_size": "many"}),
        ("sparse", {"thresholding": "count"}),
        ("sparse", {"threshold": 0}),
        ("sparse", {"noise": {"mechanism": "laplace"}}),
        ("estimate", {"method": 5}),
        ("estimate", {"parameters": []}),
        ("estimate", {"description": None}),
        ("estimate", {"risk": "small"}),
        ("estimate", {"risk": -1}),
        ("estimate", {"posterior_std": [1]}),
        ("estimate", {"shape": [2]}),
        ("estimate", {"shape": [2.5]}),
        ("estimate", {"provenance": {"id": "x' or 1"}}),
    ],
)
def test_a_fact_of_a_wrong_type_or_size_is_refused(name: str, change: Any, tmp_path: Path) -> None:
    _mean_and_quantile(tmp_path)
    ln.load(tmp_path / name).explain()
    _rewrite(tmp_path / name, change)
    with pytest.raises(errors.NotOurs, match=EDITED):
        ln.load(tmp_path / name)


def test_every_kind_has_one_noise_and_one_provenance(tmp_path: Path) -> None:
    """The flat names are read from the two values, before and after a file."""
    _mean_and_quantile(tmp_path)
    made().save(tmp_path / "release")
    for file in tmp_path.iterdir():
        r = ln.load(file)
        assert isinstance(r, ln.releases.Published)
        for value in (r.noise, r.provenance):
            for field in dataclasses.fields(value):
                if field.name != "reason":  # `note` says it
                    assert getattr(r, field.name) == getattr(value, field.name), (file.name, field.name)
        assert (r.sigma, r.std, r.distribution) == (r.noise.sigma, r.noise.std, r.noise.distribution)
        assert len(r.to_arrow()) == r.bins
        assert r.noun
        assert r.errors_in_words()
        with pytest.raises((AttributeError, TypeError)):
            r.sigma = 1.0
        with pytest.raises(AttributeError, match="created_at"):
            r.made  # noqa: B018
        with pytest.raises(AttributeError, match="distribution"):
            r.law  # noqa: B018


def test_arrow_speaks_to_every_frame_directly(tmp_path: Path) -> None:
    import duckdb
    import polars as pl
    import pyarrow as pa

    _mean_and_quantile(tmp_path)
    made(domain=["a", "b", "c"]).save(tmp_path / "release")
    for file in tmp_path.iterdir():
        r = ln.load(file)
        want = r.to_arrow()
        assert pa.table(r).equals(want)
        assert pl.DataFrame(r).columns == want.column_names
        assert duckdb.sql("SELECT count(*) FROM r").fetchall() == [(len(want),)]


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    made(range(5000)).save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(errors.NotOurs, match="damaged"):
        ln.load(path)
    flipped = bytearray(whole)
    flipped[len(whole) // 4] ^= 0xFF
    path.write_bytes(bytes(flipped))
    with pytest.raises(errors.NotOurs, match="damaged"):
        ln.load(path)
    path.write_text("not parquet at all")
    with pytest.raises(errors.NotOurs):
        ln.load(path)
    pd.DataFrame({"value": [1]}).to_parquet(path)
    with pytest.raises(errors.NotOurs, match=r"ln\.wrap"):
        ln.load(path)
    with pytest.raises(errors.FileProblem, match="no file"):
        ln.load(tmp_path / "nothing")


def test_unwritable_places_leave_nothing_behind(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "no" / "r.parquet"):
        with pytest.raises(errors.FileProblem, match="Nothing was written"):
            made().save(path)
        with pytest.raises(errors.FileProblem):
            atomic_files.check_writable(path)
    for path in ("", "a\0b"):
        with pytest.raises(errors.FileProblem, match="no path"):
            made().save(path)
    assert list(tmp_path.iterdir()) == []


def test_axes_made_of_numpy_and_pandas_are_saved_whole(tmp_path: Path) -> None:
    hours = domains.Hours(pd.Timestamp("2024-01-01"), pd.Timestamp("2024-01-01 05:00"))
    for axis in (
        domains.Edges(np.linspace(0, 1, 6)),  # type: ignore[arg-type]
        domains.Edges([0, 1, 2, 3, 4, 5]),  # type: ignore[arg-type]
        domains.IntegerRange(np.int64(0), np.int64(5)),  # type: ignore[arg-type]
        hours,
    ):
        made(range(5), domain=Domain(("k",), (axis,))).save(tmp_path / "r.parquet")
        assert ln.load(tmp_path / "r.parquet").domain == Domain(("k",), (axis,))
    with pytest.raises(errors.BadDomain, match="64 bits"):
        made(range(1), domain=[10**30])


def test_a_full_disk_keeps_the_old_file(tmp_path: Path) -> None:
    """The limit on file size stands for a full disk; the old file must stay whole and no fragment remain."""
    path = tmp_path / "r.parquet"
    made().save(path)
    before = path.read_bytes()
    code = (
        "import resource, signal, numpy as np, leastnoise as ln\n"
        f"r = ln.release(np.arange(200_000), sensitivity=1, epsilon=1, delta=1e-6)\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({1 << 16}, {1 << 16}))\n"
        f"r.save({str(path)!r})\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "FileProblem: Cannot write" in done.stderr
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["r.parquet"]
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 1 << 16


def test_seeded_releases_are_loud_and_refuse_to_be_saved(tmp_path: Path) -> None:
    with seeded(1):
        r = made()
        s = ln.release_sparse([1], [99], domain_size=1000, **ASK)
    assert r.seeded
    assert s.seeded
    assert "SEEDED" in repr(r)
    assert "Never publish" in r.explain()
    for each in (r, s):
        with pytest.raises(errors.SeededRelease, match="allow_seeded=True"):
            each.save(tmp_path / "r.parquet")
        assert not list(tmp_path.iterdir())
    r.save(tmp_path / "r.parquet", allow_seeded=True)
    back = ln.load(tmp_path / "r.parquet")
    assert back.seeded
    assert not made().seeded


def test_a_seed_is_repeatable_nested_and_bounded() -> None:
    def noise() -> list[int]:
        return made(np.zeros(20, dtype=int)).values.tolist()

    with seeded(1):
        one = noise()
        with seeded(2):
            two = noise()
        again = noise()
    with seeded(1):
        assert noise() == one
        assert noise() == again
    assert one != two
    assert one != again
    assert noise() != noise()


def test_wrap() -> None:
    r = ln.wrap([3.0, 4.0], sigma=2.0)
    assert (r.sigma, r.std, r.guarantee, r.grid) == (2.0, 2.0, None, 0.0)
    assert "known to whoever added the noise" in r.explain()
    b = ln.wrap(np.array([3, 4]), sigma=2.0, mechanism="laplace")
    assert b.scale == pytest.approx(2 / math.sqrt(2))
    assert b.values.dtype == np.float64
    for bad, mistake in (
        ([], errors.InvalidParameter),
        (["a"], errors.WrongType),
        ([[1.0]], errors.InvalidParameter),
        ([math.nan], errors.InvalidParameter),
    ):
        with pytest.raises(mistake):
            ln.wrap(bad, sigma=1)
    with pytest.raises(errors.InvalidParameter):
        ln.wrap([1.0], sigma=0)
    with pytest.raises(errors.InvalidParameter):
        ln.wrap([1.0], sigma=1, mechanism="gauss")  # type: ignore[arg-type]
    source = np.array([1.0, 2.0])
    ln.wrap(source, sigma=1)
    source[0] = 5.0  # the caller's array stays the caller's
