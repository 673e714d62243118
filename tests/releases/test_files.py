"""What is saved is loaded; what was edited or damaged is refused."""

from __future__ import annotations

import dataclasses
import json
import math
import resource
import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import leastnoise as ln
from leastnoise import domain as domains
from leastnoise import errors
from leastnoise._support import files
from leastnoise.domain import Domain
from leastnoise.releases.columns import key_columns
from leastnoise.testing import seeded

ASK: dict[str, Any] = {"sensitivity": 1, "epsilon": 1, "delta": 1e-6}


def made(values: Any = (120, 0, 45), **change: Any) -> ln.Release:
    return ln.release(np.array(values), **{**ASK, **change})


axes = [
    domains.Keys(("a", "b", "c")),
    domains.Keys((5, 3)),
    domains.IntegerRange(2, 9, 3),
    domains.Edges((0.0, 0.5, 2.0)),
    domains.Steps(0.0, 1.0, 4),
    domains.Days(date(2024, 1, 1), date(2024, 1, 4)),
    domains.Hours(datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 1, 3, tzinfo=UTC)),
    domains.Lattice("lon", "lat", 0.5).box(x=(0, 1), y=(0, 1)),
    domains.OrNull(domains.Keys(("a", "b"))),
    domains.OrNull(domains.IntegerRange(0, 3)),
    domains.with_other(["a", "b"]),
    domains.with_other(["a", "other"], "none of these"),
    domains.with_other(domains.Edges((0.0, 0.5)), "no answer"),
    domains.with_other([5, 3]),
    domains.with_other(domains.Edges((0.0, 0.5, 2.0))),
    domains.Labelled(domains.Keys((date(2024, 1, 1), date(2024, 5, 1))), ("winter", "spring")),
    domains.with_other(domains.Labelled(domains.IntegerRange(1, 3), ("men", "women"))),
]


@pytest.mark.parametrize("first", axes, ids=lambda a: type(a).__name__)
@pytest.mark.parametrize("second", [None, *axes[:3]], ids=lambda a: type(a).__name__)
def test_files_bring_everything_back(first: Any, second: Any, tmp_path: Path) -> None:
    both = [first] if second is None else [first, second]
    domain = Domain(("one", "two")[: len(both)], tuple(both))
    r = made(np.arange(domain.size), domain=domain)
    r.save(tmp_path / "r.parquet")
    back = ln.load(tmp_path / "r.parquet")
    assert isinstance(back, ln.Release)
    for field in dataclasses.fields(r):
        if field.name != "blocks":
            assert getattr(r, field.name) == getattr(back, field.name), field.name
    mine, theirs = r.blocks["value"], back.blocks["value"]
    assert np.array_equal(mine.numbers, theirs.numbers)
    assert (mine.axes, mine.noise, mine.unit) == (theirs.axes, theirs.noise, theirs.unit)
    assert back.values.dtype == r.values.dtype


def test_others_are_null_among_numbers_and_named_for_people() -> None:
    numbers = Domain(("n",), (domains.with_other([5, 3]),))
    assert key_columns(numbers, 3) == {"n": [5, 3, None]}
    assert key_columns(numbers, 3, for_people=True) == {"n": [5, 3, "missing or other"]}
    ends = Domain(("x",), (domains.with_other(domains.Edges((0.0, 1.0))),))
    assert key_columns(ends, 2) == {"x_low": [0.0, None], "x_high": [1.0, None]}
    assert key_columns(ends, 2, for_people=True) == {"x_low": [0.0, domains.OTHER], "x_high": [1.0, domains.OTHER]}
    texts = Domain(("t",), (domains.with_other(["a"]),))
    assert key_columns(texts, 2) == key_columns(texts, 2, for_people=True) == {"t": ["a", "missing or other"]}


@pytest.mark.parametrize("size", [1000, 10**12, 2**100])
def test_sparse_releases_come_back(size: int, tmp_path: Path) -> None:
    r = ln.release_sparse([5, size - 1], [10_000, 10_000], domain_size=size, **ASK)
    r.save(tmp_path / "s.parquet")
    back = ln.load(tmp_path / "s.parquet")
    assert isinstance(back, ln.SparseRelease)
    assert back.indices.tolist() == r.indices.tolist()
    assert (back.values == r.values).all()
    assert (back.domain_size, back.noise, back.provenance) == (r.domain_size, r.noise, r.provenance)


def test_whatever_was_released_or_wrapped_comes_back(tmp_path: Path) -> None:
    """Noise far finer than its grid, and noise at both ends of the doubles."""
    for r in (
        *(made(sensitivity=size) for size in (1e-10, 1e-300, 1e-310)),
        *(made([0.5, 2.0], sensitivity=size) for size in (1e-310, 1e301, 2e305)),
        made(sensitivity=1e-10, l1_sensitivity=1e-10),
        *(ln.wrap([1.0, 2.0], sigma=sigma) for sigma in (5e-324, 1e301, 1e306)),
        ln.wrap([1.0, 2.0], sigma=1e306, mechanism="laplace"),
    ):
        r.save(tmp_path / "r.parquet")
        back = ln.load(tmp_path / "r.parquet")
        assert (back.values == r.values).all()
        assert back.distribution == r.distribution


def _rewrite(path: Path, change: Any) -> None:
    """Edit the facts of a file: a dictionary within a dictionary changes some of its facts only."""
    table = pq.read_table(path)
    facts = _merged(json.loads(table.schema.metadata[b"leastnoise"]), change)
    pq.write_table(table.replace_schema_metadata({b"leastnoise": json.dumps(facts).encode()}), path)


def _merged(facts: Any, change: Any) -> Any:
    if not isinstance(facts, dict) or not isinstance(change, dict):
        return change
    kept = {name: value for name, value in facts.items() if change.get(name) is not MISSING}
    return kept | {name: _merged(facts.get(name), new) for name, new in change.items() if new is not MISSING}


MISSING = object()


EDITED = "edited or damaged"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": 99}, "newer leastnoise"),
        ({"format": 0}, EDITED),
        ({"format": "one"}, "not written by"),
        ({"what": "picture"}, "picture"),
        ({"colour": "blue"}, "colour"),
        ({"blocks": {"value": {"noise": {"colour": "blue"}}}}, "colour"),
        ({"provenance": {"l1_sensitivity": MISSING}}, "lacks l1_sensitivity"),
        ({"blocks": {"value": {"noise": MISSING}}}, "lacks noise"),
        ({"blocks": {"value": {"noise": {"mechanism": "cauchy"}}}}, EDITED),
        ({"blocks": {"value": {"noise": {"scale": math.nan}}}}, EDITED),
        ({"blocks": {"value": {"noise": {"scale": 0}}}}, EDITED),
        ({"blocks": {"value": {"noise": {"scale": 2**70}}}}, EDITED),
        ({"blocks": {"value": {"noise": {"scale": 10**400}}}}, EDITED),
        ({"blocks": {"value": {"noise": {"grid": -1}}}}, EDITED),
        ({"reading": {"type": "Selected", "with_total": False, "threshold": 1.5}}, EDITED),
        ({"provenance": {"created_at": "yesterday"}}, EDITED),
        ({"provenance": {"id": '"]); print("0123456789abcdef'}}, EDITED),
        ({"provenance": {"id": "0123456789abcdef\n"}}, EDITED),
        ({"provenance": {"id": ""}}, EDITED),
        ({"provenance": {"guarantee": {"type": "Nonsense"}}}, EDITED),
        ({"provenance": {"guarantee": {"mu": -1}}}, EDITED),
        ({"provenance": {"delta": 5}}, EDITED),
        ({"provenance": {"sensitivity": 0}}, EDITED),
        ({"provenance": {"limits": {"max_rows": 1.5}}}, EDITED),
        ({"provenance": {"reason": {"code": "whim"}}}, EDITED),
        ({"domain": [{"name": "bin", "axis": {"type": "Keys", "size": 7}}]}, EDITED),
    ],
)
def test_strange_files_are_refused(change: Any, words: str, tmp_path: Path) -> None:
    made().save(tmp_path / "r.parquet")
    _rewrite(tmp_path / "r.parquet", change)
    with pytest.raises(errors.NotOurs, match=words):
        ln.load(tmp_path / "r.parquet")


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    made(range(5000)).save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(errors.NotOurs, match="damaged"):
        ln.load(path)
    flipped = bytearray(whole)
    flipped[len(whole) // 4] ^= 0xFF
    path.write_bytes(bytes(flipped))
    with pytest.raises(errors.NotOurs, match="damaged"):
        ln.load(path)
    path.write_text("not parquet at all")
    with pytest.raises(errors.NotOurs):
        ln.load(path)
    pd.DataFrame({"value": [1]}).to_parquet(path)
    with pytest.raises(errors.NotOurs, match=r"ln\.wrap"):
        ln.load(path)
    with pytest.raises(errors.FileProblem, match="no file"):
        ln.load(tmp_path / "nothing")


def test_unwritable_places_leave_nothing_behind(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "no" / "r.parquet"):
        with pytest.raises(errors.FileProblem, match="Nothing was written"):
            made().save(path)
        with pytest.raises(errors.FileProblem):
            files.check_writable(path)
    for text in ("", "a\0b"):
        with pytest.raises(errors.FileProblem, match="no path"):
            made().save(text)
    assert list(tmp_path.iterdir()) == []


def test_axes_made_of_numpy_and_pandas_are_saved_whole(tmp_path: Path) -> None:
    hours = domains.Hours(pd.Timestamp("2024-01-01"), pd.Timestamp("2024-01-01 05:00"))
    for axis in (
        domains.Edges(np.linspace(0, 1, 6)),  # type: ignore[arg-type]
        domains.Edges([0, 1, 2, 3, 4, 5]),  # type: ignore[arg-type]
        domains.IntegerRange(np.int64(0), np.int64(5)),  # type: ignore[arg-type]
        hours,
    ):
        made(range(5), domain=Domain(("k",), (axis,))).save(tmp_path / "r.parquet")
        assert ln.load(tmp_path / "r.parquet").domain == Domain(("k",), (axis,))
    with pytest.raises(errors.BadDomain, match="64 bits"):
        made(range(1), domain=[10**30])


def test_a_full_disk_keeps_the_old_file(tmp_path: Path) -> None:
    """The limit on file size stands for a full disk; the old file must stay whole and no fragment remain."""
    path = tmp_path / "r.parquet"
    made().save(path)
    before = path.read_bytes()
    code = (
        "import resource, signal, numpy as np, leastnoise as ln\n"
        f"r = ln.release(np.arange(200_000), sensitivity=1, epsilon=1, delta=1e-6)\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({1 << 16}, {1 << 16}))\n"
        f"r.save({str(path)!r})\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "FileProblem: Cannot write" in done.stderr
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["r.parquet"]
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 1 << 16


def test_seeded_releases_are_loud_and_refuse_to_be_saved(tmp_path: Path) -> None:
    with seeded(1):
        r = made()
        s = ln.release_sparse([1], [99], domain_size=1000, **ASK)
    assert r.seeded
    assert s.seeded
    assert "SEEDED" in repr(r)
    assert "Never publish" in r.explain()
    for each in (r, s):
        with pytest.raises(errors.SeededRelease, match="allow_seeded=True"):
            each.save(tmp_path / "r.parquet")
        assert not list(tmp_path.iterdir())
    r.save(tmp_path / "r.parquet", allow_seeded=True)
    back = ln.load(tmp_path / "r.parquet")
    assert back.seeded
    assert not made().seeded


@pytest.mark.parametrize("path", [None, 3])
def test_a_path_that_is_none_is_named_as_such(path: Any) -> None:
    release = made()
    writing = [release.save, release.to_csv, release.report, release.denoise("james_stein").save]
    for use in (ln.load, ln.domain.read, *writing):
        with pytest.raises(errors.WrongType, match=f"a path is text.*Got {path} instead"):
            use(path)
