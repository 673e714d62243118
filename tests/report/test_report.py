"""The page as text: nothing escapes its quotes, nothing private or seeded gets out, and what it says holds."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace
from datetime import datetime
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leastnoise as ln
import pages
import table_pages
from command_line import run
from leastnoise import errors, report
from leastnoise._support import text as number_format
from leastnoise._support.text import key_words
from leastnoise.domain import Domain, Lattice, listed, product
from leastnoise.graphs import Graph
from leastnoise.pictures import maps
from leastnoise.privacy.strength import Strength
from leastnoise.releases.average_coverage import NoiseKept
from leastnoise.report import check, data, document, sentences, shown
from leastnoise.testing import seeded
from page_parser import Page, decoded


def gathered(of: Any, **given: Any) -> shown.Shown:
    found: shown.Shown = shown.shown(of, graph=None, zones=None, **given)
    return found


@pytest.mark.parametrize("name", [*pages.KINDS, "estimate"])
def test_every_kind_has_a_page_with_its_own_numbers(name: str, tmp_path: Path) -> None:
    text = pages.write(name, tmp_path).read_text()
    page = Page(text)
    assert len(text) < (500_000 if name in ("junctions", "lattice") else 100_000)
    of = pages.kind(name)
    if name == "quantiles":
        measures = page.found["tables"][0]["measures"]
        assert [decoded(each["values"])[0] for each in measures] == of.values.tolist()
    else:
        first = decoded(page.found["tables"][0]["measures"][0]["values"])
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
    assert str(refused.value).split(" Got ")[0].split(" (got ")[0] in Page(report.page(pages.kind(name))).text


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
    plain = plain_tags()
    assert [tag for tag in odd.tags if tag != "p"] == [tag for tag in plain if tag != "p"]  # a note on keys alike
    assert odd.columns[key_words(name)] == list(map(key_words, keys))


@pytest.mark.parametrize("name", ["few", "tables"])
def test_hostile_names_and_keys_survive_as_text(name: str, tmp_path: Path) -> None:
    if name == "few":
        text = pages.write("few", tmp_path).read_text()
        assert Page(text).columns["town"] == list(map(key_words, pages.TOWNS))
    else:
        text = report.page(table_pages.hostile(), estimate=table_pages.denoised("hostile"))
        columns = [column["name"] for column in Page(text).found["columns"]]
        assert columns == [table_pages.HOSTILE_COLUMN, "age", "sex", "__proto__"]
    page = Page(text)
    assert page.tags.count("script") == 2
    assert "img" not in page.tags
    assert not set("<>&") & set(page.data)


def test_the_policy_names_the_script_and_allows_no_host(tmp_path: Path) -> None:
    text = pages.write("few", tmp_path).read_text()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    allowed = html.unescape(policy[1])
    assert allowed.startswith("default-src 'none'; script-src 'sha256-")
    assert allowed.count("sha256-") == 1
    for word in ("unsafe-eval", "http", "*"):
        assert word not in allowed
    assert "</script" not in "".join(map(document.piece, document.SCRIPTS))


def test_seeded_noise_is_refused_unless_told(tmp_path: Path) -> None:
    for name in ("few", "means", "quantiles", "sparse", "estimate"):
        with pytest.raises(errors.SeededRelease, match="allow_seeded"):
            pages.kind(name).report(tmp_path / "page.html")
    with pytest.raises(errors.SeededRelease, match="allow_seeded"):
        table_pages.people().report(tmp_path / "page.html")
    with pytest.raises(errors.SeededRelease, match="allow_seeded"):
        ln.wrap(np.zeros(6), sigma=1).report(tmp_path / "page.html", estimate=pages.kind("estimate"))
    assert list(tmp_path.iterdir()) == []


def run_code(text: str, folder: Path, ledger: str, file: str) -> tuple[dict[str, Any], list[Any]]:
    """The code under "Check it yourself", run; its names, and what it printed."""
    names: dict[str, Any] = {}
    told: list[Any] = []
    for block in re.findall(r"<code>(.*?)</code>", text, re.S):
        here = html.unescape(block).replace(file, f"{folder}/{file}").replace(ledger, f"{folder}/{ledger}")
        exec(here, {"print": lambda *words: told.append(words)} | names, names)
    return names, told


def test_what_the_page_says_to_check_holds(tmp_path: Path) -> None:
    budget = ln.Budget.open(tmp_path / "town of ours.ledger", epsilon=3, delta=1e-6)
    release = ln.release(np.array([120, 0, 45]), sensitivity=1, budget=budget, share=0.25)
    release.save(tmp_path / "release.parquet")
    text = release.report(tmp_path / "page.html").read_text()
    names, told = run_code(text, tmp_path, "town of ours.ledger", "release.parquet")
    assert len(told) == 3
    assert names["g"].mu == release.guarantee.mu  # type: ignore[union-attr]
    assert [entry.release for entry in told[-1][0]] == [release.id]


def test_what_the_page_of_tables_says_to_check_holds(tmp_path: Path) -> None:
    budget = ln.Budget.open(tmp_path / "town of ours.ledger", epsilon=3, delta=1e-6)
    rows = pa.table({"who": np.arange(60), "age": np.arange(60) % 5, "sex": np.arange(60) % 2})
    query = ln.table(rows, unit="who").crosstabs(ways=2, keys={"age": range(5), "sex": range(2)}, max_rows=3)
    release = query.release(budget=budget, share=0.25)
    release.save(tmp_path / "tables.parquet")
    text = release.report(tmp_path / "page.html").read_text()
    names, told = run_code(text, tmp_path, "town of ours.ledger", "tables.parquet")
    assert told[0] == (release.explain(),)
    np.testing.assert_array_equal(names["table"].values, release["age", "sex"].values)
    mu, guarantee = told[-2]
    assert guarantee == release.guarantee
    assert mu == pytest.approx(release.guarantee.mu, rel=1e-12)  # type: ignore[union-attr]
    assert [entry.release for entry in told[-1][0]] == [release.id]


def test_without_a_budget_no_ledger_is_named(tmp_path: Path) -> None:
    plain = ln.release(np.array([120, 0, 45]), sensitivity=1, epsilon=1, delta=1e-6)
    assert "Budget.open" not in report.page(plain)
    budget = ln.Budget.open(tmp_path / "mine.ledger", epsilon=3, delta=1e-6)
    rows = pd.DataFrame({"p": range(60), "k": [*"ab"] * 30})
    paid = ln.table(rows, unit="p").histogram("k", keys=["a", "b"], max_rows=1).release(budget=budget, share=0.1)
    paid.save(tmp_path / "paid.parquet")
    for made in (paid, ln.load(tmp_path / "paid.parquet")):
        assert made.provenance.ledger == "mine.ledger"
        assert "Budget.open(&#39;mine.ledger&#39;)" in report.page(made)
        assert "Paid from mine.ledger." in report.page(made)
        assert str(tmp_path) not in report.page(made)


def test_an_id_is_text_in_the_code_to_check() -> None:
    ran: list[bool] = []
    release = ln.wrap([1.0, 2.0], sigma=1.0)
    paid = {"strength": Strength(0.1, of_budget=True), "ledger": 'y"); ran.append(True) #'}
    release = replace(release, provenance=replace(release.provenance, id='x" or ran.append(True) or "', **paid))
    _, code = check.check(gathered(release), "release.parquet")[-1]
    first, *_, last = code.splitlines()
    opened: list[str] = []
    exec(first, {"ln": SimpleNamespace(Budget=SimpleNamespace(open=opened.append)), "ran": ran})
    assert opened == [release.provenance.ledger]
    budget = SimpleNamespace(history=lambda: [SimpleNamespace(release=release.id), SimpleNamespace(release="other")])
    told: list[Any] = []
    exec(last, {"budget": budget, "ran": ran, "print": told.extend})
    assert ran == []
    assert [entry.release for entry in told] == [release.id]


def test_a_thresholded_release_says_what_its_denoising_is_worth(tmp_path: Path) -> None:
    unknown = Page(pages.write("unknown", tmp_path).read_text()).text
    assert (
        "Denoised by power law of sizes. How much error is left cannot be told without the truth, so nobody knows"
        in unknown
    )
    assert "follows no denoiser's law" in Page(pages.write("sparse", tmp_path).read_text()).text


def test_the_sensitivity_shown_is_the_one_that_made_the_noise() -> None:
    asked: Any = {"sensitivity": 5**0.5, "l1_sensitivity": 5, "epsilon": 0.5}
    found = {}
    for mechanism, delta in (("gaussian", 1e-6), ("laplace", 0)):
        release = ln.release(np.arange(9), delta=delta, mechanism=mechanism, **asked)
        found[mechanism] = dict(sentences.facts(gathered(release)))
    assert found["gaussian"]["L2 sensitivity"] == "2.23607"
    assert found["laplace"]["L1 sensitivity"] == "5"
    assert not {"sensitivity", "L1 sensitivity"} & set(found["gaussian"])
    assert not {"sensitivity", "L2 sensitivity"} & set(found["laplace"])
    old = replace(release, provenance=replace(release.provenance, l1_sensitivity=None))
    assert "2.23607" not in Page(report.page(old, estimate=None)).text


def test_the_page_of_an_estimate_tells_the_guarantee_of_its_release(tmp_path: Path) -> None:
    release = ln.release(np.arange(9), sensitivity=1, epsilon=0.5, delta=1e-6)
    release = replace(release, provenance=replace(release.provenance, unit="taxi_id", limits={"max_rows": 3}))
    made, plain = (Page(report.page(of, estimate=None)).text for of in (release.denoise(), release))
    _, question, answer = sentences.protection(release)
    for told in (question, answer, release.id, "one taxi (the column taxi_id)", "max rows 3", "one more or one fewer"):
        assert told in made
        assert told in plain
    assert "not in this file" not in made
    unknown = Page(report.page(ln.wrap(np.arange(9.0), sigma=1.0).denoise())).text
    assert "not in this file" in unknown


def test_what_an_attack_finds_and_epsilon_are_rounded_up() -> None:
    release = ln.release(np.arange(9), sensitivity=1, epsilon=0.50001, delta=1e-6)
    badge, _, answer = sentences.protection(release)
    assert badge.endswith("ε = 0.501")
    told = re.search(r"at most ([\d.]+) in 100", answer)
    assert told is not None
    assert 0 <= float(told[1]) / 100 - float(sentences.most_found(release, 0.05)) < 1e-4


def test_every_candidate_is_explained_on_the_page() -> None:
    made = ln.wrap(np.sin(np.arange(60.0)) * 20, sigma=3.0).denoise("auto", graph=Graph.path(60))
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
    assert gathered(release).estimate is None
    assert "only so" in Page(report.page(release, why_no_estimate="only so")).text
    with pytest.raises(errors.InvalidParameter, match="estimate"):
        release.report("page.html", estimate="empirical_bayes", allow_seeded=True)


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


@pytest.mark.parametrize("of", [lambda: pages.kind("few"), lambda: pages.kind("lattice"), table_pages.hostile])
def test_a_page_written_again_is_the_same_page(of: Any) -> None:
    """No date of today and no counter is in it: it is a function of the release."""
    assert report.page(of()) == report.page(of())


def test_mistakes_are_sentences(tmp_path: Path) -> None:
    with pytest.raises(errors.FileProblem, match="directory does not exist"):
        pages.write("few", tmp_path / "none")
    with pytest.raises(errors.FileProblem, match=r"'.*\.html'"):
        pages.kind("few").report(tmp_path / "page.txt", allow_seeded=True)
    with pytest.raises(errors.InvalidParameter, match="one node per bin"):
        report.page(pages.kind("few"), graph=Graph.path(9))
    with pytest.raises(errors.InvalidParameter, match="no zone 'a'"):
        report.page(replace(pages.kind("zones"), domain=product(["zone"], ["a", "b", "c"])), zones=pages.ZONES)
    with pytest.raises(errors.WrongType, match=r"release\.denoise\(\) returned"):
        report.page(table_pages.people(), estimate=pages.kind("estimate"))
    with pytest.raises(errors.InvalidParameter, match="was made from the release"):
        report.page(table_pages.hostile(), estimate=table_pages.denoised("people"))


def test_the_command_writes_a_map(tmp_path: Path) -> None:
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
    text = (tmp_path / "map.html").read_text()
    page = Page(text)
    assert json.loads(done.stdout)["output"] == str(tmp_path / "map.html")
    assert page.found["places"]["x"] == sorted(page.found["places"]["x"])
    assert page.columns["place"] == ["a", "b", "c"]
    streets = re.search(r'class="streets" d="([^"]*)"', text)
    assert streets is not None
    assert streets[1].count("M") == 2
    assert "Places" in page.text
    assert done.stderr == ""
    pq.write_table(pa.table({"id": ["c", "a", "b"]}), tmp_path / "nodes.parquet")
    bare = run("report", str(tmp_path / "map.parquet"), *both)
    assert bare.returncode == 0
    assert "has no columns lon and lat, so the page has no map" in " ".join(bare.stderr.split())
    alone = run("report", str(tmp_path / "map.parquet"), *both[2:])
    assert alone.returncode == 2
    assert "--graph FILE" in alone.stderr


def test_the_command_writes_the_page_of_a_set(tmp_path: Path) -> None:
    release = table_pages.people()
    real = replace(release, provenance=replace(release.provenance, seeded=False))
    real.save(tmp_path / "tables.parquet")
    done = run("report", str(tmp_path / "tables.parquet"), "--title", "The people")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "tables.html").read_text()
    assert "<h1>The people</h1>" in text
    assert 'class="warning"' not in text
    tables = Page(text).found["tables"]
    assert sum(len(decoded(table["denoised"])) for table in tables) == release.bins
    refused = run("report", str(tmp_path / "tables.parquet"), "--graph", "path")
    assert refused.returncode != 0
    assert "Leave out --graph" in " ".join(refused.stderr.split())


def test_how_to_check_names_the_file_beside_the_page(tmp_path: Path) -> None:
    made = ln.release([3, 4], sensitivity=1, epsilon=1, delta=1e-6)
    other = ln.release([3, 4], sensitivity=1, epsilon=1, delta=1e-6)
    other.save(tmp_path / "another.parquet")
    before = html.unescape(made.report(tmp_path / "page.html").read_text())  # of a file that is not there yet
    assert 'ln.load("release.parquet")' in before
    assert "This page was written before the release was saved. Once it is, for example as release.parquet," in before
    made.save(tmp_path / "visits 2026.parquet")
    other.save(tmp_path / "another.parquet")
    after = html.unescape(made.report(tmp_path / "page.html").read_text())
    assert 'ln.load("visits 2026.parquet")' in after
    assert "The file that was saved of it, here visits 2026.parquet, says the same" in after


@pytest.mark.parametrize("others", [None, 0.1])
def test_how_to_check_says_which_part_of_a_guarantee_the_counts_are(others: float | None) -> None:
    """What is computed of the counts alone is less than the epsilon above, where a total has the rest."""
    rows = pa.table({"who": range(4000), "town": list("abcd") * 1000})
    asked = ln.table(rows, unit="who").histogram("town", keys=None, max_rows=1, others=others)
    made = asked.release(epsilon=1, delta=1e-6, mechanism="laplace")
    text = html.unescape(report.page(made))
    assert f"print({made.l1_sensitivity!r} / {made.scale!r})" in text
    assert made.l1_sensitivity / made.scale == pytest.approx(1 - (others or 0))
    said = "This is the counts' part of the guarantee above; the rest of it is for the total of all keys"
    assert (said in text) == (others is not None)


@pytest.mark.parametrize(("mechanism", "authors"), [("gaussian", "Balle"), ("laplace", "Dwork")])
def test_a_page_cites_the_paper_of_its_own_noise(mechanism: str, authors: str) -> None:
    rows = pa.table({"unit": range(60), "a": ["x", "y", "z"] * 20, "b": [1, 2] * 30})
    table, keys = ln.table(rows, unit="unit"), {"a": ["x", "y", "z"], "b": [1, 2]}
    asked: dict[str, Any] = {"epsilon": 1, "delta": 1e-6, "mechanism": mechanism}
    counts = table.histogram("a", "b", keys=keys, max_rows=1).release(**asked)
    summary = table.summarize("a", "b", keys=keys, max_rows=1, n=ln.stats.count()).release(**asked)
    tables = table.crosstabs(ways=2, keys=keys, max_rows=1).release(**asked)
    for of in (counts, summary, tables):
        assert authors in report.page(of).partition("<p>The method: ")[2].partition("</p>")[0]
    assert "1 statistic for each combination of a and b. " in report.page(summary)


@pytest.mark.parametrize(
    ("by", "said"),
    [
        (("year", "score"), "8 counts, one for each combination of year and score."),
        (("score",), "4 counts, one for each score."),
    ],
)
def test_a_column_of_intervals_is_one_column(by: tuple[str, ...], said: str) -> None:
    rows = pa.table({"unit": range(8), "year": [1, 2] * 4, "score": [65, 85, 92, 99] * 2})
    keys = {"year": [1, 2], "score": ln.domain.Edges([60, 80, 90, 95, 101])}
    asked = ln.table(rows, unit="unit").histogram(*by, keys={name: keys[name] for name in by}, max_rows=1)
    text = report.page(asked.release(epsilon=1, delta=1e-6))
    assert said in text
    assert Page(text).columns["score"][:2] == ["60 to 80", "80 to 90"]


@pytest.mark.parametrize("asked", ["histogram", "summary"])
def test_a_threshold_stands_beside_the_numbers(asked: str) -> None:
    rows = ln.table(pa.table({"unit": range(400), "word": ["often"] * 390 + list("abcdefghij")}), unit="unit")
    counts = (
        rows.histogram("word", max_rows=1)
        if asked == "histogram"
        else rows.summarize("word", max_rows=1, n=ln.stats.count())
    )
    release = counts.release(epsilon=1, delta=1e-6)
    beside = report.page(release).partition("left-out")[2].partition("</p>")[0]
    assert "not listed in advance: only those with" in beside
    assert f"{release.threshold}" in beside


# ── Numbers and names: no digit is lost, none of noise is shown, and no two bins become one


def test_no_digit_is_lost_on_the_way_to_the_table() -> None:
    release = pages.kind("large")
    low, high = release.interval(0.95)
    columns = Page(report.page(release, estimate=release.denoise("james_stein"))).columns
    for name, real in (("Published", release.values), ("Low", low), ("High", high)):
        assert columns[name] == real.tolist()
    assert columns["metres"][0] == "0.3 to 4,500,000,000.5"


@given(exponent=st.integers(-15, 25), lead=st.floats(1, 9.99))
def test_people_are_shown_two_digits_of_the_half_width(exponent: int, lead: float) -> None:
    sigma = lead * 10.0**exponent
    release = ln.wrap([0.0, sigma], sigma=sigma)
    numbers = gathered(release).tables[0].numbers[0]
    half = release.distribution.half_width(0.95)
    step = 10.0**-numbers.decimals
    assert step <= max(half / 10, 1.0) * (1 + 1e-9)
    assert numbers.decimals == 0 or step > half / 100 * (1 - 1e-9)


def test_cells_far_from_the_origin_stay_apart() -> None:
    cells = Lattice("x", "y", 0.5).box(x=(5_000_000, 5_000_004), y=(0, 2))
    release = replace(ln.wrap(np.arange(32.0), sigma=1.0), domain=Domain(("cell",), (cells,)))
    text = report.page(release, estimate=None)
    places = Page(text).found["places"]
    assert len(set(zip(places["x"], places["y"], strict=True))) == cells.size == 32
    assert " km</text>" not in text  # metres, not degrees


def test_a_map_of_zones_is_as_wide_as_the_ground() -> None:
    """A degree of longitude is half as long as one of latitude at 60 degrees north; the hole stays open."""
    text = report.page(pages.kind("zones"), zones=pages.ZONES)
    areas = re.findall(r'class="area (\S+)" data-bin="(-?\d)" d="([^"]*)"', text)
    assert [bin_ for _, bin_, _ in areas] == ["0", "-1", "1"]  # Cork, Berlin, Aš: what comes later lies above
    assert [shade == "empty" for shade, *_ in areas] == [False, True, False]
    assert [d.count("M") for *_, d in areas] == [2, 1, 1]
    corners = np.array([pair.split() for *_, d in areas for pair in re.findall(r"[\d.]+ [\d.]+", d)], dtype=float)
    wide, high = np.ptp(corners, axis=0)
    assert wide / high == pytest.approx(2 * np.cos(np.radians(59.95)), rel=0.02)
    assert ">Cork</text>" in text


@pytest.mark.parametrize("degrees", [True, False])
def test_only_a_map_of_degrees_has_kilometres(degrees: bool) -> None:
    names = ("lon", "lat") if degrees else ("x", "y")
    cells = Lattice(*names, 5.0).box(x=(-125, -65), y=(25, 50))
    made = replace(ln.wrap(np.arange(float(cells.size)), sigma=1.0), domain=Domain(("cell",), (cells,)))
    assert (" km</text>" in report.page(made)) == degrees


def test_the_bin_of_nulls_is_not_the_key_none() -> None:
    plane = product(["a", "b"], {"a": ["none", "x"], "b": range(3)}, nulls="bin")
    release = replace(ln.wrap(np.arange(float(plane.size)), sigma=1.0), domain=plane)
    table = Page(report.page(release, estimate=None)).found["tables"][0]
    assert table["layout"] == "heat"  # a row for each place of an axis, whatever it is called
    assert table["cells"] == plane.size == 3 * 4


def test_names_keep_the_order_of_the_keys_and_are_written_once() -> None:
    sizes, towns = ["small", "large", "huge"], ["Ulm", "Aš", "none"]
    plane = product(["size", "town"], {"size": sizes, "town": towns})
    found = Page(report.page(replace(ln.wrap(np.arange(9.0), sigma=1.0), domain=plane), estimate=None)).found
    assert [column["keys"] for column in found["columns"]] == [sizes, towns]
    columns = {column["name"]: column for column in Page(report.page(table_pages.people())).found["columns"]}
    assert columns["age"] == {"name": "age", "title": "age", "keys": list(range(100)), "text": False}
    assert columns["sex"]["keys"] == ["female", "male", "missing or other"]
    assert columns["income"]["keys"][-1] == "100,000 to 1,000,000"
    assert data.label(None) == "none"
    assert data.label(0.1 + 0.2) == "0.3"


def test_times_keep_their_seconds_and_numbers_beyond_a_double_stay_exact() -> None:
    times = listed(("when",), [datetime(2013, 1, 1, 0, 30, second) for second in (0, 5)])
    page = Page(report.page(replace(ln.wrap([1.0, 2.0], sigma=1.0), domain=times)))
    assert page.columns["when"] == ["2013-01-01 00:30", "2013-01-01 00:30:05"]
    release = replace(ln.wrap([1.0, 2.0], sigma=1.0), domain=product(["who"], [2**62 + 1, 5]))
    assert Page(report.page(release)).columns["who"] == [str(2**62 + 1), "5"]


def test_the_page_of_a_mean_is_about_its_column_and_its_sums_are_beside(tmp_path: Path) -> None:
    table = pages._table()
    with seeded(7):
        asked: Any = {"clip": (0, 40), "max_rows": 1}
        one = table.mean("fare", **asked).release(epsilon=2, delta=1e-6)
        each = table.mean("fare", by="town", keys=pages.TOWNS, **asked).release(epsilon=2, delta=1e-6)
        middle = table.quantile("fare", [0.5], **asked).release(epsilon=2, delta=1e-6)
    for of, told in ((one, "Mean fare"), (each, "Mean fare by town"), (middle, "Median of fare")):
        of.save(tmp_path / "r.parquet", allow_seeded=True)
        assert sentences.title(of) == told
        assert sentences.title(ln.load(tmp_path / "r.parquet")) == told
    measures = Page(report.page(one)).found["tables"][0]["measures"]
    assert [(each["title"], each["drawn"]) for each in measures] == [
        ("Published", True),
        ("Sum", False),
        ("Rows", False),
    ]


@pytest.mark.parametrize(("better", "first"), [(True, ["denoised"]), (None, ["published"]), (False, [])])
def test_denoised_values_are_shown_first_where_they_are_known_to_be_better(
    better: bool | None, first: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = pa.table({"unit": range(120), "a": list("wxyz") * 30, "b": [1, 2, 3] * 40})
    keys = {"a": list("wxyz"), "b": [1, 2, 3]}
    r = ln.table(rows, unit="unit").histogram("a", "b", keys=keys, max_rows=1).release(epsilon=1, delta=1e-6)
    monkeypatch.setattr(ln.Estimate, "better_than_raw", property(lambda _: better))
    monkeypatch.setattr(ln.Estimate, "kept", property(lambda _: False))
    text = report.page(r, estimate=r.denoise())
    assert re.findall(r'value="(\w+)" checked', text) == first


def test_a_million_bins_are_told_in_a_small_page() -> None:
    release = ln.wrap(np.sin(np.arange(1_000_000) / 1e5), sigma=3.0)
    text = report.page(release, estimate=None)
    page = Page(text)
    assert len(text) < 500_000
    assert "the 200 largest, of which some are large by their noise" in page.text
    largest = np.argsort(release.values)[-200:].tolist()
    assert page.columns["bin"] == sorted({*range(0, 1_000_000, 200), *largest})
    assert page.columns["Published"] == release.values[page.columns["bin"]].tolist()


# ── Sets of tables


@pytest.mark.parametrize("name", table_pages.RELEASES)
def test_every_cell_of_every_table_is_in_the_page_with_every_digit(name: str) -> None:
    release, estimate = table_pages.RELEASES[name](), table_pages.denoised(name)
    page = Page(report.page(release, estimate=estimate))
    tables = page.found["tables"]
    assert [len(table["axes"]) for table in tables] == sorted(len(table["axes"]) for table in tables)
    assert len(tables) == len(release.tables)
    for columns in release.tables:
        table, beside = page.table(*columns), estimate[columns]
        values = np.array(decoded(table["measures"][0]["values"]))
        np.testing.assert_array_equal(values, release[columns].values)
        np.testing.assert_array_equal(decoded(table["denoised"]), beside.values)
        np.testing.assert_array_equal(values - table["half"], release[columns].interval(0.95).low)
        assert table["better"] is (False if beside.kept else beside.better_than_raw)
        before = release.std[columns]
        limit = number_format.rounded(beside.rmse_at_most(0.95).value, number_format.digits_beside(beside.rmse, before))
        told = f"{number_format.about(beside.rmse, beside=before)}, at most {limit} (95%)"
        assert table["error"] == (told if table["better"] else None)


def test_the_page_of_a_set_says_what_is_guaranteed_in_the_words_of_one_release() -> None:
    release = table_pages.people()
    page = Page(report.page(release))
    _, question, answer = sentences.protection(release)
    for words in (
        question,
        answer,
        sentences.left_out(release),
        release.errors_in_words(),
        release.id,
        "one person",
        "max rows 1",
        "one more or one fewer",
        "Tables of counts by district, age, sex, job and income",
        f"{len(release.tables)} tables with {release.bins:,} numbers",
        "hides nothing",
    ):
        assert words in page.text, words
    assert page.tags.count("h1") == 1
    assert answer in Page(report.page(release["job"])).text


def test_the_errors_of_every_table_are_there_without_a_script() -> None:
    release, better = table_pages.people(), table_pages.denoised("people")
    text = report.page(release, estimate=better)
    cells = r"<td>(.*?)</td><td>(.*?)</td><td>.*?</td><td class=\"text\">(.*?)</td>"
    rows = re.findall(rf'<tr><th scope="row" class="text">(.*?)</th>{cells}', text)
    found = {html.unescape(name): (int(many.replace(",", "")), float(std), told) for name, many, std, told in rows}
    assert set(found) == {" × ".join(table) or "the total" for table in release.tables}
    assert found["age × job"][0] == release["age", "job"].bins
    assert found["age × job"][1] == pytest.approx(release.std["age", "job"], rel=1e-3)
    for table in release.tables:
        helped = bool(better[table].better_than_raw) and not better[table].kept
        assert (found[" × ".join(table) or "the total"][2] == "no clear improvement") == (not helped)


def test_the_estimate_of_a_set_is_told_with_its_error() -> None:
    release, estimate = table_pages.people(), table_pages.denoised("people")
    told = Page(report.page(release, estimate=estimate)).text
    assert estimate.errors_in_words() in told
    assert "Public tables were matched" not in told
    held_totals = release.denoise(known={"sex": [1_000, 1_000, 0]})
    assert "Public tables were matched: sex." in Page(report.page(release, estimate=held_totals)).text


def test_what_does_not_fit_is_named_and_left_to_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    release = table_pages.people()
    for module in (shown, sentences):
        monkeypatch.setattr(module, "MAX_CELLS_SHOWN", 500)
    page = Page(report.page(release, estimate=table_pages.denoised("people")))
    tables = page.found["tables"]
    held = [table for table in tables if table["measures"]]
    assert len(tables) == len(release.tables)
    assert sum(table["cells"] for table in held) <= 500
    missing = len(release.tables) - len(held)
    cells = release.bins - sum(table["cells"] for table in held)
    assert f"{missing} of the {len(release.tables)} tables, with {cells:,} numbers, are in the file" in page.text


def test_many_tables_make_a_page_of_bounded_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty columns of two keys: 211 tables of at most two, and only so many are named."""
    names = [f"question {number}" for number in range(20)]
    rows = {name: np.arange(200) % (2 + place % 3) % 2 for place, name in enumerate(names)}
    query = ln.table(pa.table({"who": np.arange(200), **rows}), unit="who").crosstabs(
        ways=2, keys=dict.fromkeys(names, range(2)), max_rows=1
    )
    with seeded(1):
        release = query.release(epsilon=1, delta=1e-6)
    monkeypatch.setattr(sentences, "MAX_TABLES_IN_ERRORS", 50)
    page = Page(report.page(release))
    assert len(release.tables) == len(page.found["tables"]) == 211
    assert len(page.data) < 211 * 450
    assert "161 more tables are in the file" in page.text
    assert ", question 3, question 4, question 5 and 14 more columns" in page.text
    monkeypatch.setattr(shown, "MAX_TABLES_SHOWN", 100)
    few = Page(report.page(release))
    assert len(few.found["tables"]) == 100
    assert "111 of them are not in the list either" in few.text


def test_sums_of_weights_are_called_by_their_column() -> None:
    rows = pa.table({"who": np.arange(400), "age": np.arange(400) % 5, "weight": np.arange(400) % 7 + 0.5})
    query = ln.table(rows, unit="who").crosstabs(
        "age", (), keys={"age": range(5)}, max_rows=1, weight="weight", weight_clip=(0, 6)
    )
    with seeded(2):
        release = query.release(epsilon=2, delta=1e-6)
    page = Page(report.page(release)).text
    assert "Tables of the sums of weight by age" in page
    assert "squared_cost" not in page


def test_units_whose_rows_share_a_weight_are_counted_and_called_so() -> None:
    rows = pa.table({"pupil_id": np.arange(400) // 4, "age": np.arange(400) % 5})
    query = ln.table(rows, unit="pupil_id").crosstabs("age", keys={"age": range(5)}, row_weight="shared")
    with seeded(2):
        release = query.release(epsilon=2, delta=1e-6)
    page = Page(report.page(release)).text
    assert "Each pupil counts once, divided over the cells that the rows of the pupil are in." in page


def test_a_page_needs_none_of_the_packages_that_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    graph = Graph.from_edges(2, [(0, 1)], coordinates=np.array([[8.1, 54.0], [8.2, 54.1]]))
    assert "<svg" in report.page(ln.wrap([1.0, 2.0], sigma=1.0), graph=graph)
    assert maps.Ground.of(graph.coordinates).degrees  # type: ignore[arg-type]
