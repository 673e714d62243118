"""One server for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from postgres_server import ANALYST, ANALYST_PASSWORD, Server


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with Server() as running:
        running.run(f"CREATE ROLE {ANALYST} LOGIN PASSWORD '{ANALYST_PASSWORD}'")
        yield running
