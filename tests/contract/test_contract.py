"""One contract: a job that is typed as Python, as options, as a file, into the studio's forms, or taken from the Python
that the studio prints asks one question of one table under one promise.

Every way can say everything; the one exception is `NO_FORM`.
"""

from __future__ import annotations

import ast
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import contract_surfaces as surfaces
import leastnoise as ln
from contract_cases import CASES
from contract_surfaces import WAYS, Used, facts

pytestmark = [
    pytest.mark.filterwarnings("ignore::leastnoise.errors.WeakPromise"),
    pytest.mark.filterwarnings("ignore::leastnoise.errors.Wasteful"),
]

# A job's file may be anybody's, so the studio starts no engine and gives no setting to one on its word.
NO_FORM = {("table", "engine"), ("table", "config")}
NOT_TYPED = {("table", name) for name in ("engine", "memory_limit", "config")} | {("privacy", "force")}
# What no answer shows: `test_what_no_answer_shows_reaches_the_table` sees a wrong one refused.
UNSEEN = {"source", "engine", "memory_limit", "config"}


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all that the cases read."""
    folder = tmp_path_factory.mktemp("contract")
    chance = np.random.default_rng(3)
    person = np.sort(chance.integers(0, 200, 600))
    rows = pa.table(
        {
            "person": person,
            "sex": np.array(["F", "M"])[person % 2],
            "age": 18 + person % 60,
            "district": pa.array(np.array(["Mill", "Harbour", "Old Town", None])[chance.integers(0, 4, 600)]),
            "income": chance.integers(0, 100, 600) * 1000.5,
            "lon": chance.uniform(6.5, 9.5, 600),
            "lat": chance.uniform(46, 48, 600),
        }
    )
    place = pa.FixedSizeListArray.from_arrays(pa.array(chance.uniform(0, 1, 1200)), 2).cast(pa.list_(pa.float64()))
    pq.write_table(rows.append_column("place", place), folder / "people.parquet")
    pq.write_table(pa.table({"id": [1, 2, 3], "lon": [7.0, 8.0, 9.0], "lat": [47.0] * 3}), folder / "nodes.parquet")
    pq.write_table(pa.table({"u": [1, 2], "v": [2, 3]}), folder / "edges.parquet")
    written = rows.to_pandas()
    income = written["income"].map("{:.1f}".format).str.replace(".", ",")
    income[::20], income[5::20] = "-9", "n/a"
    written.assign(income=income, district=written["district"].fillna("n/a")).to_csv(
        folder / "people.csv", sep=";", index=False
    )
    (folder / "places.csv").write_text("place,part\nMill,east\nHarbour,west\nOld Town,\n")
    (folder / "tree.csv").write_text("district,part\nMill,east\nHarbour,west\nOld Town,west\n")
    sex = {"sex": ["F", "M"], "age": range(18, 60)}
    ln.domain.write(folder / "two.toml", sex)
    ln.domain.write(folder / "keys.toml", sex | {"district": ["Mill", "Harbour"]})
    (folder / "tree.toml").write_text('district = { tree = "tree.csv", levels = ["part", "district"] }\n')
    (folder / "zones.geojson").write_text(json.dumps(zones(("west", 7, 8), ("east", 8, 9))))
    ln.Budget.open(folder / "city.ledger", epsilon=3, delta=1e-6).allocate("maps", share=0.5)
    ln.Budget.open(folder / "inhabitants.ledger", epsilon=3, delta=1e-6, table="inhabitants")
    table, promise = ln.table(folder / "people.parquet", unit="person"), {"epsilon": 1, "delta": 1e-6}
    table.suggest_limits("sex", keys=["F", "M"], **promise).save(folder / "people-limits.parquet")
    table.suggest_clip("income", within=(0, 90000), max_rows=2, **promise).save(folder / "people-clip.parquet")
    return folder


def zones(*stripes: tuple[str, float, float]) -> dict[str, Any]:
    """Stripes of a map, from west to east."""
    features = [
        {
            "type": "Feature",
            "properties": {"name": name},
            "geometry": {
                "type": "Polygon",
                "coordinates": [[[west, 46], [east, 46], [east, 48], [west, 48], [west, 46]]],
            },
        }
        for name, west, east in stripes
    ]
    return {"type": "FeatureCollection", "features": features}


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same, for one job."""
    shutil.copytree(made, tmp_path / "desk")
    monkeypatch.chdir(tmp_path / "desk")
    return tmp_path / "desk"


@pytest.fixture(scope="session")
def in_python() -> dict[str, dict[str, Any]]:
    """What is asked in Python, by the case: found once."""
    return {}


def expected(name: str, found: dict[str, dict[str, Any]]) -> dict[str, Any]:
    if name not in found:
        found[name] = facts(surfaces.typed_in_python(CASES[name].python))
    return found[name]


TYPED = [(way, name) for way in WAYS for name in CASES]


@pytest.mark.parametrize(("way", "name"), TYPED)
def test_whoever_types_a_job_asks_the_same(
    folder: Path, way: str, name: str, in_python: dict[str, dict[str, Any]]
) -> None:
    asked = expected(name, in_python)
    assert facts(WAYS[way](CASES[name])) == asked


def test_every_question_and_every_field_is_typed_in_python() -> None:
    used: Used = set().union(*(surfaces.used_in_python(case.python) for case in CASES.values()))
    kinds = surfaces.questions().keys()
    assert kinds == {case.kind for case in CASES.values()}
    fields = {(of, field) for of in (*kinds, "table", "privacy") for field in surfaces.fields()[of]}
    assert fields - used == NOT_TYPED & fields


def test_files_have_every_field_and_every_one_is_typed() -> None:
    has = {(of, field) for of, names in surfaces.jobs_of().items() for field in names}
    assert surfaces.questions().keys() == surfaces.jobs_of().keys() - {"table", "privacy"}
    assert has == {(of, field) for of, names in surfaces.said().items() for field in names}
    used = set().union(*(surfaces.used_in_job(case.job) for case in CASES.values()))
    assert has - used == NOT_TYPED


def test_commands_have_every_field_and_every_one_is_typed() -> None:
    said = surfaces.said()
    assert surfaces.questions().keys() == surfaces.options_of().keys()
    used = set().union(*(surfaces.used_in_options(case.options) for case in CASES.values()))
    for kind, has in surfaces.options_of().items():
        everywhere = {(of, field) for of in ("table", "privacy") for field in said[of]}
        expected = {(kind, field) for field in said[kind]} | everywhere
        assert has == {field for _, field in expected}, kind
        assert {(kind, field) for field in has & said[kind]} <= used, kind
    typed = {field for _, field in used}
    assert {(of, field) for of, field in everywhere if field not in typed} == NOT_TYPED


def test_forms_have_the_fields_that_are_known_and_every_one_is_filled_in(folder: Path) -> None:
    used: Used = set()
    has: Used = set()
    for case in CASES.values():
        used |= surfaces.used_in_form(case.form)
        has |= surfaces.offered_in_form(case.form, surfaces.fill_in(case))
        for draft in ("people.toml", "people-2.toml"):
            (folder / draft).unlink(missing_ok=True)
    has.add(("privacy", "force"))  # where a promise is weak: `test_a_promise_that_protects_nobody_needs_force...`
    kinds = surfaces.kinds_in_form()
    assert surfaces.questions().keys() == kinds
    expected = {(of, field) for of in (*kinds, "table", "privacy") for field in surfaces.said()[of]}
    assert expected - has == NO_FORM
    assert has - expected == set()
    assert has <= used


def test_a_printed_job_has_the_fields_of_the_file(folder: Path) -> None:
    for name, case in CASES.items():
        (folder / "job.toml").write_text(f'{case.job}\n[output]\nrelease = "out.parquet"\n')
        printed = surfaces.used_in_python(surfaces.printed())
        assert surfaces.used_in_python(case.python) - printed <= {(case.kind, "limits")}, name


def without(text: str) -> list[tuple[tuple[str, str], str]]:
    """The Python of a case without one of its arguments, for each by name."""
    found = []
    count = sum(isinstance(node, ast.Call) for node in ast.walk(ast.parse(text)))
    for number in range(count):
        call = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)][number]
        for place, keyword in enumerate(call.keywords):
            whole = ast.parse(text)
            cut = [node for node in ast.walk(whole) if isinstance(node, ast.Call)][number]
            del cut.keywords[place]
            field = surfaces.field_of(call, keyword)
            if field is not None:
                found.append((field, ast.unparse(whole)))
    return found


def test_what_is_compared_shows_every_field(folder: Path, in_python: dict[str, dict[str, Any]]) -> None:
    """Else a field that one way forgets would be the same, too. For each field one case is enough, whose answer or
    whose refusal is another without it."""
    tried: Used = set()
    seen: Used = set()
    for name, case in CASES.items():
        for field, text in without(case.python):
            tried.add(field)
            if field in seen or field[1] in UNSEEN:
                continue
            try:
                other = facts(surfaces.typed_in_python(text))
            except (ln.errors.LeastnoiseError, AssertionError):
                seen.add(field)
            else:
                seen |= {field} if other != expected(name, in_python) else set()
    assert {field for field in tried - seen if field[1] not in UNSEEN} == set()


@pytest.mark.parametrize("field", ["engine", "memory_limit", "config"])
@pytest.mark.parametrize("way", ["options", "job", "script of the job"])
def test_what_no_answer_shows_reaches_the_table(folder: Path, field: str, way: str) -> None:
    """A word that is none is refused, and so is a setting of Spark for DuckDB."""
    word = {"engine": "dukcdb", "memory_limit": "much", "config": "spark.cores=2"}[field]
    shown = "config is for a Spark session" if field == "config" else word
    option, line = f"--{field.replace('_', '-')} {word}", f'{field} = "{word}"'
    if field == "config":
        line = 'config = { "spark.cores" = "2" }'
    case = CASES["count"]
    wrong = case._replace(
        options=f"{case.options} {option}", job=case.job.replace('unit = "person"', f'unit = "person"\n{line}')
    )
    with pytest.raises((AssertionError, ln.errors.LeastnoiseError), match=shown):
        WAYS[way](wrong)


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("way", ["options", "job", "form"])
def test_a_promise_that_protects_nobody_needs_force_however_it_is_typed(folder: Path, way: str, force: bool) -> None:
    case = CASES["people"]
    options = case.options.replace("--epsilon 1", "--epsilon 40") + (" --force" if force else "")
    job = case.job.replace("epsilon = 1", "epsilon = 40") + ("\nforce = true" if force else "")
    weak = {"epsilon": "40", "delta": "1e-6"} | ({"force": "yes"} if force else {})
    typed = case._replace(options=options, job=job, form=case.form | {"privacy": weak})
    assert surfaces.is_rehearsed(way, typed) == force
