"""A wire to a server that is cut when a commit is done and before anybody was told."""

from __future__ import annotations

import select
import socket
import threading


class CuttingProxy:
    """Passes everything on, but for the answer to some COMMITs: when that has come, both ends are closed."""

    def __init__(self, port: int, every: int) -> None:
        self.to, self.every, self.commits, self.cuts = port, every, 0, 0
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self.listening.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self.to))
            except OSError:  # the server is away
                client.close()
                continue
            threading.Thread(target=self._pass, args=(client, server), daemon=True).start()

    def _pass(self, client: socket.socket, server: socket.socket) -> None:
        """Both ways in one thread, so that it is known which answer belongs to which COMMIT."""
        with client, server:
            while True:
                for end in select.select([client, server], [], [])[0]:
                    try:
                        data = end.recv(65536)
                        if not data:
                            return
                        (server if end is client else client).sendall(data)
                    except OSError:
                        return
                    if end is client and b"COMMIT" in data:
                        self.commits += 1
                        if self.commits % self.every == 0:
                            server.recv(65536)  # it is committed now
                            self.cuts += 1
                            return

    def close(self) -> None:
        self.listening.close()
