"""The paper's figures: drawn from fewer repetitions, every claim must come out as we know it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
FIGURES = sorted(path.stem for path in (ROOT / "paper").glob("*.py") if "def measure(" in path.read_text())


def paper(out: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("ONLY", "QUICK")}
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    facts = {**kept, "PYTHONPATH": path, "OUT": str(out), **environment}
    return subprocess.run([sys.executable, str(ROOT / "paper")], env=facts, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory, data: Path) -> Path:
    """Every figure, once, from few repetitions: the exit code says whether a claim turned."""
    out = tmp_path_factory.mktemp("paper")
    run = paper(out, QUICK="1", LEASTNOISE_DATA=str(data))
    assert run.returncode == 0, run.stdout + run.stderr
    return out


def test_every_claim_points_the_way_we_know_and_every_figure_is_drawn(quick: Path) -> None:
    assert len(FIGURES) == 9
    for kind in ("csv", "png"):
        assert sorted(path.stem for path in quick.glob(f"*.{kind}")) == FIGURES


def test_what_is_up_to_date_is_kept_and_what_is_not_is_made_again(quick: Path, data: Path) -> None:
    table, stamp = quick / "errata.csv", quick / "errata.made_from"
    before = table.read_text()
    kept = paper(quick, QUICK="1", ONLY="errata", LEASTNOISE_DATA=str(data))
    assert "up to date" in kept.stdout
    stamp.write_text("another fingerprint")
    made = paper(quick, QUICK="1", ONLY="errata", LEASTNOISE_DATA=str(data))
    assert "up to date" not in made.stdout
    assert table.read_text() == before  # the same seeds, the same numbers


def test_a_claim_that_turns_fails_the_run(quick: Path, data: Path) -> None:
    table = quick / "errata.csv"
    before = table.read_text()
    printed = [
        "theorem 11,1,plain,4.1,0.01,9" if line.startswith("theorem 11,1,plain,") else line
        for line in before.splitlines()
    ]
    assert printed != before.splitlines()
    try:
        table.write_text("\n".join(printed) + "\n")
        run = paper(quick, QUICK="1", ONLY="errata", LEASTNOISE_DATA=str(data))
    finally:
        table.write_text(before)
    assert run.returncode == 1
    assert "UNEXPECTED" in run.stdout


def test_two_runs_write_the_same_bytes(tmp_path: Path) -> None:
    """The numbers, the picture for the screen and the one for print: none carries a date, a version or an id."""
    once, again = tmp_path / "once", tmp_path / "again"
    for out in (once, again):
        run = paper(out, ONLY="errata")
        assert run.returncode == 0, run.stdout + run.stderr
    for kind in ("csv", "png", "pdf"):
        assert (once / f"errata.{kind}").read_bytes() == (again / f"errata.{kind}").read_bytes()


def test_a_figure_that_does_not_exist_is_named(tmp_path: Path) -> None:
    run = paper(tmp_path, ONLY="taxi_map")
    assert run.returncode == 2
    assert "taxi_maps" in run.stderr
