"""Whose connection it is. The browser is started with the link, and the list of processes shows that to everybody on
the machine: somebody quick could use it before the browser does. So a link is taken from this user's own connections.

Linux says whose a connection is, in two tables of all that are open; other systems do not, and there nobody is refused.
A program of this user's own may use the link, as it may read the table; and so may the administrator.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))  # an address of the one may be written as one of the other
_PORTS, _USER = (1, 2), 7  # of a line: this end and that end, as ADDRESS:PORT in hexadecimal digits


def is_ours(client_port: int, port: int) -> bool:
    """Whether the connection from this port to ours is of this user's, or the administrator's; True where the system
    does not tell."""
    lines = _lines()
    if lines is None:
        return True
    users = {int(line[_USER]) for line in lines if [_port(line[end]) for end in _PORTS] == [client_port, port]}
    return bool(users) and users <= {os.geteuid(), 0}


def _lines() -> list[list[str]] | None:
    """The open connections, in words; None where the system does not list them."""
    try:
        return list(_read())
    except OSError:
        return None


def _read() -> Iterator[list[str]]:
    for table in TABLES:
        if table is TABLES[0] or table.exists():  # a machine without IPv6 lacks the second
            yield from (line.split() for line in table.read_text().splitlines()[1:])


def _port(end: str) -> int:
    return int(end.rpartition(":")[2], 16)
