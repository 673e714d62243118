"""A studio that is killed in the middle of a release says so when it starts anew, and pays again only when asked."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path

import pytest

import leastnoise as ln
from command_line import ENVIRONMENT
from studio_requests import Requests
from studio_visitor import ORIGIN, Visitor, paid, ready, revisited

KILLED = """
import os, signal
from leastnoise.releases import release, views
before = {where}
def end(*given, **named):
    os.kill(os.getpid(), signal.{how})
    return before(*given, **named)
{where} = end
from leastnoise.studio.server import serve
serve("people.parquet", browser=False)
"""


def release_and_die(folder: Path, where: str, how: signal.Signals = signal.SIGKILL) -> int:
    """Confirm the release in a studio that is killed there; how it ended."""
    command = [sys.executable, "-u", "-c", KILLED.format(where=where, how=how.name)]
    with subprocess.Popen(command, cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found
        browser, place = Requests(found[0]), "/job/people/release"
        browser.enter()
        fields = browser.get(place).hidden()
        with suppress(OSError, HTTPException):  # it may die while it answers
            browser.post(place, fields | {"confirm": "release", "again": "yes"})
        return process.wait(120)


@pytest.mark.slow
def test_killed_between_debit_and_publication(desk: Visitor) -> None:
    ready(desk)
    assert release_and_die(desk.folder, "release.Release.save") == -signal.SIGKILL
    assert (paid(), (desk.folder / "people-release.parquet").exists()) == (1, False)
    anew = revisited(desk)
    entry = ln.Budget.open("city.ledger").history()[0]
    page = anew.client.get("/job/people/release").text
    assert "Paid, and not published" in page
    assert f"entry {entry.number}" in page
    assert "20%" in page
    assert entry.release in page
    # neither looking, nor the same form again, nor a change of the job pays or forgets it
    hidden = anew.hidden("/job/people/release")
    for fields in ({"confirm": "release"}, {"confirm": "release", "again": "yes", "lost": "0" * 16}):
        sent = anew.client.post("/job/people/release", data=hidden | fields, headers={"origin": ORIGIN})
        assert (sent.status_code, "Nothing was paid now" in sent.text) == (422, True)
    assert "not published" in anew.send("/job/people/limits", max_rows="2").text
    assert paid() == 1
    # killed once more, the first form is of no more use: the debit that is lost is another
    release_and_die(desk.folder, "release.Release.save")
    assert paid() == 2
    third = revisited(desk)
    old = third.hidden("/job/people/release") | {"lost": hidden["lost"], "confirm": "release", "again": "yes"}
    assert third.client.post("/job/people/release", data=old, headers={"origin": ORIGIN}).status_code == 422
    assert paid() == 2
    third.send("/job/people/release", confirm="release", again="yes")
    assert (third.released(), paid()) == ("done", 3)
    assert (desk.folder / "people.html").exists()


@pytest.mark.slow
def test_killed_between_publication_and_page(desk: Visitor) -> None:
    ready(desk)
    assert release_and_die(desk.folder, "views.report") == -signal.SIGKILL
    assert (paid(), (desk.folder / "people.html").exists()) == (1, False)
    anew = revisited(desk)
    assert "reads no row and costs nothing" in anew.client.get("/job/people/release").text
    anew.send("/job/people/release", go="finish")
    assert (anew.released(), paid(), (desk.folder / "people.html").exists()) == ("done", 1, True)


@pytest.mark.slow
def test_a_studio_that_is_asked_to_stop_lets_the_release_end(desk: Visitor) -> None:
    ready(desk)
    assert release_and_die(desk.folder, "release.Release.save", signal.SIGTERM) == 0
    assert (paid(), (desk.folder / "people-release.csv").exists()) == (1, True)
    assert not list(desk.folder.glob(".*unfinished"))


def test_a_record_without_a_debit_keeps_nobody_from_going_on(desk: Visitor) -> None:
    """Killed before the debit: the record is there, and nothing has happened."""
    ready(desk)
    (desk.folder / "people-release.parquet.run").write_text(
        '{"leastnoise run": 1, "fingerprints": {}, "query": "rows by sex", "entries": 0, "replaces": null, '
        '"replaced": null, "release": null, "begun": "2026-01-01T00:00:00+00:00"}'
    )
    assert "Ready to release" in desk.client.get("/job/people/release").text
    assert desk.send("/job/people/limits", max_rows="2").status_code == 303
    desk.send("/job/people/release", confirm="release")
    assert (desk.released(), paid()) == ("done", 1)
