"""Queries on the command line: paid for, on real trips, and mistakes that cost nothing."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import command_line
import leastnoise as ln
from leastnoise.cli.shown import numbers


@pytest.mark.slow
def test_the_command_line_pays(tmp_path: Path) -> None:
    pd.DataFrame({"p": range(50), "k": ["a"] * 50}).to_parquet(tmp_path / "t.parquet")
    ln.Budget.open(tmp_path / "b", epsilon=1, delta=1e-6)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return command_line.run(*arguments, "--budget", str(tmp_path / "b"), columns=300)

    out = str(tmp_path / "o.parquet")
    source = str(tmp_path / "t.parquet")
    ask = ["histogram", source, "--by", "k", "--keys", "a,b", "--unit", "p", "--max-rows", "1"]
    assert run(*ask, "--share", "0.7", "-o", out).returncode == 0
    done = run(*ask, "--share", "0.7", "-o", out)
    assert done.returncode == 1
    assert "BudgetExhausted" in done.stderr
    assert run(*ask, "--share", "much", "-o", out).returncode == 2
    done = run(*ask, "--share", "0.1", "-o", source)
    assert "would be replaced" in done.stderr
    assert len(ln.Budget.open(tmp_path / "b").history()) == 1
    np.save(tmp_path / "v.npy", np.arange(5))
    assert (
        run("release", str(tmp_path / "v.npy"), "--sensitivity", "1", "--share", "0.2", "-o", f"{out}2").returncode == 0
    )
    assert len(ln.Budget.open(tmp_path / "b").history()) == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["histogram", "--by", "warp", "--unit", "person", "--max-rows", "3"], 'Did you mean "ward"'),
        (["histogram", "--by", "ward", "--keys", "a", "--keys", "b", "--unit", "person"], "one --keys for each"),
        (["histogram", "--by", "ward", "--keys", "none.parquet:x", "--unit", "person"], "no file 'none.parquet'"),
        (["histogram", "--by", "ward", "--unit", "nobody", "--max-rows", "3"], "nobody"),
        (["histogram", "--by", "ward", "--keys", "a,a", "--unit", "person", "--max-rows", "3"], "twice"),
        (["histogram", "--by", "ward", "--keys", "a,b", "--unit", "person"], "--max-rows 5"),
        (["sum", "--column", "age", "--clip", "9", "--unit", "person"], "two numbers"),
        (["sum", "--column", "age", "--clip", "9,1", "--unit", "person", "--max-rows", "3"], "clip"),
        (["count", "--unit", "person", "--max-rows", "0"], "max_rows"),
        (["count", "--unit", "person", "--max-rows", "3", "--where", "drop table"], "drop"),
        (["quantile", "--column", "age", "--levels", "1.5", "--clip", "0,9", "--unit", "person"], "between 0 and 1"),
    ],
)
def test_mistakes_on_the_command_line(arguments: list[str], words: str, tmp_path: Path) -> None:
    source = tmp_path / "t.parquet"
    pd.DataFrame({"person": [1], "ward": ["a"], "age": [1]}).to_parquet(source)
    command, *rest = arguments
    asked = ["--epsilon", "1", "--delta", "1e-6", "-o", str(tmp_path / "out.parquet")]
    done = command_line.run(command, str(source), *rest, *asked, columns=300)
    assert done.returncode in (1, 2)
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["t.parquet"]


def test_long_headings_are_folded_not_cut() -> None:
    """low and high of an interval's column end alike in an ellipsis, where a terminal is narrow."""
    rows = pd.DataFrame({"who": range(6), "inspection_score": [65, 85, 99] * 2, "year_of_it": [2001, 2002] * 3})
    keys = {"year_of_it": [2001, 2002], "inspection_score": ln.domain.Edges([60, 80, 90, 101])}
    asked = ln.table(rows, unit="who").histogram("year_of_it", "inspection_score", keys=keys, max_rows=1)
    console = Console(width=60)
    with console.capture() as caught:
        console.print(numbers(asked.release(epsilon=1, delta=1e-6)))
    heading = caught.get().partition("┡")[0]
    assert "…" not in heading
    letters = ["".join(line.split("┃")[column].strip() for line in heading.splitlines()[1:]) for column in (2, 3)]
    assert letters == ["inspection_score_low", "inspection_score_high"]
