"""The command line as a whole: help, version, demo; and what a mistake of ours ends with."""

from __future__ import annotations

from pathlib import Path

import pytest

import leastnoise as ln
from command_line import run


@pytest.mark.slow
def test_version_and_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "leastnoise-demo").mkdir()  # somebody's own: it stays as it is
    assert run("--version").stdout.strip() == f"leastnoise {ln.__version__}"
    done = run("demo")
    assert done.returncode == 0
    assert "% less variance" in done.stdout
    made = tmp_path / "leastnoise-demo-2"
    assert done.stdout.splitlines()[-1] == (made / "tables.html").as_uri()
    assert {path.name for path in made.iterdir()} == {
        "people.parquet",
        "keys.toml",
        "city.ledger",
        "city.html",
        "tables.html",
    }
    assert list((tmp_path / "leastnoise-demo").iterdir()) == []
