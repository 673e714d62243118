"""One set of exit codes, options instead of Python, and nothing that a terminal would obey."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fuzzing import CANARY, run
from leastnoise.cli import messages, tables

ASK = ["--epsilon", "1", "--delta", "1e-6"]


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    pq.write_table(pa.table({"taxi": [1, 2], "z": [CANARY, "[/b]"], "n\x1b[2J": [1, 2]}), "rows.parquet")
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        ["count", "none.parquet", "--unit", "taxi", "--max-rows", "1", *ASK, "-o", "o.parquet"],
        ["release", "none.npy", "--sensitivity", "1", *ASK, "-o", "o.parquet"],
        ["denoise", "none.parquet", "-o", "o.parquet"],
        ["budget", "none.ledger"],
        ["count", "rows.parquet", "--unit", "taxi", "--max-rows", "1", "--budget", "none", "--share", "1",
         "-o", "o.parquet"],
        ["histogram", "rows.parquet", "--unit", "taxi", "--by", "z", "--keys", "none.csv:z", "--max-rows", "1", *ASK,
         "-o", "o.parquet"],
    ],
)  # fmt: skip
def test_a_path_with_nothing_at_it_is_exit_code_2_in_every_command(rows: Path, command: list[str]) -> None:
    code, out, err = run(*command)
    assert (code, out) == (2, "")
    assert "none" in err
    assert [path.name for path in rows.iterdir()] == ["rows.parquet"]


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ([], "--max-rows 5"),
        (["--max-rows", "1"], "--epsilon 1, --delta 1e-6"),
        (["--max-rows", "1", "--share", "0.25"], "--budget city.ledger"),
        (["--max-rows", "1", *ASK, "--mechanism", "gausian"], 'Did you mean "gaussian"?'),
        (["--max-rws", "1"], "--max-rows"),
    ],
)
def test_mistakes_are_told_in_options(rows: Path, extra: list[str], words: str) -> None:
    code, _, err = run("count", "rows.parquet", "--unit", "taxi", "-o", "o.parquet", *extra)
    assert code == 2
    assert words in err
    assert not re.search(r"\b\w+=[\d\"']", err)


def test_quiet_prints_nothing_and_writes_the_file(rows: Path) -> None:
    done = run("count", "rows.parquet", "--unit", "taxi", "--max-rows", "1", *ASK, "-o", "o.parquet", "--quiet")
    assert done == (0, "", "")
    assert (rows / "o.parquet").is_file()


def test_control_characters_in_a_file_do_not_reach_the_terminal(rows: Path) -> None:
    code, _, err = run("count", "rows.parquet", "--unit", "nobody", "--max-rows", "1", *ASK, "-o", "o.parquet")
    assert code == 2
    assert "\x1b" not in err
    assert "\\x1b" in err


@pytest.mark.parametrize(
    "command",
    [
        ["count", "rows.parquet", "--unit", "n\x1b[2J"],
        ["histogram", "rows.parquet", "--by", "n\x1b[2J", "--keys", "1,2", "--unit", "taxi"],
    ],
)
def test_control_characters_in_the_name_of_a_column_do_not_reach_the_terminal(rows: Path, command: list[str]) -> None:
    code, out, err = run(*command, "--max-rows", "1", *ASK, "-o", "o.parquet")
    assert (code, err) == (0, "")
    assert "\x1b" not in out
    assert "n\\x1b[2J" in out


def test_control_characters_in_the_facts_of_a_ledger_do_not_reach_the_terminal(rows: Path) -> None:
    told = [run("budget", "create", "b.ledger", *ASK, "--unit", "n\x1b[2J"), run("budget", "b.ledger")]
    for code, out, err in told:
        assert (code, err) == (0, "")
        assert "\x1b" not in out
        assert "n\\x1b[2J" in out


def test_markup_in_keys_is_text(rows: Path) -> None:
    typed = ["--by", "z", "--keys", "[/b],[red]x", "--unit", "taxi", "--max-rows", "1", *ASK, "-o", "o.parquet"]
    code, out, err = run("histogram", "rows.parquet", *typed)
    assert (code, err) == (0, "")
    assert "[/b]" in out


def test_a_mistake_of_ours_is_exit_code_3_and_quotes_nothing(rows: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError(CANARY)

    monkeypatch.setattr(tables, "_publish", broken)
    code, out, err = run("count", "rows.parquet", "--unit", "taxi", "--max-rows", "1", *ASK, "-o", "o.parquet")
    assert (code, out) == (3, "")
    assert CANARY not in err
    assert "Please report" in " ".join(err.split())


def test_the_exit_codes_are_in_the_help() -> None:
    _, out, _ = run("--help")
    assert "Exit codes" in out
    assert "130" in out
    assert "--install-completion" in out
    assert set(re.findall(r"^    (\d+) ", messages.__doc__ or "", re.MULTILINE)) == {"0", "1", "2", "3", "130"}


@pytest.mark.parametrize(
    ("said", "typed"),
    [
        ("keys=[1, 2, 3], or keys=range(24).", "--keys 1,2,3, or --keys 0:24."),
        ("keys=['a', 'b'].", "--keys a,b."),
        ("keys=[...]", "--keys ..."),
    ],
)
def test_keys_are_told_as_they_are_typed(said: str, typed: str) -> None:
    assert messages.in_options(said) == typed
