"""Records: values as JSON objects and back, driven by their type hints.

A record is a frozen dataclass. Every field is written under its name, or under the one that its metadata has as
"stored", so that an attribute can be renamed and no file changes. Reading is strict: every field is there and of its
type, and no other is. A union of records is written with the name of the class as "type".

What a type cannot say of its values is in `_fits`, or for classes from elsewhere in `CHECKS`: by field, whether it is
as it must be. The names that files have are frozen in tests/golden/format.json, as `described` tells them.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import os
import re
import types
import typing
from collections.abc import Callable, Collection, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple, NoReturn

import numpy as np

from leastnoise import errors


class Codec(NamedTuple):
    """How values of one type are written and read."""

    write: Callable[[Any], Any]
    read: Callable[[Any], Any]  # raises for what `write` never wrote


def _read_fraction(text: str) -> Fraction:
    """Of plain digits alone: an exponent could stand for a number that no memory holds."""
    if not re.fullmatch(r"-?[0-9]{1,400}(/[0-9]{1,400})?", text):
        raise ValueError("no fraction")
    return Fraction(text)


TEXTS: dict[type, Codec] = {  # each is written as a text
    datetime: Codec(datetime.isoformat, datetime.fromisoformat),
    date: Codec(date.isoformat, date.fromisoformat),
    time: Codec(time.isoformat, time.fromisoformat),
    Decimal: Codec(str, Decimal),
    Fraction: Codec(str, _read_fraction),
    bytes: Codec(bytes.hex, bytes.fromhex),
}
RECORDS: dict[
    Any, tuple[type, Callable[[Any], Any], Callable[[Any], Any]]
] = {}  # written as a record, and made from it
UNIONS: dict[Any, tuple[type, ...]] = {}  # types that stand for several records
HINTS: dict[tuple[type, str], Any] = {}  # of fields whose own hints say less; None: the field is not in files
CHECKS: dict[type, Callable[[Any], Mapping[str, bool]]] = {}  # of classes without `_fits`
Overflowing = typing.Annotated[float, "or infinite"]  # a number that may have overflowed
Json = typing.Annotated[Any, "JSON"]  # whatever JSON holds
PLAIN = (bool, int, float, str)


class _Field(NamedTuple):
    name: str
    stored: str
    hint: Any


@functools.cache
def _every_field(kind: type) -> tuple[_Field, ...]:
    """The fields of a record, with what they are called in files."""
    hints = typing.get_type_hints(kind, include_extras=True)
    found = []
    for field in dataclasses.fields(kind):
        hint = HINTS.get((kind, field.name), hints[field.name])
        if field.init and hint is not None:
            found.append(_Field(field.name, field.metadata.get("stored", field.name), hint))
    return tuple(found)


def _fields(kind: type, without: Collection[str] = ()) -> list[_Field]:
    return [field for field in _every_field(kind) if field.name not in without]


def _alternatives(hint: Any) -> tuple[Any, ...]:
    """The types that a hint stands for: several for a union."""
    if hint in UNIONS:
        return UNIONS[hint]
    return typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)


def _array_kinds(hint: Any) -> str:
    """The kinds of numbers that an array of this hint may hold."""
    return "".join(np.dtype(typing.get_args(typing.get_args(one)[1])[0]).kind for one in _alternatives(hint))


def _is_array(hint: Any) -> bool:
    return all(typing.get_origin(one) is np.ndarray for one in _alternatives(hint))


# Writing


def encode(hint: Any, value: Any, *, without: Collection[str] = ()) -> Any:
    """The value as JSON holds it.

    hint: its type. without: fields of a record that are not written.
    """
    if value is None:
        return None
    if hint is Any:
        return _encode_key(value)
    if hint == Json:
        return value
    if hint in TEXTS:
        return TEXTS[hint].write(value)
    if hint in RECORDS:
        kind, to_record, _ = RECORDS[hint]
        return encode(kind, to_record(value))
    if _is_array(hint):
        return value.tolist()
    if dataclasses.is_dataclass(hint):
        return _encode_record(typing.cast(type, hint), value, without)
    several = [one for one in _alternatives(hint) if one is not type(None)]
    if len(several) > 1 or several[0] is not hint:
        return _encode_one_of(several, value)
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple:
        return [encode(one, part) for one, part in zip(_parts(inside, value), value, strict=True)]
    if isinstance(value, Mapping):
        pairs = [(encode(inside[0], key), encode(inside[1], part)) for key, part in value.items()]
        return dict(pairs) if inside[0] is str else [list(pair) for pair in pairs]
    return value


def _encode_record(kind: type, value: Any, without: Collection[str]) -> dict[str, Any]:
    return {field.stored: encode(field.hint, getattr(value, field.name)) for field in _fields(kind, without)}


def _encode_one_of(several: list[Any], value: Any) -> Any:
    """A record among several says which of them it is."""
    for one in several:
        if dataclasses.is_dataclass(one) and type(value) is one:
            tag = {"type": one.__name__} if len(several) > 1 else {}
            return {**tag, **encode(one, value)}
    return encode(several[0], value) if len(several) == 1 else value


def _encode_key(value: Any) -> Any:
    """A key of a bin, whatever it is: JSON has no days."""
    if isinstance(value, tuple):
        return [_encode_key(part) for part in value]
    kind = next((kind for kind in TEXTS if isinstance(value, kind)), None)  # a datetime is a date, too, and comes first
    return value if kind is None else {"type": kind.__name__, "text": TEXTS[kind].write(value)}


# Reading


@dataclasses.dataclass(frozen=True, slots=True)
class Decoder:
    """Reads what `encode` wrote. Every mistake is a NotOurs that names the file and the fact."""

    path: str | os.PathLike[str]

    def record(self, kind: type, found: Any, name: str = "metadata") -> Any:
        """A record, made and checked."""
        fields = self.fields(kind, found, name)
        try:
            made = kind(**fields)
        except Exception:  # whatever a class says of values that do not fit
            self.refuse(name)
        self.check(made)
        return made

    def fields(
        self, kind: type, found: Any, name: str = "metadata", *, without: Collection[str] = ()
    ) -> dict[str, Any]:
        """The fields of a record by their names, all but those `without` which it was written."""
        if not isinstance(found, dict):
            self.refuse(name)
        fields = _fields(kind, without)
        if unknown := sorted(found.keys() - {field.stored for field in fields}):
            raise errors.NotOurs(
                f"{os.fspath(self.path)!r} has facts that this version does not know ({', '.join(unknown)}). "
                "Upgrade: pip install -U leastnoise"
            )
        for field in fields:
            if field.stored not in found:
                raise errors.NotOurs(f"{os.fspath(self.path)!r} lacks {field.stored}; it may have been edited.")
        return {field.name: self.value(field.hint, found[field.stored], field.stored) for field in fields}

    def check(self, made: Any) -> None:
        """Refuse a record whose fields do not fit."""
        own = CHECKS.get(type(made)) or getattr(type(made), "_fits", None)
        for name, fits in ({} if own is None else own(made)).items():
            if not fits:
                self.refuse(name)

    def value(self, hint: Any, found: Any, name: str) -> Any:
        """A value of any type."""
        if hint is Any:
            return self._key(found, name)
        if hint == Json:
            return found
        if hint in TEXTS:
            return self._text(hint, found, name)
        if hint in RECORDS:
            kind, _, from_record = RECORDS[hint]
            return from_record(self.value(kind, found, name))
        if _is_array(hint):
            return self._array(_array_kinds(hint), found, name)
        if dataclasses.is_dataclass(hint):
            return self.record(typing.cast(type, hint), found, name)
        several = _alternatives(hint)
        if several != (hint,):
            return self._one_of(several, found, name)
        if hint in PLAIN or typing.get_origin(hint) is typing.Annotated:
            return self._plain(hint, found, name)
        return self._many(typing.get_origin(hint), typing.get_args(hint), found, name)

    def _one_of(self, several: tuple[Any, ...], found: Any, name: str) -> Any:
        if found is None and type(None) in several:
            return None
        several = tuple(one for one in several if one is not type(None))
        if len(several) == 1:
            return self.value(several[0], found, name)
        if set(several) == {int, float}:
            return self.value(type(found) if type(found) in several else int, found, name)
        if not isinstance(found, dict):
            self.refuse(name)
        kind = next((one for one in several if one.__name__ == found.get("type")), None)
        if kind is None:
            self.refuse(name)
        return self.record(kind, {key: part for key, part in found.items() if key != "type"}, name)

    def _plain(self, hint: Any, found: Any, name: str) -> Any:
        kind, endless = (float, True) if hint == Overflowing else (hint, False)
        if kind is float and type(found) is int:
            try:
                found = float(found)
            except OverflowError:
                self.refuse(name)
        if type(found) is not kind or (kind is float and not endless and not math.isfinite(found)):
            self.refuse(name)
        return found

    def _many(self, origin: Any, inside: tuple[Any, ...], found: Any, name: str) -> Any:
        """Of a word, whether it is one of those; of tuples and mappings, each part."""
        if origin is typing.Literal:
            if not isinstance(found, str) or found not in inside:
                self.refuse(name)
            return found
        if origin is tuple:
            if not isinstance(found, list) or (Ellipsis not in inside and len(found) != len(inside)):
                self.refuse(name)
            return tuple(self.value(one, part, name) for one, part in zip(_parts(inside, found), found, strict=True))
        if inside[0] is str:
            if not isinstance(found, dict):
                self.refuse(name)
            return {key: self.value(inside[1], part, name) for key, part in found.items()}
        return dict(self._many(tuple, inside, pair, name) for pair in self._list(found, name))

    def _list(self, found: Any, name: str) -> list[Any]:
        if not isinstance(found, list):
            self.refuse(name)
        return found

    def _array(self, kinds: str, found: Any, name: str) -> Any:
        try:
            made = np.array(self._list(found, name))
        except ValueError:  # rows of different lengths
            self.refuse(name)
        if made.dtype.kind not in kinds or (made.dtype.kind == "f" and not np.isfinite(made).all()):
            self.refuse(name)
        return made

    def _text(self, kind: type, found: Any, name: str) -> Any:
        if not isinstance(found, str):
            self.refuse(name)
        try:
            return TEXTS[kind].read(found)
        except (ValueError, ArithmeticError):
            self.refuse(name)

    def _key(self, found: Any, name: str) -> Any:
        if isinstance(found, list):
            return tuple(self._key(part, name) for part in found)
        if not isinstance(found, dict):
            return found
        kind = next((kind for kind in TEXTS if kind.__name__ == found.get("type")), None)
        if kind is None or found.keys() != {"type", "text"}:
            self.refuse(name)
        return self._text(kind, found["text"], name)

    def refuse(self, name: str) -> NoReturn:
        """The fact does not fit."""
        raise errors.NotOurs(f"{os.fspath(self.path)!r} was edited or damaged: its {name} does not fit.")


def _parts(inside: tuple[Any, ...], values: Collection[Any]) -> tuple[Any, ...]:
    """The hints of the parts of a tuple: tuple[int, ...] has one for all."""
    return (inside[0],) * len(values) if Ellipsis in inside else inside


# What files have


def described(kind: type, *, without: Collection[str] = ()) -> dict[str, dict[str, str]]:
    """By record, what its fields are called in files and what they are: the record itself, and all that it holds."""
    found: dict[str, dict[str, str]] = {}
    _describe(kind, found, without)
    return found


def _describe(hint: Any, found: dict[str, dict[str, str]], without: Collection[str] = ()) -> str:
    """The words for a type; records that it holds are described in `found`."""
    if hint in RECORDS:
        return _describe(RECORDS[hint][0], found)
    several = _alternatives(hint)
    if hint in PLAIN or hint in TEXTS or hint is Any or hint is type(None):
        return {type(None): "null", Any: "key"}.get(hint) or str(hint.__name__)
    if hint in (Overflowing, Json):
        return {Overflowing: "float or infinite", Json: "anything"}[hint]
    if _is_array(hint):
        return " or ".join(sorted({{"i": "integers", "f": "floats"}[kind] for kind in _array_kinds(hint)}))
    if dataclasses.is_dataclass(hint):
        kind = typing.cast(type, hint)
        if kind.__name__ not in found:
            found[kind.__name__] = {}
            fields = _fields(kind, without)
            found[kind.__name__] |= {field.stored: _describe(field.hint, found) for field in fields}
        return kind.__name__
    if several != (hint,):
        return " or ".join(_describe(one, found) for one in several)
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return "one of " + ", ".join(map(repr, inside))
    parts = ["..." if one is Ellipsis else _describe(one, found) for one in inside]
    return f"{'list' if origin is tuple else 'object' if inside[0] is str else 'pairs'}[{', '.join(parts)}]"
