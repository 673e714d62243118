"""A nightly job that is killed again and again: the ledger never forgets, and every file is whole.

LEASTNOISE_SOAK_MINUTES says how long; without it some seconds.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.slow

SECONDS = 60 * float(os.environ.get("LEASTNOISE_SOAK_MINUTES", "0.1"))
SUPPORT = Path(__file__).resolve().parents[1] / "support"


def test_kills_at_every_stage_lose_nothing(tmp_path: Path) -> None:
    work, temporary = tmp_path / "work", tmp_path / "tmp"
    work.mkdir()
    temporary.mkdir()
    done = subprocess.run(
        [sys.executable, str(SUPPORT / "soaking.py"), str(work), str(SECONDS), "20180712"],
        env={**os.environ, "TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
        check=False,
        timeout=10 * SECONDS + 300,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["published"] > 0
    assert told["paid"] >= told["published"]
    assert told["left"] == []
    assert all(told["kills"].values()), told  # every stage was hit
    print(json.dumps(told))
    # Spilled rows of the killed are gone; at most the last child, which nobody came after, still has its folder.
    assert len(list(temporary.glob("leastnoise-*"))) <= 1, told


@pytest.mark.parametrize("seed", range(2 if SECONDS < 60 else 20))
def test_ctrl_c_leaves_a_clean_folder(tmp_path: Path, seed: int) -> None:
    rows = 2_000_000
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    chance = np.random.default_rng(seed)
    table = pa.table({"who": chance.integers(0, rows, rows), "z": chance.integers(0, 1000, rows)})
    pq.write_table(table, tmp_path / "rows.parquet")
    command = [
        sys.executable, "-m", "leastnoise", "histogram", "rows.parquet", "--unit", "who", "--by", "z", "--keys",
        "0:1000", "--max-rows", "3", "--epsilon", "1", "--delta", "1e-6", "-o", "out.parquet", "-q",
    ]  # fmt: skip
    running = subprocess.Popen(
        command, cwd=tmp_path, env={**os.environ, "TMPDIR": str(temporary)}, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while running.poll() is None and not list(temporary.glob("leastnoise-*")):
        time.sleep(0.01)  # until an engine is there: from here on it is ours to tidy up
    time.sleep(random.Random(seed).random() * 0.6)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=120)
    assert running.returncode in (0, 130), err
    assert "Traceback" not in err
    assert out == ""
    expected = {"rows.parquet", "tmp"} | ({"out.parquet"} if running.returncode == 0 else set())
    assert {path.name for path in tmp_path.iterdir()} - {"out.parquet"} == expected - {"out.parquet"}
    assert list(temporary.iterdir()) == []
