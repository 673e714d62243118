"""`leastnoise release`: every kind of file, a pipe, and every mistake; nothing private in any message."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import leastnoise as ln

ASK = ["--sensitivity", "1", "--epsilon", "1", "--delta", "1e-6"]
SECRET = "987654321"


def run(*arguments: str, stdin: bytes = b"") -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "leastnoise", "release", *arguments],
        input=stdin,
        capture_output=True,
        timeout=120,
        env={"PATH": "/usr/bin:/bin", "COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"},
        check=False,
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    frame = pd.DataFrame({"name": ["a", "b", "c"], "n": [10, 20, 30], "x": [0.5, 1.5, 2.5]})
    frame.to_csv(tmp_path / "v.csv", index=False)
    frame.to_parquet(tmp_path / "v.parquet")
    np.save(tmp_path / "v.npy", frame["n"].to_numpy())
    return {p.suffix[1:]: str(p) for p in tmp_path.iterdir()}


@pytest.mark.parametrize(
    ("kind", "extra", "dtype"),
    [
        ("csv", ["--column", "n", "--type", "int"], np.int64),
        ("csv", ["--column", "n", "--type", "float"], np.float64),
        ("parquet", ["--column", "n"], np.int64),
        ("parquet", ["--column", "x"], np.float64),
        ("npy", [], np.int64),
        ("npy", ["--type", "float"], np.float64),
    ],
)
def test_every_kind_of_file(kind: str, extra: list[str], dtype: type, files: dict[str, str], tmp_path: Path) -> None:
    out = str(tmp_path / "out.parquet")
    code, told, complaints = run(files[kind], *extra, *ASK, "-o", out)
    assert (code, complaints) == (0, "")
    assert "Gaussian noise" in told
    assert out in told
    made = ln.load(out)
    assert made.values.dtype == dtype
    assert made.values.size == 3


def test_a_pipe_and_json(files: dict[str, str], tmp_path: Path) -> None:
    out = str(tmp_path / "out.parquet")
    for kind, extra in (("csv", ["--column", "n", "--type", "int"]), ("npy", []), ("parquet", ["--column", "n"])):
        code, told, _ = run("-", *extra, *ASK, "-o", out, "--json", stdin=Path(files[kind]).read_bytes())
        assert code == 0
        facts = json.loads(told)
        assert facts["bins"] == 3
        assert facts["mechanism"] == "gaussian"


def test_laplace_without_l1_is_told(files: dict[str, str], tmp_path: Path) -> None:
    asked = ["--sensitivity", "1", "--epsilon", "1", "--delta", "0"]
    code, _, complaints = run(files["npy"], *asked, "-o", str(tmp_path / "o.parquet"))
    assert code == 0
    assert complaints.count("l1_sensitivity=") == 1


@pytest.mark.parametrize(
    ("content", "extra", "code", "words"),
    [
        (b"n\n1\n2\n", ["--column", "n"], 2, "--type int"),
        (b"n\n1\n2\n", ["--type", "int"], 2, "--column"),
        (b"n\n1\n2\n", ["--column", "m", "--type", "int"], 2, "no column"),
        (b"name\n1\n2\n", ["--column", "nam", "--type", "int"], 2, 'names no column "nam"'),
        (b"n\n1\n2\n", ["--column", "n", "--type", "whole"], 2, "--type"),
        (f"n\n1\n{SECRET}x\n".encode(), ["--column", "n", "--type", "int"], 1, "could not be read"),
        (f"n\n1\n{SECRET}.5\n".encode(), ["--column", "n", "--type", "int"], 1, "say --type float"),
        (f"n,m\n1,2\n{SECRET}\n".encode(), ["--column", "n", "--type", "int"], 1, "fewer fields"),
        (f"n\n1\n{SECRET},{SECRET}\n".encode(), ["--column", "n", "--type", "int"], 1, "could not be read"),
        (f"n\n{SECRET}\n\n".encode() + b"\xff\xfe", ["--column", "n", "--type", "int"], 1, "could not be read"),
        (f"n,m\n{SECRET},1\n,2\n".encode(), ["--column", "n", "--type", "int"], 1, "missing values"),
        (f"n\n{SECRET}.5\ninf\n".encode(), ["--column", "n", "--type", "float"], 1, "NaN or infinity"),
        (b"\x93NUMPY damaged", [], 1, "could not be read"),
        (b"PAR1 damaged", ["--column", "n"], 1, "could not be read"),
        (b"", ["--column", "n", "--type", "int"], 1, "could not be read"),
    ],
    ids=range(15),  # so that no cell becomes part of the folder's name
)
def test_bad_files(content: bytes, extra: list[str], code: int, words: str, tmp_path: Path) -> None:
    (tmp_path / "v").write_bytes(content)
    got, told, complaints = run(str(tmp_path / "v"), *extra, *ASK, "-o", str(tmp_path / "out.parquet"))
    assert (got, told) == (code, "")
    assert words in " ".join(complaints.split())
    assert "Traceback" not in complaints
    assert SECRET not in complaints
    assert [p.name for p in tmp_path.iterdir()] == ["v"]


def test_public_mistakes_come_before_private_reading(tmp_path: Path) -> None:
    """The file does not even exist: the parameter is refused first, then the output path, then the file."""
    missing, out = str(tmp_path / "none.csv"), str(tmp_path / "out.parquet")
    assert "NegativeEpsilon" in run(missing, "--sensitivity", "1", "--epsilon", "-1", "--delta", "1e-6", "-o", out)[2]
    assert "Cannot write" in run(missing, *ASK, "-o", str(tmp_path / "no" / "out.parquet"))[2]
    assert "no file" in run(missing, *ASK, "-o", out)[2]
    assert list(tmp_path.iterdir()) == []


def test_objects_in_npy_are_never_unpickled(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    code, _, complaints = run(str(tmp_path / "v.npy"), *ASK, "-o", str(tmp_path / "o.parquet"))
    assert code == 1
    assert "could not be read" in complaints
