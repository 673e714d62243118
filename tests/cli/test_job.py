"""`leastnoise run`: done once however often it is run, and every kind of question as in Python."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import leastnoise as ln
from fuzzing import run
from job_desk import DAY, JOB, OUT, debits, done, edit, refused
from leastnoise import errors
from leastnoise.releases.release import Release


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


def test_another_month_is_another_release_on_the_same_page(desk: Path) -> None:
    edit("[output]\n", '[output]\npage = "page.html"\ntitle = "People in {date:%B %Y}"\n')
    done()
    assert "People in October 2026" in Path("page.html").read_text()
    code, _, err = run("run", "job.toml", "--date", "2026-11-01")
    assert (code, err) == (0, "")
    assert "People in November 2026" in Path("page.html").read_text()
    assert debits() == 2
    assert ln.load("out-2026-11.parquet").id != ln.load(OUT).id


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


def test_paths_begin_at_the_folder_of_the_job(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (desk / "elsewhere").mkdir()
    monkeypatch.chdir(desk / "elsewhere")
    code, _, err = run("run", "../job.toml", *DAY)
    assert (code, err) == (0, "")
    assert (desk / OUT).exists()
    assert list((desk / "elsewhere").iterdir()) == []


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


def test_keys_may_stand_in_the_job_itself(desk: Path) -> None:
    edit('keys = "keys.toml"\n', "")
    edit("[ask]", '[keys]\nsex = ["female", "male"]\nage = { edges = [0, 18, 67], other = true }\n\n[ask]')
    edit('by = ["district", "sex"]', 'by = ["age", "sex"]')
    done()
    assert [axis.size for axis in ln.load(OUT).domain.axes] == [3, 2]
    edit('by = ["age", "sex"]', 'by = ["age", "job"]')
    refused(2, "has no keys for job")


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
    code, _, err = run("run", f"{desk.name}/job.toml", *DAY)
    assert (code, err) == (0, "")
    asked = ln.load(desk / "out-2026-10.parquet").query
    assert "where hour < 24" in asked
    assert "with early = CASE WHEN hour < 6 THEN 'yes' ELSE 'no' END" in asked
    monkeypatch.chdir(desk)
    edit('"trips-{date:%Y-%m}-*.csv"', '["trips-{date:%Y-%m}-a.csv", "trips-{date:%Y-%m}-b.csv"]')
    refused(2, "[table] of the job is not what it was then")
    code, _, err = run("run", "job.toml", "--date", "2026-11-30")
    assert (code, err) == (0, "")
    assert debits() == 2


@pytest.mark.parametrize(
    ("problem", "code", "words"),
    [
        (ZeroDivisionError("secret424242"), 3, "a mistake of leastnoise itself (ZeroDivisionError)"),
        (errors.BadOutput("another file is there."), 1, "another file is there."),
        (OSError("secret424242"), 1, "full disk"),
    ],
)
def test_a_release_whose_page_cannot_be_drawn_is_saved_and_not_paid_again(
    desk: Path, monkeypatch: pytest.MonkeyPatch, problem: Exception, code: int, words: str
) -> None:
    edit('release = "out', 'page = "out.html"\nrelease = "out')

    def fail(*given: object, **named: object) -> None:
        raise problem

    with monkeypatch.context() as broken:
        broken.setattr(Release, "report", fail)
        for _ in range(2):
            found, out, err = run("run", "job.toml", *DAY)
            assert (found, out, debits()) == (code, "", 1)
            for part in (
                f"The release is saved as {str(OUT)!r}, and is paid for.",
                "'out.html' could not be made",
                words,
            ):
                assert part in " ".join(err.split())
            assert "nothing was written" not in err.lower()
            assert "secret" not in err
            assert OUT.exists()
    assert "Nothing was read, paid or drawn again" in " ".join(done().split())
    assert (Path("out.html").exists(), debits()) == (True, 1)


def test_a_release_that_cannot_be_shown_is_said_to_be_saved(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Release, "explain", lambda self: 1 / 0)
    code, _, err = run("run", "job.toml", *DAY)
    assert (code, OUT.exists(), debits()) == (3, True, 1)
    assert f"The release is saved as {str(OUT)!r}" in " ".join(err.split())
    options = [
        "--unit",
        "person",
        "--by",
        "sex",
        "--keys",
        "F,M",
        "--max-rows",
        "1",
        "--epsilon",
        "1",
        "--delta",
        "1e-6",
    ]
    code, _, err = run("histogram", "register.parquet", *options, "-o", "typed.parquet")
    assert (code, Path("typed.parquet").exists()) == (3, True)
    assert "The release is saved as 'typed.parquet'" in " ".join(err.split())
    assert "leastnoise show typed.parquet" in " ".join(err.split())
