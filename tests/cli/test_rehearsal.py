"""--expect is a rehearsal: it refuses what the release would, in the same words and with the same exit code, and leaves
everything as it was. A release that is there is paid for again only with --again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import leastnoise as ln
from fuzzing import run
from leastnoise.curator.budget import sqlite_store

TABLE = ["trips.parquet", "--unit", "taxi", "--max-rows", "2"]
COMMANDS = {
    "count": ["count", *TABLE],
    "histogram": ["histogram", *TABLE, "--by", "cab", "--keys", "0:3"],
    "unknown keys": ["histogram", *TABLE, "--by", "cab"],
    "sum": ["sum", *TABLE, "--column", "cab", "--clip", "0,2"],
    "mean": ["mean", *TABLE, "--column", "cab", "--clip", "0,2"],
    "quantile": ["quantile", *TABLE, "--column", "cab", "--clip", "0,2", "--levels", "0.5"],
    "crosstabs": ["crosstabs", *TABLE, "--keys", "keys.toml", "--ways", "1"],
    "summarize": ["summarize", *TABLE, "--by", "cab", "--keys", "0:3", "--stat", "rows=count"],
    "suggest-limits": ["suggest-limits", *TABLE[:3], "--by", "cab", "--keys", "0:3"],
    "release": ["release", "n.csv", "--column", "n", "--type", "int", "--sensitivity", "1"],
}
PAID = ["--budget", "city.ledger", "--share", "0.2"]
OUT = ["-o", "out.parquet"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "600")
    pq.write_table(pa.table({"taxi": [1, 2], "cab": [1, 2]}), "trips.parquet")
    Path("n.csv").write_text("n\n1\n2\n")
    ln.domain.write("keys.toml", {"cab": range(3)})
    return tmp_path


def everything(folder: Path) -> dict[str, str]:
    """The files of the folder, by what is in them."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir() if path.is_file()}


def opened(**terms: object) -> ln.Budget:
    return ln.Budget.open("city.ledger", **{"epsilon": 1, "delta": 1e-6, "threshold_delta": 1e-7} | terms)  # type: ignore[arg-type]


def exhausted() -> None:
    ln.release([1.0], sensitivity=1, budget=opened(), share=0.9)


def closed() -> None:
    opened().close(reason="the year is over")


def another_table() -> None:
    opened(table="people")


def other_neighbours() -> None:
    opened(neighbours="replace")


def laplace_alone() -> None:
    opened(delta=None, threshold_delta=0, pure_epsilon=1)


def nothing_set_aside() -> None:
    opened(threshold_delta=0)


def other_people() -> None:
    opened().allocate("maps", share=0.5, people=["nobody else"])


def returned() -> None:
    opened().allocate("maps", share=0.5).return_unused()


REFUSED: dict[str, tuple[Callable[[], object], list[str], set[str]]] = {
    # by what it is refused for: what is done before, what is typed, and the commands that it does not concern
    "exhausted": (exhausted, PAID, set()),
    "closed": (closed, PAID, set()),
    "another table": (another_table, PAID, {"release"}),
    "other neighbours": (other_neighbours, PAID, set()),
    "Gaussian noise from Laplace alone": (laplace_alone, [*PAID, "--mechanism", "gaussian"], set()),
    "unknown keys without a reserve": (nothing_set_aside, PAID, set(COMMANDS) - {"unknown keys"}),
    "other people's allocation": (other_people, [*PAID, "--allocation", "maps"], set()),
    "a returned allocation": (returned, [*PAID, "--allocation", "maps"], set()),
    "no such allocation": (opened, [*PAID, "--allocation", "maps"], set()),
    "no such budget": (Path, PAID, set()),
    "a note of two lines": (opened, [*PAID, "--note", "two\nlines"], set()),
    "a promise that protects nobody": (Path, ["--epsilon", "100", "--delta", "1e-6"], {"unknown keys"}),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("why", REFUSED)
def test_what_a_release_would_be_refused_for_expect_refuses_alike(here: Path, command: str, why: str) -> None:
    before, typed, unconcerned = REFUSED[why]
    if command in unconcerned:
        pytest.skip("this is not refused")
    before()
    left = everything(here)
    expected = run(*COMMANDS[command], *typed, *OUT, "--expect")
    assert everything(here) == left
    assert expected[0] in (1, 2), expected
    assert expected == run(*COMMANDS[command], *typed, *OUT)
    assert everything(here) == left


def _a_release(path: str = "out.parquet") -> None:
    ln.release([1.0], sensitivity=1, epsilon=1, delta=1e-6).save(path)


OUTPUTS: dict[str, tuple[Callable[[], object], str]] = {
    "what is read": (lambda: None, "{source}"),
    "no folder": (lambda: None, "none/out.parquet"),
    "a folder": (lambda: Path("out.parquet").mkdir(), "out.parquet"),
    "the ledger": (lambda: None, "city.ledger"),
    "another name than Parquet's": (lambda: None, "out.csv"),
    "a table of somebody's": (lambda: pq.write_table(pa.table({"a": [1]}), "out.parquet"), "out.parquet"),
    "a text of somebody's": (lambda: Path("out").write_text("mine"), "out"),
    "a release": (_a_release, "out.parquet"),
    "an estimate": (lambda: _estimate(), "out.parquet"),
    "a link to a release": (lambda: _a_link(), "out"),
}


def _a_link() -> None:
    _a_release("old.parquet")
    Path("out").symlink_to("old.parquet")


def _estimate() -> None:
    made = ln.release([1.0, 2.0, 3.0, 4.0], sensitivity=1, epsilon=1, delta=1e-6)
    made.denoise("james_stein").save("out.parquet")


@pytest.mark.parametrize("command", ["count", "crosstabs", "suggest-limits", "release"])
@pytest.mark.parametrize("there", OUTPUTS)
def test_a_path_that_a_release_cannot_take_is_refused_by_expect_alike(here: Path, command: str, there: str) -> None:
    before, path = OUTPUTS[there]
    budget = opened()
    before()
    left, asked = everything(here), COMMANDS[command]
    to = ["-o", path.format(source=asked[1])]
    expected = run(*asked, *PAID, *to, "--expect")
    assert expected[0] == 2, expected
    assert expected == run(*asked, *PAID, *to)
    assert everything(here) == left
    assert budget.history() == []
    if there not in ("a release", "a link to a release"):  # and --again takes the place of nothing else
        assert run(*asked, *PAID, *to, "--again")[0] == 2
        assert everything(here) == left


@pytest.mark.parametrize("command", COMMANDS)
def test_the_same_release_typed_twice_is_paid_once_and_kept(here: Path, command: str) -> None:
    budget, asked = opened(), [*COMMANDS[command], *PAID, *OUT]
    assert run(*asked)[0] == 0
    first, kept = ln.load("out.parquet").id, everything(here)  # type: ignore[union-attr]
    code, _, err = run(*asked)
    assert code == 2
    assert "'out.parquet' is a release already." in err
    assert "Say --again." in err
    assert everything(here) == kept
    assert len(budget.history()) == 1
    assert run(*asked, "--again", "--expect")[0] == 0
    assert everything(here) == kept
    assert run(*asked, "--again")[0] == 0
    assert ln.load("out.parquet").id != first  # type: ignore[union-attr]
    assert len(budget.history()) == 2


def test_an_empty_file_is_taken_as_free(here: Path) -> None:
    Path("out.parquet").touch()  # as mktemp makes it
    assert run(*COMMANDS["count"], "--epsilon", "1", "--delta", "1e-6", *OUT)[0] == 0


def test_a_ledger_in_a_network_folder_is_refused_alike(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened()
    monkeypatch.setattr(sqlite_store, "file_system", lambda path: "nfs4")
    expected = run(*COMMANDS["count"], *PAID, "--expect")
    assert "network folder" in expected[2]
    assert expected == run(*COMMANDS["count"], *PAID, *OUT)


def test_a_ledger_that_cannot_be_written_is_refused(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened()
    monkeypatch.setattr("os.access", lambda *_: False)  # root may write anywhere
    code, _, err = run(*COMMANDS["count"], *PAID, "--expect")
    assert (code, "cannot be opened or written" in err) == (1, True)


def test_a_vector_that_is_not_there_is_refused_alike(here: Path) -> None:
    Path("n.csv").unlink()
    asked = [*COMMANDS["release"], "--epsilon", "1", "--delta", "1e-6"]
    expected = run(*asked, "--expect")
    assert "There is no file 'n.csv'" in expected[2]
    assert expected == run(*asked, *OUT)


def test_python_refuses_alike(here: Path) -> None:
    exhausted()
    budget = ln.Budget.open("city.ledger")
    count = ln.table("trips.parquet", unit="taxi").count(max_rows=1)
    for share in (0.2, 0.1):
        outcomes = []
        for ask in (count.expect, count.release):
            try:
                outcomes.append(type(ask(budget=budget, share=share)).__name__)
            except ln.BudgetExhausted as problem:
                outcomes.append(str(problem))
        if share == 0.2:
            assert outcomes[0] == outcomes[1]
        else:
            assert outcomes == ["Expectation", "Release"]


def test_a_plan_is_recorded_and_the_other_kind_is_named_and_taken(here: Path) -> None:
    create = ["budget", "create", "city.ledger", "--epsilon", "2"]
    code, out, err = run(*create, "--delta", "1e-6", "--releases", "2")
    assert (code, err) == (0, "")
    assert "Laplace noise from a budget with delta=0 would have 1.36: reopen it with delta=0" in out
    asked = [*COMMANDS["count"], "--max-rows", "1", "--budget", "city.ledger", "--share", "1/2"]
    out = run(*asked, "--expect")[1]
    assert "Laplace noise from a budget with delta=0 would have a standard deviation of 1.36 instead of 3.17" in out
    assert ", here and in the other planned release." in out
    code, out, err = run(*create, "--delta", "0")
    assert (code, err) == (0, "")
    assert "epsilon = 2, delta = 0 for one unit" in out
    assert "with epsilon = 2, delta = 0 for 2 releases (before: epsilon = 2, delta = 1e-06 for 2 releases)." in out
    facts = json.loads(run("budget", "city.ledger", "--verify", "--history", "--json")[1])
    assert (facts["releases"], facts["plan"]["other_delta"]) == (2, 1e-6)
    assert [entry["kind"] for entry in facts["history"]] == ["terms"]
    assert "budget with delta" not in run(*asked, "--expect")[1]
    assert run(*asked, *OUT)[0] == 0
    assert ln.load("out.parquet").mechanism == "laplace"  # type: ignore[union-attr]
    assert run(*create, "--delta", "1e-6")[0] == 2
