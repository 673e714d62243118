"""One server for the tests of this folder, with a budget of its own for each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import leastnoise as ln
from postgres_server import ANALYST, ANALYST_PASSWORD, Server, grants


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with Server() as running:
        running.run(f"CREATE ROLE {ANALYST} LOGIN PASSWORD '{ANALYST_PASSWORD}'")
        yield running


@pytest.fixture
def budget(server: Server, request: pytest.FixtureRequest) -> ln.Budget:
    return ln.Budget.open(server.url(name_of(request)), epsilon=1, delta=1e-6)


@pytest.fixture
def analyst(server: Server, budget: ln.Budget) -> ln.Budget:
    """The same budget as an analyst reaches it: with the rights that the documentation gives."""
    server.run(*grants(budget.name, ANALYST))
    return ln.Budget.open(server.url(budget.name, user=ANALYST, password=ANALYST_PASSWORD))


def name_of(request: pytest.FixtureRequest) -> str:
    return f"b{abs(hash(request.node.nodeid)) % 10**12}"
