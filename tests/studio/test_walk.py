"""The walk from a table to a page, without a screen: every kind of question, wrong turns, and what is never shown."""

from __future__ import annotations

import runpy
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import leastnoise as ln
from command_line import run
from leastnoise import datasets
from leastnoise.curator.engines.duckdb import DuckDB
from leastnoise.studio.folder import Folder
from leastnoise.studio.session import Studio
from studio_visitor import ORIGIN, Visitor, revisited, visitor

KEYS = {"by": ["district", "sex"], "keys__district": "Harbour, Old Town, Mill", "keys__sex": "F, M"}
QUESTIONS: dict[str, dict[str, Any]] = {
    "count_units": {},
    "count": {},
    "summarize": {"statistics": "rows=count\npay=mean:income:0:90000", "by": ["sex"], "keys__sex": "F, M"},
    "vector_mean": {"columns": "age, income", "clip_norm": "50000"},
    "histogram": KEYS,
    "crosstabs": KEYS | {"ways": "2"},
    "sum": {"column": "income", "low": "0", "high": "90000", "by": ["sex"], "keys__sex": "F, M"},
    "mean": {"column": "income", "low": "0", "high": "90000"},
    "rate": {"condition": "age >= 65", "by": ["sex"], "keys__sex": "F, M"},
    "quantile": {"column": "age", "low": "0", "high": "100", "levels": "0.5, 0.9"},
    "map": {"x": "age", "y": "income", "step": "5000", "west": "0", "east": "10000", "south": "0", "north": "50000"},
}


def walk(desk: Visitor, question: str, *, share: str = "0.2") -> None:
    """Up to the release, which is not made."""
    assert desk.send("/job/people/table", unit="person").headers["location"] == "/job/people/question"
    sent = desk.send("/job/people/question", question=question, **QUESTIONS[question])
    assert sent.headers.get("location") == "/job/people/limits", sent.text
    assert desk.send("/job/people/limits", max_rows="1").headers["location"] == "/job/people/privacy"
    made = desk.send("/job/people/privacy", go="create", ledger="city", new__epsilon="3", new__delta="1e-6")
    assert made.headers["location"] == "/job/people/privacy"
    sent = desk.send("/job/people/privacy", budget="city.ledger", share=share)
    assert sent.headers.get("location") == "/job/people/release", sent.text


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory, register: Any) -> Visitor:
    """At the last step, for whoever leaves it as it was."""
    folder = tmp_path_factory.mktemp("walked")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        desk = visitor(folder, register)
        walk(desk, "histogram")
    return desk


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_question_is_released_paid_once_and_taken_away(desk: Visitor, question: str) -> None:
    walk(desk, question)
    clicked = desk.hidden("/job/people/release") | {"confirm": "release", "title": "A <b> title"}
    for _ in range(2):  # a second click
        assert desk.client.post("/job/people/release", data=clicked, headers={"origin": ORIGIN}).status_code == 200
    assert desk.released() == "done", desk.client.get("/job/people/release").text
    assert len(ln.Budget.open("city.ledger").history()) == 1
    page = desk.client.get("/job/people/results").text
    assert 'src="/published/people"' in page
    assert "sandbox" in desk.client.get("/published/people").headers["content-security-policy"]
    assert desk.client.get("/file/people/people-release.parquet").content[:4] == b"PAR1"
    # the job's file is what `leastnoise run` runs, and finds done
    done = run("run", "people.toml")
    assert done.returncode == 0, done.stderr
    assert "Nothing was read, paid or drawn again." in " ".join(done.stdout.split())


def test_a_csv_that_is_called_like_the_job_is_released_and_stays(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "person,ward\n" + "".join(f"{each},a\n" for each in range(50))
    desk = replace(visitor(tmp_path, pa.table({"person": [1]})), studio=Studio(Folder.of(tmp_path), "people.csv"))
    (tmp_path / "people.csv").write_text(rows)
    desk.studio.draft("people").write()  # the job is about the CSV
    walk(desk, "count_units")
    desk.send("/job/people/release", confirm="release")
    assert desk.released() == "done", desk.client.get("/job/people/release").text
    assert (tmp_path / "people.csv").read_text() == rows
    assert (tmp_path / "people-release.csv").exists()


def test_keys_may_lie_in_a_file(desk: Visitor) -> None:
    ln.domain.write(desk.folder / "keys.toml", datasets.people_keys())
    desk.send("/job/people/table", unit="person")
    assert "from keys.toml" in desk.client.get("/job/people/question").text
    for asked in ({"question": "crosstabs", "ways": "2"}, {"question": "histogram", "by": ["district", "age"]}):
        sent = desk.send("/job/people/question", keys_file="keys.toml", **asked)
        assert sent.headers.get("location") == "/job/people/limits", sent.text
        assert desk.studio.draft("people").found["keys"] == "keys.toml"
        desk.send("/job/people/limits", max_rows="1")
        look = desk.look("/job/people/privacy", epsilon="1", delta="1e-6")
        assert "How far off the numbers will be" in look
        desk.send("/job/people/privacy", epsilon="1", delta="1e-6")
        (desk.folder / "job.py").write_text(desk.studio.draft("people").python)
        found = runpy.run_path(str(desk.folder / "job.py"))
        assert found["question"].describe() == desk.studio.draft("people").run().query.describe()
    for name in ("no.toml", "../keys.toml", "/etc/keys.toml"):
        sent = desk.send("/job/people/question", question="histogram", by=["sex"], keys_file=name)
        assert sent.status_code == 422, name


@pytest.mark.parametrize(
    ("chosen", "asked", "typed"),
    [
        ({}, None, "max_rows=1)"),
        ({"other": "lists", "other_label": " "}, None, "max_rows=1)"),
        ({"other": "lists", "other_label": "no answer"}, "no answer", "other='no answer'"),
        ({"other": "every", "other_label": "kept by a browser"}, True, "other=True"),
        ({"other": "none"}, False, "other=False"),
    ],
)
def test_what_becomes_of_missing_and_unlisted_values_is_chosen(
    desk: Visitor, chosen: dict[str, str], asked: Any, typed: str
) -> None:
    desk.send("/job/people/table", unit="person")
    keys = {"by": ["district", "age"], "keys__district": "Harbour, Old Town", "keys__age": "0 to 99"}
    desk.send("/job/people/question", question="crosstabs", ways="2", **keys, **chosen)
    assert desk.studio.draft("people").section("ask").get("other") == asked
    desk.send("/job/people/limits", max_rows="1")
    desk.send("/job/people/privacy", epsilon="1", delta="1e-6")
    text = desk.studio.draft("people").python
    assert typed in text
    query = desk.studio.draft("people").run().query
    expected = {None: [3, 100], "no answer": [3, 100], True: [3, 101], False: [2, 100]}[asked]
    assert [axis.size for axis in query.axes.values()] == expected  # type: ignore[attr-defined]
    page = desk.client.get("/job/people/question").text  # what was chosen is there again
    assert f'<option value="{chosen.get("other", "lists")}" selected>' in page
    assert ('value="no answer"' in page) == (asked == "no answer")
    look = desk.look("/job/people/privacy", epsilon="1", delta="1e-6")
    assert ("Left out of every table: rows whose" in look) == (asked is not True)
    assert ("without it, if every row has a listed value" in look) == (asked is not False)
    assert "--" not in look.split("How far off")[1].split("<figure")[0]
    assert ("Left out of every table" in desk.client.get("/job/people/release").text) == (asked is not True)
    assert desk.send("/job/people/question", question="crosstabs", ways="2", **keys, other="some").status_code == 422


def test_a_file_of_keys_that_is_called_like_the_table_is_no_job(desk: Visitor) -> None:
    """`datasets.write_files` writes people.toml beside people.csv, and it is not the only one."""
    ln.domain.write(desk.folder / "people.toml", datasets.people_keys())
    before = (desk.folder / "people.toml").read_bytes()
    assert desk.client.get("/", follow_redirects=False).headers["location"] == "/job/people-2/table"
    desk.send("/job/people-2/table", unit="person")
    assert "from people.toml" in desk.client.get("/job/people-2/question").text
    sent = desk.send("/job/people-2/question", question="histogram", by=["sex"], keys_file="people.toml")
    assert sent.headers.get("location") == "/job/people-2/limits", sent.text
    anew = revisited(desk)  # finds it again, and the keys as they were
    assert anew.client.get("/", follow_redirects=False).headers["location"] == "/job/people-2/table"
    assert (desk.folder / "people.toml").read_bytes() == before


@pytest.mark.parametrize("source", ["people.csv", "rows", "rows/*.csv"])
def test_whoever_has_csv_says_what_it_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows").mkdir()
    for name in ("people.csv", "rows/1.csv"):
        (tmp_path / name).write_text("person,age\n1,33\n")
    desk = visitor(tmp_path, pa.table({"person": [1]}))
    assert "<select" not in desk.client.get("/job/people/table").text  # Parquet says it
    desk.studio.draft("other").with_section("table", {"source": source}).write()
    assert 'name="type:age"' in desk.client.get("/job/other/table").text


def test_every_table_of_a_set_has_its_bar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = [f"c{place}" for place in range(10)]
    desk = visitor(tmp_path, pa.table({"person": [1, 2], **{name: [0, 1] for name in names}}))
    desk.send("/job/people/table", unit="person")
    keys = {f"keys__{name}": "0 to 1" for name in names}
    desk.send("/job/people/question", question="crosstabs", by=names, ways="2", **keys)
    desk.send("/job/people/limits", max_rows="1")
    desk.send("/job/people/privacy", epsilon="1", delta="1e-6")
    expected = desk.studio.draft("people").expect()
    assert len(expected.tables) >= 45  # of two columns
    assert desk.client.get("/job/people/privacy").text.count('class="bar"') == len(expected.tables)


def test_nothing_is_read_before_the_release(desk: Visitor) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a row was read")

    with mock.patch.object(DuckDB, "_read", refuse), mock.patch.object(DuckDB, "fetch", refuse):
        for question in QUESTIONS:
            (desk.folder / "city.ledger").unlink(missing_ok=True)
            walk(desk, question)
            assert desk.client.get("/job/people/release").status_code == 200
            asked = {"budget": "city.ledger", "share": "0.3", "error": "200"}
            assert desk.send("/job/people/privacy", **asked, go="stay", changed="error").status_code == 200
        # and that it would be seen
        desk.send("/job/people/release", confirm="release")
        assert desk.released() == "failed"


def without_rows(path: Path) -> None:
    """Overwrite all of a Parquet file but its footer, where names and types stand: no row of it can be read."""
    whole = path.read_bytes()
    footer = int.from_bytes(whole[-8:-4], "little") + 8
    path.write_bytes(b"PAR1" + b"\xff" * (len(whole) - footer - 4) + whole[-footer:])


def test_one_person_more_changes_no_byte_before_the_release(tmp_path: Path, register: Any, monkeypatch: Any) -> None:
    """Nor does the loss of all rows: whatever read one, by any way, could not go on."""
    monkeypatch.setattr("secrets.token_urlsafe", lambda size: "always-the-same")
    pages = []
    more = pa.concat_tables([register, register.slice(7, 1)])
    for name, rows in (("without", register), ("with", more), ("destroyed", register)):
        folder = tmp_path / name
        folder.mkdir()
        monkeypatch.chdir(folder)
        desk = visitor(folder, rows)
        if name == "destroyed":
            without_rows(folder / "people.parquet")
            with pytest.raises(OSError, match="page"):
                pq.read_table(folder / "people.parquet")
        walk(desk, "crosstabs")
        steps = [
            desk.client.get(f"/job/people/{step}").text
            for step in ("table", "question", "limits", "privacy", "release")
        ]
        pages.append([*steps, desk.look("/job/people/privacy", epsilon="1", delta="1e-6")])
    assert pages[0] == pages[1] == pages[2]


def test_hostile_names_stay_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    bad = '"><script>alert(1)</script>'
    desk = visitor(tmp_path, pa.table({"person": [1, 2], bad: ["a", "b"]}))
    desk.send("/job/people/table", unit="person")
    page = desk.client.get("/job/people/question").text
    assert "<script>alert" not in page
    sent = desk.send(
        "/job/people/question", question="histogram", by=[bad], **{f"keys__{bad}": "</textarea><script>, b"}
    )
    assert sent.headers.get("location") == "/job/people/limits", sent.text
    assert "<script>," not in desk.client.get("/job/people/question").text
    assert desk.studio.draft("people").section("keys") == {bad: ["</textarea><script>", "b"]}


@pytest.mark.parametrize(
    ("step", "fields", "words"),
    [
        ("table", {}, "Whom does the table protect"),
        ("table", {"unit": "person", "where": "no such column > 1"}, "no"),
        ("question", {"question": "histogram"}, "at least one column"),
        ("question", {"question": "histogram", "by": ["age"], "keys__age": "old"}, "18 to 99"),
        ("question", {"question": "histogram", "by": ["age"], "keys__age": "9 to 2"}, "smaller"),
        ("question", {"question": "sum", "column": "district", "low": "0", "high": "1"}, "column of numbers"),
        ("question", {"question": "sum", "column": "age", "low": "x", "high": "1"}, "must be a number"),
        ("question", {"question": "map", "x": "age", "y": "age"}, "two columns"),
        ("question", {"question": "map", "x": "age", "y": "income", "step": "1e400"}, "300 digits"),
        ("question", {"question": "what"}, "Choose a question"),
        ("limits", {"max_rows": "0"}, "above zero"),
        ("limits", {"max_rows": "²"}, "an integer"),
        ("limits", {"max_rows": "9" * 5000}, "an integer"),
        ("question", {"question": "crosstabs", "by": ["sex"], "keys__sex": "F, M", "ways": "²"}, "an integer"),
        ("limits", {"max_rows": ""}, "at least the first limit"),
        ("privacy", {"epsilon": "much", "delta": "1e-6"}, "must be a number"),
        ("privacy", {"epsilon": "100", "delta": "1e-6"}, "protects nobody"),
        ("privacy", {"go": "create", "ledger": "../city", "new__epsilon": "1", "new__delta": "1e-6"}, "no name"),
        ("release", {"confirm": "yes"}, "to confirm"),
    ],
)
def test_a_wrong_turn_says_what_to_do_and_changes_nothing(
    walked: Visitor, step: str, fields: dict[str, Any], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(walked.folder)
    before = (walked.folder / "people.toml").read_text()
    sent = walked.send(f"/job/people/{step}", **fields)
    assert sent.status_code == 422
    assert words in sent.text.replace("&#34;", '"').replace("&#39;", "'")
    assert "Traceback" not in sent.text
    assert (walked.folder / "people.toml").read_text() == before
    assert len(ln.Budget.open("city.ledger").history()) == 0


def test_a_released_job_stays_and_another_is_begun(desk: Visitor) -> None:
    walk(desk, "histogram")
    desk.send("/job/people/release", confirm="release")
    assert desk.released() == "done"
    sent = desk.send("/job/people/limits", max_rows="3")
    assert sent.status_code == 422
    assert "stays as it was" in sent.text
    assert "No row has been read" not in desk.client.get("/job/people/privacy").text
    for step in ("table", "question", "limits", "privacy"):
        assert '<fieldset class="settled" disabled>' in desk.client.get(f"/job/people/{step}").text
    draft = desk.studio.draft("people")
    draft.with_section("privacy", draft.section("privacy") | {"force": True}).write()  # ticked for this question alone
    sent = desk.client.post(
        "/job/people/another",
        data={"form_key": desk.form_key("/job/people/results")},
        headers={"origin": ORIGIN},
        follow_redirects=False,
    )
    assert sent.headers["location"] == "/job/people-2/question"
    assert desk.studio.draft("people-2").section("keys") == desk.studio.draft("people").section("keys")
    assert desk.studio.draft("people-2").section("privacy") == draft.section("privacy")


def test_a_budget_that_is_spent_refuses_and_debits_nothing(desk: Visitor) -> None:
    walk(desk, "histogram", share="0.9")
    ln.Budget.open("city.ledger").terms  # noqa: B018 - it is there
    t = ln.table("people.parquet", unit="person")
    t.count_units().release(budget=ln.Budget.open("city.ledger"), share=0.5)
    assert "more than is left" in desk.client.get("/job/people/privacy").text
    desk.send("/job/people/release", confirm="release")
    assert desk.released() == "failed"
    page = desk.client.get("/job/people/release").text
    assert "BudgetExhausted" not in page
    assert "Write share = 0.5 in the step about privacy." in page  # there is no [privacy] on any page
    assert len(ln.Budget.open("city.ledger").history()) == 1


def test_steps_that_are_not_reached_lead_back(desk: Visitor) -> None:
    for step in ("question", "limits", "privacy", "release", "results"):
        assert desk.client.get(f"/job/people/{step}", follow_redirects=False).headers["location"] == "/job/people/table"
    page = desk.client.get("/job/people/table").text
    assert not any(f'href="/job/people/{step}"' in page for step in ("limits", "privacy", "release", "results"))
    assert "import leastnoise" not in page  # no line of Python before there is one that runs
    assert desk.client.get("/job/people/nowhere").status_code == 404
    assert desk.client.get("/job/.hidden/table").status_code == 400


def test_a_csv_by_semicolons_is_read_once_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    desk = visitor(tmp_path, pa.table({"person": [1]}))
    (tmp_path / "rows.csv").write_text("person;age;pay\n" + "".join(f"{n};{20 + n % 5};{n},5\n" for n in range(50)))
    desk.studio.draft("other").with_section("table", {"source": "rows.csv"}).write()
    page = desk.client.get("/job/other/table").text
    assert "has 1 column." in page
    assert 'name="delimiter"' in page
    desk.send("/job/other/table", unit="person", delimiter=";", decimal=",", **{"type:age": "int", "type:pay": "float"})
    table = desk.studio.draft("other").section("table")
    assert {"delimiter": ";", "decimal": ",", "unit": "person"}.items() <= table.items()
    shown = desk.client.get("/job/other/table").text
    assert 'name="type:pay"' in shown
    assert "delimiter=&#39;;&#39;" in shown or "delimiter=';'" in shown  # the Python beside it
