"""Starts the studio on this machine only, and opens it in the browser."""

from __future__ import annotations

import asyncio
import errno
import signal
import socket
import sys
import webbrowser
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from leastnoise import errors
from leastnoise.studio.access import Keys
from leastnoise.studio.app import application
from leastnoise.studio.budgets import connect
from leastnoise.studio.connections import can_tell, is_ours
from leastnoise.studio.folder import Folder
from leastnoise.studio.session import Studio

UNTOLD = (
    "This system does not say whose connection a request comes over: other users of this machine are kept out by the "
    "link and the cookie alone. If the browser does not find the studio, use Chrome or Firefox: Safari does not know "
    "names that end in .localhost."
)
LOOPBACK = "127.0.0.1"
_ABSENT = (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL)  # a machine without IPv6: nobody can listen there
_TRIES = 50  # ports, where any will do


class SocketProtocol(H11Protocol):
    """HTTP, where every request of a connection knows its socket: `scope["state"]["socket"]`."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        state: dict[str, Any] = self.app_state
        self.app_state = {**state, "socket": transport.get_extra_info("socket")}


def serve(
    source: str,
    *,
    budgets: Sequence[str] = (),
    port: int = 0,
    browser: bool = True,
    announce: Callable[[str], None] = print,
) -> None:
    """Run the studio for a table until it is stopped with Ctrl-C.

    source: the table, a file in the folder in which the studio is started, or in one below it.
    budgets: addresses of budgets on servers, without a password, to pay from.
    port: where it listens; 0 takes a free one.
    browser: whether the browser is opened.
    announce: gets the lines that the terminal shows.
    """
    studio = Studio(Folder.of(Path.cwd()), source)
    for place in budgets:
        connect(studio, place)
    listening = listen(port)
    port = listening[0].getsockname()[1]
    address = f"http://{LOOPBACK}:{port}/"
    keys = Keys(lambda link: announce(f"For another window: {address}?key={link}"))
    told = can_tell()
    app = application(studio, keys, port, is_ours if told else lambda connection: True)
    link = f"{address}?key={keys.link}"
    announce(f"The studio is at {link}")
    announce("It listens on this machine only. Stop it with Ctrl-C; what was chosen stays in the job's file.")
    if not told:
        announce(UNTOLD)
    if browser:
        webbrowser.open(link)
    # Whoever connects does not say by a header who it is.
    config = uvicorn.Config(
        app,
        http=SocketProtocol,
        ws="none",
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
    )
    server = uvicorn.Server(config)
    # uvicorn ends, and then raises the signal that ended it once more: a handler that ends Python keeps `finally`.
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        server.run(sockets=listening)
    finally:
        studio.releases.wait()
        signal.signal(signal.SIGTERM, before)


def listen(port: int) -> list[socket.socket]:
    """Sockets at both addresses of this machine, of IPv4 and of IPv6: browsers try both for the studio's name, so
    nobody else may have either. They listen before the link is shown: an early browser waits."""
    for _ in range(1 if port else _TRIES):
        found: list[socket.socket] = []
        try:
            found.append(socket.create_server((LOOPBACK, port)))
            found.append(socket.create_server(("::1", found[0].getsockname()[1]), family=socket.AF_INET6))
            return found
        except (OSError, OverflowError) as problem:
            if found and isinstance(problem, OSError) and problem.errno in _ABSENT:
                return found
            for each in found:
                each.close()
    raise errors.FileProblem(f"Port {port} cannot be used. Leave it out, and a free one is taken.")
