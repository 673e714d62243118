"""CITATION.cff and the BibTeX of the pages name the same paper and the same software."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CITATION = (ROOT / "CITATION.cff").read_text()
SOFTWARE, PAPER = CITATION.split("\npreferred-citation:\n")
ENTRIES = re.findall(
    r"^@(\w+)\{\w+,\n(.*?)^\}", (ROOT / "docs" / "reference" / "citing.md").read_text(), re.DOTALL | re.MULTILINE
)
BIBTEX = {kind: dict(re.findall(r"^  (\w+) *= \{(.*)\},$", text, re.MULTILINE)) for kind, text in ENTRIES}


def field(text: str, name: str) -> list[str]:
    """Every value that a line of this name has."""
    return re.findall(rf"^[ -]*{name}: \"?(.*?)\"?$", text, re.MULTILINE)


def test_the_preferred_citation_is_the_paper_and_the_bibtex_says_the_same() -> None:
    entry = BIBTEX["inproceedings"]
    assert field(PAPER, "title") == [re.sub(r"[{}]", "", entry["title"])]
    names = zip(field(PAPER, "family-names"), field(PAPER, "given-names"), strict=True)
    assert " and ".join(f"{family}, {given}" for family, given in names) == entry["author"]
    assert entry["author"] == "Balle, Borja and Wang, Yu-Xiang"
    assert field(PAPER, "volume") == [entry["volume"]]
    assert [*field(PAPER, "start"), *field(PAPER, "end")] == entry["pages"].split("--")
    assert field(PAPER, "year") == [entry["year"]]
    assert field(PAPER, "url") == [entry["url"]]
    assert field(PAPER, "collection-title") == [entry["booktitle"]]


def test_the_software_is_cited_with_its_version() -> None:
    entry = BIBTEX["software"]
    assert field(SOFTWARE, "version") == [entry["version"]] == [version("leastnoise")]
    assert field(SOFTWARE, "license") == [entry["license"]]
    assert field(SOFTWARE, "cff-version") == ["1.2.0"]
