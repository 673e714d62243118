"""Whatever a key holds, nothing that people are shown moves a cursor, breaks a line or turns the writing round."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.text import Text
from rich.console import Console
from typer.testing import CliRunner

import leastnoise as ln
from leastnoise import errors
from leastnoise._support.text import key_words, printable
from leastnoise.cli.app import app
from leastnoise.releases import labels
from leastnoise.testing import seeded

KEYS = [
    "a\x1b[2Jz", "b\u202eevil", "c\nnew", "d\x00e", "e\x9b1m", "f\u200bg", "h\u2028i", "j\rk", "l\u2066m", "n\x7fo",
    "p\ufeffq", "r\u200ds", "t\u00adu",
]  # fmt: skip
UNSAFE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]|c\nnew")
EACH = 200
COLUMNS: dict[str, list[Any]] = {"who": list(range(EACH * len(KEYS))), "k": [key for key in KEYS for _ in range(EACH)]}
ROWS = pa.table({**COLUMNS, "v": [float(place % 10) for place in COLUMNS["who"]]})
CLIP: dict[str, Any] = {"clip": (0, 10), "max_rows": 1}
KINDS: dict[str, Callable[[Any], Any]] = {
    "unknown keys": lambda t: t.histogram("k", max_rows=1),
    "histogram": lambda t: t.histogram("k", keys=KEYS, max_rows=1),
    "two columns": lambda t: t.histogram("k", "v", keys=[KEYS, ln.domain.Edges((0, 5, 10))], max_rows=1),
    "mean": lambda t: t.mean("v", by="k", keys=KEYS, **CLIP),
    "sum": lambda t: t.sum("v", by="k", keys=KEYS, **CLIP),
    "quantile": lambda t: t.quantile("v", by="k", keys=KEYS, levels=[0.5], **CLIP),
    "summary": lambda t: t.summarize("k", keys=KEYS, n=ln.stats.count(), max_rows=1),
    "unknown summary": lambda t: t.summarize("k", n=ln.stats.count(), max_rows=1),
    "crosstabs": lambda t: t.crosstabs("k", keys={"k": KEYS}, max_rows=1),
}


@pytest.fixture(scope="module")
def releases() -> dict[str, Any]:
    table = ln.table(ROWS, unit="who")
    with seeded(5):
        return {kind: ask(table).release(epsilon=5, delta=1e-4) for kind, ask in KINDS.items()}


def strings(value: Any) -> Iterator[str]:
    """Every string in what was read from JSON, but for what a download has instead of what is shown."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for name, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from strings(each) if name not in ("written", "head") else ()


def shown(of: Any) -> Iterator[str]:
    """What a person may see of a release or an estimate."""
    yield from (str(of), repr(of))
    if hasattr(of, "explain"):
        yield of.explain()
    if hasattr(of, "_repr_html_"):
        yield of._repr_html_()
    console = Console(file=io.StringIO(), width=100)
    console.print(of)
    yield console.file.getvalue()  # type: ignore[attr-defined]
    if hasattr(of, "plot"):
        of.plot()
        yield from (text.get_text() for text in plt.gcf().findobj(Text))
        plt.close("all")


@pytest.mark.parametrize("kind", KINDS)
def test_no_key_reaches_a_terminal_a_notebook_or_a_picture_as_it_is(kind: str, releases: dict[str, Any]) -> None:
    release = releases[kind]
    parts = [release, *([release["k"]] if kind == "crosstabs" else [])]
    if kind in ("unknown keys", "histogram", "sum", "crosstabs", "two columns"):
        parts.append(release.denoise())
    for part in parts:
        for text in shown(part):
            assert not UNSAFE.search(text), text


@pytest.mark.parametrize("kind", KINDS)
def test_no_key_reaches_a_page_or_the_command_line_as_it_is(
    kind: str, releases: dict[str, Any], tmp_path: Path
) -> None:
    releases[kind].save(tmp_path / "out.parquet", allow_seeded=True)
    assert "b\\u202eevil" in str(releases[kind]) or kind == "crosstabs"
    releases[kind].report(tmp_path / "out.html", allow_seeded=True)
    page = (tmp_path / "out.html").read_text()
    assert not UNSAFE.search(page.replace("\t", " "))
    for data in re.findall(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL):
        assert not [text for text in strings(json.loads(data)) if UNSAFE.search(text)]
    found = CliRunner().invoke(app, ["show", str(tmp_path / "out.parquet")])
    assert found.exit_code == 0, found.output
    assert not UNSAFE.search(found.output)


def test_values_and_files_keep_the_true_key(releases: dict[str, Any], tmp_path: Path) -> None:
    release = releases["unknown keys"]
    release.save(tmp_path / "out.parquet", allow_seeded=True)
    assert set(release.to_arrow()["k"].to_pylist()) == set(KEYS)
    assert set(ln.load(tmp_path / "out.parquet").to_arrow()["k"].to_pylist()) == set(KEYS)


def test_errors_and_warnings_name_keys_and_columns_in_words() -> None:
    table = ln.table(ROWS.rename_columns(["who", "k\x1b[2J\u202e", "v"]), unit="who")
    with pytest.raises(errors.UnknownColumn) as refused:
        table.histogram("nix", max_rows=1)
    assert "k\\x1b[2J\\u202e" in str(refused.value)
    assert not UNSAFE.search(str(refused.value))
    assert not UNSAFE.search(str(errors.WeakPromise("a\x1b")))
    for text in (repr(table), str(table.histogram("k\x1b[2J\u202e", max_rows=1))):
        assert not UNSAFE.search(text), text


@given(st.text())
def test_words_are_printable_whatever_the_key(key: str) -> None:
    assert printable(key).isprintable()
    assert key_words(key).isprintable()
    assert labels.text(key).isprintable()
    assert labels.text((key, 3)).isprintable()


@given(st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1))
def test_ordinary_keys_are_as_they_are(key: str) -> None:
    assert labels.text(key) == key
