"""One set of exit codes, options instead of Python, and nothing that a terminal would obey."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from error_messages import ARGUMENTS
from fuzzing import CANARY, run
from leastnoise import errors
from leastnoise.cli import ask, output
from leastnoise.jobs.wording import as_option

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
        (["--max-rows", "1"], "--epsilon 1 --delta 1e-6"),
        (["--max-rows", "1", "--share", "0.25"], "--budget city.ledger"),
        (["--max-rows", "1", *ASK, "--mechanism", "gausian"], 'Did you mean "gaussian"?'),
        (["--max-rws", "1"], "--max-rows"),
    ],
)
def test_mistakes_are_phrased_in_options(rows: Path, extra: list[str], words: str) -> None:
    code, _, err = run("count", "rows.parquet", "--unit", "taxi", "-o", "o.parquet", *extra)
    assert code == 2
    assert words in " ".join(err.split())  # lines break anywhere
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
    answers = [run("budget", "create", "b.ledger", *ASK, "--unit", "n\x1b[2J"), run("budget", "b.ledger")]
    for code, out, err in answers:
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

    monkeypatch.setattr(ask, "query_of", broken)
    code, out, err = run("count", "rows.parquet", "--unit", "taxi", "--max-rows", "1", *ASK, "-o", "o.parquet")
    assert (code, out) == (3, "")
    assert CANARY not in err
    assert "Please report" in " ".join(err.split())


@pytest.mark.parametrize(
    ("name", "value", "typed"),
    [
        ("epsilon", 1, "--epsilon 1"),
        ("delta", 1e-6, "--delta 1e-6"),
        ("l1_sensitivity", 2.5, "--l1-sensitivity 2.5"),
        ("unit", "taxi", "--unit taxi"),
        ("unit", ["taxi", "day"], "--unit taxi,day"),
        ("where", "hour < 3", '--where "hour < 3"'),
        ("where", 'a = "b" and c = $d', r'--where "a = \"b\" and c = \$d"'),
        ("keys", [1, 2, 3], "--keys 1,2,3"),
        ("keys", ["a", "b"], "--keys a,b"),
        ("keys", range(24), "--keys 0:24"),
        ("keys", ..., "--keys ..."),
        ("clip", (0, 100), "--clip 0,100"),
        ("types", {"hour": "int", "fare": "float"}, "--types hour=int,fare=float"),
        ("budget", errors.Code('ln.Budget.open("city.ledger")', "city.ledger"), "--budget city.ledger"),
        ("expect", True, "--expect"),
    ],
)
def test_a_value_is_written_as_it_is_typed(name: str, value: object, typed: str) -> None:
    assert as_option(output.flags()[name], value) == typed
    stop = "" if value is ... else "."
    assert output.explain(errors.InvalidParameter("No.", example={name: value})) == f"No. Say {typed}{stop}"
    assert shlex.split(typed)[0].startswith("--")


@pytest.mark.parametrize(
    ("example", "written"),
    [
        ((), "No."),
        ([{"epsilon": 1, "delta": 1e-6}, {"sigma": 3}], "No. Say --epsilon 1 --delta 1e-6, or --sigma 3."),
        ({"allow_seeded": True}, "No. Say allow_seeded=True."),
        ({"samples": 2, "max_rows": 5}, "No. Say --max-rows 5, samples=2."),
        ({"name": "trips"}, "No. Say --table trips."),
        (errors.Code("open(epsilon=3)", "leastnoise budget create"), "No. Say leastnoise budget create."),
    ],
)
def test_examples_are_options_and_what_is_none_is_python(example: Any, written: str) -> None:
    assert output.explain(errors.InvalidParameter("No.", example=example)) == written


def test_arguments_of_python_are_phrased_as_options() -> None:
    assert set(ARGUMENTS) <= set(output.flags())


def test_a_mistake_of_ours_is_placed_in_our_own_code(rows: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def mistaken(*_: Any, **__: Any) -> None:
        raise TypeError(CANARY)

    monkeypatch.setattr("leastnoise.curator.table.open_source", mistaken)
    code, out, err = run("count", "rows.parquet", "--unit", "taxi", "--max-rows", "1", *ASK, "-o", "o.parquet")
    assert (code, out) == (3, "")
    assert "at leastnoise.curator.table, line" in err
    assert CANARY not in err
