"""The facts in a file's metadata, read one by one: each must be there, and have the type that it must have."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NoReturn, TypeVar

from leastnoise import errors

Word = TypeVar("Word", bound=str)


class Facts:
    """A JSON object of a file. Every mistake in it is a NotOurs that names the file and the fact.

    >>> facts = Facts({"bins": 3, "unit": None}, "release.parquet")
    >>> facts.integer("bins"), facts.optional_text("unit")
    (3, None)
    """

    def __init__(self, found: object, path: str | os.PathLike[str], name: str = "metadata") -> None:
        self._path = os.fspath(path)
        if not isinstance(found, dict):
            self._refuse(name)
        self._found: dict[str, Any] = dict(found)

    def texts_by_name(self, name: str) -> dict[str, str]:
        """Texts by their names."""
        found = self.take(name)
        texts = found.values() if isinstance(found, dict) else [None]
        if not all(isinstance(text, str) and text.isprintable() for text in texts):
            self._refuse(name)
        return dict(found)

    def take(self, name: str) -> Any:
        """A fact of any type."""
        if name not in self._found:
            raise errors.NotOurs(f"{self._path!r} lacks {name}; it may have been edited.")
        return self._found.pop(name)

    def peek(self, name: str) -> Any:
        """A fact of any type, which stays."""
        return self._found.get(name)

    def has(self, name: str) -> bool:
        """Whether the fact is there: files of earlier versions lack some."""
        return name in self._found

    def facts(self, name: str) -> Facts:
        """An object within this one."""
        return Facts(self.take(name), self._path, name)

    def list_of_facts(self, name: str) -> list[Facts]:
        """A list of objects within this one."""
        value = self.take(name)
        self.check(name, isinstance(value, list))
        return [Facts(one, self._path, name) for one in value]

    def optional_facts(self, name: str) -> Facts | None:
        """An object within this one, or null."""
        return None if self._skip(name) else self.facts(name)

    def text(self, name: str) -> str:
        """A text."""
        value = self.take(name)
        self.check(name, isinstance(value, str))
        return str(value)

    def optional_text(self, name: str) -> str | None:
        """A text or null."""
        return None if self._skip(name) else self.text(name)

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts."""
        value = self.take(name)
        self.check(name, isinstance(value, list) and all(isinstance(one, str) for one in value))
        return tuple(value)

    def word(self, name: str, choices: Sequence[Word]) -> Word:
        """One of these words."""
        value = self.take(name)
        self.check(name, isinstance(value, str) and value in choices)
        chosen: Word = value
        return chosen

    def number(self, name: str) -> float:
        """A finite number."""
        value = self.take(name)
        self.check(name, _is_number(value) and abs(value) < math.inf)
        return self._double(name, value)

    def optional_number(self, name: str) -> float | None:
        """A finite number or null."""
        return None if self._skip(name) else self.number(name)

    def any_number(self, name: str) -> float | None:
        """A number that may have overflowed, or null."""
        if self._skip(name):
            return None
        value = self.take(name)
        self.check(name, _is_number(value))
        return self._double(name, value)

    def numbers(self, name: str) -> list[int] | list[float]:
        """A list of finite numbers, as whole or as real as they were written."""
        value = self.take(name)
        self.check(name, isinstance(value, list) and all(_is_number(one) and abs(one) < math.inf for one in value))
        listed: list[int] | list[float] = value
        return listed

    def integer(self, name: str) -> int:
        """An integer."""
        value = self.take(name)
        self.check(name, _is_integer(value))
        return int(value)

    def optional_integer(self, name: str) -> int | None:
        """An integer or null."""
        return None if self._skip(name) else self.integer(name)

    def integers_by_name(self, name: str) -> dict[str, int]:
        """Integers by name."""
        value = self.take(name)
        self.check(name, isinstance(value, dict) and all(map(_is_integer, value.values())))
        return dict(value)

    def flag(self, name: str) -> bool:
        """True or false."""
        value = self.take(name)
        self.check(name, isinstance(value, bool))
        return bool(value)

    def time(self, name: str) -> datetime:
        """A time as ISO 8601 writes it."""
        try:
            return datetime.fromisoformat(self.text(name))
        except ValueError:
            self._refuse(name)

    def check(self, name: str, fits: bool) -> None:
        """Refuse a fact that does not fit."""
        if not fits:
            self._refuse(name)

    def finish(self) -> None:
        """Refuse facts that nobody has taken: guessing what they mean could mislead."""
        if self._found:
            raise errors.NotOurs(
                f"{self._path!r} has facts that this version does not know ({', '.join(sorted(self._found))}). "
                "Upgrade: pip install -U leastnoise"
            )

    def _skip(self, name: str) -> bool:
        """Whether the fact is null, which is then taken."""
        if name in self._found and self._found[name] is None:
            self._found.pop(name)
            return True
        return False

    def _double(self, name: str, value: Any) -> float:
        try:
            return float(value)
        except OverflowError:
            self._refuse(name)

    def _refuse(self, name: str) -> NoReturn:
        raise errors.NotOurs(f"{self._path!r} was edited or damaged: its {name} does not fit.")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
