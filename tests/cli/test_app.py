"""The command line as a whole: help, version, demo; and what a mistake of ours ends with."""

from __future__ import annotations

from pathlib import Path

import pytest

import leastnoise as ln
from command_line import run


@pytest.mark.parametrize("command", [[], ["sigma"], ["epsilon"], ["delta"], ["plan"], ["compare"], ["demo"]])
def test_help_is_there(command: list[str]) -> None:
    done = run(*command, "--help")
    assert done.returncode == 0
    assert "Usage" in done.stdout


@pytest.mark.slow
def test_version_and_demo() -> None:
    assert run("--version").stdout.strip() == f"leastnoise {ln.__version__}"
    done = run("demo")
    assert done.returncode == 0
    assert "% less variance" in done.stdout
    assert all(f"/{page}.html" in "".join(done.stdout.split()) for page in ("city", "tables"))
    folder, _, command = done.stdout.partition("\ncd ")[2].partition("\n")  # the last word is the studio
    assert command.strip() == "leastnoise studio people.parquet"
    assert {path.name for path in Path(folder).iterdir()} == {"people.parquet", "keys.toml"}
