"""What readers call columns: in words everywhere, in data nowhere."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pyarrow as pa
import pytest
from matplotlib.text import Text

import leastnoise as ln
from leastnoise import errors
from leastnoise.testing import seeded

LABELS = {"taxi_id": "taxi", "edu": "education", "inc": "income", "rgn": "region"}
NAMES = re.compile(r"taxi_id|\bedu\b|\binc\b|\brgn\b")
N = 1200
ROWS = pa.table(
    {
        "taxi_id": [place // 2 for place in range(N)],
        "edu": [["x", "y", "z"][place % 3] for place in range(N)],
        "inc": [float(place % 90) for place in range(N)],
        "rgn": [place % 4 for place in range(N)],
    }
)
EDU: dict[str, Any] = {"keys": ["x", "y"], "max_rows": 1}
KINDS: dict[str, Callable[[Any], Any]] = {
    "histogram": lambda t: t.histogram("edu", **EDU),
    "two columns": lambda t: t.histogram("edu", "rgn", keys=[["x", "y"], range(4)], max_rows=1),
    "unknown keys": lambda t: t.histogram("edu", max_rows=1),
    "mean": lambda t: t.mean("inc", by="edu", clip=(0, 80), **EDU),
    "quantile": lambda t: t.quantile("inc", by="edu", clip=(0, 80), levels=[0.5], **EDU),
    "summary": lambda t: t.summarize("edu", n=ln.stats.count(), m=ln.stats.mean("inc", clip=(0, 80)), **EDU),
    "crosstabs": lambda t: t.crosstabs(
        ways=2, keys={"edu": ["x", "y"], "rgn": range(4)}, max_rows=1, cumulative=["rgn"]
    ),
}


def labelled() -> Any:
    return ln.table(ROWS, unit="taxi_id", name="trips", labels=LABELS)


def for_readers(text: str) -> str:
    """Without the lines that record the question by its columns, or say which column a label is of."""
    said = [
        line for line in text.splitlines() if not re.match(r"(# )?(The question|Labels, with their columns): ", line)
    ]
    return "\n".join(said)


@pytest.mark.parametrize("kind", KINDS)
def test_words_have_labels_and_data_have_names(kind: str, tmp_path: Path) -> None:
    query = KINDS[kind](labelled())
    with seeded(3):
        release = query.release(epsilon=1, delta=1e-5)
    release.save(tmp_path / "out.parquet", allow_seeded=True)
    for one in (release, ln.load(tmp_path / "out.parquet")):
        for text in (str(query.expect(epsilon=1, delta=1e-5)), one.explain()):
            assert not NAMES.search(for_readers(text)), for_readers(text)
        assert "of one taxi;" in one.explain()
        assert "education (edu)" in one.explain()  # the reader of a file finds its columns
    part = release["edu", "rgn"] if kind == "crosstabs" else release
    assert "edu" in part.to_arrow().column_names
    assert "education" not in part.to_arrow().column_names
    assert release.unit == "taxi_id"
    assert "edu" in release.query


@pytest.mark.parametrize("kind", KINDS)
def test_pages_have_labels_in_title_headings_and_pictures(kind: str, tmp_path: Path) -> None:
    with seeded(3):
        release = KINDS[kind](labelled()).release(epsilon=1, delta=1e-5)
    release.report(tmp_path / "out.html", allow_seeded=True)
    page = (tmp_path / "out.html").read_text()
    for mark in ("title", "h1", "h2", "h3", "figcaption"):
        for text in re.findall(rf"<{mark}[^>]*>(.*?)</{mark}>", page, re.DOTALL):
            assert not NAMES.search(text), text
    assert "education" in re.findall(r"<h1>(.*?)</h1>", page)[0] or kind == "quantile"
    for text in re.findall(r'aria-label="([^"]*)"', page) + re.findall(r'"title":"([^"]*)"', page):
        assert not NAMES.search(text), text
    if hasattr(release, "plot"):
        release.plot()
        drawn = [text.get_text() for text in plt.gcf().findobj(Text)]
        plt.close("all")
        assert not [text for text in drawn if NAMES.search(text)]


def test_a_csv_has_labels_in_its_comments_and_names_in_its_header(tmp_path: Path) -> None:
    with seeded(3):
        release = labelled().histogram("edu", **EDU).release(epsilon=1, delta=1e-5)
    release.to_csv(tmp_path / "out.csv", allow_seeded=True)
    text = (tmp_path / "out.csv").read_text()
    assert '\n"edu",' in text
    assert "rows whose education is not one of the 2 keys" in text
    assert "Labels, with their columns: taxi (taxi_id), education (edu)." in text


def test_the_ledger_and_the_noise_do_not_know_labels(tmp_path: Path) -> None:
    plain = ln.table(ROWS, unit="taxi_id", name="trips")
    assert labelled().histogram("edu", **EDU).describe() == plain.histogram("edu", **EDU).describe()
    budget = ln.Budget.open(tmp_path / "city.ledger", epsilon=3, delta=1e-5)
    plain.histogram("edu", **EDU).release(budget=budget, share=0.1)
    labelled().histogram("edu", **EDU).release(budget=budget, share=0.1)  # one unit, one table
    assert budget.unit == "taxi_id"


def test_derived_columns_and_several_units_have_labels() -> None:
    table = ln.table(ROWS, unit=["taxi_id", "rgn"], labels={"taxi_id": "taxi"})
    table = table.derive(rich="inc > 50").label(rich="high income", rgn="region")
    told = str(table.histogram("rich", keys=[True, False], max_rows=1).expect(epsilon=1, delta=1e-5))
    assert "rows whose high income is not one of the 2 keys" in told
    assert "taxi + region" in told


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ({"nix": "a"}, "no column"),
        ({"edu": ""}, "one line of 1 to 80"),
        ({"edu": "a\x1bb"}, "one line of 1 to 80"),
        ({"edu": "x" * 81}, "one line of 1 to 80"),
        ({"edu": 5}, "one line of 1 to 80"),
        ({"edu": "inc"}, "and for another"),
        ({"edu": "a", "inc": "a"}, "and for another"),
        (["edu"], "words by column"),
    ],
)
def test_labels_stand_for_one_column_each(labels: Any, words: str) -> None:
    with pytest.raises(errors.InvalidParameter, match=words):
        ln.table(ROWS, unit="taxi_id", labels=labels)


def test_labels_may_exchange_the_names_of_columns() -> None:
    table = ln.table(ROWS, unit="taxi_id", labels={"edu": "rgn", "rgn": "edu"})
    assert "rows whose rgn is not" in str(table.histogram("edu", **EDU).expect(epsilon=1, delta=1e-5))
