"""Who is let in: one browser a link, on this machine, from our own pages; and no file outside the folder."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from leastnoise import errors
from leastnoise.studio.access import Keys
from leastnoise.studio.app import application
from leastnoise.studio.folder import Folder
from leastnoise.studio.server import listen
from leastnoise.studio.session import Studio
from studio_visitor import NAME, ORIGIN, PORT, Visitor, anybody, visitor


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Visitor:
    monkeypatch.chdir(tmp_path)
    return visitor(tmp_path, pa.table({"person": [1, 2], "ward": ["a", "b"]}))


def test_a_link_works_once(tmp_path: Path) -> None:
    shown: list[str] = []
    app, keys = studio_at(tmp_path, shown.append)
    link = keys.link
    first, second, third = (TestClient(app, base_url=ORIGIN) for _ in range(3))
    entered = first.get(f"/?key={link}", follow_redirects=False)
    assert (entered.status_code, list(first.cookies)) == (200, [f"leastnoise-{PORT}"])
    assert first.get("/", follow_redirects=False).status_code == 303
    assert second.get(f"/?key={link}").status_code == 403
    assert shown == [keys.link]
    assert third.get(f"/?key={shown[0]}", follow_redirects=False).status_code == 200
    assert second.get("/?key=").status_code == 403
    cookie = first.cookies.jar
    assert all(each.has_nonstandard_attr("HttpOnly") for each in cookie)


def studio_at(folder: Path, announce: Callable[[str], None] = lambda link: None) -> tuple[Starlette, Keys]:
    keys = Keys(announce)
    keys.name = NAME
    return application(Studio(Folder.of(folder), "people.parquet"), keys, PORT, anybody), keys


def test_a_link_leads_to_a_name_that_nobody_else_knows(tmp_path: Path) -> None:
    """The address of this machine, to which every server on it belongs, is of use for the link alone."""
    app, keys = studio_at(tmp_path)
    door, at_home = TestClient(app, base_url=f"http://127.0.0.1:{PORT}"), TestClient(app, base_url=ORIGIN)
    assert door.get("/?key=wrong", follow_redirects=False).status_code == 403
    for _ in range(2):  # it is the name that uses up the link
        led = door.get(f"/?key={keys.link}", follow_redirects=False)
        assert (led.status_code, led.headers["location"]) == (303, f"{ORIGIN}/?key={keys.link}")
        assert "set-cookie" not in led.headers
    entered = at_home.get(f"/?key={keys.link}")
    cookie = entered.headers["set-cookie"].lower()
    assert "domain" not in cookie
    assert {"httponly", "samesite=strict"} <= set(cookie.split("; "))
    stolen = {"cookie": entered.headers["set-cookie"].partition(";")[0]}
    for path in ("/", "/job/people/table", "/static/studio.js", f"/job/x?key={keys.link}"):
        assert door.get(path, headers=stolen, follow_redirects=False).status_code == 403
        for other in ("localhost", "other.localhost", f"{NAME}.", f"x.{NAME}", "[::1]"):
            answer = door.get(path, headers=stolen | {"host": f"{other}:{PORT}"}, follow_redirects=False)
            assert answer.status_code == 403


def test_no_two_studios_have_one_name() -> None:
    names = {Keys(lambda link: None).name for _ in range(100)}
    assert len(names) == 100
    assert all(re.fullmatch(r"studio-[0-9a-f]{24}\.localhost", name) for name in names)


@pytest.mark.parametrize(
    "visit", [{"sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"}, {"sec-fetch-dest": "iframe"}]
)
@pytest.mark.parametrize("base", [ORIGIN, f"http://127.0.0.1:{PORT}"])
def test_a_script_or_a_frame_of_another_page_uses_up_no_link(tmp_path: Path, base: str, visit: dict[str, str]) -> None:
    app, keys = studio_at(tmp_path)
    link, page = keys.link, TestClient(app, base_url=base)
    hidden = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", **visit}
    assert page.get(f"/?key={link}", headers=hidden, follow_redirects=False).status_code == 403
    clicked = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert page.get(f"/?key={link}", headers=clicked, follow_redirects=False).status_code in (200, 303)


def test_nobody_else_is_let_in(small: Visitor) -> None:
    client = small.client
    assert client.get("/job/people/table", headers={"host": "evil.example:8765"}).status_code == 403
    assert client.get("/job/people/table", headers={"host": f"{NAME}:9"}).status_code == 403
    assert client.get("/job/people/table", headers={"sec-fetch-site": "cross-site"}).status_code == 403
    key = small.form_key("/job/people/table")
    for origin in ({}, {"origin": "http://evil.example"}, {"origin": "null"}, {"origin": f"http://{NAME}:9"}):
        sent = client.post("/job/people/table", data={"unit": "person", "form_key": key}, headers=origin)
        assert sent.status_code == 403
    for wrong in ("", "0" * 64):
        sent = client.post("/job/people/table", data={"unit": "person", "form_key": wrong}, headers={"origin": ORIGIN})
        assert sent.status_code == 403
    assert not (small.folder / "people.toml").exists()
    stranger = TestClient(client.app, base_url=ORIGIN)
    for path in ("/job/people/table", "/file/people/people.toml", "/published/people", "/static/studio.js"):
        assert stranger.get(path).status_code == 403


def test_every_answer_says_what_a_browser_may_do(small: Visitor) -> None:
    found = small.client.get("/job/people/table").headers
    assert "default-src 'none'" in found["content-security-policy"]
    assert "unsafe" not in found["content-security-policy"]
    assert found["cache-control"] == "no-store"
    assert found["x-content-type-options"] == "nosniff"


def test_no_file_outside_the_folder_or_not_of_the_job(small: Visitor, tmp_path: Path) -> None:
    (tmp_path.parent / "secret.parquet").write_text("secret")
    (tmp_path / "link.parquet").symlink_to(tmp_path.parent / "secret.parquet")
    small.send("/job/people/table", unit="person")
    for name in ("people.parquet", "link.parquet", "../secret.parquet", "..%2Fsecret.parquet", ".hidden", "%00"):
        assert small.client.get(f"/file/people/{name}").status_code in (400, 404), name
    # not even where the job's file was edited to say so
    for name in ("people.parquet", "../secret.parquet", "link.parquet", "/etc/passwd"):
        draft = small.studio.draft("people")
        draft.with_section("output", {"release": name, "page": name}).write()
        assert small.client.get("/published/people").status_code != 200, name
        assert small.client.get(f"/file/people/{name}").status_code != 200, name


def test_a_form_that_is_too_long_is_refused(small: Visitor) -> None:
    sent = small.client.post("/job/people/table", content=b"a" * (2**20 + 1), headers={"origin": ORIGIN})
    assert sent.status_code == 413


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "a\\b", ".x", " x", "x\n", "x" * 201, "/etc/passwd"])
def test_names_of_files_are_plain(tmp_path: Path, name: str) -> None:
    with pytest.raises(errors.FileProblem):
        Folder.of(tmp_path).path(name)


def test_it_listens_before_the_link_is_shown_at_every_address_of_its_name() -> None:
    """A browser looks for RANDOM.localhost at 127.0.0.1 and at ::1: nobody else may listen at either."""
    listening = listen(0)
    port = listening[0].getsockname()[1]
    hosts = ["127.0.0.1"] + (["::1"] if Path("/proc/net/if_inet6").exists() else [])
    assert [each.getsockname()[:2] for each in listening] == [(host, port) for host in hosts]
    for host, each in zip(hosts, listening, strict=True):
        socket.create_connection((host, port), timeout=5).close()
        with pytest.raises(OSError, match="in use"):
            socket.create_server((host, port), family=each.family)
    with pytest.raises(errors.FileProblem):
        listen(port)
    listening[0].close()  # the other address alone is refused as well
    if len(hosts) == 2:
        with pytest.raises(errors.FileProblem):
            listen(port)
    for each in listening:
        each.close()


@pytest.mark.parametrize("other", ['theirs={"a": 1}', "a b", "leastnoise-8765=tossed", "=", 'x="'])
def test_cookies_of_other_ports_lock_nobody_out(small: Visitor, other: str) -> None:
    """Cookies know no ports: whatever else runs on this machine sends its own along, first or last."""
    (ours,) = (f"{each.name}={each.value}" for each in small.client.cookies.jar)
    stranger = TestClient(small.client.app, base_url=ORIGIN)
    for header in (f"{other}; {ours}", f"{ours}; {other}"):
        shown = stranger.get("/job/people/table", headers={"cookie": header})
        assert shown.status_code == 200
    assert stranger.get("/job/people/table", headers={"cookie": other}).status_code == 403
