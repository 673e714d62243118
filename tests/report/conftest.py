"""Pages of sets of tables, written once and opened in a browser."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import table_pages


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tables")


@pytest.fixture
def opened(browser: Any, folder: Path) -> Callable[..., Any]:
    """Opens a page, at one of its tables where that is named."""
    return partial(table_pages.visit, browser, folder)
