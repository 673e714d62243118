"""A link in the list of processes is of no use to another user of the machine."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from leastnoise.studio import connections
from leastnoise.studio.access import Keys
from leastnoise.studio.app import application
from leastnoise.studio.folder import Folder
from leastnoise.studio.session import Studio
from studio_visitor import ORIGIN, PORT

HEADER = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
PLAIN, MAPPED = "0100007F", "0000000000000000FFFF00000100007F"
CLIENT = 50123


def listed(folder: Path, monkeypatch: pytest.MonkeyPatch, *, address: str, user: int) -> None:
    """One connection to the studio, as Linux lists it: both its ends, of which the other is the studio's own."""
    line = "   {}: {}:{:04X} {}:{:04X} 01 00000000:00000000 00:00000000 00000000 {:5d}        0 90561 1\n"
    ends = line.format(0, address, CLIENT, address, PORT, user) + line.format(1, address, PORT, address, CLIENT, 0)
    tables = folder / "tcp", folder / "tcp6"
    for table, shown in zip(tables, (PLAIN, MAPPED), strict=True):
        table.write_text(HEADER + (ends if shown == address else ""))
    monkeypatch.setattr(connections, "TABLES", tables)


@pytest.mark.parametrize("address", [PLAIN, MAPPED])
@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "192.168.0.7"])
def test_a_link_is_taken_from_this_user_alone(
    address: str, host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = Keys(lambda link: None)
    app = application(Studio(Folder.of(tmp_path), "people.parquet"), keys, PORT)
    browser, link = TestClient(app, base_url=ORIGIN, client=(host, CLIENT)), keys.link
    for user, status in ((os.geteuid() + 1, 403), (os.geteuid(), 303)):
        listed(tmp_path, monkeypatch, address=address, user=user)
        assert browser.get(f"/?key={link}", follow_redirects=False).status_code == status
    assert keys.link != link
    stranger = TestClient(app, base_url=ORIGIN, client=(host, CLIENT + 1))  # whom no table knows
    assert stranger.get(f"/?key={keys.link}", follow_redirects=False).status_code == 403


def test_this_system_knows_our_own_connections() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        ports = client.getsockname()[1], server.getsockname()[1]
        assert connections.is_ours(*ports)


def test_where_the_system_does_not_tell_nobody_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "TABLES", (tmp_path / "none", tmp_path / "none"))
    assert connections.is_ours(CLIENT, PORT)
