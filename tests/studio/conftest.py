"""A studio at a desk of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from leastnoise import datasets
from studio_visitor import Visitor, visitor


@pytest.fixture(scope="session")
def register() -> Any:
    return datasets.people(2000)


@pytest.fixture
def desk(tmp_path: Path, register: Any, monkeypatch: pytest.MonkeyPatch) -> Visitor:
    monkeypatch.chdir(tmp_path)
    return visitor(tmp_path, register)
