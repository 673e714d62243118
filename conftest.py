"""The examples of README.md and docs/ draw the same noise in every run, so that the pages can show it."""

from __future__ import annotations

import hashlib
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def noise_of_the_pages(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each example has its own seed, made from its text. So an example shows the same, whatever stands around it."""
    if request.node.path.suffix != ".md":
        return
    from leastnoise import testing
    from leastnoise.curator.noise import entropy

    seen: Counter[str] = Counter()

    def begin(out: Any, test: Any, example: Any) -> None:
        seen[example.source] += 1
        seed = hashlib.sha256(f"{seen[example.source]} {example.source}".encode()).hexdigest()
        monkeypatch.setattr(entropy, "os", SimpleNamespace(urandom=testing._Stream(int(seed, 16)).read))

    request.node.runner.report_start = begin
