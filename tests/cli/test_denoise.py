"""`leastnoise denoise`: which bins are alike, and which error is to be small."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import leastnoise as ln
from fuzzing import run
from leastnoise.domain import Domain, IntegerRange, Keys
from leastnoise.releases.noise import Noise
from leastnoise.releases.release import Release


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Release:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "400")
    domain = Domain(("zone", "hour"), (Keys(("park", "port", "mall")), IntegerRange(0, 24)))
    truth = np.repeat([0, 400, 90], 24)
    noisy = np.round(truth + 50 * np.random.default_rng(1).standard_normal(72)).astype(np.int64)
    made = Release.of(noisy, Noise.of("gaussian", sigma=50.0), domain=domain, kind="count")
    made.save("table.parquet")
    return made


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ([], {}),
        (["--along", "hour"], {"along": "hour"}),
        (["--along", "zone,hour"], {"along": ["zone", "hour"]}),
        (["--along", "none"], {"along": None}),
        (["--loss", "absolute"], {"loss": "absolute"}),
        (["--loss", "squared", "--method", "empirical_bayes"], {"method": "empirical_bayes"}),
    ],
)
def test_options_are_the_arguments(table: Release, options: list[str], arguments: dict[str, object]) -> None:
    code, _, err = run("denoise", "table.parquet", "-o", "out.parquet", *options)
    assert (code, err) == (0, "")
    found = ln.load("out.parquet")
    assert isinstance(found, ln.Estimate)
    expected = table.denoise(**arguments)  # type: ignore[arg-type]
    assert (found.values == expected.values).all()
    assert found.parameters == expected.parameters


def test_what_cannot_be_denoised_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "400")
    people = ln.table(pa.table({"who": [1, 2], "age": [30, 40]}), unit="who")
    people.mean("age", clip=(0, 100), max_rows=1).release(epsilon=1, delta=1e-6).save("mean.parquet")
    code, _, err = run("denoise", "mean.parquet", "-o", "out.parquet")
    assert code == 2
    assert "holds a MeanRelease. A mean is a noisy sum over a noisy count" in err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--loss", "squred"], 'Did you mean "squared"'),
        (["--loss", "absolute", "--method", "james_stein"], "james_stein takes no loss"),
        (["--along", "our"], 'Did you mean "hour"'),
        (["--along", "hour", "--graph", "path"], "one of the two"),
        (["--along", "hour", "--method", "james_stein"], "does not ask which bins are near"),
    ],
)
def test_mistakes_are_explained(table: Release, options: list[str], words: str) -> None:
    code, out, err = run("denoise", "table.parquet", "-o", "out.parquet", *options)
    assert (code, out) == (2, "")
    assert words in err
    assert not Path("out.parquet").exists()


def test_an_estimate_takes_the_place_of_an_estimate_and_of_no_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.parquet", "b.parquet"):
        ln.release(np.array([1, 2, 3, 4]), sensitivity=1, epsilon=1, delta=1e-6).save(name)
    kept = Path("b.parquet").read_bytes()
    code, _, err = run("denoise", "a.parquet", "-o", "b.parquet")
    assert (code, "an estimate never takes its place" in " ".join(err.split())) == (2, True)
    assert Path("b.parquet").read_bytes() == kept
    assert [run("denoise", "a.parquet", "-o", "c.parquet")[0] for _ in range(2)] == [0, 0]
