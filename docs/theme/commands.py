"""The reference of the command line, made from the commands: `python docs/theme/commands.py` renews the page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from typer.main import get_command

PAGE = Path(__file__).resolve().parents[1] / "command-line.md"
MARK = "<!-- From here on the page is written by docs/theme/commands.py. -->\n"


def reference() -> str:
    from leastnoise.cli.app import app

    return "\n".join(_sections(get_command(app), "leastnoise"))


def renewed(page: str) -> str:
    """The page with its second half as the commands are now."""
    return page.partition(MARK)[0] + MARK + "\n" + reference()


def _sections(command: Any, name: str) -> list[str]:
    if hasattr(command, "commands"):
        return [part for child in command.commands.values() for part in _sections(child, f"{name} {child.name}")]
    words, _, example = (command.help or "").partition("Example:")
    example = re.sub(r"\[/?bold\]", "", " ".join(example.split()))
    lines = [f"## {name}", "", _plain(words), ""]
    if example:
        lines += [f"    {example}", ""]
    if rows := [_row(option) for option in command.params if option.name != "help" and not _hidden(option)]:
        lines += ["| option | default | what it says |", "|---|---|---|", *rows, ""]
    return lines


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
    return " ".join(unmarked.split()).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text()))
