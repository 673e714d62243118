"""The page as text: nothing escapes its quotes, nothing private or seeded gets out, and what it says holds."""

from __future__ import annotations

import html
import json
import re
import sys
from dataclasses import replace
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
from command_line import run
from leastnoise import errors, report
from leastnoise._support import number_format
from leastnoise._support.plain_text import key_words
from leastnoise.domain import product
from leastnoise.graphs import Graph
from leastnoise.privacy.strength import Strength
from leastnoise.report import contents, document, promise_sentences, sentences, summary_page, tables_page
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
    assert odd.columns[key_words(name)] == list(map(key_words, keys))


def test_the_hostile_key_of_a_file_survives_as_text(tmp_path: Path) -> None:
    page = Page(pages.write("few", tmp_path).read_text())
    assert page.columns["town"] == list(map(key_words, pages.TOWNS))
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


def test_what_the_page_says_to_check_holds(tmp_path: Path) -> None:
    """The code under "How to check" is run, on a release that was paid from a ledger."""
    budget = ln.Budget.open(tmp_path / "town of ours.ledger", epsilon=3, delta=1e-6)
    release = ln.release(np.array([120, 0, 45]), sensitivity=1, budget=budget, share=0.25)
    release.save(tmp_path / "release.parquet")
    text = release.report(tmp_path / "page.html").read_text()
    from html import unescape

    code = [unescape(block) for block in re.findall(r"<code>(.*?)</code>", text, re.S)]
    assert len(code) == 3
    names: dict[str, Any] = {}
    for block in code:
        with_paths = block.replace("release.parquet", f"{tmp_path}/release.parquet").replace(
            "town of ours.ledger", f"{tmp_path}/town of ours.ledger"
        )
        exec(with_paths.replace("print(", "told = ("), names)
    assert names["g"].mu == release.guarantee.mu  # type: ignore[union-attr]
    assert [entry.release for entry in names["told"]] == [release.id]


def test_without_a_budget_no_ledger_is_named(tmp_path: Path) -> None:
    plain = ln.release(np.array([120, 0, 45]), sensitivity=1, epsilon=1, delta=1e-6)
    assert "Budget.open" not in report.page(plain)
    budget = ln.Budget.open(tmp_path / "mine.ledger", epsilon=3, delta=1e-6)
    rows = pd.DataFrame({"p": range(60), "k": [*"ab"] * 30})
    paid = ln.table(rows, unit="p").histogram("k", keys=["a", "b"], max_rows=1).release(budget=budget, share=0.1)
    paid.save(tmp_path / "paid.parquet")
    for made in (paid, ln.load(tmp_path / "paid.parquet")):
        assert made.provenance.ledger == "mine.ledger"
        assert "Budget.open(&#x27;mine.ledger&#x27;)" in report.page(made)
        assert str(tmp_path) not in report.page(made)


def test_an_id_is_text_in_the_code_to_check() -> None:
    ran: list[bool] = []
    release = ln.wrap([1.0, 2.0], sigma=1.0)
    paid = {"strength": Strength(0.1, of_budget=True), "ledger": 'y"); ran.append(True) #'}
    release = replace(release, provenance=replace(release.provenance, id='x" or ran.append(True) or "', **paid))
    _, code = sentences.check(contents.gather(release, estimate=None, graph=None), "release.parquet")[-1]
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
    with pytest.raises(errors.FileProblem, match=r"Say '.*\.html'"):
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
    before = html.unescape(made.report(tmp_path / "page.html").read_text())  # of a file that is not there yet
    assert 'ln.load("release.parquet")' in before
    assert (
        "No file of it lay beside this page when it was written. Once it is saved, say as release.parquet, that"
        in before
    )
    made.save(tmp_path / "visits 2026.parquet")
    other.save(tmp_path / "another.parquet")
    after = html.unescape(made.report(tmp_path / "page.html").read_text())
    assert 'ln.load("visits 2026.parquet")' in after
    assert "The file that was saved of it, here visits 2026.parquet, says the same" in after


@pytest.mark.parametrize("others", [None, 0.1])
def test_how_to_check_says_which_part_of_a_promise_the_counts_are(others: float | None) -> None:
    """What is computed of the counts alone is less than the epsilon above, where a total has the rest."""
    rows = pa.table({"who": range(4000), "town": list("abcd") * 1000})
    asked = ln.table(rows, unit="who").histogram("town", keys=None, max_rows=1, others=others)
    made = asked.release(epsilon=1, delta=1e-6, mechanism="laplace")
    text = html.unescape(document.page(made))
    assert f"print({made.l1_sensitivity!r} / {made.scale!r})" in text
    assert made.l1_sensitivity / made.scale == pytest.approx(1 - (others or 0))
    said = "This is the counts' part of the promise above; the rest of it is for the total of all keys"
    assert (said in text) == (others is not None)


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
    assert "1 statistic for each combination of a and b, published with" in summary_page.page(summary)


@pytest.mark.parametrize(
    ("by", "said"),
    [
        (("year", "score"), "8 counts, one for each combination of year and score, published with"),
        (("score",), "4 counts, one for each score, published with"),
    ],
)
def test_a_column_of_intervals_is_one_column(by: tuple[str, ...], said: str) -> None:
    """Though the table of numbers has two for it, low and high."""
    rows = pa.table({"unit": range(8), "year": [1, 2] * 4, "score": [65, 85, 92, 99] * 2})
    keys = {"year": [1, 2], "score": ln.domain.Edges([60, 80, 90, 95, 101])}
    asked = ln.table(rows, unit="unit").histogram(*by, keys={name: keys[name] for name in by}, max_rows=1)
    assert said in document.page(asked.release(epsilon=1, delta=1e-6))


@pytest.mark.parametrize("asked", ["histogram", "summary"])
def test_a_threshold_stands_beside_the_headline(asked: str) -> None:
    rows = ln.table(pa.table({"unit": range(400), "word": ["often"] * 390 + list("abcdefghij")}), unit="unit")
    counts = (
        rows.histogram("word", max_rows=1)
        if asked == "histogram"
        else rows.summarize("word", max_rows=1, n=ln.stats.count())
    )
    release = counts.release(epsilon=1, delta=1e-6)
    text = (document if asked == "histogram" else summary_page).page(release)
    beside = text.partition('class="left-out"')[2].partition("</p>")[0]
    assert "not listed in advance: only those with" in beside
    assert f"{release.threshold}" in beside


def test_the_headline_of_quantiles_of_groups_is_their_medians_and_not_how_many_they_are() -> None:
    rows = pd.DataFrame({"who": range(400), "x": range(400), "g": ["a"] * 200 + ["b"] * 200})
    asked = ln.table(rows, unit="who").quantile("x", [0.1, 0.5], clip=(0, 400), by="g", keys=["a", "b"], max_rows=1)
    made = asked.release(epsilon=5, delta=1e-6)
    told = sentences.headline(contents.gather(made, estimate=None, graph=None))
    assert told.number == " to ".join(promise_sentences.number(value) for value in sorted(made.values[:, 1]))
    low, high = (end[:, 1] for end in made.interval(0.95))
    reach = f"{promise_sentences.number(low.min())} to {promise_sentences.number(high.max())}"
    assert told.label == (
        "the median in each of 2 groups, from the least to the largest; their 95 % intervals reach from " + reach
    )
