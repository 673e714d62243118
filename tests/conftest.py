"""What every test shares: where the real data lies, and how Hypothesis searches."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("laws", max_examples=150, deadline=None, derandomize=True, print_blob=True)
settings.load_profile("laws")

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real data beside the project; absent is a skip, except in CI, where it is a failure."""
    folder = Path(os.environ.get("LEASTNOISE_DATA", ROOT.parent / "shared" / "data"))
    if folder.is_dir():
        return folder
    reason = f"no real data at {folder.name}/ (set LEASTNOISE_DATA to its folder)"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)
