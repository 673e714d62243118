"""Files that are cut, flipped, mislabelled or not what they say: refused with a sentence that quotes no cell."""

from __future__ import annotations

import gzip
import io
import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from hypothesis import given

import leastnoise as ln
from fuzzing import CANARY, CANARY_NUMBER, SEED, cases, damaged, only, survives
from leastnoise import errors
from leastnoise.curator import column_files
from leastnoise.testing import aggregate

pytestmark = pytest.mark.slow

TABLE = pa.table(
    {"who": [CANARY] * 40, "n": pa.array([CANARY_NUMBER] * 40, pa.int64()), "z": [CANARY, "a", None, "ü"] * 10}
)


def written(write: Callable[[Any], Any]) -> bytes:
    place = io.BytesIO()
    write(place)
    return place.getvalue()


SHAPES = {
    "plain.parquet": written(lambda f: pq.write_table(TABLE, f)),
    "checked.parquet": written(lambda f: pq.write_table(TABLE, f, write_page_checksum=True, compression="none")),
    "nested.parquet": written(lambda f: pq.write_table(pa.table({"who": [[[1]]], "n": [{"a": [CANARY]}]}), f)),
    "rows.csv": written(lambda f: pacsv.write_csv(TABLE, f)),
    "rows.csv.gz": gzip.compress(written(lambda f: pacsv.write_csv(TABLE, f))),
    "rows.npy": written(lambda f: np.save(f, np.full(40, CANARY_NUMBER))),
    "giant.npy": b"\x93NUMPY\x01\x00\x76\x00"
    + b"{'descr': '<i8', 'fortran_order': False, 'shape': (1152921504606846976,), }".ljust(117) + b"\n",
}  # fmt: skip


def some_file(chance: random.Random, *endings: str) -> tuple[str, bytes]:
    """A damaged file, now and then under the name of another kind."""
    name = chance.choice(sorted(shape for shape in SHAPES if shape.endswith(endings)))
    label = chance.choice([name, name, name, "rows.csv", "plain.parquet", "rows.csv.gz"])
    return label, damaged(SHAPES[name], chance)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


@cases("columns", 800)
@given(SEED)
def test_a_damaged_column_is_read_or_refused(folder: Path, seed: int) -> None:
    chance = random.Random(seed)
    path, kind, column = folder / "file", chance.choice(["int", "float", None]), chance.choice(["n", "z", None])
    path.write_bytes(some_file(chance, ".parquet", ".csv", ".npy")[1])
    found = survives(lambda: column_files.read_column(str(path), column=column, kind=kind))
    assert isinstance(found, errors.LeastnoiseError) or found.dtype.kind in "iuf"
    path.unlink()
    only(folder)


@cases("rows", 33)
@given(SEED)
def test_damaged_rows_are_read_or_refused(folder: Path, seed: int) -> None:
    name, content = some_file(random.Random(seed), ".parquet", ".csv", ".csv.gz")
    path = folder / name
    path.write_bytes(content)

    def ask() -> Any:
        rows = ln.table(path, unit="who")
        survives(lambda: aggregate(rows.histogram("z", keys=["a", "b"], max_rows=3)))
        return aggregate(rows.count(max_rows=2))

    survives(ask)
    path.unlink()
    only(folder)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One of each kind of file that we write."""
    folder = tmp_path_factory.mktemp("saved")
    rows = ln.table(pa.table({"who": range(60), "z": ["a", "b", "c"] * 20, "f": np.linspace(0, 1, 60)}), unit="who")
    ask = {"epsilon": 1, "delta": 1e-6}
    vector = ln.release(np.arange(20), sensitivity=1, **ask)
    made: dict[str, Any] = {
        "vector": vector,
        "estimate": vector.denoise("james_stein"),
        "keys": rows.histogram("z", keys=["a", "b", "c"], max_rows=1).release(**ask),
        "unknown": rows.histogram("z", max_rows=1).release(**ask),
        "mean": rows.mean("f", clip=(0, 1), max_rows=1).release(**ask),
        "quantile": rows.quantile("f", 0.5, clip=(0, 1), bins=8, max_rows=1).release(**ask),
        "sparse": ln.release_sparse([3, 9], [50, 60], domain_size=10**9, sensitivity=1, **ask),
    }
    for name, thing in made.items():
        thing.save(folder / name)
    return folder


@cases("loads", 400)
@given(SEED)
def test_a_damaged_release_is_loaded_or_refused(folder: Path, saved: Path, seed: int) -> None:
    chance, path = random.Random(seed), folder / "release.parquet"
    path.write_bytes(damaged(chance.choice(sorted(saved.iterdir())).read_bytes(), chance))
    loaded = survives(lambda: ln.load(path))
    if not isinstance(loaded, errors.LeastnoiseError):
        survives(loaded.explain)
    path.unlink()
    only(folder)


ODD_FACTS: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    2**70,
    1.5,
    math.nan,
    math.inf,
    -1e308,
    "",
    "x",
    [],
    {},
    [{}],
    [None],
    {"type": "x"},
]


def places(facts: dict[str, Any]) -> list[tuple[dict[str, Any], str]]:
    """Every fact, and every fact within a fact: the object that holds it, and its name."""
    within = [found for value in facts.values() if isinstance(value, dict) for found in places(value)]
    return [*((facts, key) for key in sorted(facts)), *within]


@cases("facts", 250)
@given(SEED)
def test_edited_facts_are_understood_or_refused(folder: Path, saved: Path, seed: int) -> None:
    """The pages are whole, and the JSON beside them was edited: a number, a word, a list, nothing."""
    chance = random.Random(seed)
    table = pq.read_table(chance.choice(sorted(saved.iterdir())))
    facts = json.loads(table.schema.metadata[b"leastnoise"])
    every = places(facts)
    for inside, key in chance.sample(every, chance.choice([1, 1, 2])):
        inside[key] = chance.choice(ODD_FACTS)
    path = folder / "release.parquet"
    pq.write_table(table.replace_schema_metadata({b"leastnoise": json.dumps(facts).encode()}), path)
    loaded = survives(lambda: ln.load(path))
    if not isinstance(loaded, errors.LeastnoiseError):
        survives(loaded.explain)
    path.unlink()
