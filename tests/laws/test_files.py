"""What is saved comes back whole; a file of which any fact was removed, renamed or retyped is refused.

The names that files have are frozen in tests/golden/format.json, and one file of every kind in tests/golden/files is
loaded for ever. (`python tests/support/saved_releases.py` writes both; a name that changes there breaks files that
people have: an attribute may be renamed with `field(metadata={"stored": "its old name"})`.)
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leastnoise as ln
import saved_releases
from described_records import described
from leastnoise import errors
from leastnoise.releases import file_format, records

KINDS = saved_releases.every_kind
NAMES = sorted(saved_releases.every_kind())
FILES = sorted((saved_releases.GOLDEN / "files").iterdir())
OPEN = {"limits", "labels", "parameters"}  # objects whose names are a person's, and so no facts of ours
OTHERS: tuple[Any, ...] = (None, True, 7.5, "strange", [], [[None]], {}, {"strange": 1})


def tables(made: Any) -> list[pa.Table]:
    """Everything that people read in frames."""
    if isinstance(made, ln.CrosstabsRelease | ln.CrosstabsEstimate):
        return [made[table].to_arrow() for table in made.tables]
    return [made.to_arrow()]


@pytest.mark.parametrize("name", NAMES)
def test_what_is_saved_comes_back(name: str, tmp_path: Path) -> None:
    made = KINDS()[name]
    made.save(tmp_path / "r.parquet", allow_seeded=True)
    back = ln.load(tmp_path / "r.parquet")
    assert type(back) is type(made)
    assert back._facts() == made._facts()
    assert back._file_table().equals(made._file_table())
    assert back.provenance == made.provenance
    assert all(mine.equals(theirs) for mine, theirs in zip(tables(made), tables(back), strict=True))
    assert back.explain() == made.explain()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_files_of_every_kind_load_for_ever(path: Path) -> None:
    """And all that people read in their columns follows from the facts that were kept."""
    made = ln.load(path)
    assert made._file_table().equals(pq.read_table(path).replace_schema_metadata())
    assert made.explain()


def test_there_is_a_file_of_every_kind() -> None:
    kept = {type(ln.load(path)) for path in FILES}
    assert {kind for what, kind in file_format.KINDS.items() if what != "clip suggestion"} == kept


def test_the_names_in_files_are_as_they_were() -> None:
    stored = json.loads((saved_releases.GOLDEN / "format.json").read_text())
    assert stored == saved_releases.written_format()


@cache
def facts_of(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(KINDS()[name]._facts()))
    return found


def places(facts: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where every fact is: the names that lead to it."""
    if isinstance(facts, dict):
        for name, fact in facts.items():
            yield (*path, name)
            if name not in OPEN:
                yield from places(fact, (*path, name))
    elif isinstance(facts, list) and facts and isinstance(facts[0], dict):
        yield from places(facts[0], (*path, 0))


def reached(facts: Any, path: tuple[Any, ...]) -> Any:
    for name in path:
        facts = facts[name]
    return facts


def read(name: str, facts: dict[str, Any]) -> Any:
    made = KINDS()[name]
    decoder = records.Decoder("r.parquet", made._file_table())
    try:
        return type(made)._loaded(facts, decoder)
    except errors.NotOurs:
        raise
    except Exception as problem:  # as `load` has it
        raise errors.NotOurs("its facts do not fit together") from problem


def is_of_one_type(one: Any, other: Any) -> bool:
    """Whether JSON has them alike: numbers are numbers."""
    if isinstance(one, bool) or isinstance(other, bool):
        return isinstance(one, bool) and isinstance(other, bool)
    numbers = isinstance(one, float) and isinstance(other, int | float)
    return numbers or type(one) is type(other)


@pytest.mark.parametrize("name", NAMES)
@given(st.data())
@settings(deadline=None, max_examples=60)
def test_a_file_with_any_fact_removed_renamed_or_retyped_is_refused(name: str, data: st.DataObject) -> None:
    facts = json.loads(json.dumps(facts_of(name)))
    path = data.draw(st.sampled_from(sorted(places(facts), key=str)))
    inside, last = reached(facts, path[:-1]), path[-1]
    before, change = inside[last], data.draw(st.sampled_from(["removed", "renamed", "retyped"]))
    if change == "retyped":
        hints = nullable(name, path)
        fitting = [one for one in OTHERS if not is_of_one_type(before, one) and not (one is None and hints)]
        fitting = [one for one in fitting if before is not None or isinstance(one, dict) or one == [[None]]]
        inside[last] = data.draw(st.sampled_from(fitting))
    else:
        inside.pop(last)
    if change == "renamed":
        inside[f"{last} "] = before
    with pytest.raises(errors.NotOurs):
        read(name, facts)


def nullable(name: str, path: tuple[Any, ...]) -> bool:
    """Whether the format has null for this fact, too."""
    records_held = described(type(KINDS()[name]))
    words = [fields[path[-1]] for fields in records_held.values() if path[-1] in fields]
    return any("null" in word.split(" or ") for word in words) or any(word == "key" for word in words)


# Facts of the right type that fit nothing, or not each other.
MISFITS: dict[str, dict[str, Any]] = {
    "mean": {
        "provenance/id": "one", "blocks/sum/noise/scale": -1, "blocks/sum/numbers": ["x"],
        "blocks/rows/numbers": "2 <i2 AQACAA==", "reading/within": [5, 0], "reading/half_range": 0,
    },
    "quantiles": {"reading/levels": [2], "reading/steps/bins": 11},
    "sparse": {"domain_size": -5, "thresholding": "count", "threshold": 0, "noise/mechanism": "laplace"},
    "estimate": {
        "risk": -1, "values/shape": [2], "noisy/column": "other", "posterior_std": -1, "noise_kept": 2,
        "provenance/id": "x' or 1",
    },
    "summary": {
        "figures/2/values": 9, "figures/2/over": 1, "figures/2/kind": "count of people", "figures/6/over": 9,
        "figures/6/over ": 0, "columns/2/lowest": -5, "columns/0/grid": 0, "blocks/rows/noise/scale": -1,
        "blocks/rows": None,
    },
    "clip": {
        "drawn": [7, 3], "drawn ": [None, 3], " drawn": [0, 2**20], " drawn ": [0], "levels": [0.9, 0.1],
        "levels ": [0.1],
    },
    "limits": {"layout/bins": 4, "components/blocks/value/numbers/shape": [509], "asked/per_l2": -1},
}  # fmt: skip


@pytest.mark.parametrize(("name", "place"), [(name, place) for name, places in MISFITS.items() for place in places])
def test_facts_that_do_not_fit_are_refused(name: str, place: str) -> None:
    facts = json.loads(json.dumps(facts_of(name)))
    *outer, last = (int(part) if part.isdigit() else part for part in place.strip().split("/"))
    reached(facts, tuple(outer))[last] = MISFITS[name][place]
    with pytest.raises(errors.NotOurs):
        read(name, facts)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_read_is_what_was_written(name: str) -> None:
    """The law above would hold of a reader that refuses everything."""
    assert read(name, facts_of(name)) is not None
