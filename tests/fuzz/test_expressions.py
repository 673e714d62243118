"""Any allowed expression over extreme rows: refused before a row is read, or a total function of each row by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import expression_meaning as core
import shared_conditions as shared
from evaluating import ROWS, Question, added, parts_of, question
from fuzzing import add, seeds
from leastnoise.curator.table import Table, table
from leastnoise.testing import aggregate

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def parts() -> dict[str, Table]:
    return {name: table(rows, unit="who") for name, rows in parts_of().items()}


def check(asked: Question, parts: dict[str, Table]) -> dict[Any, int] | str:
    """The answer, after the laws: the rows decide neither a refusal nor one another's values."""
    whole, none = asked.answer(parts["all"]), asked.answer(parts["none"])
    if isinstance(whole, str) or isinstance(none, str):
        assert whole == none
        return whole
    assert none == {}
    pieces = [asked.answer(parts[name]) for name in ("some", "rest")]
    assert whole == added([piece for piece in pieces if isinstance(piece, dict)])
    return whole


def test_an_expression_is_refused_or_a_function_of_each_row(parts: dict[str, Table]) -> None:
    for seed in seeds(60, parts=2):
        asked = question(seed)
        answer = checked(seed, asked, parts)
        add("expressions on DuckDB x rows", 0 if isinstance(answer, str) else ROWS)


def checked(seed: int, asked: Question, parts: dict[str, Table]) -> dict[Any, int] | str:
    try:
        return check(asked, parts)
    except Exception as error:
        raise AssertionError(f"seed {seed}, {asked}: {error!r}") from error


def test_the_core_of_the_grammar_means_what_it_says(parts: dict[str, Table]) -> None:
    rows = parts_of()["all"].select(["row", *(name for names in core.COLUMNS.values() for name in names)]).to_pylist()
    understood = 0
    for seed in seeds(40):
        drawn = question(seed, kinds=("boolean",), words=core.WORDS, columns=core.COLUMNS, literals=core.CORE)
        asked = replace(drawn, way="where")
        answer = checked(seed, asked, parts)
        if isinstance(answer, str):
            continue
        understood += 1
        meant = {row["row"] for row in rows if core.meaning(asked.node, row) is True}
        assert set(answer) == meant, (seed, str(asked), set(answer) ^ meant)
        add("expressions against their meaning x rows", ROWS)
    assert understood > 10


def test_parts_that_stand_in_several_places_mean_what_they_say() -> None:
    """They become columns of their own, which engines and Ibis write into one another again."""
    cells = {name: [row[place] for row in shared.CELLS] for place, name in enumerate(shared.COLUMNS)}
    number = list(range(len(shared.CELLS)))
    rows = table(pa.table({"who": number, "row": number, **cells}), unit="who")
    for seed in seeds(12):
        asked = shared.condition(seed)
        meant = [asked.meaning(dict(zip(shared.COLUMNS, row, strict=True))) for row in shared.CELLS]
        if seed % 2:
            found = aggregate(rows.where(asked.written).histogram("row", keys=number, max_rows=1)).values
            assert found.tolist() == [value is True for value in meant], (seed, str(asked))
        else:
            made = rows.derive(made=asked.written).histogram("row", "made", keys=[number, [True, False]], max_rows=1)
            found = aggregate(made).values.reshape(-1, 2)
            assert found.tolist() == [[value is True, value is False] for value in meant], (seed, str(asked))
        add("conditions with shared parts x rows", len(number))
