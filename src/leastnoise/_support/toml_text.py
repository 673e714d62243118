"""Values as TOML writes them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Any


def name(word: str) -> str:
    """A key; quoted where it must be."""
    return word if re.fullmatch(r"[A-Za-z0-9_-]+", word) else text(word)


def text(word: str) -> str:
    """As TOML quotes it: like JSON, and the one control character that JSON leaves as it is."""
    return json.dumps(word, ensure_ascii=False).replace("\x7f", "\\u007f")


def value(found: Any) -> str:
    """One value: a text, a number, a day or time, a list, or a table on one line.

    >>> value({"range": [18, 100], "labels": ["young", "old"], "exact": Decimal("0.10")})
    '{ range = [18, 100], labels = ["young", "old"], exact = 0.10 }'
    """
    if isinstance(found, bool):
        return "true" if found else "false"
    if isinstance(found, str):
        return text(found)
    if isinstance(found, Decimal):
        return str(found)
    if isinstance(found, Mapping):
        return "{ " + ", ".join(f"{name(key)} = {value(each)}" for key, each in found.items()) + " }"
    if isinstance(found, list | tuple):
        return f"[{', '.join(map(value, found))}]"
    return found.isoformat() if isinstance(found, date) else repr(found)  # a datetime is a date


def document(found: Mapping[str, Any]) -> str:
    """A whole file: values first, then a section for every table that is not empty."""
    lines = [f"{name(key)} = {value(each)}" for key, each in found.items() if not isinstance(each, Mapping)]
    for key, section in found.items():
        if isinstance(section, Mapping) and section:
            lines += ["", f"[{name(key)}]", *(f"{name(word)} = {value(each)}" for word, each in section.items())]
    return "\n".join(lines).lstrip("\n") + "\n"
