"""Mistakes in a job: each is named with its place before anything is paid."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest

import leastnoise as ln
from fuzzing import damaged, run, told
from job_desk import DAY, JOB, OUT, debits, done, edit, refused
from leastnoise.jobs.fields import SECTIONS


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("max_rows = 1", "max_rows = 2", "[ask]"),
        ("share = 0.05", "share = 0.050001", "[privacy]"),
        ('unit = "person"', 'unit = "person"\nwhere = "age > 20"', "[table]"),
    ],
)
def test_a_changed_job_is_refused_until_again(desk: Path, old: str, new: str, part: str) -> None:
    done()
    edit(old, new)
    refused(2, f"and {part} of the job is not what it was then")
    assert debits() == 1
    first = ln.load(OUT).id
    done("--again")
    assert debits() == 2
    assert ln.load(OUT).id != first
    assert "Nothing was read, paid or drawn again." in done()
    assert debits() == 2


@pytest.mark.parametrize("make", ["release", "estimate", "other", "record"])
def test_what_no_run_of_the_job_wrote_is_not_replaced(desk: Path, make: str) -> None:
    made = ln.release([3, 5, 9, 0, 7], sensitivity=1, epsilon=1, delta=1e-6)
    if make == "release":
        made.save(OUT)
        refused(2, "that no run of this job wrote")
    elif make == "estimate":
        made.denoise("james_stein").save(OUT)
        refused(2, "is an estimate")
    elif make == "other":
        OUT.write_text("notes")
        refused(2, "a file that leastnoise did not write", "--again")
    else:
        Path(f"{OUT}.run").write_text("{}")
        refused(1, "keeps its record", "--again")
    assert debits() == 0


@pytest.mark.parametrize(
    ("name", "value"), [("fingerprints", None), ("entries", "3"), ("release", 7), ("replaced", ["x"]), ("new", 1)]
)
def test_a_record_that_was_edited_is_refused(desk: Path, name: str, value: object) -> None:
    done()
    path = Path(f"{OUT}.run")
    path.write_text(json.dumps(json.loads(path.read_text()) | {name: value}))
    refused(1, "none that this version can read")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("[ask]", "[aks]", 'line 8: a section must be one of "table", "ask", "privacy", "output", "keys"'),
        ('kind = "histogram"', 'kind = "histogramm"', 'line 9: kind must be one of "count"'),
        ('kind = "histogram"', "", "line 8: [ask] lacks kind. Write, for instance, kind ="),
        ('kind = "histogram"', 'kind = "quantile"', "[ask] lacks column"),
        ('kind = "histogram"', 'kind = "count"', "line 10: a count takes no by. It takes max_rows, limits."),
        ('unit = "person"', "", "line 3: [table] lacks unit"),
        ("max_rows = 1", "max_row = 1", 'Did you mean "max_rows"?'),
        ("max_rows = 1", 'max_rows = "1"', "line 11: max_rows must be an integer. Got '1' instead."),
        ("max_rows = 1", "max_rows = true", "must be an integer"),
        ("max_rows = 1", "", "Write max_rows = 5 in [ask]"),
        ("max_rows = 1", "max_rows = 0", "max_rows"),
        ("share = 0.05", "", "How much of the budget may this take? Write share = 0.25 in [privacy], or"),
        ("share = 0.05", "share = 2", "share"),
        ("share = 0.05", "share = nan", 'line 15: share must be a number, or a text like "1/52". Got NaN instead.'),
        ("share = 0.05", "share = 1e999999999", "must be a number"),
        ('budget = "city.ledger"', 'budget = "none.ledger"', "no ledger"),
        ('name = "register"', 'name = "another"', "BudgetMismatch"),
        ('source = "register.parquet"', 'source = "none.parquet"', "none.parquet"),
        ('source = "register.parquet"', "source = []", "a text in quotes, or a list of texts"),
        ("out-{date:%Y-%m}.parquet", "out-{date}.parquet", "line 18: a date is written {date:%Y-%m-%d}"),
        ("out-{date:%Y-%m}.parquet", "no/such/folder.parquet", "its directory does not exist"),
        ("out-{date:%Y-%m}.parquet", "register.parquet", "register.parquet"),
        ("out-{date:%Y-%m}.parquet", "city.ledger", "a ledger, the only record of what was spent"),
        ("out-{date:%Y-%m}.parquet", 'out.parquet"\nestimate = "./out.parquet', "two outputs have one path"),
        ('keys = "keys.toml"', 'keys = "none.toml"', "There is no file"),
        ('keys = "keys.toml"', "keys = 3", "line 1: keys are a section, or the name of a file"),
        ('keys = "keys.toml"', "table = 3", "cannot be read as TOML"),
        ('budget = "city.ledger"\nshare = 0.05', "epsilon = 50\ndelta = 1e-6", "force = true in [privacy]"),
    ],
)
def test_a_mistake_names_its_place_before_anything_is_paid(desk: Path, old: str, new: str, words: str) -> None:
    edit(old, new)
    refused(2, words)
    assert debits() == 0
    assert list(desk.glob("*.run")) == []


def test_a_job_that_is_not_there_and_a_day_that_is_none(desk: Path) -> None:
    assert run("run", "none.toml")[0] == 2
    code, _, err = run("run", "job.toml", "--date", "31.10.2026")
    assert code == 2
    assert "2026-10-31" in err


def test_a_damaged_job_ends_in_a_documented_code(desk: Path) -> None:
    chance = random.Random(6)
    for _ in range(80):
        Path("job.toml").write_bytes(damaged(JOB.encode(), chance))
        told("run", "job.toml", *DAY, "--expect")
    assert debits() == 0


@pytest.mark.parametrize("section", ["table", "ask", "privacy", "output"])
def test_the_page_about_jobs_has_every_name(section: str) -> None:
    page = (Path(__file__).parents[2] / "docs/howto/monthly-job.md").read_text()
    row = next(line for line in page.splitlines() if line.startswith(f"| `[{section}]`"))
    assert [name for name in SECTIONS[section] if not re.search(rf"\b{name}\b", row)] == []
