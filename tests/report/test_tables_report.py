"""The page of a set of tables as text: its numbers are the release's, nothing escapes its quotes, it stays small."""

from __future__ import annotations

import json
import re
import sys
from base64 import b64decode
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leastnoise as ln
import table_pages
from command_line import run
from leastnoise import errors, report
from leastnoise._support import number_format
from leastnoise._support.plain_text import key_words
from leastnoise.domain import product
from leastnoise.report import promise_sentences, tables_contents, tables_data, tables_page, tables_sentences
from leastnoise.testing import seeded
from page_parser import Page
from table_pages import HOSTILE_COLUMN, denoised


def held(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Page(text).data)
    return found


def doubles(text: str) -> np.ndarray:
    return np.frombuffer(b64decode(text), dtype="<f8")


@pytest.mark.parametrize("name", table_pages.RELEASES)
def test_every_cell_of_every_table_is_in_the_page_with_every_digit(name: str) -> None:
    release = table_pages.RELEASES[name]()
    estimate = denoised(name)
    data = held(report.page_of_tables(release, estimate=estimate))
    values, better = doubles(data["values"]), doubles(data["denoised"])
    seen = []
    for table in data["tables"]:
        columns = tuple(data["columns"][place]["name"] for place in table["columns"])
        part = slice(table["at"], table["at"] + table["cells"])
        low, _ = release[columns].interval(0.95)
        np.testing.assert_array_equal(values[part], release[columns].values)
        np.testing.assert_array_equal(better[part], estimate[columns].values)
        np.testing.assert_array_equal(values[part] - table["half"], low)
        assert table["zero"] == int((low <= 0).sum())
        rmse, most = estimate[columns].rmse, estimate[columns].rmse_at_most(0.95).value
        assert table["better"] is estimate[columns].better_than_raw
        before = release.std[columns]
        limit = number_format.rounded(most, number_format.digits_beside(rmse, before))
        told = f"{number_format.about(rmse, beside=before)}, at most {limit} (95 %)"
        assert table["kept"] is estimate[columns].kept
        assert table["error"] == (None if table["kept"] else told)  # that of the noise is told already
        seen.append(columns)
    assert sorted(seen) == sorted(release.tables)
    assert [len(columns) for columns in seen] == sorted(map(len, seen))
    assert len(values) == release.bins


def test_the_keys_of_a_column_are_written_once_in_words_or_as_numbers() -> None:
    columns = {column["name"]: column for column in held(report.page_of_tables(table_pages.people()))["columns"]}
    assert columns["age"] == {"name": "age", "title": "age", "size": 100, "keys": list(range(100)), "text": False}
    keys = ["female", "male", "missing or other"]
    assert columns["sex"] == {"name": "sex", "title": "sex", "size": 3, "keys": keys, "text": True}
    assert columns["income"]["keys"][-1] == "100,000 to 1,000,000"
    assert not columns["income"]["text"]
    assert tables_data.label(None) == "none"
    assert tables_data.label(0.1 + 0.2) == "0.3"


def test_numbers_beyond_a_double_and_endless_ones_are_words() -> None:
    assert tables_data._keys(product(["who"], [2**62 + 1, 5]).axes[0])["keys"] == [str(2**62 + 1), "5"]


def test_the_page_says_what_was_promised_in_the_words_of_one_release() -> None:
    release = table_pages.people()
    page = Page(report.page_of_tables(release))
    total = release.total()
    for words in (
        promise_sentences.promise(release),
        promise_sentences.left_out(release),
        release.errors_in_words(),
        release.id,
        "one person",
        "max_rows = 1",
        "one more or one fewer",
        f"{round(total.value):,}",
        "counted within these limits",
        f"{total.low:,.0f} and {total.high:,.0f}",
        "Tables of counts by district, age, sex, job and income",
        f"{len(release.tables)} tables, {release.bins:,} cells in all",
        "hides nothing",
    ):
        assert words in page.text, words
    assert page.tags.count("h1") == 1
    one = Page(report.page(release["job"])).text
    assert promise_sentences.promise(release) in one


def test_the_errors_of_every_table_are_there_without_a_script() -> None:
    release = table_pages.people()
    text = report.page_of_tables(release, estimate=denoised("people"))
    rows = re.findall(r'<tr><th scope="row" class="text">(.*?)</th><td>(.*?)</td><td>(.*?)</td>', text)
    assert {unescape(name) for name, *_ in rows} == {" × ".join(t) or "the total" for t in release.tables}
    cells = {unescape(name): (int(many.replace(",", "")), float(std)) for name, many, std in rows}
    assert cells["age × job"][0] == release["age", "job"].bins
    assert cells["age × job"][1] == pytest.approx(release.std["age", "job"], rel=1e-3)
    better = denoised("people")
    same = next(" × ".join(t) for t in release.tables if t and better[t].kept)
    kept = re.search(rf'class="text">{same}</th>(?:<td>[^<]*</td>){{4}}<td>(.*?)</td>', text)
    assert kept is not None
    assert kept[1] == "as published"
    for table in (("age", "job"), ("sex", "job")):
        digits = number_format.digits_beside(better[table].rmse, better[table].std)
        most = number_format.rounded(better[table].rmse_at_most(0.95).value, digits)
        worse = "" if better[table].better_than_raw else ", not better"
        found = re.search(rf'class="text">{" × ".join(table)}</th>.*?<small>(.*?)</small>', text)
        assert found is not None
        assert found[1] == f"at most {most}{worse}"


def test_an_estimate_is_told_with_its_error() -> None:
    release, estimate = table_pages.people(), denoised("people")
    told = Page(report.page_of_tables(release, estimate=estimate)).text
    assert estimate.errors_in_words() in told
    assert "Public tables were held" not in told
    held_totals = release.denoise(known={"sex": [1_000, 1_000, 0]})
    assert "Public tables were held: sex." in Page(report.page_of_tables(release, estimate=held_totals)).text
    assert "unbiased, and with their noise" in Page(report.page_of_tables(release)).text


@given(keys=st.lists(st.text(), min_size=3, max_size=3, unique=True), title=st.text(min_size=1))
@settings(max_examples=12)
def test_no_key_and_no_title_leaves_its_element(keys: list[str], title: str) -> None:
    release = table_pages.people()
    plain = Page(report.page_of_tables(release)).tags
    odd = replace(release, axes={**release.axes, "sex": product(["sex"], keys).axes[0]})
    page = Page(report.page_of_tables(odd, title=title))
    assert page.tags == plain
    columns = {column["name"]: column for column in json.loads(page.data)["columns"]}
    assert columns["sex"]["keys"] == list(map(key_words, keys))


def test_hostile_columns_and_keys_survive_as_text() -> None:
    page = Page(report.page_of_tables(table_pages.hostile(), estimate=denoised("hostile")))
    columns = [column["name"] for column in json.loads(page.data)["columns"]]
    assert columns == [HOSTILE_COLUMN, "age", "sex", "__proto__"]
    assert not set("<>&") & set(page.data)
    assert page.tags.count("script") == 2
    assert "img" not in page.tags
    assert HOSTILE_COLUMN in page.text


def test_the_policy_names_the_script_and_allows_no_host() -> None:
    text = report.page_of_tables(table_pages.people())
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; script-src 'sha256-")
    assert policy[1].count("sha256-") == 1
    for word in ("unsafe-eval", "http", "*"):
        assert word not in policy[1]
    assert "</script" not in "".join(map(report.markup.piece, tables_page.SCRIPTS))


def test_a_page_written_again_is_the_same_page() -> None:
    release = table_pages.hostile()
    assert report.page_of_tables(release) == report.page_of_tables(release)


def test_it_needs_none_of_the_packages_that_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("altair", "vl_convert", "matplotlib"):
        monkeypatch.setitem(sys.modules, package, None)
    assert "The tables" in report.page_of_tables(table_pages.people())


def test_what_does_not_fit_is_named_and_left_to_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    release = table_pages.people()
    monkeypatch.setattr(tables_contents, "MAX_CELLS_SHOWN", 500)
    monkeypatch.setattr(tables_sentences, "MAX_CELLS_SHOWN", 500)
    text = report.page_of_tables(release, estimate=denoised("people"))
    data = held(text)
    shown = [table for table in data["tables"] if table["at"] is not None]
    assert len(data["tables"]) == len(release.tables)
    assert sum(table["cells"] for table in shown) <= 500
    assert all(table["zero"] is None for table in data["tables"] if table["at"] is None)
    assert len(doubles(data["values"])) == len(doubles(data["denoised"])) == sum(table["cells"] for table in shown)
    for table in shown:
        columns = tuple(data["columns"][place]["name"] for place in table["columns"])
        part = doubles(data["values"])[table["at"] : table["at"] + table["cells"]]
        np.testing.assert_array_equal(part, release[columns].values)
    missing = len(release.tables) - len(shown)
    cells = release.bins - sum(table["cells"] for table in shown)
    assert f"{missing} of the {len(release.tables)} tables, with {cells:,} cells, are in the file" in Page(text).text
    small = held(report.page_of_tables(release, title="x"))
    assert len(small["values"]) < 8 * 500 * 4 / 3 + 4


def test_many_tables_make_a_page_of_bounded_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty columns of two keys: 211 tables of at most two, and only so many are named."""
    names = [f"question {number}" for number in range(20)]
    rows = {name: np.arange(200) % (2 + place % 3) % 2 for place, name in enumerate(names)}
    query = ln.table(pa.table({"who": np.arange(200), **rows}), unit="who").crosstabs(
        ways=2, keys=dict.fromkeys(names, range(2)), max_rows=1
    )
    with seeded(1):
        release = query.release(epsilon=1, delta=1e-6)
    monkeypatch.setattr(tables_page, "MAX_TABLES_IN_ERRORS", 50)
    text = report.page_of_tables(release)
    page = Page(text)
    assert len(release.tables) == len(json.loads(page.data)["tables"]) == 211
    assert len(page.data) < 211 * 250
    assert "161 more tables are in the file" in page.text
    assert ", question 3, question 4, question 5 and 14 more columns" in page.text
    monkeypatch.setattr(tables_contents, "MAX_TABLES_SHOWN", 100)
    few = report.page_of_tables(release)
    assert len(held(few)["tables"]) == 100
    assert "111 of them are not in the list below either" in Page(few).text


def test_sums_of_weights_are_called_by_their_column() -> None:
    rows = pa.table({"who": np.arange(400), "age": np.arange(400) % 5, "weight": np.arange(400) % 7 + 0.5})
    query = ln.table(rows, unit="who").crosstabs(
        "age", (), keys={"age": range(5)}, max_rows=1, weight="weight", weight_clip=(0, 6)
    )
    with seeded(2):
        release = query.release(epsilon=2, delta=1e-6)
    page = Page(report.page_of_tables(release)).text
    assert "Tables of the sums of weight by age" in page
    assert "summed within these limits" in page
    assert "squared_cost" not in page


def test_units_whose_rows_share_a_weight_are_counted_and_called_so() -> None:
    rows = pa.table({"pupil_id": np.arange(400) // 4, "age": np.arange(400) % 5})
    query = ln.table(rows, unit="pupil_id").crosstabs("age", keys={"age": range(5)}, row_weight="shared")
    with seeded(2):
        release = query.release(epsilon=2, delta=1e-6)
    page = Page(report.page_of_tables(release)).text
    assert "each pupil counted once, within these limits" in page
    assert "Each pupil counts once, divided over the cells that the rows of the pupil are in." in page


def test_the_page_of_one_table_draws_noise_only_where_its_distribution_is_known() -> None:
    for mechanism, drawn in (("gaussian", True), ("laplace", False)):
        with seeded(2):
            made = table_pages.register().release(**table_pages.PROMISE, mechanism=mechanism)
        assert ('id="distribution"' in report.page(made["sex", "job"])) == drawn


def test_what_the_page_says_to_check_holds(tmp_path: Path) -> None:
    """The code under "How to check" is run, on a release that was paid from a ledger."""
    budget = ln.Budget.open(tmp_path / "town of ours.ledger", epsilon=3, delta=1e-6)
    rows = pa.table({"who": np.arange(60), "age": np.arange(60) % 5, "sex": np.arange(60) % 2})
    query = ln.table(rows, unit="who").crosstabs(ways=2, keys={"age": range(5), "sex": range(2)}, max_rows=3)
    release = query.release(budget=budget, share=0.25)
    release.save(tmp_path / "tables.parquet")
    text = release.report(tmp_path / "page.html").read_text()
    code = [unescape(block) for block in re.findall(r"<code>(.*?)</code>", text, re.S)]
    assert len(code) == 4
    names: dict[str, Any] = {}
    told: list[Any] = []
    for block in code:
        here = block.replace("tables.parquet", f"{tmp_path}/tables.parquet").replace(
            "town of ours.ledger", f"{tmp_path}/town of ours.ledger"
        )
        exec(here, {"print": lambda *words: told.append(words)} | names, names)
    assert told[0] == (release.explain(),)
    np.testing.assert_array_equal(names["table"].values, release["age", "sex"].values)
    mu, guarantee = told[-2]
    assert guarantee == release.guarantee
    assert mu == pytest.approx(release.guarantee.mu, rel=1e-12)  # type: ignore[union-attr]
    assert [entry.release for entry in told[-1][0]] == [release.id]


def test_seeded_noise_is_refused_unless_told(tmp_path: Path) -> None:
    release = table_pages.people()
    with pytest.raises(errors.SeededRelease, match="allow_seeded"):
        release.report(tmp_path / "page.html")
    real = replace(release, provenance=replace(release.provenance, seeded=False))
    assert list(tmp_path.iterdir()) == []
    assert 'class="warning"' not in real.report(tmp_path / "page.html").read_text()


def test_the_command_writes_the_page(tmp_path: Path) -> None:
    release = table_pages.people()
    real = replace(release, provenance=replace(release.provenance, seeded=False))
    real.save(tmp_path / "tables.parquet")
    done = run("report", str(tmp_path / "tables.parquet"), "--title", "The people")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "tables.html").read_text()
    assert "<h1>The people</h1>" in text
    assert doubles(held(text)["values"]).size == doubles(held(text)["denoised"]).size == release.bins
    refused = run("report", str(tmp_path / "tables.parquet"), "--graph", "path")
    assert refused.returncode != 0
    assert "Leave out --graph" in " ".join(refused.stderr.split())
    real.denoise().save(tmp_path / "denoised.parquet")
    alone = run("report", str(tmp_path / "denoised.parquet"))
    assert alone.returncode != 0
    assert "Give the file of that release" in " ".join(alone.stderr.split())


def test_mistakes_are_sentences(tmp_path: Path) -> None:
    release = table_pages.people()
    with pytest.raises(errors.FileProblem, match="directory does not exist"):
        table_pages.write("people", tmp_path / "none")
    with pytest.raises(errors.FileProblem, match=r"Say .*\.html"):
        release.report(tmp_path / "page.txt", allow_seeded=True)
    with pytest.raises(errors.WrongType, match=r"release\.denoise\(\)"):
        release.report(tmp_path / "page.html", estimate=release, allow_seeded=True)  # type: ignore[arg-type]

    with pytest.raises(errors.InvalidParameter, match="made from the release"):
        report.page_of_tables(release, estimate=denoised("hostile"))
    assert list(tmp_path.iterdir()) == []
