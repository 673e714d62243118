"""The page for schedulers: its job and its commands run as they stand there, but for the addresses."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import leastnoise as ln
from command_line import run
from postgres_server import OWNER, PASSWORD, Server

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "howto" / "monthly-job.md").read_text()
DAY = "2026-10-01"
NUMBERS = itertools.count()  # of budgets


def block(first: str) -> str:
    """The indented block of the page that begins with this line."""
    lines = PAGE[PAGE.index(f"    {first}") :].splitlines()
    end = next((place for place, line in enumerate(lines) if line and not line.startswith("    ")), len(lines))
    return "\n".join(line[4:] for line in lines[:end])


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server() as made:
        yield made


@pytest.fixture
def desk(tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """The page's job and its files, with a budget that is opened as the page says; a text with our addresses in it."""
    address = f"postgresql://{OWNER}@127.0.0.1:{server.port}/postgres?budget=city_{next(NUMBERS)}"

    def here(text: str) -> str:
        text = text.replace("postgresql://ledger.internal/privacy?budget=city", address)
        return text.replace("warehouse.trips", "trips.parquet").replace("/published", str(tmp_path))

    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"taxi": range(500), "zone": [f"z{n % 3}" for n in range(500)]}), "trips.parquet")
    Path("zones.csv").write_text("zone\nz0\nz1\nz2\n")
    job = re.sub(r"^(engine|config) = .*\n", "", block("# /jobs/trips.toml"), flags=re.MULTILINE)
    Path("trips.toml").write_text(here(job))
    words = shlex.split(here(block("leastnoise budget create")).replace("\\\n", " "))
    assert run(*words[1:]).returncode == 0
    return here


def debits() -> int:
    (address,) = re.findall(r'budget = "(.*)"', Path("trips.toml").read_text())
    return len(ln.Budget.open(address).history())


def scheduled(*more: str) -> int:
    """The exit code of the page's command for Airflow."""
    (command,) = re.findall(r'bash_command="(.*)"', PAGE)
    words = shlex.split(command.replace("/jobs/", "").replace("{{ data_interval_start | ds }}", DAY))
    assert words[0] == "leastnoise"
    return run(*words[1:], *more).returncode


def test_the_job_of_the_page_is_done_once_however_often_it_is_started(desk: Callable[[str], str]) -> None:
    shown = run(*shlex.split("run trips.toml --expect --date " + DAY))
    assert shown.returncode == 0
    assert debits() == 0
    assert [scheduled(), scheduled()] == [0, 0]
    assert debits() == 1
    made = ln.load("trips-2026-10.parquet")
    assert made.to_pandas().shape[0] == 3
    assert "<html" in Path("trips.html").read_text()


def test_what_is_down_is_retried_without_a_debit_and_what_is_wrong_is_not(
    desk: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    job = Path("trips.toml").read_text()
    Path("trips.toml").write_text(job.replace("[keys]", 'engine = "spark://127.0.0.1:1"\n[keys]'))
    monkeypatch.setattr("pyspark.SparkContext._active_spark_context", None)  # other tests may leave theirs
    assert [scheduled(), scheduled()] == [1, 1]
    Path("trips.toml").write_text(re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:1", job))
    assert scheduled() == 1
    Path("trips.toml").write_text(job.replace("max_rows = 5", "max_rows = 0"))
    assert scheduled() == 2
    Path("trips.toml").write_text(job)
    assert debits() == 0
    assert scheduled() == 0
    assert debits() == 1


def test_every_exit_code_stands_on_the_page() -> None:
    """The same as on the page about the command line."""
    codes = re.findall(r"^\| (\d+) \|", PAGE, flags=re.MULTILINE)
    assert codes == ["0", "1", "2", "3", "130"]
    (kept,) = re.findall(r"values: \[(.*)\]", PAGE)
    assert kept == "2, 3"
