"""docs/research/paper-index.md: complete, every target exists, and its verdicts are those of paper/results.md."""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in (ROOT / "docs" / "research" / "paper-index.md").read_text().splitlines()
    if line.startswith("| ") and not line.startswith("| in the paper")
]
LABELS = [row[0] for row in ROWS]
PAGE = (ROOT / "paper" / "results.md").read_text()
CLAIMS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.partition("## Every claim")[2].partition("## What we add")[0].splitlines()
    if line.startswith("| ") and not line.startswith("| the paper says")
]
VERDICTS = ("yes", "in part", "no")

# Read off the paper by hand, in its order. Theorems and lemmas share one counter; so do equations, appendix included.
NUMBERED = [
    *("Theorem 1", "Theorem 2", "Lemma 3", "Theorem 4", "Theorem 5", "Lemma 6", "Lemma 7", "Theorem 8", "Theorem 9"),
    *("Theorem 10", "Theorem 11", "Theorem 12"),
    *(f"Equation ({number})" for number in range(1, 12)),
    "Algorithm 1",
    *(f"Figure {number}" for number in range(1, 7)),
]
DEFINED = [
    *("differential privacy", "output perturbation", "global L2 sensitivity", "privacy loss", "Φ", "Bayes risk R(π)"),
    *("minimax risk R(S)", "Lp ball", "adaptive estimator"),
]
SECTIONS = [
    *("Abstract", "§2", "§2.1", "§2.2", "§2.3", "§3", "§4", "§5.1", "§5.2", "§5.3", "§6"),
    *("Appendix A", "Appendix B.1", "Appendix B.2"),
]


def names(place: str) -> set[str]:
    """What a claim's place names: "§3, Lemma 6, equations (4) and (5)" names the section, the lemma, two equations."""
    found: set[str] = set()
    for part in place.split(", "):
        several = re.fullmatch(r"(equation|Figure)s? (\S+)(?: and (\S+))?", part)
        if several:
            found |= {f"{several[1].capitalize()} {number}" for number in several.groups()[1:] if number}
        else:
            found.add(part[0].upper() + part[1:])
    return found


def summary(label: str) -> str:
    """The verdicts of the claims that name this, as the index writes them."""
    counts = Counter(claim[3].strip("*") for claim in CLAIMS if label in names(claim[1]))
    if len(counts) <= 1:
        return next(iter(counts), "")
    return ", ".join(f"{verdict} {counts[verdict]}" for verdict in VERDICTS if counts[verdict])


@cache
def defined(path: Path) -> set[str]:
    """Every function, class and method of a file."""
    found: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{part.name}" for part in node.body if isinstance(part, ast.FunctionDef)}
    return found


def test_every_numbered_statement_definition_and_section_is_there_once() -> None:
    assert [label for label in LABELS if re.match(r"(Theorem|Lemma|Equation|Algorithm|Figure) ", label)] == NUMBERED
    assert [label.removeprefix("Definition: ") for label in LABELS if label.startswith("Definition: ")] == DEFINED
    assert [label for label in LABELS if label.startswith(("Abstract", "§", "Appendix"))] == SECTIONS
    assert len(LABELS) == len(set(LABELS))


def test_every_row_is_whole() -> None:
    for row in ROWS:
        label, _, what, docs, code, tests = row
        assert what, label
        assert "](" in docs, label
        if not label.startswith("Question"):
            assert "::" in code, label
        assert "::" in tests, label


def exists(file: str, name: str) -> bool:
    """Whether a file of the project defines this."""
    path = ROOT / file if file.startswith(("tests/", "paper/")) else ROOT / "src" / "leastnoise" / file
    return path.exists() and name in defined(path)


def test_every_target_exists() -> None:
    targets = {row[0]: re.findall(r"`([\w/]+\.py)::([\w.]+)`", " ".join(row)) for row in ROWS}
    assert sum(map(len, targets.values())) > len(ROWS)
    wrong = [f"{label}: {'::'.join(each)}" for label, found in targets.items() for each in found if not exists(*each)]
    assert not wrong, "\n".join(wrong)


def test_verdicts_are_those_of_the_results() -> None:
    assert {row[0]: row[1] for row in ROWS} == {label: summary(label) or "—" for label in LABELS}


def test_every_claim_of_the_results_is_reached_from_the_index() -> None:
    for claim in CLAIMS:
        assert names(claim[1]) <= set(LABELS), claim[1]


def test_the_results_count_their_claims() -> None:
    counts = Counter(claim[3].strip("*") for claim in CLAIMS)
    header = re.search(r"^(\d+) claims: (\d+) agree, (\d+) in part, (\d+) do not\.$", PAGE, re.MULTILINE)
    assert header is not None
    assert [int(number) for number in header.groups()] == [len(CLAIMS), *(counts[verdict] for verdict in VERDICTS)]
    assert len({claim[0] for claim in CLAIMS}) == len(CLAIMS) > 60  # none twice
