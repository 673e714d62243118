"""Numbers and names on the page: no digit is lost, none of noise is shown, and no two bins become one."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leastnoise as ln
import pages
from leastnoise import report
from leastnoise.domain import Domain, Lattice, listed, product
from leastnoise.report import contents, document, sentences
from leastnoise.testing import seeded
from page_parser import Page


def test_no_digit_is_lost_on_the_way_to_the_table_and_the_chart() -> None:
    release = pages.kind("large")
    low, high = release.interval(0.95)
    page = Page(report.page(release, estimate=release.denoise("james_stein")))
    data = json.loads(page.data)
    shown = {"value": "Published", "low": "Low", "high": "High"}
    for name, real in (("value", release.values), ("low", low), ("high", high)):
        assert page.columns[shown[name]] == data["pictures"]["chart"]["columns"][name] == real.tolist()
    assert page.columns["metres_low"] == list(pages.METRES[:3])
    assert data["pictures"]["chart"]["columns"]["label"] == [
        "0.3, 4500000000.5",
        "4500000000.5, 4500000001.25",
        "4500000001.25, 4500000002",
    ]
    assert "from 123,456,789.25 to 123,456,790.75" in data["pictures"]["chart"]["alt"]


@given(exponent=st.integers(-25, 25), lead=st.floats(1, 9.99))
def test_people_are_shown_a_hundredth_of_the_half_width_and_no_digits_of_noise(exponent: int, lead: float) -> None:
    sigma = lead * 10.0**exponent
    release = ln.wrap([0.0, sigma], sigma=sigma)
    found = contents.gather(release, estimate=None, graph=None)
    half = release.distribution.half_width(0.95)
    step = 10.0**-found.decimals
    assert step <= max(half / 100, 10.0**-contents.MAX_DECIMALS) * (1 + 1e-9)
    assert found.decimals == 0 or step > half / 1000 * (1 - 1e-9)


@pytest.mark.parametrize("name", ["title", "image", "__proto__", "published", "denoised", "95 % low", "95 % high"])
def test_a_tooltip_obeys_no_name_of_a_column_and_loses_no_line(name: str) -> None:
    release = replace(pages.kind("few"), domain=product([name], pages.TOWNS))
    text = report.page(release, estimate=release.denoise())
    spec = json.loads(Page(text).data)["pictures"]["chart"]["spec"]
    titles = [tip["title"] for tip in spec["layer"][0]["encoding"]["tooltip"]]
    assert len(set(titles)) == 5
    assert titles[0] == f"{name} (bin)"
    assert not {"title", "image", "__proto__"} & set(titles)


def test_bins_of_one_name_have_a_bar_each() -> None:
    pairs = listed(("one", "two"), [("a", "b, c"), ("a, b", "c")])
    page = Page(report.page(replace(ln.wrap([1.0, 2.0], sigma=1.0), domain=pairs)))
    chart = json.loads(page.data)["pictures"]["chart"]
    assert chart["columns"]["label"] == ["a, b, c"] * 2
    assert chart["columns"]["place"] == [0, 1]
    for layer in chart["spec"]["layer"]:
        assert layer["encoding"]["y"]["field"] == "place"
    assert {"name": "labels", "value": ["a, b, c"] * 2} in chart["spec"]["params"]


def test_cells_far_from_the_origin_stay_apart() -> None:
    cells = Lattice("x", "y", 0.5).box(x=(5_000_000, 5_000_004), y=(0, 2))
    release = replace(ln.wrap(np.arange(32.0), sigma=1.0), domain=Domain(("cell",), (cells,)))
    chart = json.loads(Page(report.page(release, estimate=None)).data)["pictures"]["chart"]
    corners = {tuple(polygons[0][0][0]) for polygons in chart["extra"]["shapes"]}
    assert len(corners) == cells.size == 32
    assert "scale" not in chart["extra"]  # metres, not degrees


def test_a_map_of_zones_is_as_wide_as_the_ground() -> None:
    """A degree of longitude is half as long as one of latitude at 60 degrees north; the hole stays open."""
    drawn = json.loads(Page(report.page(pages.kind("zones"), zones=pages.ZONES)).data)["pictures"]["chart"]
    shapes, columns = drawn["extra"]["shapes"], drawn["columns"]
    assert columns["value"] == [pages.kind("zones").values[0], None, pages.kind("zones").values[1]]
    assert columns["label"] == ["Cork", "Berlin", "Aš"]
    assert columns["low"][1] is columns["high"][1] is None
    assert [len(polygons[0]) for polygons in shapes] == [2, 1, 1]
    corners = np.array([corner for polygons in shapes for ring in polygons[0] for corner in ring])
    wide, high = np.ptp(corners, axis=0)
    assert wide / high == pytest.approx(2 * np.cos(np.radians(59.95)), rel=1e-3)
    with pytest.raises(ln.errors.InvalidParameter, match="no zone 'a'"):
        report.page(replace(pages.kind("zones"), domain=product(["zone"], ["a", "b", "c"])), zones=pages.ZONES)


def test_the_bin_of_nulls_is_not_the_key_none() -> None:
    plane = product(["a", "b"], {"a": ["none", "x"], "b": range(3)}, nulls="bin")
    release = replace(ln.wrap(np.arange(float(plane.size)), sigma=1.0), domain=plane)
    chart = json.loads(Page(report.page(release, estimate=None)).data)["pictures"]["chart"]["columns"]
    assert len(set(zip(chart["across"], chart["along"], strict=True))) == plane.size


def test_names_keep_the_order_of_the_keys() -> None:
    sizes, towns = ["small", "large", "huge"], ["Ulm", "Aš", "none"]
    plane = product(["size", "town"], {"size": sizes, "town": towns})
    release = replace(ln.wrap(np.arange(9.0), sigma=1.0), domain=plane)
    cells, *numbers = json.loads(Page(report.page(release, estimate=None)).data)["pictures"]["chart"]["spec"]["layer"]
    assert [layer["encoding"]["text"]["format"] for layer in numbers] == [",.2~f"] * 2  # few cells have their numbers
    spec = cells["encoding"]
    assert (spec["x"]["sort"], spec["y"]["sort"]) == (towns, sizes)
    rising = replace(release, domain=product(["hour", "town"], {"hour": range(3), "town": towns}))
    spec = json.loads(Page(report.page(rising, estimate=None)).data)["pictures"]["chart"]["spec"]["layer"][0][
        "encoding"
    ]
    assert spec["y"]["sort"] == ["2", "1", "0"]


def test_times_keep_their_seconds() -> None:
    times = listed(("when",), [datetime(2013, 1, 1, 0, 30, second) for second in (0, 5)])
    page = Page(report.page(replace(ln.wrap([1.0, 2.0], sigma=1.0), domain=times)))
    assert page.columns["when"] == ["2013-01-01 00:30", "2013-01-01 00:30:05"]


def test_numbers_beyond_a_double_stay_exact() -> None:
    release = replace(ln.wrap([1.0, 2.0], sigma=1.0), domain=product(["who"], [2**62 + 1, 5]))
    assert Page(report.page(release)).columns["who"] == [str(2**62 + 1), 5]


def test_the_noise_of_quantiles_is_drawn_where_it_is_of_counts() -> None:
    """By rank there is none: how far a rank is off depends on where the rows lie."""
    asked = pages._table().quantile("fare", 0.5, clip=(0, 40), bins=20, max_rows=1)
    for mechanism, drawn in (("exponential", False), ("laplace", True)):
        made = asked.release(epsilon=2, delta=0, mechanism=mechanism)
        assert ('id="distribution"' in report.page(made)) == drawn


def test_the_page_of_a_mean_is_about_its_column_and_shows_no_digits_of_noise(tmp_path: Path) -> None:
    table = pages._table()
    with seeded(7):
        asked: Any = {"clip": (0, 40), "max_rows": 1}
        one = table.mean("fare", **asked).release(epsilon=2, delta=1e-6)
        each = table.mean("fare", by="town", keys=pages.TOWNS, **asked).release(epsilon=2, delta=1e-6)
        middle = table.quantile("fare", [0.5], **asked).release(epsilon=2, delta=1e-6)
    for of, told in ((one, "Mean fare"), (each, "Mean fare by town"), (middle, "Median of fare")):
        of.save(tmp_path / "r.parquet", allow_seeded=True)
        assert sentences.title(contents.gather(of, estimate=None, graph=None)) == told
        assert sentences.title(contents.gather(ln.load(tmp_path / "r.parquet"), estimate=None, graph=None)) == told
    shown = json.loads(Page(report.page(one)).data)["table"]
    assert [column["title"] for column in shown] == ["Mean", "Low", "High", "Sum", "Rows"]
    off = one.half_widths()
    digits_of = {column["title"]: column["decimals"] for column in shown}
    assert (digits_of["Sum"], digits_of["Rows"]) == (contents.decimals(off.sum), contents.decimals(off.count))
    over = sentences.headline(contents.gather(each, estimate=None, graph=None))
    assert over.label.startswith("over all bins")
    law = json.loads(Page(report.page(one)).data)["pictures"]["distribution"]["spec"]["layer"][0]["encoding"]["x"][
        "axis"
    ]
    assert len(law["values"]) == 3


@pytest.mark.parametrize(("better", "first"), [(True, "estimate"), (None, "value"), (False, "value")])
def test_denoised_values_are_shown_first_where_they_are_known_to_be_better(
    better: bool | None, first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = pa.table({"unit": range(120), "a": list("wxyz") * 30, "b": [1, 2, 3] * 40})
    keys = {"a": list("wxyz"), "b": [1, 2, 3]}
    r = ln.table(rows, unit="unit").histogram("a", "b", keys=keys, max_rows=1).release(epsilon=1, delta=1e-6)
    monkeypatch.setattr(ln.Estimate, "better_than_raw", property(lambda _: better))
    text = document.page(r, estimate=r.denoise())
    assert re.findall(r'value="(\w+)" checked', text) == [first]
