"""Whose connection it is. A cookie, a link and a name can become known to another user of the machine; a connection
cannot be made under somebody else's name. So it is asked at every request, and only this user's own are answered.

Linux says whose a connection is, in two tables of all that are open. A program of this user's own is answered, as it
may read the table; and so is the administrator's.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from ipaddress import IPv4Address, ip_address
from pathlib import Path
from typing import Any

TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_ENDS, _STATE, _USER, _INODE = slice(1, 3), 3, 7, 9  # of a line: its own end and the other, ADDRESS:PORT
_ESTABLISHED = "01"


def can_tell() -> bool:
    """Whether this system says whose a connection is."""
    return TABLES[0].exists()


def is_ours(connection: Any) -> bool:
    """Whether the other end of a socket is held by this user, or by the administrator.

    One that its owner has closed is nobody's: the system lists it still, as if it were the administrator's, but with
    no file behind it. One that is not listed, or a list that cannot be read, is no reason to trust anybody.

    The list says who holds the other end of this very connection, and not of another between the same two ports: no
    two are established at once, and this one was before the list was read and is after it.
    """
    try:
        ends = zip(_written(connection.getpeername()), _written(connection.getsockname()), strict=True)
        held = _holders([list(each) for each in ends])
        established = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == int(_ESTABLISHED)
    except (AttributeError, OSError, ValueError):
        return False
    return established and bool(held) and held <= {os.geteuid(), 0}


def _holders(wanted: list[list[str]]) -> set[int]:
    """Who holds a connection from the first of two ends, open and with a file behind it."""
    return {
        int(line[_USER])
        for line in _lines()
        if line[_ENDS] in wanted and line[_STATE] == _ESTABLISHED and line[_INODE] != "0"
    }


def _lines() -> Iterator[list[str]]:
    for table in TABLES:
        if table is TABLES[0] or table.exists():  # a machine without IPv6 lacks the second
            yield from (line.split() for line in table.read_text().splitlines()[1:])


def _written(end: tuple[Any, ...]) -> list[str]:
    """One end as the tables write it: an address of IPv4 may stand in the second as one of IPv6."""
    host, port = ip_address(end[0]), end[1]
    packed = [host.packed]
    if isinstance(host, IPv4Address):
        packed.append(bytes(10) + b"\xff\xff" + host.packed)
    return [f"{_digits(each)}:{port:04X}" for each in packed]


def _digits(packed: bytes) -> str:
    """Words of four bytes, each as this machine reads a number."""
    words = (packed[start : start + 4] for start in range(0, len(packed), 4))
    return "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words)
