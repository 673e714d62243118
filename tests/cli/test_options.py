"""Options are made from the fields of a job, and what is mistyped is refused in their words."""

from __future__ import annotations

import inspect
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

import leastnoise as ln
from leastnoise import errors
from leastnoise.cli.app import app
from leastnoise.curator.budget import terms
from leastnoise.curator.queries.query import Query
from leastnoise.jobs.fields import SECTIONS, Field
from leastnoise.jobs.file import typed_job
from leastnoise.jobs.questions import QUESTIONS
from leastnoise.jobs.running import request_of

FIELDS = [field for fields in SECTIONS.values() for field in fields.values()]


def test_a_share_is_what_was_typed(tmp_path: Path) -> None:
    ledger = str(tmp_path / "city.ledger")
    ln.Budget.open(ledger, epsilon=1, delta=1e-6)
    table = {"source": "none.parquet", "unit": "taxi"}
    job = typed_job({"table": table, "ask": {"kind": "count"}, "privacy": {"budget": ledger, "share": "0.1"}}, ())
    assert request_of(job, ("auto",)).share == "0.1"  # no double is a tenth


@pytest.mark.parametrize("share", ["a", "nan", "inf", "1e999999999", ""])
def test_a_share_that_is_no_number_is_refused(share: str) -> None:
    with pytest.raises(errors.WrongType, match="a number or a fraction") as refused:
        terms.exact_share(share)
    assert refused.value.examples[0] == {"share": 0.25}


@pytest.mark.parametrize(
    ("name", "text"),
    [("clip", "1"), ("clip", "1,2,3"), ("clip", "a,b"), ("max_rows", "1.5"), ("levels", "0.1,b"), ("ways", "2-b"),
     ("types", "hour"), ("clip_norm", "nan"), ("weights", "a=b"), ("statistics", "count"), ("derive", "=1")],
)  # fmt: skip
def test_a_text_that_a_field_does_not_take_is_refused(name: str, text: str) -> None:
    field = next(field for field in FIELDS if field.name == name)
    with pytest.raises(errors.InvalidParameter, match=f"^{field.flag} takes ") as refused:
        field.read([text])
    assert refused.value.examples == ({name: field.example},)


@pytest.mark.parametrize("field", [field for field in FIELDS if field.example is not None], ids=lambda each: each.name)
def test_an_example_is_of_its_kind_and_is_typed_as_it_is_shown(field: Field) -> None:
    example = tomllib.loads(field.line, parse_float=Decimal)[field.name]
    field.check(example)
    read = field.read(field.shown(example).split("\n"))
    assert read in (example, [example]) or [read] == example


def test_every_command_that_releases_takes_the_same_options_of_privacy() -> None:
    commands = get_command(app).commands  # type: ignore[attr-defined]
    wanted = {*SECTIONS["privacy"], "output", "again", "expect", "json", "quiet"}
    for name in ("count", "histogram", "sum", "mean", "quantile", "vector-sum", "release", "suggest-limits"):
        assert wanted <= {option.name for option in commands[name].params}, name


@pytest.mark.parametrize("kind", QUESTIONS)
def test_the_fields_of_a_question_are_the_parameters_in_python(kind: str) -> None:
    asked, method = QUESTIONS[kind], getattr(ln.Table, kind)
    python = set(inspect.signature(method).parameters) - {"self"}
    assert {*asked.fields, *([] if asked.keys == "none" else ["keys"])} - {"limits"} == python
    for name in asked.fields:
        found = inspect.signature(method).parameters.get(name)
        if found is not None and found.kind is not found.VAR_POSITIONAL and found.default is found.empty:
            assert name in asked.needs


def test_the_fields_of_a_table_and_of_privacy_are_the_parameters_in_python() -> None:
    verbs = {"join", "within", "nearest", "derive", "lattice", "where", "per_unit", "having"}
    assert {*SECTIONS["table"]} - verbs == set(inspect.signature(ln.table).parameters)
    asked: dict[str, Any] = dict(inspect.signature(Query.release).parameters)
    assert {*SECTIONS["privacy"]} - {"allocation", "force"} == set(asked) - {"self"}


@pytest.mark.parametrize(
    ("command", "missing", "given"),
    [
        ("count", "unit", []),
        ("sum", "column", ["--unit", "a", "--clip", "0,1"]),
        ("sum", "clip", ["--unit", "a", "--column", "b"]),
        ("histogram", "by", ["--unit", "a"]),
        ("vector-mean", "clip_norm", ["--unit", "a", "--columns", "b"]),
        ("crosstabs", "keys", ["--unit", "a"]),
    ],
)
def test_what_is_needed_is_asked_for_in_our_words(command: str, missing: str, given: list[str]) -> None:
    asked = [command, "none.csv", *given, "--epsilon", "1", "--delta", "1e-6", "-o", "out.parquet"]
    found = CliRunner().invoke(app, asked)
    assert isinstance(found.exception, errors.MissingParameter)
    assert found.exception.parameter == missing
    assert "?" in str(found.exception.message)
