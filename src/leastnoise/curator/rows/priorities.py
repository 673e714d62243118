"""The hash by which rows of a unit are kept (`rows.keeping`): of 32 bits of the unit and 32 of what is read of a row.

It is a bijection for one unit and one content, written in integers that no engine overflows, so that all engines agree
on it; and a question's public facts are its key, so that questions differ in what they keep.
"""

from __future__ import annotations

import functools
import hashlib
import json
import operator
from collections.abc import Callable, Mapping

import ibis.expr.types as ir

from leastnoise._support.text import type_name
from leastnoise.curator.engines.engine import Engine
from leastnoise.curator.rows.placing import epoch_days
from leastnoise.errors import WrongType

WORD_MASK = 2**32 - 1  # of a word of 32 bits
# Odd and below 2^31, so that a product with a 32-bit word stays below 2^63 and no engine overflows.
MULTIPLIER_1, MULTIPLIER_2, MULTIPLIER_3 = 0x7FEB352D, 0x45D9F3B3, 0x2C1B3C6D


def salt(facts: Mapping[str, object]) -> int:
    """A public 32-bit key from the public facts of a question, as canonical JSON: engines agree on it, questions
    differ in it."""
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "little")


def with_unit_word(rows: ir.Table, unit: tuple[str, ...], engine: Engine) -> ir.Table:
    """`rows` without those of a null unit (they would become one shared person), with a 32-bit word for
    the unit."""
    for column in unit:
        rows = rows.filter(rows[column].notnull())
    rows = rows.mutate(_unit=word(rows[unit[0]], unit[0], engine))
    for column in unit[1:]:
        rows = mixed(rows, "_unit")
        rows = rows.mutate(_unit=rows["_unit"] ^ word(rows[column], column, engine))
    return rows


def word(value: ir.Value, column: str, engine: Engine) -> ir.IntegerValue:
    """32 bits of a value: both halves of an integer, MD5 of a text."""
    kind = value.type()
    if kind.is_string():
        return engine.text_hash(value)
    if kind.is_boolean() or (kind.is_integer() and not (kind.is_unsigned_integer() and kind.nbytes == 8)):
        return fold(value.cast("int64"))
    if kind.is_date():
        return fold(epoch_days(value, column))
    if kind.is_uuid() or kind.is_integer() or (kind.is_decimal() and kind.scale == 0):
        return engine.text_hash(value.cast("string"))
    raise WrongType(
        f'"{column}" holds {type_name(kind)}, which cannot name a unit or a key: two values that look the same '
        "may differ. "
        "Use whole numbers, text, booleans or dates."
    )


def fold(integer: ir.IntegerValue) -> ir.IntegerValue:
    """The 64 bits of an integer as 32: distinct for integers that share their upper half."""
    return ((integer >> 32) * MULTIPLIER_1 & WORD_MASK) ^ (integer & WORD_MASK)


def next_word(content: ir.IntegerValue, integer: ir.IntegerValue) -> ir.IntegerValue:
    """32 bits of a content with one more integer: a step of a polynomial, which mentions `content` once, since what is
    mentioned twice doubles the plan at every step. The product is below 2^63."""
    return (content * MULTIPLIER_2 + fold(integer)) & WORD_MASK


def content_of(*columns: str) -> Callable[[ir.Table], ir.IntegerValue]:
    """32 bits of a content whose integers are in these columns."""

    def content(rows: ir.Table) -> ir.IntegerValue:
        made = fold(rows[columns[0]].cast("int64"))
        for column in columns[1:]:
            made = next_word(made, rows[column].cast("int64"))
        return made

    return content


def with_key_word(rows: ir.Table, columns: tuple[str, ...], engine: Engine) -> ir.Table:
    """`rows` with `_place`, 32 bits of the keys in these columns, as the bin of a row whose keys nobody lists; and with
    `_nulls`, a bit for each of them that is missing: engines do not agree on where null stands in an order."""
    words = [f"_word{place}" for place in range(len(columns))]
    nulls = functools.reduce(
        operator.add, [rows[column].isnull().cast("int64") << place for place, column in enumerate(columns)]
    )
    rows = rows.mutate(_nulls=nulls)
    for made, column in zip(words, columns, strict=True):
        rows = rows.mutate(**{made: word(rows[column], column, engine).fill_null(0)})
    return rows.mutate(_place=content_of(*words, "_nulls")(rows)).drop(*words)


def with_hash(
    rows: ir.Table,
    key: int,
    *,
    content: Callable[[ir.Table], ir.IntegerValue],
    name: str = "_hash",
    copy: str | None = None,
) -> ir.Table:
    """`rows` with a 31-bit hash of unit and content, and of the number `copy` if there is one; one `mutate` a step, as
    nested text doubles at every shift.

    For one unit the hash is a bijection of the content's 32 bits, and for one content of its copies, cut to 31 bits:
    at most two of them ever tie.
    """
    rows = rows.mutate(**{name: rows["_unit"] ^ key})
    rows = rows.mutate(**{name: (rows[name] ^ (rows[name] >> 16)) * MULTIPLIER_1 & WORD_MASK})
    rows = rows.mutate(**{name: rows[name] ^ content(rows)})
    rows = mixed(rows, name)
    if copy is not None:
        rows = mixed(rows.mutate(**{name: rows[name] ^ (rows[copy] & WORD_MASK)}), name)
    return rows.mutate(**{name: rows[name] >> 1})


def mixed(rows: ir.Table, name: str) -> ir.Table:
    """A bijection of 32-bit words in which every input bit flips every output bit about half of the time."""
    rows = rows.mutate(**{name: (rows[name] ^ (rows[name] >> 16)) * MULTIPLIER_2 & WORD_MASK})
    rows = rows.mutate(**{name: (rows[name] ^ (rows[name] >> 15)) * MULTIPLIER_3 & WORD_MASK})
    return rows.mutate(**{name: rows[name] ^ (rows[name] >> 16)})
