"""Forms, names and job files of somebody who means harm, and two windows that do not know of each other."""

from __future__ import annotations

import ast
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import leastnoise as ln
from leastnoise import errors
from leastnoise.studio.draft import Draft
from studio_visitor import ORIGIN, Visitor, paid, ready, visitor

CODE = """x"); '+__import__("os").system("touch pwned")#\n"""
KNOWN = {"ln", "keys", "table", "question", "budget", "release", "print", "range", "date", "tuple"}
TABLE = {"source": "people.parquet", "unit": "person"}
ASK = {"kind": "histogram", "by": ["age"], "max_rows": 1}
HOSTILE: dict[str, dict[str, Any]] = {
    "source": {"table": TABLE | {"source": CODE}},
    "condition": {"table": TABLE | {"where": CODE}},
    "type": {"table": TABLE | {"types": {CODE: "int"}}},
    "derived": {"table": TABLE | {"derive": {CODE: "age > 1"}}},
    "lattice's name": {"table": TABLE | {"lattice": {CODE: "age,income,1"}}},
    "lattice's step": {"table": TABLE | {"lattice": {"cell": "age,income,__import__('os')"}}},
    "argument": {"table": TABLE | {f"name=1{CODE}": "x"}},
    "kind": {"ask": {"kind": f"rows{CODE}"}},
    "column": {"ask": ASK | {"by": [CODE]}, "keys": {CODE: ["a"]}},
    "key": {"keys": {"age": [CODE]}},
    "range": {"keys": {"age": {"range": ["__import__('os')", 3]}}},
    "edges": {"keys": {"age": {"edges": ["__import__('os')", 3]}}},
    "box": {
        "table": TABLE | {"lattice": {"cell": "age,income,1"}},
        "ask": ASK | {"by": ["cell"]},
        "keys": {"cell": {"box": ["__import__('os')", 1, 0, 1]}},
    },
    "statistic": {"ask": {"kind": "summarize", "statistics": {"rows": "count() or __import__('os').system('ls')"}}},
    "statistic's name": {"ask": {"kind": "summarize", "statistics": {CODE: "count"}}},
    "table of a set": {"ask": {"kind": "crosstabs", "tables": [[CODE], "age"]}, "keys": {"age": [1], CODE: [1]}},
    "weights": {"ask": {"kind": "crosstabs", "weights": {CODE: 1}}},
    "nearest": {"table": TABLE | {"nearest": {"node": f"nodes.parquet,{CODE},lon,lat,9"}}},
    "join": {"table": TABLE | {"join": f"zones.csv:{CODE}"}},
    "row of a person": {"table": TABLE | {"per_unit": {CODE: f"sum:{CODE}"}, "having": CODE}},
    "row's statistic": {"table": TABLE | {"per_unit": {"a": "__import__('os'):x"}}},
    "labels": {"keys": {"age": {"keys": [1, 2], "labels": [CODE, "b"]}}},
    "order": {"keys": {"age": {"ordered": [CODE, "b"]}}},
    "rate": {"ask": {"kind": "summarize", "statistics": {"rate": f"rate:{CODE}"}}},
    "privacy": {"privacy": {"epsilon": 1, f"x{CODE}": 1}},
    "budget": {"privacy": {"budget": CODE, "share": "1/2"}},
    "title": {"output": {"release": CODE, "page": CODE, "title": CODE}},
}


@pytest.mark.parametrize("sections", HOSTILE.values(), ids=HOSTILE)
def test_no_text_of_a_job_becomes_code(tmp_path: Path, sections: dict[str, Any]) -> None:
    usual = {"table": TABLE, "keys": {"age": [1, 2]}, "ask": ASK, "privacy": {"epsilon": 1, "delta": 1}}
    draft = Draft(tmp_path / "people.toml", usual | {"output": {"release": "r.parquet", "page": "r.html"}} | sections)
    try:
        text = draft.python
    except errors.LeastnoiseError:
        return
    assert {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)} <= KNOWN


def test_what_is_released_is_what_was_confirmed(desk: Visitor) -> None:
    ready(desk)
    shown = desk.hidden("/job/people/release")
    desk.send("/job/people/privacy", budget="city.ledger", share="0.9")  # in another window
    sent = desk.client.post("/job/people/release", data=shown | {"confirm": "release"}, headers={"origin": ORIGIN})
    assert sent.status_code == 422
    assert "changed in another window" in sent.text
    assert (desk.released(), paid()) == ("none", 0)
    desk.send("/job/people/release", confirm="release")
    assert (desk.released(), paid()) == ("done", 1)


def test_a_job_is_not_changed_while_its_release_begins(desk: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    """A form that is being saved while another window releases: one waits for the other."""
    ready(desk)
    inside, go_on, seen = threading.Event(), threading.Event(), []
    forget = desk.studio.releases.forget

    def slow(name: str) -> None:
        inside.set()
        assert go_on.wait(10)
        forget(name)

    monkeypatch.setattr(desk.studio.releases, "forget", slow)
    shown = desk.hidden("/job/people/release")
    saving = threading.Thread(target=lambda: desk.send("/job/people/limits", max_rows="5"))
    saving.start()
    assert inside.wait(10)
    headers = {"origin": ORIGIN}
    data = shown | {"confirm": "release"}
    releasing = threading.Thread(
        target=lambda: seen.append(desk.client.post("/job/people/release", data=data, headers=headers).status_code)
    )
    releasing.start()
    releasing.join(0.3)
    assert not seen  # it waits
    go_on.set()
    saving.join()
    releasing.join()
    assert (seen, paid()) == ([422], 0)


def test_two_clicks_on_a_paid_look_pay_once(desk: Visitor) -> None:
    ready(desk)
    fields = desk.hidden("/job/people/limits") | {"go": "suggest", "budget": "city.ledger", "share": "0.02"}
    clicks = [
        threading.Thread(target=lambda: desk.client.post("/job/people/limits", data=fields, headers={"origin": ORIGIN}))
        for _ in range(2)
    ]
    for click in clicks:
        click.start()
    for click in clicks:
        click.join()
    assert paid() == 1
    assert desk.hidden("/job/people/limits")["once"] != fields["once"]  # a page that was loaded anew may pay again


def test_a_look_that_could_not_be_kept_is_not_paid(desk: Visitor) -> None:
    ready(desk)
    (desk.folder / "people-limits.parquet").write_text("of somebody else")
    sent = desk.send("/job/people/limits", go="suggest", budget="city.ledger", share="0.02")
    assert (sent.status_code, paid()) == (422, 0)
    assert (desk.folder / "people-limits.parquet").read_text() == "of somebody else"


@pytest.mark.parametrize("place", ["../outside.ledger", "postgresql://127.0.0.1:1/db?budget=a", "link.ledger"])
def test_no_budget_outside_the_folder_is_opened(
    tmp_path: Path, register: Any, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    folder = tmp_path / "inside"
    folder.mkdir()
    monkeypatch.chdir(folder)
    desk = visitor(folder, register)
    ready(desk)
    outside = ln.Budget.open(tmp_path / "outside.ledger", epsilon=1, delta=1e-6)
    (folder / "link.ledger").symlink_to(tmp_path / "outside.ledger")
    kept = (folder / "people.toml").read_text()
    asked = {"budget": place, "share": "0.1", "error": "500"}
    assert desk.send("/job/people/privacy", **asked).status_code == 422
    assert 'class="problem"' in desk.look("/job/people/privacy", **asked, changed="error")
    assert (folder / "people.toml").read_text() == kept
    # not even where the job's file was edited to say so
    shown = desk.hidden("/job/people/release")
    draft = desk.studio.draft("people")
    for changed in (
        draft.with_section("privacy", {"budget": place, "share": 1}),
        draft.with_section("output", {"release": "../r.parquet", "page": "r.html"}),
    ):
        changed.write()
        data = shown | {"confirm": "release", "shown": changed.fingerprint}
        desk.client.post("/job/people/release", data=data, headers={"origin": ORIGIN})
        assert desk.studio.releases.of("people").state == "none"
    assert not (tmp_path / "r.parquet").exists()
    assert len(outside.history()) == 0


def test_no_page_shows_the_password_of_a_job(desk: Visitor) -> None:
    ready(desk)
    secret = {"budget": "postgresql://ann:secret-424242@127.0.0.1:1/db?budget=a", "share": 1}
    desk.studio.draft("people").with_section("privacy", secret).write()
    for path in (
        "/job/people/table",
        "/job/people/privacy",
        "/job/people/release",
        "/job/people/results",
        "/file/people/people.toml",
    ):
        shown = desk.client.get(path)
        assert shown.status_code == 400
        assert "424242" not in shown.text


@pytest.mark.parametrize("file", ["../keys.csv", "/etc/passwd", "people.parquet", "link.csv"])
def test_keys_come_from_no_file_outside_and_not_from_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    monkeypatch.chdir(tmp_path)
    desk = visitor(tmp_path, pa.table({"person": [1, 2], "ward": ["a", "b"]}))
    (tmp_path / "link.csv").symlink_to("/etc/passwd")
    (tmp_path / "wards.csv").write_text("ward\na\nb\n")
    desk.send("/job/people/table", unit="person")
    asked = {"question": "histogram", "by": ["ward"]}
    assert desk.send("/job/people/question", **asked, keys__ward=f"{file}:ward").status_code == 422
    assert desk.send("/job/people/question", **asked, keys__ward="wards.csv:ward").status_code == 303


def test_forms_of_no_browser_are_refused(desk: Visitor) -> None:
    headers = {"origin": ORIGIN, "content-type": "application/x-www-form-urlencoded"}
    for path in ("/job/people/table", "/job/people/another"):
        for body, status in ((b"a=1&" * 6000, 413), (b"a" * (2**20 + 1), 413), ("form_key=é".encode(), 403)):
            assert desk.client.post(path, content=body, headers=headers).status_code == status, path
