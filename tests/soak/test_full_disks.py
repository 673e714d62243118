"""Disks that are really full: a small tmpfs, where the system lets us mount one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import leastnoise as ln
from fuzzing import CANARY, quiet, survives
from leastnoise import errors

pytestmark = pytest.mark.slow


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("mounting a small disk needs root")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def fill(disk: Path) -> None:
    with (disk / "ballast").open("wb", buffering=0) as ballast:
        try:
            while True:
                ballast.write(b"\0" * 4096)
        except OSError:
            return


def test_a_release_is_saved_whole_or_not_at_all(disk: Path) -> None:
    made = ln.release(np.arange(200_000), sensitivity=1, epsilon=1, delta=1e-6)
    for full in (False, True):  # it fills up while writing; it is full already
        if full:
            fill(disk)
        with pytest.raises(errors.FileProblem, match="Nothing was written"):
            made.save(disk / "out.parquet")
        assert {path.name for path in disk.iterdir()} <= {"ballast"}


def test_a_ledger_on_a_full_disk_releases_nothing(disk: Path) -> None:
    budget = ln.Budget.open(disk / "city.ledger", epsilon=1, delta=1e-6)
    fill(disk)
    before = budget.remaining
    with pytest.raises(errors.FileProblem, match="Nothing was released"):
        ln.release(np.array([1, 2]), sensitivity=1, budget=budget, share=0.5)
    with pytest.raises(errors.FileProblem):
        ln.Budget.open(disk / "other.ledger", epsilon=1, delta=1e-6)
    (disk / "ballast").unlink()
    assert budget.remaining == before
    budget.verify()
    assert {path.name for path in disk.iterdir()} == {"city.ledger"}
    assert ln.release(np.array([1, 2]), sensitivity=1, budget=budget, share=0.5).bins == 2


def test_a_full_temporary_disk_is_one_sentence(disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine spills people's rows there; its own message would quote sizes, paths and perhaps values."""
    monkeypatch.setattr("tempfile.tempdir", str(disk))
    who = np.arange(1_500_000)
    names = pa.array([f"{CANARY}{number}" for number in who])
    pq.write_table(pa.table({"who": names, "z": who % 1000}), tmp_path / "rows.parquet")
    rows = ln.table(tmp_path / "rows.parquet", unit="who", memory_limit="30MB")
    failed = survives(
        lambda: rows.histogram("z", keys=range(1000), max_rows=3, max_per_bin=2).release(epsilon=1, delta=1e-6)
    )
    assert isinstance(failed, errors.ReadingFailed), failed
    assert "temporary disk" in str(failed)
    assert failed.__context__ is None


def test_the_command_line_on_a_full_disk_exits_with_1(disk: Path, tmp_path: Path) -> None:
    pq.write_table(pa.table({"who": [CANARY], "z": [1]}), tmp_path / "rows.parquet")
    fill(disk)
    done = subprocess.run(
        [sys.executable, "-m", "leastnoise", "count", "rows.parquet", "--unit", "who", "--max-rows", "1",
         "--epsilon", "1", "--delta", "1e-6", "-o", str(disk / "out.parquet")],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120, env={**os.environ, "NO_COLOR": "1"},
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert done.stderr.startswith("FileProblem: ")
    quiet(done.stdout + done.stderr)
    assert {path.name for path in disk.iterdir()} == {"ballast"}
