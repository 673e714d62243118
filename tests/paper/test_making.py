"""`make paper`: from fewer repetitions every claim comes out as we know it, and only what changed is made again."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = {path.stem: path.read_text() for path in (ROOT / "paper").glob("*.py")}
PARTS = sorted(name for name, text in SCRIPTS.items() if "def measure(" in text)
FIGURES = [name for name in PARTS if "def draw(" in SCRIPTS[name]]


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
    assert (len(PARTS), len(FIGURES)) == (12, 9)
    assert sorted(path.stem for path in quick.glob("*.csv")) == PARTS
    assert sorted(path.stem for path in quick.glob("*.png")) == FIGURES


def test_what_is_not_up_to_date_is_made_again(quick: Path, data: Path) -> None:
    table, stamps = quick / "errata.csv", quick / "made_from.json"
    before = table.read_text()
    made_from = json.loads(stamps.read_text())
    assert sorted(made_from) == PARTS
    stamps.write_text(json.dumps(made_from | {"errata": {"numbers": "others", "look": made_from["errata"]["look"]}}))
    made = paper(quick, QUICK="1", ONLY="errata", LEASTNOISE_DATA=str(data))
    assert "up to date" not in made.stdout
    assert table.read_text() == before  # the same seeds, the same numbers
    assert json.loads(stamps.read_text()) == made_from


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """paper/sources.py, looking at a copy of the scripts and of the library."""
    spec = importlib.util.spec_from_file_location("paper_sources", ROOT / "paper" / "sources.py")
    assert spec is not None
    assert spec.loader is not None
    sources = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sources)
    for part in ("paper", "src"):
        shutil.copytree(ROOT / part, tmp_path / part, ignore=shutil.ignore_patterns("figures", "__pycache__"))
    monkeypatch.setattr(sources, "HERE", tmp_path / "paper")
    monkeypatch.setattr(sources, "PACKAGE", tmp_path / "src" / "leastnoise")
    return sources


def test_only_what_decides_the_numbers_makes_them_again(copied: ModuleType, tmp_path: Path) -> None:
    scripts = {name: tmp_path / "paper" / f"{name}.py" for name in ("calibration", "errata", "taxi_data")}
    reached = {name: {path.name for path in copied.reached(script)} for name, script in scripts.items()}
    assert {"shrink.py", "auto.py"} <= reached["errata"]  # through methods.py, which uses every denoiser
    assert not {"shrink.py", "auto.py"} & (reached["calibration"] | reached["taxi_data"])

    def fingerprints(name: str) -> tuple[str, str]:
        figure = SimpleNamespace(__file__=str(scripts[name]))
        return copied.numbers(figure, False), copied.look(figure)

    before = {name: fingerprints(name) for name in scripts}

    def change(file: str, old: str, new: str) -> dict[str, tuple[bool, bool]]:
        """Which fingerprints, of numbers and of looks, differ after an edit, which is then taken back."""
        path = tmp_path / file
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))
        after = {name: fingerprints(name) for name in before}
        path.write_text(text)
        return {name: (after[name][0] != before[name][0], after[name][1] != before[name][1]) for name in before}

    kept, numbers, look = (False, False), (True, False), (False, True)
    shrink = "src/leastnoise/denoise/shrink.py"
    nothing = dict.fromkeys(before, kept)
    assert change(shrink, "Shrinkage toward", "A docstring about") == nothing
    assert change(shrink, "import math\n", "import math  # a comment\n") == nothing
    assert change(shrink, "d - 3 if to_mean", "d - 4 if to_mean") == nothing | {"errata": numbers}
    assert change("paper/errata.py", "400_000", "500_000") == nothing | {"errata": numbers}
    assert change("paper/errata.py", "style.INK", "style.PALE") == nothing | {"errata": look}
    assert change("paper/errata.py", "a slip of the pen", "a slip") == nothing  # the words of a claim
    found = change("src/leastnoise/privacy/calibration/proof.py", "import math\n", "import math\nX = 1\n")
    assert found["calibration"] == numbers


def test_the_page_is_what_the_kept_numbers_say(tmp_path: Path, data: Path) -> None:
    """Written again from the CSV files beside it, without measuring: a page that was edited or left behind differs."""
    shutil.copytree(ROOT / "paper", tmp_path / "paper", ignore=shutil.ignore_patterns("__pycache__"))
    facts = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "LEASTNOISE_DATA": str(data)}
    program = "import page; from pathlib import Path; page.write(Path('figures'), Path('results.md'))"
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path / "paper", env=facts, check=True)
    assert (tmp_path / "paper" / "results.md").read_text() == (ROOT / "paper" / "results.md").read_text()


def test_what_is_up_to_date_is_kept_and_a_claim_that_turns_fails_the_run(quick: Path, data: Path) -> None:
    """The table is edited and its sources are as they were, so it is judged as it stands."""
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
    assert "up to date" in run.stdout
    assert "UNEXPECTED" in run.stdout


def test_two_runs_write_the_same_bytes(tmp_path: Path) -> None:
    """The numbers, the picture for the screen and the one for print: none carries a date, a version or an id."""
    once, again = tmp_path / "once", tmp_path / "again"
    for out in (once, again):
        run = paper(out, ONLY="calibration")
        assert run.returncode == 0, run.stdout + run.stderr
    for kind in ("csv", "png", "pdf"):
        assert (once / f"calibration.{kind}").read_bytes() == (again / f"calibration.{kind}").read_bytes()


def test_a_figure_that_does_not_exist_is_named(tmp_path: Path) -> None:
    run = paper(tmp_path, ONLY="taxi_map")
    assert run.returncode == 2
    assert "taxi_maps" in run.stderr
