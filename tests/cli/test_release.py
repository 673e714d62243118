"""`leastnoise release`: every kind of file, a pipe, and every mistake; nothing private in any message."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import command_line
import leastnoise as ln
from leastnoise.curator import coercion, column_files

ASK = ["--sensitivity", "1", "--epsilon", "1", "--delta", "1e-6"]
SECRET = "987654321"


def run(*arguments: str, stdin: bytes = b"") -> tuple[int, str, str]:
    done = command_line.run("release", *arguments, stdin=stdin, columns=200)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def sources(tmp_path: Path) -> dict[str, str]:
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
def test_every_kind_of_file(kind: str, extra: list[str], dtype: type, sources: dict[str, str], tmp_path: Path) -> None:
    out = str(tmp_path / "out.parquet")
    code, text, complaints = run(sources[kind], *extra, *ASK, "-o", out)
    assert (code, complaints) == (0, "")
    assert "Gaussian noise" in text
    assert out in text
    made = ln.load(out)
    assert made.values.dtype == dtype
    assert made.values.size == 3


def test_a_pipe_and_json(sources: dict[str, str], tmp_path: Path) -> None:
    out = str(tmp_path / "out.parquet")
    for kind, extra in (("csv", ["--column", "n", "--type", "int"]), ("npy", []), ("parquet", ["--column", "n"])):
        code, text, _ = run("-", *extra, *ASK, "-o", out, "--again", "--json", stdin=Path(sources[kind]).read_bytes())
        assert code == 0
        facts = json.loads(text)
        assert facts["bins"] == 3
        assert facts["mechanism"] == "gaussian"


def test_laplace_noise_without_an_l1_sensitivity_is_noted_once(sources: dict[str, str], tmp_path: Path) -> None:
    asked = ["--sensitivity", "1", "--epsilon", "1", "--delta", "0"]
    code, _, complaints = run(sources["npy"], *asked, "-o", str(tmp_path / "o.parquet"))
    assert code == 0
    assert complaints.count("L1 sensitivity, which was not given") == 1


@pytest.mark.parametrize(
    ("content", "extra", "code", "words"),
    [
        (b"n\n1\n2\n", ["--column", "n"], 2, "--type int"),
        (b"n\n1\n2\n", ["--type", "int"], 2, "--column"),
        (b"n\n1\n2\n", ["--column", "m", "--type", "int"], 2, "no column"),
        (b"name\n1\n2\n", ["--column", "nam", "--type", "int"], 2, 'names no column "nam"'),
        (b"name\n1\n2\n", ["--column", "NAME", "--type", "int"], 2, "capital letters count"),
        (b"n\n1\n2\n", ["--column", "n", "--type", "whole"], 2, "--type"),
        (f"n,m\n1,2\n{SECRET}\n".encode(), ["--column", "n", "--type", "int"], 1, "fewer fields"),
        (f"n\n1\n{SECRET},{SECRET}\n".encode(), ["--column", "n", "--type", "int"], 1, "could not be read"),
        (b"\x93NUMPY damaged", [], 1, "could not be read"),
        (b"PAR1 damaged", ["--column", "n"], 1, "could not be read"),
        (b"", ["--column", "n", "--type", "int"], 1, "could not be read"),
    ],
    ids=range(11),  # so that no cell becomes part of the folder's name
)
def test_bad_files(content: bytes, extra: list[str], code: int, words: str, tmp_path: Path) -> None:
    (tmp_path / "v").write_bytes(content)
    got, text, complaints = run(str(tmp_path / "v"), *extra, *ASK, "-o", str(tmp_path / "out.parquet"))
    assert (got, text) == (code, "")
    assert words in " ".join(complaints.split())
    assert "Traceback" not in complaints
    assert SECRET not in complaints
    assert [p.name for p in tmp_path.iterdir()] == ["v"]


LARGEST = np.finfo(np.float64).max
CELLS = [
    b"7",
    b"7x",
    b"7.5",
    b"",
    b"NA",
    b"inf",
    b"-inf",
    b"nan",
    b"\xff\xfe",
    b"1e999",
    b"9" * 30,
    b"-" + b"9" * 30,
    b"+7 ",
]
REALS = [7, 0, 7.5, 0, 0, LARGEST, -LARGEST, 0, 0, LARGEST, 1e30, -1e30, 7]
WHOLE = [7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2**63 - 1, -(2**63 - 1), 7]


@pytest.mark.parametrize(("kind", "counted"), [("float", REALS), ("int", WHOLE)])
@pytest.mark.parametrize("columns", [1, 2])
def test_every_cell_of_a_csv_counts_as_some_number(kind: Any, counted: list[Any], columns: int, tmp_path: Path) -> None:
    """Each as if it were alone: a missing cell is no missing line, and one that is no number changes no other."""
    place, more = tmp_path / "v.csv", b",z" * (columns - 1)
    place.write_bytes(b"".join(cell + more + b"\n" for cell in [b"n", *CELLS]))
    read = column_files.read_column(str(place), column="n", kind=kind)
    assert read.dtype == (np.float64 if kind == "float" else np.int64)
    found = coercion.finite(read) if kind == "float" else read
    assert found.tolist() == ([float(x) for x in counted] if kind == "float" else counted)
    for number, cell in enumerate(CELLS):
        place.write_bytes(b"n" + more + b"\n" + cell + more + b"\n")
        alone = column_files.read_column(str(place), column="n", kind=kind)
        np.testing.assert_array_equal(alone, read[number : number + 1])


@pytest.mark.parametrize("dtype", ["int64", "uint8", "float64", "float32", "dictionary"])
def test_a_null_of_a_parquet_file_changes_nothing_but_its_own_value(dtype: str, tmp_path: Path) -> None:
    place = str(tmp_path / "v.parquet")
    seen = []
    for cells_ in ([7, 5], [7, None]):
        column = pa.array(cells_, "int64").dictionary_encode() if dtype == "dictionary" else pa.array(cells_, dtype)
        pq.write_table(pa.table({"n": column}), place)
        seen.append(column_files.read_column(place, column="n"))
    assert seen[0].dtype == seen[1].dtype
    assert coercion.finite(seen[1]).tolist() == [7, 0]


def test_a_cell_that_is_no_number_is_released_like_any_other(tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text(f"n\n1\n{SECRET}x\n\n")
    out = str(tmp_path / "out.parquet")
    code, text, complaints = run(str(tmp_path / "v.csv"), "--column", "n", "--type", "int", *ASK, "-o", out)
    assert (code, complaints) == (0, "")
    assert SECRET not in text
    assert ln.load(out).bins == 3


def test_public_mistakes_come_before_private_reading(tmp_path: Path) -> None:
    """The file does not even exist: the parameter is refused first, then the output path, then the file."""
    missing, out = str(tmp_path / "none.csv"), str(tmp_path / "out.parquet")
    assert "InvalidParameter" in run(missing, "--sensitivity", "1", "--epsilon", "-1", "--delta", "1e-6", "-o", out)[2]
    assert "Cannot write" in run(missing, *ASK, "-o", str(tmp_path / "no" / "out.parquet"))[2]
    assert "no file" in run(missing, *ASK, "-o", out)[2]
    assert list(tmp_path.iterdir()) == []


def test_objects_in_npy_are_never_unpickled(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    code, _, complaints = run(str(tmp_path / "v.npy"), *ASK, "-o", str(tmp_path / "o.parquet"))
    assert code == 1
    assert "could not be read" in complaints
