"""The same job as a script and on the command line: each asks, pays and writes what the studio does."""

from __future__ import annotations

import runpy
import shlex
from pathlib import Path
from typing import Any

import pytest

import leastnoise as ln
from command_line import run
from studio_visitor import Visitor

KEYS = {"by": ["district", "sex"], "keys__district": "Harbour, Old Town, Mill", "keys__sex": "F, M"}


def released(desk: Visitor) -> None:
    """A job that the studio has released."""
    desk.send("/job/people/table", unit="person")
    desk.send("/job/people/question", question="histogram", **KEYS)
    desk.send("/job/people/limits", max_rows="1")
    desk.send("/job/people/privacy", go="create", ledger="city", new__epsilon="3", new__delta="1e-6")
    desk.send("/job/people/privacy", budget="city.ledger", share="0.2")
    desk.send("/job/people/release", confirm="release", title="A 'title'")
    assert desk.released() == "done", desk.client.get("/job/people/release").text


def facts(folder: Path) -> tuple[Any, ...]:
    """What was asked, with which noise, for how much; and the files that were made."""
    made: Any = ln.load(folder / "people-release.parquet")
    entry = ln.Budget.open(folder / "city.ledger").history()[-1]
    page = (folder / "people.html").read_text()
    files = sorted(path.name for path in folder.iterdir() if path.name.startswith("people"))
    return (
        made.provenance.query,
        str(made.guarantee),
        entry.query,
        entry.noise,
        entry.share,
        "A &#x27;title" in page,
        files,
    )


def by_script(desk: Visitor) -> None:
    found = desk.client.get("/file/people/people-job.py")
    assert found.headers["content-disposition"].startswith("attachment")
    assert found.text == desk.studio.draft("people").python
    (desk.folder.parent / "people-job.py").write_text(found.text)
    runpy.run_path(str(desk.folder.parent / "people-job.py"))


def by_command_line(desk: Visitor) -> None:
    done = run("run", "people.toml", "--again")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("rerun", [by_script, by_command_line])
def test_the_job_is_rerun_exactly(desk: Visitor, rerun: Any) -> None:
    released(desk)
    first, history = facts(desk.folder), len(ln.Budget.open("city.ledger").history())
    before: Any = ln.load("people-release.parquet")
    rerun(desk)
    assert facts(desk.folder) == first
    assert len(ln.Budget.open("city.ledger").history()) == history + 1
    assert ln.load("people-release.parquet").id != before.id  # new noise, the same job


def test_the_command_line_of_the_page_is_what_a_shell_takes(desk: Visitor) -> None:
    released(desk)
    page = desk.client.get("/job/people/results").text
    assert shlex.join(["leastnoise", "run", "people.toml"]) in page
    assert run("run", "people.toml", "--expect").returncode == 0


def test_every_step_shows_its_line_of_python(desk: Visitor) -> None:
    released(desk)
    script = desk.studio.draft("people").python
    for step in ("table", "question", "limits", "privacy"):
        page = desk.client.get(f"/job/people/{step}").text.replace("&#39;", "'")
        code = page.partition("<code>")[2].partition("</code>")[0].replace("&gt;", ">")
        assert code.strip(), step
        assert code in script, step
    shown = desk.send("/job/people/question", go="stay", question="histogram", by=["sex"], keys__sex="F, X").text
    assert "keys=[&#39;F&#39;, &#39;X&#39;]" in shown  # as the form stands now
