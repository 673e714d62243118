"""The reference of the command line, made from the commands: `python docs/theme/commands.py` renews the page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

PAGE = Path(__file__).resolve().parents[1] / "reference" / "command-line.md"
MARK = "<!-- From here on the page is written by docs/theme/commands.py. -->\n"

HEAD = ("| option | default | meaning |", "|---|---|---|")
SHARED = 4  # commands, from which on an option that says the same in all of them is listed once


def reference() -> str:
    from leastnoise.cli.app import app

    commands = list(_commands(get_command(app), "leastnoise"))
    counts = Counter(_row(option) for _, command in commands for option in _options(command))
    shared = [row for row, count in counts.items() if count >= SHARED]
    lines = [
        "## Shared options",
        "",
        "These options mean the same in every command that takes them.",
        "",
        *HEAD,
        *shared,
        "",
    ]
    for name, command in commands:
        lines += _section(name, command, set(shared))
    return "\n".join(lines)


def renewed(page: str) -> str:
    """The page with its second half as the commands are now."""
    return page.partition(MARK)[0] + MARK + "\n" + reference()


def _commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    if not hasattr(command, "commands"):
        yield name, command
        return
    for child in command.commands.values():
        yield from _commands(child, f"{name} {child.name}")


def _section(name: str, command: Any, shared: set[str]) -> list[str]:
    words, _, example = (command.help or "").partition("Example:")
    example = re.sub(r"\[/?bold\]", "", " ".join(example.split()))
    lines = [f"## {name}", "", _plain(words), ""]
    if example:
        lines += [f"    {example}", ""]
    rows = [_row(option) for option in _options(command)]
    if own := [row for row in rows if row not in shared]:
        lines += [*HEAD, *own, ""]
    if also := [row.split(" | ")[0].removeprefix("| ") for row in rows if row in shared]:
        lines += [f"[Shared](#shared-options): {', '.join(also)}.", ""]
    return lines


def _options(command: Any) -> list[Any]:
    return [option for option in command.params if option.name != "help" and not _hidden(option)]


def _hidden(option: Any) -> bool:
    return bool(getattr(option, "hidden", False))


def _row(option: Any) -> str:
    names = ", ".join(option.opts) if option.param_type_name == "option" else option.name.upper()
    words = _plain(option.help or "")
    if option.required or words.endswith(" Required."):
        default, words = "required", words.removesuffix(" Required.")
    elif option.default is None or option.default is False:
        default = ""
    else:
        default = f"{option.default:g}" if isinstance(option.default, float) else str(option.default)
    return f"| `{names}` | {default} | {words} |"


def _plain(text: str) -> str:
    unmarked = re.sub(r"(?<!\\)\[/?(?:bold|dim|green|red)\]", "", text).replace("\\[", "[")
    return " ".join(unmarked.split()).replace("|", "\\|").replace("[", "\\[")


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text()))
