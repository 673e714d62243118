"""Small files that claim, or unpack to, gigabytes: an answer or a sentence, in memory that is bounded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fuzzing import add, quiet
from leastnoise import errors

pytestmark = pytest.mark.slow

SUPPORT = Path(__file__).resolve().parents[1] / "support"
# MiB above what the process had before. Words that unpack to `parquet.MAX_BYTES` (256) are held twice while they are
# measured; the engine holds the ten words of 100 MB that one of the tables really has, which is under its own limit.
PEAK, PEAK_ROWS = 640, 1536
PRIVATE = ("numbers", "words", "rows", "lines", "vector")
ANSWERS = {
    "numbers: a long name": 10,
    "edges: a long name": 1,
    "numbers: a long name many times": 10**6,
    "edges: a long name many times": 1,
    "keys: a dictionary of many words": 10,  # the lie is in the other column
    "public table: a dictionary of many words": 10,
    "rows: a dictionary of many words": [2],
    "keys: a page that claims to unpack": 10,
    "public table: a page that claims to unpack": 10,
    "rows: a page that claims to unpack": [2],
    "lines: one long line": [0],  # at the end of a file, what is beyond the longest line is no row
    "lines: a line of commas": [0],
    "load: keys: a long question": "Release",
    "load: estimate: a long question": "Estimate",
}


@pytest.fixture
def ends(tmp_path: Path) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(SUPPORT / "bombing.py"), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(SUPPORT), os.environ.get("PYTHONPATH")]))},
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    add("bombs", len(done.stdout.splitlines()))
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_every_bomb_is_answered_rightly_or_refused_in_bounded_memory(ends: list[dict[str, Any]]) -> None:
    assert len(ends) > 100
    for end in ends:
        assert "broken" not in end, end
        assert end["peak"] <= (PEAK_ROWS if end["case"].startswith("rows:") else PEAK), end
        assert end["left"] == [], end
        if "answer" in end:
            assert end["answer"] == ANSWERS.get(end["case"]), end
        else:
            assert issubclass(getattr(errors, end["error"]), errors.LeastnoiseError), end
            assert len(end["text"]) < 600, end["case"]
        if "error" in end and end["case"].startswith(PRIVATE):
            quiet(end["text"])
            assert not end["context"], end["case"]
