"""Options are declared once, and those that go together reach a command as one value."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, ClassVar

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

import leastnoise as ln
from leastnoise import errors
from leastnoise.cli import needed_options, option_groups, options
from leastnoise.cli.app import app
from leastnoise.curator.budget import shares
from leastnoise.curator.request import PrivacyRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    panel: ClassVar[str] = "How large"

    name: Annotated[str, typer.Argument(help="Of what.")]
    wide: Annotated[int, typer.Option(help="In metres.")]
    high: Annotated[int, typer.Option("--high", "-h", help="In metres too.")] = 2


def test_a_group_becomes_options_and_comes_back_as_one_value() -> None:
    seen: list[Any] = []
    program = typer.Typer()

    @program.command()
    @option_groups.grouped
    def draw(size: Size, colour: Annotated[str, typer.Option(help="A word.")] = "red") -> None:
        """Draw it."""
        seen.append((size, colour))

    run = CliRunner().invoke
    assert run(program, ["box", "--wide", "3"]).exit_code == 0
    assert run(program, ["box", "--wide", "3", "-h", "4", "--colour", "blue"]).exit_code == 0
    assert seen == [(Size(name="box", wide=3), "red"), (Size(name="box", wide=3, high=4), "blue")]
    assert isinstance(run(program, ["box"]).exception, errors.MissingParameter)
    text = run(program, ["--help"], env={"COLUMNS": "200", "TERM": "dumb"}).output
    for words in ("Draw it.", "How large", "In metres too.", "[default: 2]", "A word."):
        assert words in text


def test_the_six_options_of_privacy_are_one_request(tmp_path: Path) -> None:
    ledger = str(tmp_path / "city.ledger")
    ln.Budget.open(ledger, epsilon=1, delta=1e-6)
    request = options.PrivacyOptions(budget=ledger, share="0.1").request()
    assert isinstance(request, PrivacyRequest)
    assert request.share == "0.1"  # as typed: no double is a tenth
    typed = [field.name for field in fields(options.PrivacyOptions)]
    # here alone an allocation is named, and a promise refused; which mechanisms there are, the question says
    asked = [field.name for field in fields(PrivacyRequest) if field.name != "mechanisms"]
    assert typed == [*asked, "allocation", "force"]


@pytest.mark.parametrize("share", ["a", "nan", "inf", "1e999999999", ""])
def test_a_share_that_is_no_number_is_refused(share: str) -> None:
    with pytest.raises(errors.WrongType, match="a number or a fraction") as refused:
        shares.exact(share)
    assert refused.value.examples[0] == {"share": 0.25}


@pytest.mark.parametrize("clip", ["1", "1,2,3", "a,b", ""])
def test_a_clip_that_is_no_pair_is_refused(clip: str) -> None:
    with pytest.raises(errors.InvalidParameter, match="--clip takes two numbers"):
        options.ValueOptions(column="x", clip=clip).ends()
    assert options.ValueOptions(column="x", clip="-1,2.5").ends() == (-1.0, 2.5)


def test_every_command_that_releases_takes_the_same_options_of_privacy_and_output() -> None:
    commands = get_command(app).commands  # type: ignore[attr-defined]
    groups = (options.PrivacyOptions, options.OutputOptions)
    wanted = {field.name for group in groups for field in fields(group)}
    for name in ("count", "histogram", "sum", "mean", "quantile", "release"):
        assert wanted <= {option.name for option in commands[name].params}, name


@pytest.mark.parametrize(
    ("command", "missing", "given"),
    [
        ("count", "unit", []),
        ("sum", "column", ["--unit", "a", "--clip", "0,1"]),
        ("sum", "clip", ["--unit", "a", "--column", "b"]),
        ("histogram", "by", ["--unit", "a"]),
        ("crosstabs", "keys", ["--unit", "a"]),
    ],
)
def test_what_is_needed_is_asked_for_in_our_words(command: str, missing: str, given: list[str]) -> None:
    asked = [command, "none.csv", *given, "--epsilon", "1", "--delta", "1e-6", "-o", "out.parquet"]
    found = CliRunner().invoke(app, asked)
    assert isinstance(found.exception, errors.MissingParameter)
    assert found.exception.parameter == missing
    assert str(found.exception.message).startswith(needed_options.NEEDED[missing][0])
