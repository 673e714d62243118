"""A job's file that somebody put into the folder: looking at it connects to nothing, starts nothing, reads no table."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

import pytest

import leastnoise as ln
from leastnoise import errors
from leastnoise.curator.engines import spark
from leastnoise.jobs.running import alone
from leastnoise.studio.folder import Folder
from studio_visitor import ORIGIN, Visitor

STEPS = ("table", "question", "limits", "privacy", "release", "results")
JOB = """
{first}
[table]
source = {source}
unit = "person"
{more}
[keys]
sex = {keys}
[ask]
kind = "histogram"
by = ["sex"]
max_rows = 1
[privacy]
{privacy}
[output]
release = "{release}"
page = "people.html"
"""
USUAL = {
    "first": "",
    "source": '"people.parquet"',
    "more": "",
    "keys": '["F", "M"]',
    "privacy": "epsilon = 1\ndelta = 1e-6",
    "release": "people-release.parquet",
}


def put(desk: Visitor, **changed: str) -> None:
    (desk.folder / "people.toml").write_text(JOB.format(**USUAL | changed))


def looked_at(desk: Visitor) -> list[int]:
    """Every page that reads the job, and what would change it."""
    asked = [f"/job/people/{step}" for step in STEPS]
    asked += ["/budgets", "/job/people/release/state", "/file/people/people-job.py"]
    return [desk.client.get(path).status_code for path in asked]


def test_the_usual_job_is_shown(desk: Visitor) -> None:
    put(desk)
    assert set(looked_at(desk)) == {200}


@pytest.mark.parametrize(
    "scheme", ["postgresql", "{date:postgresql}", "{date:p}ostgres", "postgresql{date::}//{date:x}@"]
)
def test_no_address_in_a_job_is_connected_to(desk: Visitor, scheme: str) -> None:
    """Not even one that becomes an address on the day of the run: a password of the environment would go there."""
    met: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            while True:
                try:
                    met.append(server.accept()[0].recv(8))
                except OSError:
                    return

        threading.Thread(target=answer, daemon=True).start()
        after = "" if "//" in scheme else "://"
        place = f"{scheme}{after}127.0.0.1:{server.getsockname()[1]}/db?budget=a&sslmode=disable"
        put(desk, privacy=f'budget = "{place}"\nshare = 0.1')
        assert 200 not in looked_at(desk)[:6]
        server.shutdown(socket.SHUT_RDWR)
    assert not met


@pytest.mark.parametrize(
    "more", ['engine = "spark://127.0.0.1:1"', 'engine = "local"', 'config = { "spark.jars" = "evil.jar" }']
)
def test_no_engine_is_started_on_the_word_of_a_file(desk: Visitor, more: str, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []
    monkeypatch.setattr(spark, "connect", lambda engine, config: begun.append(engine))
    put(desk, more=more)
    assert set(looked_at(desk)[:6]) == {400}
    assert not begun


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"source": '"../other.parquet"'}, "outside"),
        ({"source": '"{date:/}etc/hosts.csv"'}, "outside"),
        ({"source": '["people.parquet", "link.parquet"]'}, "outside"),
        ({"keys": '{ file = "people.parquet", column = "sex" }'}, "the table itself"),
        ({"keys": '{ file = "same.parquet", column = "sex" }'}, "the table itself"),
        ({"source": '"other-*.parquet"', "keys": '{ file = "people.parquet", column = "sex" }'}, "the table itself"),
        ({"keys": '{ file = "../other.parquet", column = "sex" }'}, "outside"),
        ({"keys": '{ file = "link.parquet", column = "sex" }'}, "outside"),
        ({"more": 'join = "people.parquet:person"'}, "the table itself"),
        ({"more": 'within = { zone = "../zones.geojson:name,lon,lat" }'}, "outside"),
        ({"more": 'nearest = { node = "../nodes.parquet,edges.parquet,lon,lat,9" }'}, "outside"),
        ({"more": 'nearest = { node = "nodes.parquet, people.parquet,lon,lat,9" }'}, "the table itself"),
        ({"privacy": 'budget = "../city.ledger"\nshare = 0.1'}, "no name of a file"),
        ({"first": 'keys = "{date:keys}.toml"', "keys": '["F"]\n[other]'}, "the table itself"),
    ],
)
def test_no_file_elsewhere_and_no_row_is_read_for_a_page(desk: Visitor, changed: dict[str, str], words: str) -> None:
    outside = desk.folder.parent / "other.parquet"
    outside.write_bytes((desk.folder / "people.parquet").read_bytes())
    ln.Budget.open(desk.folder.parent / "city.ledger", epsilon=1, delta=1e-6)
    (desk.folder / "link.parquet").symlink_to(outside)
    os.link(desk.folder / "people.parquet", desk.folder / "same.parquet")
    (desk.folder / "other-1.parquet").write_bytes(outside.read_bytes())
    (desk.folder / "keys.toml").write_text('sex = { file = "people.parquet", column = "sex" }')
    put(desk, **changed)
    if "first" in changed:  # keys in a file of their own, instead of a section
        text = (desk.folder / "people.toml").read_text().replace('[keys]\nsex = ["F"]\n[other]\n', "")
        (desk.folder / "people.toml").write_text(text)
    for step in STEPS:
        page = desk.client.get(f"/job/people/{step}")
        assert (page.status_code, words in page.text) == (400, True), page.text


def test_outputs_of_the_day_stay_in_the_folder(desk: Visitor) -> None:
    """%D writes the day with slashes, so the name that was looked at is not the one that is written."""
    put(desk, release="{date:%D}.parquet")
    hidden = desk.hidden("/job/people/release") | {"confirm": "release"}
    sent = desk.client.post("/job/people/release", data=hidden, headers={"origin": ORIGIN})
    assert (sent.status_code, desk.released()) == (422, "none")


@pytest.mark.parametrize(
    ("source", "name"),
    [
        (".", "people.csv"),
        ("**/*.csv", "people.csv"),
        ("*.csv", "new.csv"),
        ("./people.csv", "people.csv"),
        ("people.csv", "same.csv"),
    ],
)
def test_whatever_names_the_table_its_files_are_known(tmp_path: Path, source: str, name: str) -> None:
    (tmp_path / "people.csv").write_text("person,sex\n1,F\n")
    os.link(tmp_path / "people.csv", tmp_path / "same.csv")
    folder = Folder.of(tmp_path)
    assert folder.holds(folder.path(name), [source])
    assert not folder.holds(folder.path("keys.toml"), [source])
    assert not folder.holds(folder.path("wards.txt"), [source])


def test_a_job_that_is_run_elsewhere_is_not_released_besides(desk: Visitor) -> None:
    """A run on the command line locks the job's file; a draft that replaced it would set a second run free."""
    ln.Budget.open("city.ledger", epsilon=3, delta=1e-6)
    put(desk, privacy='budget = "city.ledger"\nshare = 0.1')
    before = (desk.folder / "people.toml").read_bytes()
    with alone(desk.folder / "people.toml"):
        sent = desk.send("/job/people/release", confirm="release", title="Another")
        assert (desk.released(), len(ln.Budget.open("city.ledger").history())) == ("none", 0)
        assert (sent.status_code, "under way" in sent.text) == (422, True)
        assert desk.send("/job/people/limits", max_rows="2").status_code == 422
        with pytest.raises(errors.FileProblem, match="under way"), alone(desk.folder / "people.toml"):
            pass
    assert (desk.folder / "people.toml").read_bytes() == before
    desk.send("/job/people/release", confirm="release")
    assert (desk.released(), len(ln.Budget.open("city.ledger").history())) == ("done", 1)


def test_a_lock_of_a_file_that_lost_its_name_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name goes to another file between opening and locking: the lock that counts is that of the new one."""
    import fcntl

    job, new = tmp_path / "job.toml", tmp_path / "new.toml"
    job.write_text("old")
    new.write_text("new")
    lock, inodes = fcntl.flock, []

    def late(file: object, how: int) -> None:
        if new.exists():
            new.replace(job)
        inodes.append(os.fstat(file.fileno()).st_ino)  # type: ignore[attr-defined]
        lock(file, how)  # type: ignore[arg-type]

    monkeypatch.setattr(fcntl, "flock", late)
    with alone(job):
        assert inodes[-1] == job.stat().st_ino
        assert len(inodes) == 2
