"""Records: values as JSON objects and back, driven by their type hints.

A record is a frozen dataclass. Every field is written under its name, or under the one that its metadata has as
"stored", so that an attribute can be renamed and no file changes. Reading is strict: every field is there and of its
type, and no other is. A union of records is written with the name of the class as "type".

An array is either a text (`array_text`) or the name of the column of the file that has its numbers.

What a type cannot say of its values is in `_fits`, or for classes from elsewhere in `CHECKS`: by field, whether it is
as it must be. The names that files have are frozen in tests/golden/format.json.
"""

from __future__ import annotations

import base64
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
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from leastnoise import errors

if TYPE_CHECKING:
    import pyarrow as pa


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


class Field(NamedTuple):
    """A field of a record: its name, what it is called in files, and its type."""

    name: str
    stored: str
    hint: Any


@functools.cache
def fields_of(kind: type) -> tuple[Field, ...]:
    """The fields of a record that are in files."""
    hints = typing.get_type_hints(kind, include_extras=True)
    found = []
    for field in dataclasses.fields(kind):
        hint = HINTS.get((kind, field.name), hints[field.name])
        if field.init and hint is not None:
            found.append(Field(field.name, field.metadata.get("stored", field.name), hint))
    return tuple(found)


def alternatives(hint: Any) -> tuple[Any, ...]:
    """The types that a hint stands for: several for a union."""
    if hint in UNIONS:
        return UNIONS[hint]
    return typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)


def array_kinds(hint: Any) -> str:
    """The kinds of numbers that an array of this type may hold, by their letters."""
    return "".join(np.dtype(typing.get_args(typing.get_args(one)[1])[0]).kind for one in alternatives(hint))


def is_array(hint: Any) -> bool:
    """Whether values of this type are arrays."""
    return all(typing.get_origin(one) is np.ndarray for one in alternatives(hint))


# Writing


def encode(hint: Any, value: Any) -> Any:
    """The value, which is of this type, as JSON holds it; arrays are left as they are, for `in_text`."""
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
    if is_array(hint):
        return value
    if dataclasses.is_dataclass(hint):
        return {
            field.stored: encode(field.hint, getattr(value, field.name)) for field in fields_of(typing.cast(type, hint))
        }
    several = [one for one in alternatives(hint) if one is not type(None)]
    if len(several) > 1 or several[0] is not hint:
        return _encode_one_of(several, value)
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple:
        return [encode(one, part) for one, part in zip(_parts(inside, value), value, strict=True)]
    if isinstance(value, Mapping):
        pairs = [(encode(inside[0], key), encode(inside[1], part)) for key, part in value.items()]
        return dict(pairs) if inside[0] is str else [list(pair) for pair in pairs]
    return value


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


def in_text(facts: Any) -> Any:
    """What `encode` made, with arrays as texts."""
    if isinstance(facts, dict):
        return {name: in_text(fact) for name, fact in facts.items()}
    if isinstance(facts, list):
        return list(map(in_text, facts))
    return array_text(facts) if isinstance(facts, np.ndarray) else facts


_ARRAY = re.compile("([0-9]{1,12}(?:x[0-9]{1,12})*) (<(?:i2|i4|i8|f8)) ([A-Za-z0-9+/=]*)")


def array_text(values: NDArray[Any]) -> str:
    """How many numbers it has along each axis, how one of them is stored, and all of them, row by row.

    >>> array_text(np.array([[1, -2, 3]]))
    '1x3 <i2 AQD+/wMA'
    """
    small = [kind for kind in ("<i2", "<i4") if values.dtype.kind == "i" and not (values != values.astype(kind)).any()]
    kind = [*small, "<i8" if values.dtype.kind == "i" else "<f8"][0]
    return f"{'x'.join(map(str, values.shape))} {kind} {base64.b64encode(values.astype(kind).tobytes()).decode()}"


def array_of_text(text: str) -> NDArray[Any]:
    """What `array_text` wrote; ValueError for all else."""
    if (parts := _ARRAY.fullmatch(text)) is None:
        raise ValueError("no array")
    shape, kind, numbers = parts.groups()
    whole = np.frombuffer(base64.b64decode(numbers, validate=True), kind).reshape([int(n) for n in shape.split("x")])
    return whole.astype(np.float64 if kind == "<f8" else np.int64)


# Reading


@dataclasses.dataclass(frozen=True, slots=True)
class InColumn:
    """That a column of the file has the numbers of an array of this shape."""

    column: str
    shape: tuple[int, ...]


def column_of(table: pa.Table | None, name: str) -> Any:
    """A column of numbers of a file, whole: a stranger's may hold anything. Whole numbers past 64 bits are texts."""
    import pyarrow as pa

    assert table is not None
    column = table[name]
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return np.array([int(text) for text in column.to_pylist()], dtype=object)
    if column.null_count or not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise errors.WrongType(f"the column {name} holds no numbers")
    return np.array(column)


@dataclasses.dataclass(frozen=True, slots=True)
class Decoder:
    """Reads what `encode` wrote. Every mistake is a NotOurs that names the file and the fact.

    columns: of the file, which have the numbers of some arrays.
    """

    path: str | os.PathLike[str]
    columns: pa.Table | None = None

    def record(self, kind: type, found: Any, name: str = "metadata") -> Any:
        """A record, made and checked."""
        fields = self.fields(kind, found, name)
        try:
            made = kind(**fields)
        except Exception:  # whatever a class says of values that do not fit
            self.refuse(name)
        self.check(made)
        return made

    def fields(self, kind: type, found: Any, name: str = "metadata") -> dict[str, Any]:
        """The fields of a record by their names."""
        if not isinstance(found, dict):
            self.refuse(name)
        fields = fields_of(kind)
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
        if is_array(hint):
            return self._array(array_kinds(hint), found, name)
        if dataclasses.is_dataclass(hint):
            return self.record(typing.cast(type, hint), found, name)
        several = alternatives(hint)
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
        if isinstance(found, dict):
            values = self._column(found, name)
        else:
            try:
                values = array_of_text(found if isinstance(found, str) else "")
            except ValueError:
                self.refuse(name)
        if values.dtype.kind not in kinds or (values.dtype.kind == "f" and not np.isfinite(values).all()):
            self.refuse(name)
        return values

    def _column(self, found: dict[str, Any], name: str) -> Any:
        """The numbers of a column of the file, in their shape."""
        fields = self.fields(InColumn, found, name)
        if self.columns is None or fields["column"] not in self.columns.column_names:
            self.refuse(name)
        return column_of(self.columns, fields["column"]).reshape(fields["shape"])

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
