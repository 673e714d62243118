"""Starts the studio on this machine only, and opens it in the browser."""

from __future__ import annotations

import signal
import socket
import sys
import webbrowser
from collections.abc import Callable, Sequence
from pathlib import Path

from leastnoise import errors
from leastnoise.studio.folder import Folder

LOOPBACK = "127.0.0.1"


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
    import uvicorn

    from leastnoise.studio.access import Keys
    from leastnoise.studio.app import application
    from leastnoise.studio.budgets import connect
    from leastnoise.studio.session import Studio

    studio = Studio(Folder.of(Path.cwd()), source)
    for place in budgets:
        connect(studio, place)
    listening = _listen(port)
    address = f"http://{LOOPBACK}:{listening.getsockname()[1]}/"
    keys = Keys(lambda link: announce(f"For another window: {address}?key={link}"))
    app = application(studio, keys, listening.getsockname()[1])
    link = f"{address}?key={keys.link}"
    announce(f"The studio is at {link}")
    announce("It listens on this machine only. Stop it with Ctrl-C; what was chosen stays in the job's file.")
    if browser:
        webbrowser.open(link)
    # Whoever connects does not say by a header who it is.
    config = uvicorn.Config(app, log_level="error", access_log=False, server_header=False, proxy_headers=False)
    server = uvicorn.Server(config)
    # uvicorn ends, and then raises the signal that ended it once more: a handler that ends Python keeps `finally`.
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        server.run(sockets=[listening])
    finally:
        studio.releases.wait()
        signal.signal(signal.SIGTERM, before)


def _listen(port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a studio that ended a second ago is no obstacle
    try:
        listening.bind((LOOPBACK, port))
        listening.listen()  # before the link is shown: nobody else can take the port, and an early browser waits
    except (OSError, OverflowError):
        listening.close()
        raise errors.FileProblem(f"Port {port} cannot be used. Leave it out, and a free one is taken.") from None
    return listening
