"""Workers that lack leastnoise: what needs it there is refused before it is paid for, and works once it is shipped."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

import leastnoise as ln
from leastnoise.curator.engines import spark_session
from leastnoise.errors import EngineUnavailable
from leastnoise.testing import aggregate

pytestmark = pytest.mark.spark

BARE = """
import os, sys
sys.path[:] = [path for path in sys.path if not os.path.isdir(os.path.join(path, "leastnoise"))]
"""


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An interpreter with every package of this one but leastnoise."""
    folder = tmp_path_factory.mktemp("bare")
    (folder / "sitecustomize.py").write_text(BARE)
    program = folder / "python"
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{folder}:$PYTHONPATH" exec "{sys.executable}" "$@"\n')
    program.chmod(0o755)
    return str(program)


def package(folder: Path) -> str:
    """Our own package as --py-files takes it."""
    path, root = folder / "leastnoise.zip", Path(ln.__file__).parent
    with zipfile.ZipFile(path, "w") as archive:
        for file in root.rglob("*.py"):
            archive.write(file, Path("leastnoise") / file.relative_to(root))
    return str(path)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # PySpark leaves sockets to be collected
def test_what_workers_lack_is_said_before_it_is_paid_for(
    bare: str, session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = session.sql("SELECT id AS who, 0.5D AS x, 0.25D AS y FROM range(6)")
    budget = ln.Budget.open(tmp_path / "city.ledger", epsilon=1, delta=1e-6)

    def ask() -> Any:
        return ln.table(frame, unit="who", name="rows").vector_sum(["x", "y"], clip_norm=1.0, max_rows=1)

    for interpreter, words in (("/no/such/python", "cannot be run"), (bare, "has no leastnoise")):
        monkeypatch.setattr(session.sparkContext, "pythonExec", interpreter)
        with pytest.raises(EngineUnavailable, match=words):
            ask().release(budget=budget, share=0.1)
    assert budget.remaining.share == 1
    ln.table(frame, unit="who", name="rows").count_units().release(budget=budget, share=0.1)  # needs no Python there
    session.sparkContext.addPyFile(package(tmp_path))
    ask().release(budget=budget, share=0.1)
    shipped = aggregate(ask()).values.tolist()
    monkeypatch.undo()
    assert shipped == aggregate(ask()).values.tolist()


def test_the_interpreter_of_a_frame_is_the_drivers(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session.sparkContext, "pythonExec", "python3")
    spark_session.set_interpreter(session)
    assert session.sparkContext.pythonExec == "python3"  # somebody said so
    monkeypatch.delenv("PYSPARK_PYTHON")
    spark_session.set_interpreter(session)
    assert session.sparkContext.pythonExec == sys.executable
