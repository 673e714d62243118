"""The page as text: nothing escapes its quotes, nothing private or seeded gets out, large releases are told as such."""

from __future__ import annotations

import html
import json
import re
import sys
from dataclasses import replace
from datetime import datetime
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leastnoise as ln
import pages
from command_line import run
from leastnoise import errors, report
from leastnoise._support import number_format
from leastnoise.domain import Domain, Lattice, listed, product
from leastnoise.graphs import Graph
from leastnoise.releases.average_coverage import NoiseKept
from leastnoise.report import contents, document, promise_sentences, sentences, summary_page, tables_page
from leastnoise.testing import seeded
from page_parser import Page


@pytest.mark.parametrize("name", [*pages.KINDS, "estimate"])
def test_every_kind_has_a_page_with_its_own_numbers(name: str, tmp_path: Path) -> None:
    text = pages.write(name, tmp_path).read_text()
    page = Page(text)
    assert len(text) < 3_000_000
    first = next(c for c in json.loads(page.data)["table"] if not c["key"])["values"]
    of = pages.kind(name)
    np.testing.assert_array_equal(first, of.noisy if name == "estimate" else of.values)
    assert page.tags.count("h1") == 1
    assert (
        ('class="warning"' in text) == ("hides nothing" in page.text) == (name not in ("wrapped", "large", "namesakes"))
    )
    if name != "estimate":
        assert of.id in page.text


@pytest.mark.parametrize("name", ["means", "quantiles", "sparse"])
def test_what_is_not_denoised_says_why_as_its_page_does(name: str) -> None:
    with pytest.raises(errors.InvalidParameter, match="not denoised") as refused:
        pages.kind(name).denoise()
    assert str(refused.value).split(" Got ")[0] in Page(report.page(pages.kind(name))).text


def test_an_estimate_is_not_denoised_again() -> None:
    with pytest.raises(errors.InvalidParameter, match="Denoise the release"):
        pages.kind("estimate").denoise()


@cache
def plain_tags() -> list[str]:
    release = replace(ln.wrap([1.0, 2.0], sigma=1.0), domain=product(["town"], ["a", "b"]))
    return Page(report.page(release, estimate=None)).tags


@given(keys=st.lists(st.text(min_size=1), min_size=2, max_size=6, unique=True), name=st.text(min_size=1))
@settings(max_examples=12)
def test_no_key_and_no_name_leaves_its_element(keys: list[str], name: str) -> None:
    release = ln.wrap(np.arange(float(len(keys))), sigma=1.0)
    odd = Page(report.page(replace(release, domain=product([name], keys)), title=name + keys[0], estimate=None))
    assert odd.tags == plain_tags()
    assert odd.columns[name] == keys


def test_the_hostile_key_of_a_file_survives_as_text(tmp_path: Path) -> None:
    page = Page(pages.write("few", tmp_path).read_text())
    assert page.columns["town"] == list(pages.TOWNS)
    assert page.tags.count("script") == 3
    assert "img" not in page.tags


def test_the_policy_names_the_two_scripts_and_allows_no_host(tmp_path: Path) -> None:
    text = pages.write("few", tmp_path).read_text()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; script-src 'sha256-")
    assert policy[1].count("sha256-") == 2
    for word in ("unsafe-eval", "http", "*"):
        assert word not in policy[1]


def test_seeded_noise_is_refused_unless_told(tmp_path: Path) -> None:
    for name in ("few", "means", "quantiles", "sparse", "estimate"):
        with pytest.raises(errors.SeededRelease, match="allow_seeded"):
            pages.kind(name).report(tmp_path / "page.html")
    with pytest.raises(errors.SeededRelease, match="allow_seeded"):
        ln.wrap(np.zeros(6), sigma=1).report(tmp_path / "page.html", estimate=pages.kind("estimate"))
    assert list(tmp_path.iterdir()) == []


def test_a_million_bins_are_told_in_a_small_page() -> None:
    release = ln.wrap(np.sin(np.arange(1_000_000) / 1e5), sigma=3.0)
    text = report.page(release, estimate=None)
    page = Page(text)
    assert len(text) < 3_000_000
    assert "the 200 largest, of which some are large by their noise" in page.text
    assert "means of 667 neighbouring bins" in page.text
    largest = np.argsort(release.values)[-200:].tolist()
    assert page.columns["bin"] == sorted({*range(0, 1_000_000, 200), *largest})
    chart = json.loads(page.data)["pictures"]["chart"]["columns"]
    np.testing.assert_allclose(chart["value"][0], release.values[:667].mean(), rtol=1e-12)
    width = 2 * release.distribution.sum_half_width(667, 0.95) / 667
    np.testing.assert_allclose(np.subtract(chart["high"], chart["low"])[:-1], width, rtol=1e-12)


def test_means_of_many_bins_have_no_interval_that_only_sums_have() -> None:
    """The noise of a centred sum says nothing about the mean of neighbouring means."""
    bins = contents.MAX_BINS_SHOWN + 1
    parts = ln.wrap(np.concatenate([np.zeros(bins), np.full(bins, 1_000.0)]), sigma=1.0)
    domain = product(["bin"], range(bins))
    made = ln.MeanRelease(components=parts, centre=5.0, half_range=5.0, within=(0.0, 10.0), domain=domain)
    page = Page(report.page(made))
    assert "means of 7 neighbouring bins each." in page.text
    assert "low" not in json.loads(page.data)["pictures"]["chart"]["columns"]


def test_a_large_lattice_is_shown_in_blocks() -> None:
    cells = Lattice("x", "y", 1.0).box(x=(0, 200), y=(0, 100))
    values = np.arange(20_000.0)
    page = Page(report.page(replace(ln.wrap(values, sigma=1.0), domain=Domain(("cell",), (cells,))), estimate=None))
    chart = json.loads(page.data)["pictures"]["chart"]["columns"]
    assert "means of blocks of 3 by 3 cells" in page.text
    np.testing.assert_allclose(chart["value"][0], values.reshape(100, 200)[:3, :3].mean(), rtol=1e-12)


def test_a_long_table_of_two_columns_keeps_as_many_of_the_short_side_as_can_be_seen() -> None:
    values = np.random.default_rng(1).normal(size=(1_000, 100))
    domain = product(["zone", "hour"], [range(1_000), range(100)])
    page = Page(report.page(replace(ln.wrap(values.ravel(), sigma=1.0), domain=domain), estimate=None))
    chart = json.loads(page.data)["pictures"]["chart"]["columns"]
    assert "means of blocks of 11 by 2 cells" in page.text
    assert (len(set(chart["along"])), len(set(chart["across"]))) == (91, 50)
    np.testing.assert_allclose(chart["value"][51], values[11:22, 2:4].mean(), rtol=1e-12)


def test_a_page_does_not_run_the_denoiser_again() -> None:
    """Intervals around denoised values need two more runs, and the page shows none: 15 s of 100,000 cells."""
    runs = []

    def measured() -> float:
        runs.append(1)
        return 0.5

    release = ln.wrap(np.random.default_rng(2).normal(size=500), sigma=1.0)
    estimate = replace(release.denoise(), noise_kept=NoiseKept(measured))
    report.page(release, estimate=estimate)
    report.page(estimate)
    assert not runs
    estimate.interval(0.95)
    assert runs


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
    shapes, blank = drawn["extra"]["shapes"], drawn["extra"]["blank"]
    assert drawn["columns"]["value"] == [pages.kind("zones").values[1], pages.kind("zones").values[0]]  # Aš, Cork
    assert [len(polygons[0]) for polygons in shapes] == [1, 2]
    assert len(blank) == 1
    corners = np.array([corner for polygons in [*shapes, [blank[0]]] for ring in polygons[0] for corner in ring])
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
    spec = json.loads(Page(report.page(release, estimate=None)).data)["pictures"]["chart"]["spec"]["encoding"]
    assert (spec["x"]["sort"], spec["y"]["sort"]) == (towns, sizes)
    rising = replace(release, domain=product(["hour", "town"], {"hour": range(3), "town": towns}))
    spec = json.loads(Page(report.page(rising, estimate=None)).data)["pictures"]["chart"]["spec"]["encoding"]
    assert spec["y"]["sort"] == ["2", "1", "0"]


def test_times_keep_their_seconds() -> None:
    times = listed(("when",), [datetime(2013, 1, 1, 0, 30, second) for second in (0, 5)])
    page = Page(report.page(replace(ln.wrap([1.0, 2.0], sigma=1.0), domain=times)))
    assert page.columns["when"] == ["2013-01-01 00:30", "2013-01-01 00:30:05"]


def test_numbers_beyond_a_double_stay_exact() -> None:
    release = replace(ln.wrap([1.0, 2.0], sigma=1.0), domain=product(["who"], [2**62 + 1, 5]))
    assert Page(report.page(release)).columns["who"] == [str(2**62 + 1), 5]


def test_what_the_page_says_to_check_holds(tmp_path: Path) -> None:
    """The code under "How to check" is run, on a release that was paid from a ledger."""
    budget = ln.Budget.open(tmp_path / "city.ledger", epsilon=3, delta=1e-6)
    release = ln.release(np.array([120, 0, 45]), sensitivity=1, budget=budget, share=0.25)
    release.save(tmp_path / "release.parquet")
    text = release.report(tmp_path / "page.html").read_text()
    from html import unescape

    code = [unescape(block) for block in re.findall(r"<code>(.*?)</code>", text, re.S)]
    assert len(code) == 3
    names: dict[str, Any] = {}
    for block in code:
        with_paths = block.replace("release.parquet", f"{tmp_path}/release.parquet").replace(
            "city.ledger", f"{tmp_path}/city.ledger"
        )
        exec(with_paths.replace("print(", "told = ("), names)
    assert names["g"].mu == release.guarantee.mu  # type: ignore[union-attr]
    assert [entry.release for entry in names["told"]] == [release.id]


def test_an_id_is_text_in_the_code_to_check() -> None:
    ran: list[bool] = []
    release = ln.wrap([1.0, 2.0], sigma=1.0)
    release = replace(release, provenance=replace(release.provenance, id='x" or ran.append(True) or "'))
    _, code = sentences.check(contents.gather(release, estimate=None, graph=None), "release.parquet")[-1]
    last = code.splitlines()[-1]
    budget = SimpleNamespace(history=lambda: [SimpleNamespace(release=release.id), SimpleNamespace(release="other")])
    told: list[Any] = []
    exec(last, {"budget": budget, "ran": ran, "print": told.extend})
    assert ran == []
    assert [entry.release for entry in told] == [release.id]


def test_a_thresholded_release_says_what_its_denoising_is_worth(tmp_path: Path) -> None:
    unknown = Page(pages.write("unknown", tmp_path).read_text()).text
    assert "Denoised by power law of sizes. How much error is left cannot be told without the truth." in unknown
    assert "follows no denoiser's law" in Page(pages.write("sparse", tmp_path).read_text()).text


def test_the_sensitivity_shown_is_the_one_that_made_the_noise() -> None:
    asked: Any = {"sensitivity": 5**0.5, "l1_sensitivity": 5, "epsilon": 0.5}
    shown = {}
    for mechanism, delta in (("gaussian", 1e-6), ("laplace", 0)):
        release = ln.release(np.arange(9), delta=delta, mechanism=mechanism, **asked)
        shown[mechanism] = dict(sentences.facts(contents.gather(release, estimate=None, graph=None)))
    assert shown["gaussian"]["L2 sensitivity"] == "2.23607"
    assert shown["laplace"]["L1 sensitivity"] == "5"
    assert not {"sensitivity", "L1 sensitivity"} & set(shown["gaussian"])
    assert not {"sensitivity", "L2 sensitivity"} & set(shown["laplace"])
    old = replace(release, provenance=replace(release.provenance, l1_sensitivity=None))
    assert "2.23607" not in Page(report.page(old, estimate=None)).text


def test_the_page_of_an_estimate_tells_the_promise_of_its_release(tmp_path: Path) -> None:
    release = ln.release(np.arange(9), sensitivity=1, epsilon=0.5, delta=1e-6)
    release = replace(release, provenance=replace(release.provenance, unit="taxi_id", limits={"max_rows": 3}))
    made, plain = (Page(report.page(of, estimate=None)).text for of in (release.denoise(), release))
    sentence = promise_sentences.promise(release)
    for told in (sentence, release.id, "one taxi (the column taxi_id)", "max_rows = 3", "one more or one fewer"):
        assert told in made
        assert told in plain
    assert "not in this file" not in made
    unknown = Page(report.page(ln.wrap(np.arange(9.0), sigma=1.0).denoise())).text
    assert "not in this file" in unknown


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


@pytest.mark.parametrize("effort", ["cheap", "best"])
def test_every_candidate_is_explained_on_the_page(effort: Any) -> None:
    graph = Graph.path(60)
    made = ln.wrap(np.sin(np.arange(60.0)) * 20, sigma=3.0).denoise("auto", graph=graph, effort=effort)
    assert set(made.parameters["errors"]) - {"raw"} <= set(sentences.ESTIMATORS)


def test_the_estimators_are_compared() -> None:
    estimate = pages.kind("junctions").denoise()
    page = Page(report.page(pages.kind("junctions"), estimate=estimate))
    for name, error in estimate.parameters["errors"].items():
        assert ("as published" if name == "raw" else name.replace("_", " ")) in page.text
        assert number_format.rounded(error, 4 if name == "raw" else 2) in page.text
        assert name == "raw" or sentences.ESTIMATORS[name] in page.text


def test_a_page_denoises_nothing_by_itself() -> None:
    release = pages.kind("few")
    assert contents.gather(release).estimate is None
    assert "only so" in Page(report.page(release, why_no_estimate="only so")).text
    with pytest.raises(errors.InvalidParameter, match="estimate"):
        release.report("page.html", estimate="empirical_bayes", allow_seeded=True)


@pytest.mark.parametrize("kind", ["few", "lattice", "means"])
def test_a_page_written_again_is_the_same_page(kind: str) -> None:
    """No date of today and no counter is in it: it is a function of the release."""
    release = pages.kind(kind)
    assert report.page(release) == report.page(release)


def test_mistakes_are_sentences(tmp_path: Path) -> None:
    with pytest.raises(errors.FileProblem, match="directory does not exist"):
        pages.write("few", tmp_path / "none")
    with pytest.raises(errors.FileProblem, match=r'Say "map\.html"'):
        pages.kind("few").report(tmp_path / "page.txt", allow_seeded=True)
    with pytest.raises(errors.InvalidParameter, match="one node a bin"):
        report.page(pages.kind("few"), graph=Graph.path(9))


@pytest.mark.parametrize("package", ["altair", "vl_convert"])
def test_without_the_extra_it_says_what_to_type(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    document._vega.cache_clear()
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(errors.MissingPackage, match=r"pip install 'leastnoise\[report\]'"):
        report.page(pages.kind("few"))


def test_the_command_writes_a_map(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    release = replace(ln.wrap([5.0, 1.0, 3.0], sigma=1.0), domain=product(["place"], ["a", "b", "c"]))
    release.save(tmp_path / "map.parquet")
    pq.write_table(
        pa.table({"id": ["c", "a", "b"], "lon": [0.3, 0.1, 0.2], "lat": [1.3, 1.1, 1.2]}), tmp_path / "nodes.parquet"
    )
    pq.write_table(pa.table({"u": ["a", "b"], "v": ["b", "c"]}), tmp_path / "edges.parquet")
    both = ("--graph", str(tmp_path / "edges.parquet"), "--nodes", str(tmp_path / "nodes.parquet"))
    done = run("report", str(tmp_path / "map.parquet"), *both, "--title", "Places", "--json")
    assert done.returncode == 0, done.stderr
    page = Page((tmp_path / "map.html").read_text())
    assert json.loads(done.stdout)["output"] == str(tmp_path / "map.html")
    chart = json.loads(page.data)["pictures"]["chart"]
    assert chart["extra"]["edges"] == [0, 1, 1, 2]
    assert chart["columns"]["label"] == ["a", "b", "c"]
    assert chart["columns"]["x"] == sorted(chart["columns"]["x"])
    assert "Places" in page.text
    assert done.stderr == ""
    pq.write_table(pa.table({"id": ["c", "a", "b"]}), tmp_path / "nodes.parquet")
    bare = run("report", str(tmp_path / "map.parquet"), *both)
    assert bare.returncode == 0
    assert "has no columns lon and lat, so the page has no map" in " ".join(bare.stderr.split())
    alone = run("report", str(tmp_path / "map.parquet"), *both[2:])
    assert alone.returncode == 2
    assert "--graph FILE" in alone.stderr


def test_how_to_check_names_the_file_beside_the_page(tmp_path: Path) -> None:
    made = ln.release([3, 4], sensitivity=1, epsilon=1, delta=1e-6)
    other = ln.release([3, 4], sensitivity=1, epsilon=1, delta=1e-6)
    other.save(tmp_path / "another.parquet")
    assert 'ln.load("release.parquet")' in html.unescape(made.report(tmp_path / "page.html").read_text())
    made.save(tmp_path / "visits 2026.parquet")
    other.save(tmp_path / "another.parquet")
    assert 'ln.load("visits 2026.parquet")' in html.unescape(made.report(tmp_path / "page.html").read_text())


@pytest.mark.parametrize(("mechanism", "authors"), [("gaussian", "Balle"), ("laplace", "Dwork")])
def test_a_page_cites_the_paper_of_its_own_noise(mechanism: str, authors: str) -> None:
    rows = pa.table({"unit": range(60), "a": ["x", "y", "z"] * 20, "b": [1, 2] * 30})
    table, keys = ln.table(rows, unit="unit"), {"a": ["x", "y", "z"], "b": [1, 2]}
    asked: dict[str, Any] = {"epsilon": 1, "delta": 1e-6, "mechanism": mechanism}
    counts = table.histogram("a", "b", keys=keys, max_rows=1).release(**asked)
    summary = table.summarize("a", "b", keys=keys, max_rows=1, n=ln.stats.count()).release(**asked)
    tables = table.crosstabs(ways=2, keys=keys, max_rows=1).release(**asked)
    for text in (document.page(counts), summary_page.page(summary), tables_page.page(tables)):
        method = text.partition("<p>The method: ")[2].partition("</p>")[0]
        assert authors in method
    assert "for each combination of a and b, published together" in summary_page.page(summary)


@pytest.mark.parametrize(("better", "first"), [(True, "estimate"), (None, "estimate"), (False, "value")])
def test_denoised_values_are_shown_first_unless_they_are_no_better(
    better: bool | None, first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = pa.table({"unit": range(120), "a": list("wxyz") * 30, "b": [1, 2, 3] * 40})
    keys = {"a": list("wxyz"), "b": [1, 2, 3]}
    r = ln.table(rows, unit="unit").histogram("a", "b", keys=keys, max_rows=1).release(epsilon=1, delta=1e-6)
    monkeypatch.setattr(ln.Estimate, "better_than_raw", property(lambda _: better))
    text = document.page(r, estimate=r.denoise())
    assert re.findall(r'value="(\w+)" checked', text) == [first]
