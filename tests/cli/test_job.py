"""`leastnoise run`: done once however often it is run, and safe wherever it is stopped."""

from __future__ import annotations

import fcntl
import json
import random
import re
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import leastnoise as ln
from command_line import ENVIRONMENT
from fuzzing import damaged, run, told
from leastnoise import datasets
from leastnoise.jobs.file import NAMES
from leastnoise.jobs.record import Record
from leastnoise.releases.published import Published
from leastnoise.releases.release import Release

JOB = """\
keys = "keys.toml"

[table]
source = "register.parquet"
unit = "person"
name = "register"

[ask]
kind = "histogram"
by = ["district", "sex"]
max_rows = 1

[privacy]
budget = "city.ledger"
share = 0.05

[output]
release = "out-{date:%Y-%m}.parquet"
"""
OUT, DAY = Path("out-2026-10.parquet"), ["--date", "2026-10-31"]


class Stopped(BaseException):
    """The machine is switched off."""


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a register, its keys, a ledger and a job."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "600")
    pq.write_table(datasets.people(2000), "register.parquet")
    ln.domain.write("keys.toml", datasets.people_keys())
    ln.Budget.open("city.ledger", epsilon=1, delta=1e-6, unit="person", table="register")
    Path("job.toml").write_text(JOB)
    return tmp_path


def edit(old: str, new: str) -> None:
    text = Path("job.toml").read_text()
    assert old in text
    Path("job.toml").write_text(text.replace(old, new))


def debits() -> int:
    return len(ln.Budget.open("city.ledger").history())


def done(*words: str) -> str:
    code, out, err = run("run", "job.toml", *DAY, *words)
    assert (code, err) == (0, ""), err
    return out


def refused(code: int, words: str, *options: str) -> None:
    """A refusal with these words, which changes no file: not the ledger, not the release, not its record."""
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    found, out, err = run("run", "job.toml", *DAY, *options)
    assert (found, out) == (code, ""), err
    assert words in err, err
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before


def test_words_for_a_missing_value_stand_in_the_job(desk: Path) -> None:
    """The same cells are null as in Python; another word is another job, so it is a release of its own."""
    Path("register.csv").write_text(
        "person,sex,age\n" + "".join(f"{i},f,{'NA' if i % 2 else 40}\n" for i in range(400))
    )
    edit('source = "register.parquet"', 'source = "register.csv"\ntypes = { age = "int" }\nmissing = ["NA", "-9"]')
    edit('kind = "histogram"\nby = ["district", "sex"]', 'kind = "histogram"\nby = ["age"]\nnulls = "bin"')
    edit('keys = "keys.toml"\n', "")
    edit("[privacy]", "[keys]\nage = [40]\n\n[privacy]")
    edit("share = 0.05", "share = 0.5")
    done()
    made = ln.load(OUT)
    assert isinstance(made, Release)
    assert made.values.shape == (2,)
    assert (np.abs(made.values - 200) < 8 * made.std).all()
    edit('missing = ["NA", "-9"]', "missing = 9")
    code, _, err = run("run", "job.toml", *DAY)
    assert code == 2
    assert "missing" in err
    assert debits() == 1


def test_a_second_run_neither_pays_nor_draws_and_says_so(desk: Path) -> None:
    assert "24 counts" in done()
    first = OUT.read_bytes()
    again = done()
    assert "was released on" in again
    assert "Nothing was read, paid or drawn again." in again
    assert (debits(), OUT.read_bytes()) == (1, first)
    loaded = ln.load(OUT)
    assert loaded.table == "register"
    assert loaded.domain.names == ("district", "sex")
    assert json.loads(done("--json"))["new"] is False
    assert done("--quiet") == ""


def test_the_release_is_that_of_the_question_in_python(desk: Path) -> None:
    done()
    table = ln.table("register.parquet", unit="person", name="register")
    query = table.histogram("district", "sex", keys=ln.domain.read("keys.toml"), max_rows=1)
    made, expected = ln.load(OUT), query.expect(budget=ln.Budget.open("city.ledger"), share=Decimal("0.05"))
    assert (made.query, made.sigma, made.guarantee) == (query.describe(), expected.sigma, expected.guarantee)
    assert made.domain == query.domain


def test_another_month_is_another_release_on_the_same_page(desk: Path) -> None:
    edit("[output]\n", '[output]\npage = "page.html"\ntitle = "People in {date:%B %Y}"\n')
    done()
    assert "People in October 2026" in Path("page.html").read_text()
    code, _, err = run("run", "job.toml", "--date", "2026-11-01")
    assert (code, err) == (0, "")
    assert "People in November 2026" in Path("page.html").read_text()
    assert debits() == 2
    assert ln.load("out-2026-11.parquet").id != ln.load(OUT).id


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


def test_changed_keys_are_a_changed_job_and_another_engine_is_not(desk: Path) -> None:
    done()
    edit('name = "register"', 'name = "register"\nmemory_limit = "1GB"')
    assert "Nothing was read" in done()
    text = Path("keys.toml").read_text()
    Path("keys.toml").write_text(text.replace('"male"', '"Male"'))
    refused(2, "[keys] of the job")
    Path("keys.toml").write_text(text.replace("[0, 100]", "[0, 90]"))  # ages, which are not asked for
    assert "Nothing was read" in done()


def test_addresses_and_settings_of_spark_are_not_paths_of_the_desk(desk: Path) -> None:
    edit('"register.parquet"', '"s3a://lake/register"')
    refused(2, '"s3a://lake/register" is an address')
    edit('"s3a://lake/register"', '"register.parquet"')
    edit('name = "register"', 'name = "register"\nconfig = { "spark.executor.memory" = "4g" }')
    refused(2, "config is for a Spark session")
    words = "count register.parquet --unit person --units --epsilon 1 --delta 1e-6 --config spark.executor.memory"
    code, _, err = run(*words.split(), "--output", "units.parquet")
    assert (code, "NAME=VALUE" in err) == (2, True), err


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


def stopping(monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """Let the next run end at one place, as if the machine had been switched off there."""

    def stop(*_: object, **__: object) -> Any:
        raise Stopped

    write = Record.write

    def stop_when_written(self: Record, path: str) -> None:
        if self.release is not None:
            raise Stopped
        write(self, path)

    places: dict[str, tuple[Any, Callable[..., Any]]] = {
        "before the debit": ("leastnoise.curator.budget.charge.Charge.pay", stop),
        "before a row is read": ("leastnoise.curator.publish._read", stop),
        "before the release is written": (f"{Release.__module__}.Release.save", stop),
        "before its record is": ("leastnoise.jobs.record.Record.write", stop_when_written),
        "before the page is": (f"{Published.__module__}.Published.report", stop),
    }
    monkeypatch.setattr(*places[where])


@pytest.mark.parametrize(
    ("where", "paid", "goes_on"),
    [
        ("before the debit", 0, True),
        ("before a row is read", 1, False),
        ("before the release is written", 1, False),
        ("before its record is", 1, True),
        ("before the page is", 1, True),
    ],
)
def test_wherever_a_run_is_stopped_no_other_run_pays_twice(
    desk: Path, monkeypatch: pytest.MonkeyPatch, where: str, paid: int, goes_on: bool
) -> None:
    edit("[output]\n", '[output]\npage = "page.html"\n')
    with monkeypatch.context() as patch:
        stopping(patch, where)
        with pytest.raises(Stopped):
            run("run", "job.toml", *DAY)
    assert debits() == paid
    assert [path.name for path in desk.iterdir() if "unfinished" in path.name] == []
    if goes_on:
        done()
        assert debits() == 1
    else:
        for _ in range(2):  # however often the timetable tries
            refused(1, "ended before 'out-2026-10.parquet' was written")
        assert ln.Budget.open("city.ledger").history()[0].release in run("run", "job.toml", *DAY)[2]
        done("--again")
        assert debits() == 2
    assert Path("page.html").exists()
    total = debits()
    assert "Nothing was read" in done()
    assert debits() == total


@pytest.mark.parametrize("where", ["before the debit", "before a row is read", "before its record is"])
def test_a_stopped_run_in_place_of_an_earlier_release(desk: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    done()
    first = ln.load(OUT).id
    with monkeypatch.context() as patch:
        stopping(patch, where)
        with pytest.raises(Stopped):
            run("run", "job.toml", *DAY, "--again")
    if where == "before the debit":
        assert "Nothing was read" in done()  # the earlier one still counts
        assert (debits(), ln.load(OUT).id) == (1, first)
    elif where == "before a row is read":
        refused(1, "what it paid stays paid")
        assert (debits(), ln.load(OUT).id) == (2, first)
    else:
        assert "Nothing was read" in done()
        assert debits() == 2
        assert ln.load(OUT).id != first


def test_rows_that_cannot_be_read_are_paid_once(desk: Path) -> None:
    content = Path("register.parquet").read_bytes()
    footer = int.from_bytes(content[-8:-4], "little") + 8
    Path("register.parquet").write_bytes(content[:4] + b"\xff" * (len(content) - 4 - footer) + content[-footer:])
    assert "Nothing was read, paid or written." in done("--expect")
    assert json.loads(done("--expect", "--json"))["bins"] == 24
    assert not OUT.exists()
    assert not Path(f"{OUT}.run").exists()
    code, _, err = run("run", "job.toml", *DAY)
    assert code == 1
    assert "ReadingFailed" in err
    refused(1, "what it paid stays paid")
    refused(1, "BudgetClosed", "--again")
    assert [entry.kind for entry in ln.Budget.open("city.ledger").history()] == ["release", "close"]


def test_a_release_that_is_gone_is_not_paid_for_again(desk: Path) -> None:
    done()
    OUT.rename("elsewhere")
    refused(1, "the file is gone")
    Path("elsewhere").rename(OUT)
    assert "Nothing was read" in done()
    OUT.unlink()
    done("--again")
    assert debits() == 2


def test_an_exhausted_budget_ends_in_1_and_leaves_the_job_as_it_was(desk: Path) -> None:
    edit("share = 0.05", "share = 0.6")
    done()
    code, _, err = run("run", "job.toml", "--date", "2026-11-01")
    assert code == 1
    assert "BudgetExhausted" in err
    assert not Path("out-2026-11.parquet.run").exists()
    code, _, err = run("run", "job.toml", *DAY, "--again")
    assert code == 1
    assert "Nothing was read" in done()
    assert debits() == 1


def test_two_runs_at_once(desk: Path) -> None:
    with open("job.toml", "rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        refused(1, "Another run of 'job.toml' is under way")
    done()


def test_paths_begin_at_the_folder_of_the_job(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (desk / "elsewhere").mkdir()
    monkeypatch.chdir(desk / "elsewhere")
    code, _, err = run("run", "../job.toml", *DAY)
    assert (code, err) == (0, "")
    assert (desk / OUT).exists()
    assert list((desk / "elsewhere").iterdir()) == []


def test_without_a_budget_nothing_is_debited(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edit('budget = "city.ledger"\nshare = 0.05', "epsilon = 1\ndelta = 1e-6")
    with monkeypatch.context() as patch:
        stopping(patch, "before a row is read")
        with pytest.raises(Stopped):
            run("run", "job.toml", *DAY)
    done()  # what was not paid can be asked again
    assert "Nothing was read" in done()
    assert debits() == 0


ASKS = {
    "count": "max_rows = 1",
    "count_units": "",
    "histogram": 'by = "sex"\nmax_rows = 2\nmax_per_bin = 1',
    "sum": 'column = "income"\nclip = [0, 100000]\nmax_rows = 1',
    "mean": 'column = "income"\nclip = [0.0, 1e5]\nby = ["sex"]\nmax_rows = 1',
    "crosstabs": 'tables = [[], "age", ["sex", "district"]]\nmax_rows = 1\ncumulative = "age"\n'
    'weights = { "sex, district" = 3, "age" = 1.5, "" = 1 }',
    "quantile": 'column = "income"\nclip = [0, 100000]\nlevels = [0.25, 0.5]\nbins = 200\nmax_rows = 1',
}


@pytest.mark.parametrize("kind", ASKS)
def test_every_kind_of_question(desk: Path, kind: str) -> None:
    head, tail = JOB.split("[ask]\n")
    Path("job.toml").write_text(f'{head}[ask]\nkind = "{kind}"\n{ASKS[kind]}\n\n[privacy]{tail.split("[privacy]")[1]}')
    edit("[output]\n", '[output]\npage = "page.html"\n')
    done("--expect")
    done()
    assert "<title>" in Path("page.html").read_text()
    assert "Nothing was read" in done()
    assert debits() == 1
    assert ln.load(OUT).query is not None


def test_tables_of_two_columns_as_in_python(desk: Path) -> None:
    edit('kind = "histogram"\nby = ["district", "sex"]\n', 'kind = "crosstabs"\nways = [2]\nother = true\n')
    edit('keys = "keys.toml"', 'keys = "few.toml"')
    Path("few.toml").write_text('sex = ["female"]\nage = { edges = [0, 18, 67] }\njob = ["care", "health"]\n')
    done()
    table = ln.table("register.parquet", unit="person", name="register")
    query = table.crosstabs(keys=ln.domain.read("few.toml"), ways=(2,), other=True, max_rows=1)
    assert ln.load(OUT).query == query.describe()
    edit("[output]\n", '[output]\npage = "page.html"\nestimate = "e.parquet"\n')
    done()
    assert "<title>" in Path("page.html").read_text()
    assert ln.load("e.parquet").id == ln.load(OUT).id


def test_an_estimate_is_written_too_and_only_where_there_is_one(desk: Path) -> None:
    edit("[output]\n", '[output]\nestimate = "e.parquet"\n')
    assert "Written: e.parquet" in done()
    assert isinstance(ln.load("e.parquet"), ln.Estimate)
    assert ln.load("e.parquet").id == ln.load(OUT).id
    text = Path("job.toml").read_text()
    edit('kind = "histogram"\nby = ["district", "sex"]\n', 'kind = "count"\n')
    refused(2, "line 17: this kind of release cannot be denoised")
    Path("job.toml").write_text(text.replace('keys = "keys.toml"\n', ""))  # keys that nobody listed
    refused(2, "cannot be denoised")


@pytest.mark.parametrize(
    ("name", "value"), [("fingerprints", None), ("entries", "3"), ("release", 7), ("replaced", ["x"]), ("new", 1)]
)
def test_a_record_that_was_edited_is_refused(desk: Path, name: str, value: object) -> None:
    done()
    path = Path(f"{OUT}.run")
    path.write_text(json.dumps(json.loads(path.read_text()) | {name: value}))
    refused(1, "none that this version can read")


def test_keys_may_stand_in_the_job_itself(desk: Path) -> None:
    edit('keys = "keys.toml"\n', "")
    edit("[ask]", '[keys]\nsex = ["female", "male"]\nage = { edges = [0, 18, 67], other = true }\n\n[ask]')
    edit('by = ["district", "sex"]', 'by = ["age", "sex"]')
    done()
    assert [axis.size for axis in ln.load(OUT).domain.axes] == [3, 2]
    edit('by = ["age", "sex"]', 'by = ["age", "job"]')
    refused(2, "has no keys for job")


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
        ("max_rows = 1", 'max_rows = "1"', "line 11: max_rows must be a whole number. Got '1' instead."),
        ("max_rows = 1", "max_rows = true", "must be a whole number"),
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


def test_a_process_that_is_killed_after_its_debit(desk: Path) -> None:
    """Nothing is unwound: no finally, no exception, the process is gone."""
    killed = f"""
import os, sys
from leastnoise.cli import main
from leastnoise.releases.release import Release
Release.save = lambda *_, **__: os._exit(9)
sys.argv = ["leastnoise", "run", "job.toml", *{DAY!r}]
main()
"""
    done_with = subprocess.run([sys.executable, "-c", killed], env=ENVIRONMENT, capture_output=True, check=False)
    assert done_with.returncode == 9
    assert debits() == 1
    refused(1, "what it paid stays paid")
    done("--again")
    assert debits() == 2


def test_a_table_of_several_files_with_types_derived_columns_and_a_condition(
    desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for month in ("2026-10", "2026-11"):
        Path(f"trips-{month}-a.csv").write_text("person,hour,place\n1,5,x\n2,30,y\n")
        Path(f"trips-{month}-b.csv").write_text("person,hour,place\n3,6,x\n")
    tail = JOB.split("[ask]\n")[1]
    table = """[table]
source = "trips-{date:%Y-%m}-*.csv"
unit = "person"
name = "register"
types = { hour = "int" }
derive = { early = "CASE WHEN hour < 6 THEN 'yes' ELSE 'no' END" }
where = "hour < 24"

[keys]
early = ["yes", "no"]

[ask]
"""
    Path("job.toml").write_text(table + tail.replace('["district", "sex"]', '"early"'))
    monkeypatch.chdir(desk / "..")
    code, out, err = run("run", f"{desk.name}/job.toml", *DAY)
    assert (code, err) == (0, "")
    assert "where hour < 24" in out
    assert "with early = CASE WHEN hour < 6 THEN 'yes' ELSE 'no' END" in out
    monkeypatch.chdir(desk)
    edit('"trips-{date:%Y-%m}-*.csv"', '["trips-{date:%Y-%m}-a.csv", "trips-{date:%Y-%m}-b.csv"]')
    refused(2, "[table] of the job is not what it was then")
    code, _, err = run("run", "job.toml", "--date", "2026-11-30")
    assert (code, err) == (0, "")
    assert debits() == 2


@pytest.mark.parametrize("section", ["table", "ask", "privacy", "output"])
def test_the_page_about_jobs_has_every_name(section: str) -> None:
    page = (Path(__file__).parents[2] / "docs/howto/monthly-job.md").read_text()
    row = next(line for line in page.splitlines() if line.startswith(f"| `[{section}]`"))
    assert [name for name in NAMES[section] if not re.search(rf"\b{name}\b", row)] == []
