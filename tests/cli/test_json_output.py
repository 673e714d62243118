"""What the commands print for programs."""

from __future__ import annotations

import json
import math

import pytest

from leastnoise.cli.output import Answer, printed


def print_json(facts: object) -> None:
    """What a command with these facts prints."""

    def command() -> Answer:
        return Answer(facts)

    printed(command)(json=True, quiet=False)


def test_what_is_no_number_or_has_no_end_is_null_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"low": 0.5, "high": math.inf, "rows": [{"ratio": math.nan, "low": -math.inf}]})
    found = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert found == {"low": 0.5, "high": None, "rows": [{"ratio": None, "low": None}]}
