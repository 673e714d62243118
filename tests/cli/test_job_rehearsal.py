"""`run --expect` refuses what the run would, in the same words and with the same exit code, and changes nothing."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import leastnoise as ln
from fuzzing import run
from job_desk import DAY, OUT, debits, done, edit
from leastnoise.jobs import running

RELEASE = 'release = "out-{date:%Y-%m}.parquet"'


def everything() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path().iterdir() if path.is_file()}


def writes(line: str) -> None:
    edit(RELEASE, f"{RELEASE}\n{line}")


def spent() -> None:
    ln.release([1.0], sensitivity=1, budget=ln.Budget.open("city.ledger"), share=0.99)


def closed() -> None:
    ln.Budget.open("city.ledger").close(reason="the year is over")


def released_and_lost() -> None:
    done()
    OUT.unlink()


def released_and_changed() -> None:
    done()
    edit("share = 0.05", "share = 0.06")


def released(path: str | Path = OUT) -> None:
    ln.release([1.0], sensitivity=1, epsilon=1, delta=1e-6).save(path)


def estimate_over_release() -> None:
    writes('estimate = "old.parquet"')
    released("old.parquet")


def record_of_something_else() -> None:
    done()
    Path(f"{OUT}.run").write_text("{}")


def weak() -> None:
    edit('budget = "city.ledger"\nshare = 0.05', "epsilon = 100\ndelta = 1e-6")


REFUSED: dict[str, tuple[Callable[[], object], int]] = {
    "its output is its input": (lambda: edit(RELEASE, 'release = "register.parquet"'), 2),
    "its output is the ledger": (lambda: edit(RELEASE, 'release = "city.ledger"'), 2),
    "its folder is not there": (lambda: edit(RELEASE, 'release = "none/out.parquet"'), 2),
    "a table of somebody's is there": (lambda: pq.write_table(pa.table({"a": [1]}), OUT), 2),
    "the page is its input": (lambda: writes('page = "register.parquet"'), 2),
    "two outputs have one path": (lambda: writes('estimate = "out-{date:%Y-%m}.parquet"'), 2),
    "an estimate in the place of a release": (estimate_over_release, 2),
    "a CSV file of another name": (lambda: writes('csv = "out.txt"'), 2),
    "no budget is left": (spent, 1),
    "the budget is closed": (closed, 1),
    "the promise protects nobody": (weak, 2),
    "the release is gone": (released_and_lost, 1),
    "the job is another than then": (released_and_changed, 2),
    "no run wrote the release": (released, 2),
    "the record cannot be read": (record_of_something_else, 1),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_a_run_would_be_refused_for_expect_refuses_alike(desk: Path, why: str) -> None:
    before, code = REFUSED[why]
    before()
    left = everything()
    expected = run("run", "job.toml", *DAY, "--expect")
    assert (expected[0], expected[1]) == (code, ""), expected
    assert everything() == left
    assert expected == run("run", "job.toml", *DAY)
    assert everything() == left


def test_tables_that_would_be_written_into_no_folder_are_refused_before_they_are_paid(desk: Path) -> None:
    edit('kind = "histogram"\nby = ["district", "sex"]', 'kind = "crosstabs"\nways = 1')
    for csv, words in (("tables.csv", "is neither"), ("none/tables", "its directory does not exist")):
        text = Path("job.toml").read_text()
        writes(f'csv = "{csv}"')
        expected = run("run", "job.toml", *DAY, "--expect")
        assert (expected[0], words in expected[2]) == (2, True), expected
        assert expected == run("run", "job.toml", *DAY)
        Path("job.toml").write_text(text)
    assert debits() == 0


@pytest.mark.parametrize(
    ("output", "module", "package"),
    [
        ('excel = "out.xlsx"', "xlsxwriter", "excel"),
    ],
)
def test_a_package_that_an_output_needs_is_missed_before_anything_is_paid(
    desk: Path, monkeypatch: pytest.MonkeyPatch, output: str, module: str, package: str
) -> None:
    found: Any = importlib.util.find_spec
    monkeypatch.setattr(running, "find_spec", lambda name: None if name == module else found(name))
    writes(output)
    expected = run("run", "job.toml", *DAY, "--expect")
    assert (expected[0], f"pip install 'leastnoise[{package}]'" in expected[2]) == (1, True), expected
    assert expected == run("run", "job.toml", *DAY)
    assert debits() == 0


def test_a_job_that_was_done_is_not_refused_though_nothing_is_left_to_pay_with(desk: Path) -> None:
    done()
    ln.release([1.0], sensitivity=1, budget=ln.Budget.open("city.ledger"), share=0.95)
    left, made = everything(), ln.load(OUT)
    out = done("--expect")
    assert f"(release {made.id}). A run would neither pay nor draw again." in out  # type: ignore[union-attr]
    assert "Nothing was read, paid or written." in out
    facts = json.loads(done("--expect", "--json"))
    assert (facts["new"], facts["release"]) == (False, made.id)  # type: ignore[union-attr]
    assert done("--expect", "--quiet") == ""
    assert run("run", "job.toml", *DAY, "--again", "--expect")[0] == 1
    assert everything() == left
    assert "Nothing was read, paid or drawn again." in done()
