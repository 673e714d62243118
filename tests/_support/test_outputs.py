"""An output takes the place of an earlier one of ours, and of nothing else."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import leastnoise as ln
from fuzzing import CANARY, run
from leastnoise import errors
from leastnoise._support import outputs

ASK = ["--epsilon", "0.5", "--delta", "1e-6"]
COUNT = ["count", "people.parquet", "--unit", "taxi", "--units"]


def a_ledger(path: Path) -> None:
    ln.Budget.open(path, epsilon=1, delta=1e-6)


def a_foreign_ledger(path: Path) -> None:
    """A ledger that this process never opened."""
    code = f"import leastnoise as ln; ln.Budget.open({str(path)!r}, epsilon=1, delta=1e-6)"
    subprocess.run([sys.executable, "-c", code], check=True)


def a_table(path: Path) -> None:
    pq.write_table(pa.table({"taxi": [CANARY]}), path)


def half_a_release(path: Path) -> None:
    made().save(path.with_name("whole"))
    path.write_bytes(path.with_name("whole").read_bytes()[:-40])
    path.with_name("whole").unlink()


def a_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"CREATE TABLE {CANARY} (x)")


def a_link_to_a_ledger(path: Path) -> None:
    a_ledger(path.with_name("behind"))
    path.symlink_to(path.with_name("behind"))


def a_text(path: Path) -> None:
    path.write_text(f"{CANARY}\n" * 1000)


def a_page_of_others(path: Path) -> None:
    path.write_text(f"<!DOCTYPE html>\n<title>{CANARY}</title>")


def nothing_in_it(path: Path) -> None:
    path.write_bytes(b"")


THINGS = [
    a_ledger, a_foreign_ledger, a_table, half_a_release, a_database, a_link_to_a_ledger, a_text, a_page_of_others,
]  # fmt: skip


def made(values: Any = (1, 2, 3)) -> ln.Release:
    return ln.release(np.array(values), sensitivity=1, epsilon=1, delta=1e-6)


def test_an_empty_file_has_nothing_to_lose(tmp_path: Path) -> None:
    path = tmp_path / "made-by-mktemp"
    nothing_in_it(path)
    made().save(path)
    assert ln.load(path).bins == 3


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "400")
    pq.write_table(pa.table({"taxi": [1, 2], "fare": [1.0, 2.0]}), "people.parquet")
    np.save("v.npy", np.arange(3))
    made().save("map.parquet")
    return tmp_path


@pytest.mark.parametrize("thing", THINGS)
@pytest.mark.parametrize(
    "command",
    [
        [*COUNT, *ASK],
        ["release", "v.npy", "--sensitivity", "1", *ASK],
        ["denoise", "map.parquet", "--method", "james_stein"],
        ["report", "map.parquet"],
    ],
    ids=lambda command: command[0],
)
def test_no_command_replaces_what_is_not_ours(here: Path, command: list[str], thing: Callable[[Path], None]) -> None:
    for name in ["page.html"] if command[0] == "report" else ["notes", "out.parquet"]:
        thing(here / name)
        before, files = (here / name).read_bytes(), sorted(os.listdir())
        code, out, err = run(*command, "-o", name)
        assert (code, out) == (2, "")
        assert "BadOutput" in err
        assert name in err
        assert CANARY not in err
        assert (here / name).read_bytes() == before
        assert sorted(os.listdir()) == files
        (here / name).unlink()
        (here / "behind").unlink(missing_ok=True)


@pytest.mark.parametrize("typed", ["{}/", "{}/.", "./{}//", "x/../{}"])
@pytest.mark.parametrize("name", ["notes", "people.parquet"])
def test_no_way_of_writing_a_path_leads_around_that(here: Path, typed: str, name: str) -> None:
    (here / "x").mkdir()
    a_ledger(here / "notes")
    before = (here / name).read_bytes()
    for path in (typed.format(name), os.fsencode(typed.format(name))):
        with pytest.raises(errors.BadOutput):
            made().save(path)  # type: ignore[arg-type]
    code, _, _ = run(*COUNT, *ASK, "-o", typed.format(name))
    assert code == 2
    assert (here / name).read_bytes() == before


@pytest.mark.parametrize("thing", THINGS)
def test_python_replaces_only_ours_too(here: Path, thing: Callable[[Path], None]) -> None:
    thing(here / "notes.html")
    before = (here / "notes.html").read_bytes()
    for write in (made().save, made().denoise("james_stein").save, made().report):
        with pytest.raises(errors.BadOutput):
            write(here / "notes.html")
    assert (here / "notes.html").read_bytes() == before


def test_a_refused_output_costs_nothing(here: Path) -> None:
    budget = ln.Budget.open("b", epsilon=1, delta=1e-6)
    a_text(here / "notes")
    for name in ("b", "notes", "-", "out.csv", "people.parquet", "no/out.parquet", "."):
        assert run(*COUNT, "--budget", "b", "--share", "0.1", "-o", name)[0] == 2, name
    assert budget.history() == []
    budget.verify()


def test_what_we_wrote_is_replaced_when_a_script_is_run_again(here: Path) -> None:
    for _ in range(2):
        assert run("denoise", "map.parquet", "-o", "o.parquet")[0] == 0
        assert run("report", "map.parquet")[0] == 0
        made([7, 8, 9, 10]).save("n.parquet")
    assert ln.load("n.parquet").bins == 4
    assert (here / "map.html").read_bytes()[: outputs._HEAD_BYTES].count(outputs.GENERATOR) == 1


def test_a_release_does_not_take_the_place_of_a_page_nor_a_page_of_a_release(here: Path) -> None:
    made().report(here / "page.html")
    (here / "page.html").rename("page")
    (here / "map.parquet").rename("map.html")
    with pytest.raises(errors.BadOutput, match="is a page of leastnoise"):
        made().save("page")
    with pytest.raises(errors.BadOutput, match="is a release or an estimate of leastnoise"):
        made().report("map.html")


def test_what_is_no_plain_file_is_not_even_opened(here: Path) -> None:
    os.mkfifo("pipe.parquet")  # to open it would wait for ever
    (here / "away.parquet").symlink_to("nowhere")
    (here / "null.parquet").symlink_to(os.devnull)  # a link: a test that fails must not take the device's place
    for name, words in (("pipe", "no plain file"), ("away", "leads nowhere"), ("null", "no plain file")):
        with pytest.raises(errors.BadOutput, match=words):
            made().save(f"{name}.parquet")
    assert os.path.islink("away.parquet")
    assert os.path.islink("null.parquet")


def test_asking_what_a_ledger_is_leaves_its_locks_alone(here: Path) -> None:
    """Closing a descriptor of a file drops the locks that this process holds on it."""
    ln.Budget.open("b", epsilon=1, delta=1e-6)
    code = "import sqlite3; sqlite3.connect('b', timeout=0, isolation_level=None).execute('BEGIN IMMEDIATE')"
    with closing(sqlite3.connect("b", isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        for touch in (made().save, ln.load):
            with pytest.raises(errors.FileProblem, match="is a ledger"):
                touch("b")
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert "locked" in done.stderr


@pytest.mark.parametrize("name", ["r.csv", "R.CSV", "-", "r.html", "new.ledger", "prog.py", "b-journal"])
def test_python_and_the_command_line_refuse_the_same_names(here: Path, name: str) -> None:
    with pytest.raises(errors.BadOutput, match=r"such as '?\w+\.parquet") as refused:
        made().save(name)
    code, _, err = run(*COUNT, *ASK, "-o", name)
    assert code == 2
    assert " ".join(str(refused.value).split()) in " ".join(err.split())
    assert not os.path.lexists(name)


def test_the_reason_why_a_place_takes_no_file_is_the_true_one(here: Path) -> None:
    with pytest.raises(errors.FileProblem, match="takes no new files"):
        made().save("/proc/c.parquet")
    with pytest.raises(errors.FileProblem, match="directory does not exist"):
        made().save("none/c.parquet")


@pytest.mark.parametrize(
    ("thing", "words"),
    [
        (a_text, "is no Parquet file"),
        (nothing_in_it, "is no Parquet file"),
        (half_a_release, "damaged or cut short"),
        (a_table, "was not written by leastnoise"),
        (a_foreign_ledger, "is a ledger"),
    ],
)
def test_loading_says_what_the_file_is_and_sends_nobody_to_release_again(
    here: Path, thing: Callable[[Path], None], words: str
) -> None:
    thing(here / "x.csv")
    with pytest.raises(errors.NotOurs, match=words) as refused:
        ln.load("x.csv")
    assert "Make the release again" not in str(refused.value)
    for command in (["report", "x.csv"], ["denoise", "x.csv", "-o", "o.parquet"]):
        code, _, err = run(*command)
        assert code == 1
        assert words in " ".join(err.split())
        assert "y, --sigma" not in err
        assert CANARY not in err


def test_one_is_not_written_as_many(here: Path) -> None:
    budget = ln.Budget.open("b", epsilon=1, delta=1e-6)
    one = ln.release(np.array([5]), sensitivity=1, budget=budget, share=0.5)
    rows = ln.table("people.parquet", unit="taxi")
    expected = str(rows.count(max_rows=1).expect(epsilon=1, delta=1e-6))
    assert budget.history()[0].query == "a vector of 1 value"
    assert "all 1" not in expected
    assert "the one number" in expected
    for text in (one.explain(), repr(one), str(budget)):
        assert not re.search(r"\b1 (values|bins|counts|releases)\b", text), text


@pytest.mark.parametrize(
    ("kind", "better"), [("release", ".parquet"), ("page", ".html"), ("csv", ".csv"), ("workbook", ".xlsx")]
)
@pytest.mark.parametrize("typed", ["visits.txt", "a folder/visits.md"])
def test_a_name_with_the_wrong_end_is_suggested_with_the_right_one(kind: outputs.Kind, better: str, typed: str) -> None:
    with pytest.raises(errors.BadOutput, match=re.escape(repr(str(Path(typed).with_suffix(better))))):
        outputs.check(typed, kind)
