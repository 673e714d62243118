"""A folder with a job."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import leastnoise as ln
from job_desk import JOB
from leastnoise import datasets


@pytest.fixture(scope="session")
def new_desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a register, its keys, a ledger and a job, to be copied."""
    folder = tmp_path_factory.mktemp("desk")
    pq.write_table(datasets.people(2000), folder / "register.parquet")
    ln.domain.write(folder / "keys.toml", datasets.people_keys())
    ln.Budget.open(folder / "city.ledger", epsilon=1, delta=1e-6, unit="person", table="register")
    (folder / "job.toml").write_text(JOB)
    return folder


@pytest.fixture
def desk(new_desk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of this test, which is the present one."""
    shutil.copytree(new_desk, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "600")
    return tmp_path
