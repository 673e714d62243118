"""`make audit`: break each invariant of invariants.toml in a copy of the sources, and see its tests fail.

An invariant is caught where its tests passed on the sources as they are, and then ended with pytest's exit code 1 (some
tests failed) on the copy with one line broken. Any other code fails the audit: 0 is a breakage that nobody noticed, 2
an import that no longer works, 4 a test that is not there.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "AUDIT.md"
TABLE_BEGINS = "## The invariants\n"
FAILED = 1  # pytest's exit code: the tests ran, and some failed
RECENT_COMMITS = 50


@dataclass(frozen=True)
class Invariant:
    """what: what must hold. code: a file of src/leastnoise. text: what stands there once; broken: what replaces it."""

    what: str
    code: str
    text: str
    broken: str
    tests: tuple[str, ...]


def invariants() -> list[Invariant]:
    entries = tomllib.loads((ROOT / "tests" / "invariants.toml").read_text())["invariant"]
    return [Invariant(each["what"], each["code"], *each["break"], tuple(each["tests"])) for each in entries]


def exit_code(tests: Iterable[str], source: Path, processes: int = 0) -> int:
    """What pytest says of these tests, run on these sources."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--no-header", *tests]
    command += ["-n", str(processes), "--dist", "loadfile"] if processes else []
    kept = {name: value for name, value in os.environ.items() if name != "LEASTNOISE_REACHED"}
    environment = {**kept, "PYTHONPATH": str(source)}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False).returncode


def survives(invariant: Invariant, *, unbroken: bool) -> str:
    """Why the breakage was not caught; nothing where it was. unbroken: its tests are known to pass as they are."""
    if not unbroken and (code := exit_code(invariant.tests, ROOT / "src")):
        return f"its tests end with {code} unbroken"
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "src")
        shutil.copytree(ROOT / "src", source)  # compiled files come along: times are kept, so they still count
        path = source / "leastnoise" / invariant.code
        if not path.is_file():
            return "no such file"
        text = path.read_text()
        if text.count(invariant.text) != 1:
            return f"the text to break is there {text.count(invariant.text)} times"
        path.write_text(text.replace(invariant.text, invariant.broken))
        code = exit_code(invariant.tests, source)
        return "" if code == FAILED else f"its tests end with {code}"


def recently_changed() -> dict[str, int] | None:
    """The files of the last commits, each with the number of its newest commit from the end. None: git cannot tell.

    Git does not tell of a copy without its history, nor of one that belongs to somebody else.
    """
    command = ["git", "log", f"-{RECENT_COMMITS}", "--format=tformat:commit", "--name-only", "--", "src/leastnoise"]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if told.returncode:
        print(f"git log ended with {told.returncode}: {told.stderr.strip()}", flush=True)
        return None
    found: dict[str, int] = {}
    age = 0
    for line in told.stdout.split("\n"):
        age += line == "commit"
        if line.startswith("src/leastnoise/"):
            found.setdefault(line.removeprefix("src/leastnoise/"), age)
    return found


def newest_first(entries: list[Invariant], changed: dict[str, int] | None) -> list[Invariant]:
    """Those whose file changed lately, the last change first; without a history all, the last that was added first."""
    if changed is None:
        return entries[::-1]
    return sorted((each for each in entries if each.code in changed), key=lambda each: changed[each.code])


def page(entries: list[Invariant]) -> str:
    """AUDIT.md: its words as they are, and the table."""
    words = PAGE.read_text().partition(TABLE_BEGINS)[0]
    rows = [f"| {in_a_cell(each.what)} | `{each.code}` | `{'`, `'.join(each.tests)}` |" for each in entries]
    return "\n".join([words + TABLE_BEGINS, "| what holds | broken in | seen by |", "|---|---|---|", *rows, ""])


def in_a_cell(sentence: str) -> str:
    return sentence.replace("|", "\\|").replace("<", "&lt;")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recent", action="store_true", help="those whose file changed lately, the newest first")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no breakage after this many")
    parser.add_argument("--only", default="", help="those whose sentence or file has this text")
    parser.add_argument("--page", action="store_true", help="write AUDIT.md, and run nothing")
    asked = parser.parse_args()
    until, processes = time.monotonic() + asked.seconds, os.cpu_count() or 1
    chosen = [each for each in invariants() if asked.only in each.what or asked.only in each.code]
    if asked.page:
        PAGE.write_text(page(chosen))
        return 0
    if asked.recent:
        chosen = newest_first(chosen, recently_changed())
    caught, survived = 0, 0
    every_test = {test for each in chosen for test in each.tests}
    unbroken = not asked.recent and exit_code(every_test, ROOT / "src", processes) == 0
    with ThreadPoolExecutor(processes) as pool:
        answers = pool.map(lambda each: None if time.monotonic() > until else survives(each, unbroken=unbroken), chosen)
        for invariant, why in zip(chosen, answers, strict=True):
            if why is not None:
                print(f"SURVIVES ({why})" if why else "caught", invariant.code, "|", invariant.what, flush=True)
                caught, survived = caught + (not why), survived + bool(why)
    print(f"{len(chosen)} invariants, {caught + survived} broken, {caught} caught.")
    return 1 if survived else 0


if __name__ == "__main__":
    raise SystemExit(main())
