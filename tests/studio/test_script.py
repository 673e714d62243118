"""The Python that the studio shows for a job runs, and asks what the job asks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import leastnoise as ln
from leastnoise import datasets
from leastnoise.jobs.as_python import QUESTION, TABLE, cells
from leastnoise.jobs.fields import SECTIONS
from leastnoise.jobs.file import read_job
from leastnoise.jobs.questions import QUESTIONS
from leastnoise.jobs.running import Run
from leastnoise.studio.draft import Draft

SEX = 'sex = ["F", "M"]'
BOTH = SEX + '\ndistrict = ["Harbour", "Old Town"]'
BY = 'by = "sex"\n'
ZONES = {
    "type": "FeatureCollection",
    "features": [
        {
            "type": "Feature",
            "properties": {"name": name},
            "geometry": {"type": "Polygon", "coordinates": [[[x, 0], [x + 50, 0], [x + 50, 80], [x, 80], [x, 0]]]},
        }
        for name, x in (("young", 0), ("old", 50))
    ],
}
ASKED: dict[str, tuple[str, str]] = {
    # what is in [ask], and in [keys]
    "count": ('kind = "count"\nmax_rows = 2', ""),
    "count_units": ('kind = "count_units"', ""),
    "histogram": (f'kind = "histogram"\n{BY}max_rows = 1\nmax_per_bin = 1\nmax_bins = 1\nnulls = "bin"', SEX),
    "histogram of two": ('kind = "histogram"\nby = ["district", "sex"]\nmax_rows = 1', BOTH),
    "unknown keys": (f'kind = "histogram"\n{BY}max_rows = 1\nothers = 0.1', ""),
    "sum": ('kind = "sum"\ncolumn = "income"\nclip = [0, 9e4]\nmax_rows = 1', ""),
    "sum by": (f'kind = "sum"\n{BY}column = "income"\nclip = [0, 9e4]\nmax_rows = 1', SEX),
    "mean": (f'kind = "mean"\n{BY}column = "income"\nclip = [0.5, 90000]\nmax_rows = 1', SEX),
    "quantile": ('kind = "quantile"\ncolumn = "age"\nlevels = 0.5\nclip = [0, 100]\nmax_rows = 1', ""),
    "quantiles": (
        (
            f'kind = "quantile"\n{BY}column = "age"\nlevels = [0.1, 0.9]\nclip = [0, 100]\nmax_rows = 1\nbins = 64\n'
            "expected_rows = 1000\nintervals = true"
        ),
        SEX,
    ),
    "summarize": (
        (
            f'kind = "summarize"\n{BY}max_rows = 1\nweights = {{ people = 2 }}\n'
            'statistics = { people = "count", income = "mean:income:0:90000", spread = "std:age:0:100", '
            'of_all = "share", old = "rate:age >= 65", per_year = "ratio:income:0:9e4:age:1:100", '
            'wages = "sum:income:0:9e4", var = "variance:age:0:100", part = "share:income:0:90000" }'
        ),
        SEX,
    ),
    "summarize all": ('kind = "summarize"\nmax_rows = 1\nstatistics = { income = "mean:income:0:90000" }', ""),
    "crosstabs": ('kind = "crosstabs"\nways = [1, 2]\nmax_rows = 1', BOTH),
    "some tables": (
        'kind = "crosstabs"\ntables = ["sex", ["sex", "district"]]\nweights = { "sex,district" = 10 }\nmax_rows = 1',
        BOTH,
    ),
    "weighted tables": (
        'kind = "crosstabs"\nweights = "cells"\nweight = "income"\nweight_clip = [0, 10]\nways = 1\nmax_rows = 2',
        BOTH,
    ),
    "shared rows": ('kind = "crosstabs"\nrow_weight = "shared"\nways = 1\nmax_rows = 2\nother = true', BOTH),
    "cumulative tables": (
        'kind = "crosstabs"\ncumulative = "age"\nways = 1\nmax_rows = 1',
        SEX + "\nage = { range = [0, 30, 10] }",
    ),
    "ranges": (
        'kind = "crosstabs"\nranges = ["age"]\nways = 1\nmax_rows = 1',
        SEX + "\nage = { edges = [0, 10.5, 99] }",
    ),
}
ASKED |= {
    kind: (f'kind = "{kind}"\ncolumns = ["age", "income"]\nclip_norm = 1.5\nmax_rows = 1', "")
    for kind in ("vector_sum", "vector_mean")
}
KEYS: dict[str, tuple[str, str]] = {
    # the keys of the column that is asked for
    "list": ("age", "[1, 2]"),
    "range": ("age", "{ range = [0, 100, 5] }"),
    "edges": ("age", "{ edges = [0, 17.5, 99] }"),
    "bins": ("income", "{ bins = 7, between = [0, 90000.5] }"),
    "ordered": ("sex", '{ ordered = ["M", "F"] }'),
    "days": ("day", "{ days = [2026-01-01, 2026-02-01] }"),
    "hours": ("hour", "{ hours = [2026-01-01T00:00:00, 2026-01-02T00:00:00] }"),
    "dates": ("day", "[2026-01-01, 2026-01-03]"),
    "file": ("district", '{ file = "places.csv", column = "district" }'),
    "tree": ("district", '{ tree = "places.csv", levels = ["part", "district"] }'),
    "parents": ("district", '{ tree = "parents.csv", levels = ["part", "district"], child = "is", parent = "in" }'),
    "labels": ("sex", '{ keys = ["F", "M"], labels = ["women", "men"] }'),
    "labels of a range": ("age", '{ range = [0, 2], labels = ["none", "one"], other = true }'),
    "labels in a file": ("district", '{ file = "places.csv", column = "district", labels = "shown" }'),
    "labels of edges": ("age", '{ edges = [0, 18, 99], labels = ["young", "old"] }'),
    "other": ("district", '{ keys = ["Harbour"], other = true }'),
    "other, called otherwise": ("sex", '{ ordered = ["F", "M"], other = "unknown" }'),
    "box": ("cell", "{ box = [0, 50, 0, 90000] }"),
}
ROWS = {
    "join": 'join = "places.csv:district"\nwhere = "part = \'west\'"',
    "joins": 'join = ["places.csv:district", "sexes.csv:sex=code"]',
    "per_unit": 'per_unit = { n = "count", spent = "sum:income:0.01", all = "sum:income", home = "mode:district" }',
    "having": 'per_unit = { sex = "mode:sex", n = "count", areas = "distinct:district" }\nhaving = "n > 1"',
    "ends": 'per_unit = { sex = "min:sex", last = "max:age" }\nwhere = "age > 3"',
    "derive": 'derive = { old = "age > 64", "two words" = "age < 9" }',
    "zones": 'within = { zone = "zones.geojson:name,age,size", again = "zones.geojson:name,age,size" }',
    "day of the run": "where = \"day < DATE '{date:%Y-%m-%d}'\"",
    "rest": 'name = "people"\nneighbours = "replace"\npublic_units = 5000\nmissing = ["-9"]',
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    people = datasets.people(50).to_pandas()
    rows = people.assign(size=0.5, day="2026-01-02", hour="2026-01-01T05:00:00")
    rows.to_csv("people.csv", index=False)
    Path("places.csv").write_text("district,part,shown\nHarbour,west,harbour\nMill,east,the mill\n")
    Path("parents.csv").write_text("is,in\nwest,\nHarbour,west\nMill,west\n")
    Path("sexes.csv").write_text("code,word\nF,woman\nM,man\n")
    Path("zones.geojson").write_text(json.dumps(ZONES))
    return tmp_path


def written(ask: str, keys: str, table: str = "") -> Draft:
    types = 'types = { income = "float", age = "int", size = "float", day = "date", hour = "timestamp" }'
    Path("job.toml").write_text(
        f'[table]\nsource = "people.csv"\nunit = "person"\n{types}\n{table}\n'
        f'[keys]\n{keys}\n[ask]\n{ask}\n[privacy]\nepsilon = 1\ndelta = 1e-6\n[output]\nrelease = "out.parquet"\n'
    )
    return Draft.read(Path("job.toml"))


def check(draft: Draft) -> None:
    """The question of the lines that are shown is that of the job, of the same rows and the same keys."""
    shown: dict[str, Any] = {}
    lines = [
        line for cell in cells(str(draft.path), draft.found) if cell.title in (TABLE, QUESTION) for line in cell.lines
    ]
    exec("\n".join(lines), shown)
    asked, ours = Run.of(draft.job()).query, shown["question"]
    assert ours.describe() == asked.describe()
    assert repr(ours.domain) == repr(asked.domain)
    assert type(ours) is type(asked)
    given = {"epsilon": 1, "delta": 1e-6}
    assert str(ours.expect(**given)) == str(asked.expect(**given))


@pytest.mark.parametrize("name", ASKED)
def test_every_question_of_a_job_is_shown_as_it_is_asked(folder: Path, name: str) -> None:
    check(written(*ASKED[name]))


def test_every_kind_and_every_name_of_a_question_is_tried() -> None:
    texts = "\n".join(ask for ask, _ in ASKED.values())
    assert all(f'kind = "{kind}"' in texts for kind in QUESTIONS)
    assert {name for name in SECTIONS["ask"] if f"\n{name} = " not in f"\n{texts}"} == {
        "limits",  # by a paid look: test_limits
        "length",  # of arrays, which no CSV holds: tests/contract
    }


@pytest.mark.parametrize("name", KEYS)
def test_every_kind_of_keys_is_shown_as_it_is(folder: Path, name: str) -> None:
    column, entry = KEYS[name]
    if name in ("tree", "parents"):
        check(written(f'kind = "crosstabs"\ntables = ["{column}"]\nmax_rows = 1', f"{column} = {entry}"))
        return
    table = 'lattice = { cell = "age,income,25" }' if name == "box" else ""
    check(written(f'kind = "histogram"\nby = "{column}"\nmax_rows = 1', f"{column} = {entry}", table))


@pytest.mark.parametrize("name", ROWS)
def test_what_a_row_is_is_shown_as_the_job_has_it(folder: Path, name: str) -> None:
    if name == "per_unit":
        check(written('kind = "sum"\ncolumn = "spent"\nclip = [0, 9]\nby = "n"', "n = [1, 2]", ROWS[name]))
    elif name == "zones":
        check(written('kind = "histogram"\nby = "again"\nmax_rows = 1', "", ROWS[name]))
    else:
        check(written(f'kind = "histogram"\n{BY}max_rows = 1', SEX, ROWS[name]))


def test_keys_in_a_file_of_their_own(folder: Path) -> None:
    Path("keys.toml").write_text(BOTH)
    for ask in (
        'kind = "histogram"\nby = ["district", "sex"]\nmax_rows = 1',
        'kind = "crosstabs"\nways = 1\nmax_rows = 1',
    ):
        written(ask, "")
        text = Path("job.toml").read_text().replace("[keys]\n", "")
        Path("job.toml").write_text(f'keys = "keys.toml"\n{text}')
        check(Draft.read(Path("job.toml")))


@pytest.mark.parametrize("name", ["count", "summarize", "some tables", "sum by"])
def test_the_whole_script_writes_the_release_of_the_job(folder: Path, name: str) -> None:
    draft = written(*ASKED[name])
    Path("job.toml").write_text(draft.text.replace('"out.parquet"', '"{date:%Y}.parquet"\npage = "out.html"'))
    draft = Draft.read(Path("job.toml"))
    exec(draft.python, {})
    made: Any = ln.load(draft.job().output["release"])
    assert made.query == Run.of(read_job("job.toml", made.created_at.date())).query.describe()
    assert Path("out.html").exists()
