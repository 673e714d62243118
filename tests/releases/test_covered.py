"""One sentence says what intervals cover, wherever there are intervals: the noise, not the rows left out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pytest

import leastnoise as ln

ASK: dict[str, Any] = {"epsilon": 1, "delta": 1e-6}
NOISE = "cover the noise, not the rows left out"
CLIPPED = f"{NOISE} or the values clipped."


def flights() -> ln.Table:
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        {
            "plane": rng.integers(0, 50, 500).astype(str),
            "month": rng.integers(1, 13, 500),
            "delay": rng.gamma(2, 10, 500),
            "carrier": rng.choice(["AA", "UA"], 500),
        }
    )
    return ln.table(frame, unit="plane")


KINDS: dict[str, tuple[str, Callable[[ln.Table], Any]]] = {
    "count": (f"{NOISE}.", lambda t: t.count(max_rows=5)),
    "histogram": (f"{NOISE}.", lambda t: t.histogram("month", keys=range(1, 13), max_rows=5)),
    "unknown": (f"{NOISE}.", lambda t: t.histogram("carrier", max_rows=5)),
    "sum": (CLIPPED, lambda t: t.sum("delay", clip=(0, 60), max_rows=5)),
    "mean": (CLIPPED, lambda t: t.mean("delay", clip=(0, 60), by="carrier", keys=["AA", "UA"], max_rows=5)),
    "quantile": (
        CLIPPED,
        lambda t: t.quantile("delay", 0.5, clip=(0, 60), by="carrier", keys=["AA", "UA"], max_rows=5),
    ),
    "summary": (
        CLIPPED,
        lambda t: t.summarize(
            "carrier",
            keys=["AA", "UA"],
            max_rows=5,
            n=ln.stats.count(),
            late=ln.stats.mean("delay", clip=(0, 60)),
        ),
    ),
    "crosstabs": (
        f"{NOISE}.",
        lambda t: t.crosstabs("month", "carrier", keys={"month": range(1, 13), "carrier": ["AA", "UA"]}, max_rows=5),
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_place_says_that_intervals_cover_the_noise_alone(kind: str, tmp_path: Path) -> None:
    sentence, ask = KINDS[kind]
    asked = ask(flights())
    made = asked.release(**ASK)
    folder = made.to_csv(tmp_path / ("tables" if kind == "crosstabs" else "numbers.csv"))
    book = openpyxl.load_workbook(made.to_excel(tmp_path / "numbers.xlsx"))
    files = sorted(folder.glob("*.csv")) if kind == "crosstabs" else [folder]
    texts = {
        "expect": str(asked.expect(**ASK)),
        "explain": made.explain(),
        "page": made.report(tmp_path / "page.html").read_text(),
        "workbook": "\n".join(str(cell.value) for row in book["About"].iter_rows() for cell in row),
        **{file.name: file.read_text() for file in files},
    }
    for place, text in texts.items():
        assert sentence in text, place
        assert "hold the truth" not in text, place
        assert "of the truth" not in text.split('id="data"')[0], place
    for file in files:
        assert f"are the ends of 95% intervals, each bin by itself. They {sentence}" in texts[file.name]
    drawn = made.plot()
    several = drawn if isinstance(drawn, tuple) else (drawn,)  # under several, the figure itself has the caption
    written = [*several[0].figure.texts, *(text for axes in several for text in axes.texts)]
    captions = [caption for text in written if "% intervals" in (caption := " ".join(text.get_text().split()))]
    assert captions
    assert all(f"They {sentence}" in caption for caption in captions)


def test_where_nothing_is_left_out_the_noise_is_all_there_is(tmp_path: Path) -> None:
    made = ln.release(np.array([5, 7]), sensitivity=1, **ASK)
    text = made.to_csv(tmp_path / "numbers.csv").read_text()
    assert "low and high are the ends of 95% intervals, each bin by itself. They cover the noise.\n" in text
