"""A job in a folder with its table, keys and ledger: how tests run it and what it may not change."""

from __future__ import annotations

from pathlib import Path

import leastnoise as ln
from fuzzing import run

JOB = """\
keys = "keys.toml"

[table]
source = "register.parquet"
unit = "person"
name = "register"

[ask]
kind = "histogram"
by = ["district", "sex"]
max_rows = 1

[privacy]
budget = "city.ledger"
share = 0.05

[output]
release = "out-{date:%Y-%m}.parquet"
"""

OUT, DAY = Path("out-2026-10.parquet"), ["--date", "2026-10-31"]


def edit(old: str, new: str) -> None:
    text = Path("job.toml").read_text()
    assert old in text
    Path("job.toml").write_text(text.replace(old, new))


def debits() -> int:
    return len(ln.Budget.open("city.ledger").history())


def done(*words: str) -> str:
    code, out, err = run("run", "job.toml", *DAY, *words)
    assert (code, err) == (0, ""), err
    return out


def refused(code: int, words: str, *options: str) -> None:
    """A refusal with these words, which changes no file: not the ledger, not the release, not its record."""
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    found, out, err = run("run", "job.toml", *DAY, *options)
    assert (found, out) == (code, ""), err
    assert words in err, err
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before
