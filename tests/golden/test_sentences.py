"""What users read is as it was: one file per kind of release and surface, so that better wording is one diff.

`make golden` writes them anew. Ids, days, versions and folders are left out; noise is seeded.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

import command_line
import golden_queries
import leastnoise as ln
from golden_requests import BUDGETS, PAID, PLAIN, paid

KINDS = (
    "count", "histogram once per bin", "histogram of zones", "histogram of a huge domain", "unknown keys with others",
    "sum by", "mean by", "quantiles by", "summary of every statistic", "crosstabs", "crosstabs along a tree",
    "vector mean", "people by trips", "limits",
)  # fmt: skip
ESTIMATES = ("histogram", "crosstabs")
COMMANDS = (
    "", "sigma", "epsilon", "delta", "plan", "compare", "release", "count", "histogram", "sum", "mean", "quantile",
    "summarize", "crosstabs", "vector-sum", "vector-mean", "suggest-limits", "suggest-clip",
    "private-check", "keys", "denoise", "report", "show", "export", "run",
    "studio", "demo", "budget", "budget show", "budget create", "budget close", "budget reopen", "budget allocate",
    "budget return", "budget move",
)  # fmt: skip
QUERIES = tuple(kind for kind in KINDS if kind != "limits")
SURFACES = {
    "explain": KINDS, "explain_estimate": ESTIMATES, "expect": QUERIES, "show": KINDS, "csv_header": KINDS,
    "page": KINDS, "help": COMMANDS,
}  # fmt: skip
pytestmark = pytest.mark.filterwarnings("ignore::leastnoise.errors.WeakPromise", "ignore::leastnoise.errors.Wasteful")


class Text(SingleFileSnapshotExtension):
    """A text file for each snapshot."""

    _write_mode = WriteMode.TEXT
    file_extension = "txt"


@pytest.fixture
def text(snapshot: Any) -> Any:
    """The text that is stored."""
    return snapshot.use_extension(Text)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Path]:
    """An empty folder, which is the present one."""
    before = Path.cwd()
    os.chdir(tmp_path)
    yield tmp_path
    os.chdir(before)


def scrubbed(written: str, made: Any = None) -> str:
    """Without what differs in every run, such as the day on which it was made; no spaces at the ends of lines."""
    written = written.replace(ln.__version__, "VERSION")
    written = written if made is None else written.replace(made.created_at.date().isoformat(), "DAY")
    written = re.sub(r"\b[0-9a-f]{64}\b|\b[0-9a-f]{16}\b", "ID", written)
    written = re.sub(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(\+00:00|Z)?", "MOMENT", written)
    return "\n".join(line.rstrip() for line in written.strip().splitlines()) + "\n"


def released(kind: str) -> Any:
    made = paid(kind, "share").made
    assert not isinstance(made, Exception), made
    return made


@pytest.mark.parametrize("kind", KINDS)
def test_explain(kind: str, text: Any) -> None:
    assert scrubbed(released(kind).explain()) == text


@pytest.mark.parametrize("kind", ESTIMATES)
def test_explain_estimate(kind: str, text: Any) -> None:
    assert scrubbed(released(kind).denoise().explain()) == text


@pytest.mark.parametrize("kind", QUERIES)
def test_expect(kind: str, text: Any, tmp_path: Path) -> None:
    query = golden_queries.query(kind)
    budget = ln.Budget.open(tmp_path / "city.ledger", **BUDGETS["share"])
    plain = str(query.expect(**PLAIN["epsilon and delta"]))
    assert scrubbed(f"{plain}\n\nFrom a budget\n{query.expect(budget=budget, **PAID['share'])}") == text


@pytest.mark.parametrize("kind", KINDS)
def test_show(kind: str, text: Any, desk: Path) -> None:
    released(kind).save("release.parquet", allow_seeded=True)
    done = command_line.run("show", "release.parquet", columns=100)
    assert scrubbed(done.stdout + done.stderr, released(kind)) == text


@pytest.mark.parametrize("kind", KINDS)
def test_csv_header(kind: str, text: Any, desk: Path) -> None:
    """What stands above the numbers, and the line of the columns."""
    released(kind).to_csv(Path("out.csv"), allow_seeded=True)
    first = next(path for path in sorted(Path("out.csv").iterdir())) if Path("out.csv").is_dir() else Path("out.csv")
    lines = first.read_text(encoding="utf-8-sig").splitlines()
    above = sum(line.startswith("#") for line in lines)
    assert scrubbed("\n".join(lines[: above + 1]), released(kind)) == text


UNSEEN = ("script", "style", "svg", "head")
INLINE = ("a", "b", "i", "em", "strong", "code", "span", "sub", "sup", "time")


class Visible(HTMLParser):
    """The text of a page that a reader sees, a line for each block."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = [""]
        self.unseen = 0

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.unseen += tag in UNSEEN
        if tag not in INLINE:
            self.lines.append("")

    def handle_endtag(self, tag: str) -> None:
        self.unseen -= tag in UNSEEN
        if tag not in INLINE:
            self.lines.append("")

    def handle_data(self, data: str) -> None:
        if not self.unseen:
            self.lines[-1] += data


def visible(page: str) -> str:
    parser = Visible()
    parser.feed(page)
    lines = (" ".join(line.split()) for line in parser.lines)
    return "\n".join(line for line in lines if line)


@pytest.mark.parametrize("kind", KINDS)
def test_page(kind: str, text: Any, desk: Path) -> None:
    released(kind).report("page.html", allow_seeded=True)
    assert scrubbed(visible(Path("page.html").read_text()), released(kind)) == text


@pytest.mark.parametrize("command", COMMANDS)
def test_help(command: str, text: Any) -> None:
    done = command_line.run(*command.split(), "--help", columns=100)
    assert done.returncode == 0
    assert scrubbed(done.stdout) == text


def test_no_text_is_stored_that_nothing_writes() -> None:
    stored = {path.name for path in (Path(__file__).parent / "__snapshots__").rglob("*") if path.is_file()}
    assert stored == {f"test_{surface}[{name}].txt" for surface, names in SURFACES.items() for name in names}
