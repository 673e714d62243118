"""HTTP, as uvicorn speaks it, where every request knows the socket that it came over."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol


class SocketProtocol(H11Protocol):
    """The socket is `scope["state"]["socket"]` of every request of a connection."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        state: dict[str, Any] = self.app_state
        self.app_state = {**state, "socket": transport.get_extra_info("socket")}
