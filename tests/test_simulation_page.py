"""The figures of the page on simulation studies: short, and drawn by the code beside them.

After a change that is meant, draw them anew and LOOK at them before they are committed:

    LEASTNOISE_DRAW=1 python -m pytest tests/test_simulation_page.py
"""

from __future__ import annotations

import doctest
import os
import re
from pathlib import Path
from typing import Any

import pytest
from matplotlib.testing.compare import compare_images

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "howto" / "simulation-studies.md"
FIGURE = re.compile(r"```python\n((?:(?!```).)*?Figure\(.*?)```\s+!\[.*?\]\((\.\./img/.*?)\)", flags=re.DOTALL)
MAX_LINES = 30
TOLERANCE = 2.0  # root mean square over 256 levels


def examples(text: str) -> list[doctest.Example]:
    return doctest.DocTestParser().get_examples(text)


def test_each_figure_takes_fewer_lines_than_thirty() -> None:
    figures = FIGURE.findall(PAGE.read_text())
    assert len(figures) == 1
    for code, _ in figures:
        assert sum(example.source.count("\n") for example in examples(code)) < MAX_LINES


@pytest.mark.slow
def test_the_pictures_are_those_of_the_code_beside_them(tmp_path: Path) -> None:
    """The page is run as it stands, errors that it shows left out."""
    known: dict[str, Any] = {}
    text, done = PAGE.read_text(), 0
    for found in FIGURE.finditer(text):
        for example in examples(text[done : found.end()]):
            if example.exc_msg is None:
                exec(example.source, known)
        done = found.end()
        stored = (PAGE.parent / found.group(2)).resolve()
        drawn = tmp_path / stored.name
        known["figure"].savefig(drawn, dpi=100)
        if os.environ.get("LEASTNOISE_DRAW"):
            stored.write_bytes(drawn.read_bytes())
        assert compare_images(str(stored), str(drawn), tol=TOLERANCE) is None
