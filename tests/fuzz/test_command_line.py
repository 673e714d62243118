"""Anything typed at all: a sentence and a documented exit code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzing import CANARY, CANARY_NUMBER, NUMBER, ODD, cases, quiet, told

pytestmark = pytest.mark.slow

NUMBERS = {
    "sigma": ["--epsilon", "--delta", "--sensitivity"],
    "epsilon": ["--sigma", "--delta", "--sensitivity"],
    "delta": ["--sigma", "--epsilon", "--sensitivity"],
    "plan": ["--error", "--delta", "--confidence", "--bins", "--sensitivity", "--l1-sensitivity", "--grid"],
    "compare": ["--epsilon", "--delta", "--sensitivity", "--l1-sensitivity", "--bins"],
}


@st.composite
def questions(draw: st.DrawFn) -> list[str]:
    command = draw(st.sampled_from(sorted(NUMBERS)))
    options = draw(st.lists(st.sampled_from(NUMBERS[command]), max_size=6, unique=True))
    typed = [word for option in options for word in (option, draw(NUMBER).replace("\0", ""))]
    return [command, *typed, *draw(st.lists(ODD, max_size=1)), *draw(st.sampled_from([[], ["--json"]]))]


@cases("questions", 25)
@given(questions())
def test_any_number_gets_an_answer_or_a_sentence(arguments: list[str]) -> None:
    told(*arguments)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rows")
    who = [CANARY + str(n) for n in range(5)]
    table = pa.table({"who": who, "n": [CANARY_NUMBER] * 5, "z": [CANARY, "a", "b", "c", None], "f": [1e308] * 5})
    pq.write_table(table, folder / "rows.parquet")
    (folder / "rows.csv").write_text("who,n,z\n" + "".join(f"{w},{CANARY_NUMBER},{CANARY}\n" for w in who))
    return folder


OPTIONS = {
    "--unit": st.one_of(st.just("who"), st.just("who"), ODD),
    "--by": st.one_of(st.sampled_from(["z", "n", "who", "f", "Z"]), ODD),
    "--keys": st.one_of(st.sampled_from(["a,b", "0:3", "1,2", "x.csv:a", "0:99999999999999999999"]), ODD),
    "--max-rows": st.one_of(st.just("2"), NUMBER),
    "--max-per-bin": NUMBER,
    "--max-bins": NUMBER,
    "--where": st.one_of(st.sampled_from(["n > 3", "z = 'a' and", "f < 1e999", "(n = 1", "who = 'x'"]), ODD),
    "--epsilon": st.one_of(st.just("1"), NUMBER),
    "--delta": st.one_of(st.just("1e-6"), NUMBER),
    "--sigma": NUMBER,
    "--mechanism": st.one_of(st.sampled_from(["auto", "gaussian", "laplace"]), ODD),
    "--neighbours": st.one_of(st.sampled_from(["replace", "add-remove"]), ODD),
    "--engine": st.sampled_from(["duckdb", "spark", "", "local[", "nothing://x"]),
    "--memory-limit": st.one_of(st.sampled_from(["1GB", "0", "-1", "1e9"]), ODD),
    "--budget": st.one_of(st.just("none.ledger"), ODD),
    "--share": NUMBER,
    "--column": st.one_of(st.sampled_from(["n", "f", "z", "who"]), ODD),
    "--clip": st.one_of(st.sampled_from(["0,1", "1,0", "nan,1", "0,inf", "0", "-1e308,1e308"]), ODD),
    "--levels": NUMBER,
    "--types": st.one_of(st.sampled_from(["n=int", "n=integer", "=int", "n="]), ODD),
}


@st.composite
def tables(draw: st.DrawFn) -> list[str]:
    command = draw(st.sampled_from(["count", "histogram", "sum", "mean", "quantile", "release"]))
    usual = {"--unit", "--max-rows", "--epsilon", "--delta"} if draw(st.booleans()) else set()
    chosen = usual | set(draw(st.lists(st.sampled_from(sorted(OPTIONS)), max_size=6)))
    typed = [word for option in sorted(chosen) for word in (option, draw(OPTIONS[option]).replace("\0", ""))]
    return [command, draw(st.sampled_from(["rows.parquet", "rows.csv", "none.csv", "."])), *typed]


@cases("tables", 20)
@given(tables())
def test_any_question_about_a_table_gets_an_answer_or_a_sentence(rows: Path, arguments: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(rows)
        told(*arguments, "-o", "out.parquet")
    left = {path.name for path in rows.iterdir()}
    assert left <= {"rows.parquet", "rows.csv", "out.parquet"}, left
    (rows / "out.parquet").unlink(missing_ok=True)


@pytest.mark.parametrize(
    "arguments",
    [
        ["sum", "rows.parquet", "--unit", "who", "--column", "z", "--clip", "0,1", "--max-rows", "1"],
        ["count", "rows.parquet", "--unit", "who", "--max-rows", "1", "--where", "z > \udcff"],
        ["release", "rows.csv", "--column", "\udcff", "--type", "int", "--sensitivity", "1"],
        ["count", "\udcfe\udcff.parquet", "--unit", "who", "--max-rows", "1"],
    ],
)
def test_a_process_ends_as_the_library_does(rows: Path, arguments: list[str]) -> None:
    """With bytes on the command line that are no text, as a shell would pass them."""
    typed = [*arguments, "--epsilon", "1", "--delta", "1e-6", "-o", "out.parquet"]
    done = subprocess.run(
        [sys.executable, "-m", "leastnoise", *typed], cwd=rows, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode in (1, 2), done.stderr
    assert "Traceback" not in done.stderr
    quiet(done.stdout + done.stderr)
