"""What every kind of release has: noise, provenance, words, frames."""

from __future__ import annotations

import dataclasses
import inspect
import io
import re
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import pytest

import leastnoise as ln
from leastnoise import domain as domains
from leastnoise.domain import Domain
from leastnoise.releases.published import Published
from saved_releases import every_kind

ASK: dict[str, Any] = {"sensitivity": 1, "epsilon": 1, "delta": 1e-6}


def made(values: Any = (120, 0, 45), **change: Any) -> ln.Release:
    return ln.release(np.array(values), **{**ASK, **change})


def test_every_kind_has_one_noise_and_one_provenance() -> None:
    """The flat names are read from the two values."""
    kinds = {name: one for name, one in every_kind().items() if isinstance(one, Published)}
    assert {"counts", "mean", "quantiles", "sparse", "estimate"} <= set(kinds)
    for name, r in kinds.items():
        for value in (r.noise, r.provenance):
            for field in dataclasses.fields(value):
                if field.name not in ("reason", "labels"):  # `note` says the one, words have the others
                    assert getattr(r, field.name) == getattr(value, field.name), (name, field.name)
        assert (r.sigma, r.std, r.distribution) == (r.noise.sigma, r.noise.std, r.noise.distribution)
        assert r.noun
        assert r.errors_in_words()
        with pytest.raises((AttributeError, TypeError)):
            r.sigma = 1.0  # type: ignore[misc]


def test_arrow_speaks_to_every_frame_directly() -> None:
    import duckdb
    import polars as pl
    import pyarrow as pa

    for r in every_kind().values():
        if not r.is_set:
            want = r.to_arrow()
            assert pa.table(r).equals(want)
            assert pl.DataFrame(r).columns == want.column_names
            assert duckdb.sql("SELECT count(*) FROM r").fetchall() == [(len(want),)]


def test_frames_carry_the_keys() -> None:
    r = made(
        range(6),
        domain=Domain(("day", "cell"), (domains.Days(date(2024, 1, 1), date(2024, 1, 4)), domains.axis(["x", "y"]))),
    )
    for frame in (r.to_pandas(), r.to_polars().to_pandas(), r.to_arrow().to_pandas()):
        assert list(frame.columns) == ["day", "cell", "value", "low", "high"]
        assert frame["cell"].tolist() == ["x", "y"] * 3
        assert frame["value"].tolist() == r.values.tolist()
        assert str(frame["day"][2])[:10] == "2024-01-02"
    assert list(made().to_pandas().columns) == ["bin", "value", "low", "high"]


def test_rich_rendering_shows_ten_rows_and_counts_the_rest() -> None:
    from rich.console import Console

    console = Console(width=100, record=True, file=io.StringIO())
    console.print(made(range(25)))
    assert "15 more" in console.export_text()


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_the_promise_is_to_the_unit_not_to_the_person_behind_it(mechanism: str) -> None:
    rows = pd.DataFrame({"trip": [1, 2, 3], "zone": ["a", "a", "b"]})
    query = ln.table(rows, unit="trip").histogram("zone", keys=["a", "b"], max_rows=1)
    text = query.release(epsilon=1, delta=1e-6, mechanism=mechanism).explain()
    assert "any one trip" in text
    assert "person" not in text


KINDS = (ln.Release, ln.SparseRelease, ln.MeanRelease, ln.QuantileRelease, ln.Estimate)


@pytest.mark.parametrize("kind", KINDS)
def test_the_docstring_of_every_method_names_its_parameters(kind: type) -> None:
    for name, method in inspect.getmembers_static(kind, inspect.isfunction):
        if not name.startswith("_"):
            text = inspect.getdoc(method) or ""
            for each in list(inspect.signature(method).parameters)[1:]:
                assert re.search(rf"\b{each}\b", text), (name, each)


@pytest.mark.parametrize("name", ["mechanism", "sigma", "guarantee", "limits", "id", "created_at", "seeded"])
def test_no_kind_answers_for_itself_what_all_share(name: str) -> None:
    assert all(name not in vars(kind) for kind in KINDS)
