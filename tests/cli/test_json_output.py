"""What the commands print for programs."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from datetime import date

import pytest

from leastnoise.cli.output import Answer, printed


@dataclass(frozen=True, slots=True)
class Fact:
    """Any value of ours."""

    name: str
    inner: object


def print_json(facts: object) -> None:
    """What a command with these facts prints."""

    def command() -> Answer:
        return Answer(facts)

    printed(command)(json=True, quiet=False)


def test_one_line_with_dataclasses_as_objects(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"fact": Fact("a\nb", Fact("c", None)), "day": date(2024, 2, 29), "numbers": [1, 0.5]})
    (line,) = capsys.readouterr().out.splitlines()
    inner = {"name": "c", "inner": None}
    assert json.loads(line) == {
        "fact": {"name": "a\nb", "inner": inner}, "day": "2024-02-29", "numbers": [1, 0.5]
    }  # fmt: skip


def test_what_is_no_number_or_has_no_end_is_null_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"low": 0.5, "high": math.inf, "rows": [{"ratio": math.nan, "low": -math.inf}]})
    found = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert found == {"low": 0.5, "high": None, "rows": [{"ratio": None, "low": None}]}
