"""The page and the picture of tables along a tree."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import leastnoise as ln
from leastnoise import errors, plot
from leastnoise.domain import Tree
from leastnoise.releases.crosstab_estimate import StatedRisk, StatedRisks
from leastnoise.releases.crosstabs import CrosstabsRelease
from leastnoise.report.tree import Node, tree
from leastnoise.testing import seeded

TREE = Tree.from_columns({"state": ["A & B", "A & B", "C"], "county": ["a1", "<a2>", "c1"]}, "state", "county")


def released() -> CrosstabsRelease:
    people = pd.DataFrame({"who": range(90), "county": ["a1", "<a2>", "c1"] * 30})
    query = ln.table(people, unit="who").crosstabs("state", "county", keys={"county": TREE}, max_rows=1)
    with seeded(1):
        made = query.release(epsilon=5, delta=1e-6)
    assert isinstance(made, CrosstabsRelease)
    return made


def moved(estimate: Any) -> Any:
    """As if every number had been denoised: what was kept has no second number beside it."""
    return replace(estimate, blocks={name: block + 0.25 for name, block in estimate.blocks.items()})


def test_a_page_has_the_tree_as_a_list_that_opens(tmp_path: Path) -> None:
    made = released()
    text = made.report(tmp_path / "t.html", estimate=moved(made.denoise()), allow_seeded=True).read_text()
    section = text[text.index('<section aria-labelledby="tree">') :]
    names = re.findall(r'<span class="name">(.*?)</span>', section)
    assert names == ["All", "A &amp; B", "a1", "&lt;a2&gt;", "C", "c1"]
    assert section.count("<details><summary>") >= 2
    shown = [float(part.replace(",", "")) for part in re.findall(r'class="count">([\d,.-]+) ±', section)]
    expected = [made.total().value, made["state"].values[0], *made["county"].values[:2]]
    np.testing.assert_allclose(shown[:4], expected, atol=0.51)
    assert "<b>" in section[: section.index("</section>")]


def test_levels_that_are_not_better_have_no_denoised_number_beside() -> None:
    made = released()
    told = {table: StatedRisk(1.0, 2.0, table == ("county",)) for table in made.tables}
    stated = replace(moved(made.denoise()), risks=StatedRisks(0.95, StatedRisk(1.0, 2.0, True), told))
    found = tree(made, stated)
    assert found is not None
    assert found.beside == "some"

    def denoised(node: Node) -> int:
        return bool(node.denoised) + sum(map(denoised, node.below))

    assert denoised(found.root) == 1 + 3  # of the total, which was not asked for and is not judged, and of the counties


def test_tables_without_a_tree_have_no_such_section(tmp_path: Path) -> None:
    people = pd.DataFrame({"who": range(9), "sex": ["f", "m", "f"] * 3})
    query = ln.table(people, unit="who").crosstabs("sex", keys={"sex": ["f", "m"]}, max_rows=1)
    with seeded(1):
        made = query.release(epsilon=1, delta=1e-6)
    assert 'aria-labelledby="tree"' not in made.report(tmp_path / "t.html", allow_seeded=True).read_text()
    with pytest.raises(errors.WrongType, match="not along a tree"):
        plot.tree(made)


def test_a_picture_has_every_node_below_the_one_it_is_in() -> None:
    made = released()
    drawn = plot.tree(made, estimate=made.denoise())
    names = [text.get_text() for text in drawn.get_yticklabels()]
    largest = sorted(("a1", "<a2>"), key=lambda key: -made["county"].total({"county": key}).value)
    assert [name.strip() for name in names] == ["All", "A & B", *largest, "C", "c1"]
    assert [len(name) - len(name.lstrip()) for name in names] == [0, 1, 2, 2, 1, 2]
    assert len(plot.tree(made, rows=3).get_yticklabels()) == 3
