"""Real data, where it is: `shared/data` beside the repository, or the folder that LEASTNOISE_DATA names."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real data. Without it a test is skipped; in continuous integration that is a failure."""
    named = os.environ.get("LEASTNOISE_DATA")
    folder = Path(named) if named else ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        missing = f"no real data at {folder}; set LEASTNOISE_DATA"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    return folder
