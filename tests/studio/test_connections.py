"""Other users of the machine are refused at every request, whatever they know: the link, the name, the cookie."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from leastnoise.studio import connections
from leastnoise.studio.access import Keys
from leastnoise.studio.app import application
from leastnoise.studio.connections import is_ours
from leastnoise.studio.folder import Folder
from leastnoise.studio.session import Studio
from studio_browser import running_studio
from studio_requests import Requests
from studio_visitor import NAME, ORIGIN, PORT

HEADER = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
PLAIN, MAPPED = "0100007F", "0000000000000000FFFF00000100007F"
LAST = "00000000000000000000000001000000"  # ::1
CLIENT, SERVER = ("127.0.0.1", 50123), ("127.0.0.1", PORT)
NOBODY = 65534


def listed(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    address: str = PLAIN,
    user: int,
    state: str = "01",
    inode: int = 90561,
) -> None:
    """One connection to the studio, as Linux lists it: both its ends, of which the other is the studio's own."""
    line = "   {}: {}:{:04X} {}:{:04X} {} 00000000:00000000 00:00000000 00000000 {:5d}        0 {} 1\n"
    ends = line.format(0, address, CLIENT[1], address, PORT, state, user, inode)
    ends += line.format(1, address, PORT, address, CLIENT[1], "01", os.geteuid(), 90562)
    tables = folder / "tcp", folder / "tcp6"
    for table, shown in zip(tables, (address == PLAIN, address != PLAIN), strict=True):
        table.write_text(HEADER + (ends if shown else ""))
    monkeypatch.setattr(connections, "TABLES", tables)


class Socket:
    """The studio's end of a connection."""

    def __init__(self, client: tuple[Any, ...] = CLIENT, server: tuple[Any, ...] = SERVER, state: int = 1) -> None:
        self.getpeername, self.getsockname = (lambda: client), (lambda: server)
        self.getsockopt = lambda level, option, size: bytes([state])


@pytest.mark.parametrize(
    ("address", "host"), [(PLAIN, "127.0.0.1"), (MAPPED, "127.0.0.1"), (LAST, "::1")], ids=["IPv4", "mapped", "IPv6"]
)
def test_a_connection_is_of_whom_the_system_says(
    address: str, host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = (0, 0) if host == "::1" else ()
    server = (host, PORT, *more)
    for user, ours in ((os.geteuid() + 1, False), (os.geteuid(), True), (0, True)):
        listed(tmp_path, monkeypatch, address=address, user=user)
        assert is_ours(Socket((host, CLIENT[1], *more), server)) is ours
    assert not is_ours(Socket((host, CLIENT[1] + 1, *more), server))  # whom no table knows
    assert not is_ours(Socket(("127.0.0.2", CLIENT[1]), server))  # the same port of another address
    assert not is_ours(Socket(("192.168.0.7", CLIENT[1]), server))
    assert not is_ours(None)


@pytest.mark.parametrize("state", ["04", "05", "06", "01"])
def test_a_connection_that_was_closed_is_nobodys(state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one that waits for its end the system says user 0 and no file."""
    listed(tmp_path, monkeypatch, user=0, state=state, inode=0)
    assert not is_ours(Socket())


@pytest.mark.parametrize("state", [7, 8])
def test_a_later_connection_between_the_same_ports_is_another(
    state: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody closes theirs and this user's browser gets the same port: what was sent before stays somebody's."""
    listed(tmp_path, monkeypatch, user=os.geteuid())
    assert is_ours(Socket())
    assert not is_ours(Socket(state=state))


def test_where_the_list_cannot_be_read_everybody_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who opens connections until no file can be opened gains nothing by it."""
    listed(tmp_path, monkeypatch, user=os.geteuid())
    assert is_ours(Socket())
    (tmp_path / "tcp").unlink()
    assert not is_ours(Socket())


@pytest.mark.parametrize("how", ["close", "half", "reset"])
def test_a_real_connection_is_ours_until_it_is_closed(how: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(server.getsockname())
        accepted = server.accept()[0]
        assert is_ours(accepted)
        if how == "half":
            client.shutdown(socket.SHUT_WR)
        elif how == "reset":
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        if how != "half":
            client.close()
        assert not is_ours(accepted)
        client.close()
        accepted.close()


def test_no_request_of_somebody_else_is_answered(tmp_path: Path) -> None:
    """Asked at each request: the link, pages, files, forms, mistakes; and the link stays good."""
    owner = [True]
    keys = Keys(lambda link: None)
    keys.name = NAME
    app = application(Studio(Folder.of(tmp_path), "people.parquet"), keys, PORT, lambda connection: owner[0])
    browser = TestClient(app, base_url=ORIGIN)
    assert browser.get(f"/?key={keys.link}").status_code == 200
    link = keys.link
    paths = ("/", f"/?key={link}", "/static/studio.js", "/job/people/table", "/budgets", "/no/such/page", "/file/a/b")
    before = {path: browser.get(path, follow_redirects=False).status_code for path in paths}
    assert 403 not in before.values()
    owner[0] = False
    for path in paths:
        for method in ("GET", "HEAD", "POST", "PUT", "OPTIONS"):
            answer = browser.request(method, path, headers={"origin": ORIGIN}, follow_redirects=False)
            assert (answer.status_code, answer.headers["connection"]) == (403, "close")
            assert "set-cookie" not in answer.headers
    assert keys.link == link


# From here on really: a studio of this user's, and a process of another user's.


class Stranger:
    """Another user of the machine, who knows everything that this user's browser knows."""

    def __init__(self, link: str) -> None:
        self.known = Requests(link)

    def form_key(self) -> str:
        """What every form of this user's carries."""
        return self.known.get("/job/people/table").hidden()["form_key"]

    def request(self, path: str, method: str = "GET", body: str = "", host: str = "") -> str:
        """A request as it is sent."""
        headers = self.known.headers() | {"content-length": str(len(body))} | ({"host": host} if host else {})
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        return f"{method} {path} HTTP/1.1\r\n{lines}\r\n{body}"

    def theirs(self, text: str, *, address: str = "127.0.0.1", after: str = "s.recv(99999)") -> str:
        """What another user gets for a text that is sent over a connection of theirs."""
        code = (
            "import encodings.idna, os, socket, sys\n"
            f"os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})\n"
            f"s = socket.create_connection(({address!r}, {self.known.port}), timeout=30)\n"
            f"s.sendall({text.encode()!r})\n"
            f"got = {after}\n"
            "sys.stdout.write((got or b'').decode('utf-8', 'replace'))"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
        return done.stdout


@pytest.fixture
def stranger(tmp_path: Path) -> Iterator[Stranger]:
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("nobody but the administrator can act as another user")
    with running_studio(tmp_path) as studio:
        yield Stranger(studio.link)


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_another_user_with_the_link_and_the_cookie_is_refused(stranger: Stranger, address: str) -> None:
    if address == "::1" and not Path("/proc/net/if_inet6").exists():
        pytest.skip("no IPv6 on this machine")
    known, link = stranger.known, f"/?key={stranger.known.key}"
    assert stranger.theirs(stranger.request(link, host=known.door), address=address)[9:12] == "403"
    assert stranger.theirs(stranger.request(link), address=address)[9:12] == "403"
    known.enter()
    form = stranger.form_key()
    assert len(form) == 64
    for path in ("/job/people/table", "/static/studio.js", "/budgets", "/no/such/page"):
        assert stranger.theirs(stranger.request(path), address=address)[9:12] == "403", path
    sent = stranger.request("/job/people/table", "POST", f"form_key={form}&unit=person")
    assert stranger.theirs(sent, address=address)[9:12] == "403"
    assert known.get("/job/people/table").status == 200


def test_requests_one_after_another_over_one_connection_are_refused(stranger: Stranger, tmp_path: Path) -> None:
    stranger.known.enter()
    several = stranger.request("/static/studio.js") + 3 * stranger.request("/job/people/table")
    got = stranger.theirs(several, after="b''.join(iter(lambda: s.recv(99999), b''))")
    assert got[9:12] == "403"
    assert "HTTP/1.1 2" not in got


@pytest.mark.parametrize(
    "ending",
    [
        "s.close()",
        "s.shutdown(socket.SHUT_WR)",
        "(s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b'\\1\\0\\0\\0\\0\\0\\0\\0'), s.close())[1]",
    ],
    ids=["closed", "half closed", "reset"],
)
def test_a_closed_connection_uses_up_no_link_and_changes_nothing(
    stranger: Stranger, tmp_path: Path, ending: str
) -> None:
    for _ in range(20):
        stranger.theirs(stranger.request(f"/?key={stranger.known.key}"), after=ending)
    time.sleep(0.5)
    stranger.known.enter()  # the link is good
    form = stranger.form_key()
    for _ in range(20):
        stranger.theirs(stranger.request("/job/people/table", "POST", f"form_key={form}&unit=person"), after=ending)
    time.sleep(0.5)
    assert not (tmp_path / "people.toml").exists()
