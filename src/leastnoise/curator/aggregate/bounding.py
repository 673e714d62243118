"""Which rows of a unit are kept: drawn by lot, a choice that looks at that unit's rows alone and is the same on every
engine.

A row is (unit, content): its content are the integers that the question reads of it, its bin first, then the code of
each value (value - lowest + 1, and 0 where there is none). A unit's rows of one content are alike, and are numbered
0, 1, 2 ...: which of them has which number decides nothing. A hash of unit, content and number is a row's lot, and the
rows with the smallest lots are kept; rows that tie in it follow each other in the order of their content. So what is
kept is a function of the unit's own rows as a multiset: neither scan order nor a collision decides. *The hash is one,
whatever is asked*: `with_hash`, of 32 bits of the unit and 32 of the content.

Where bin and value fit one integer, `code` holds both (`Coding`): the bin in its high bits.

Every row has a lot of its own, so each is as likely to be kept as any other. (Were the lot of the content alone, equal
rows would be kept or left out together: of a unit with 80 rows of one kind and 20 of another, max_rows = 10 would keep
ten of the one or ten of the other, with even odds, and a share of a fifth would be told as a half.) Without the unit in
the hash every heavy unit would keep the same bins.

The limits act in the order max_per_bin, max_bins, max_rows (other orders keep fewer rows), each by lots of its own
among the rows that are left, which are numbered anew. Bins are drawn as bins, however many rows they hold.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leastnoise._support.type_names import type_name
from leastnoise.curator.aggregate.binning import epoch_days
from leastnoise.curator.engines.engine import Engine
from leastnoise.errors import WrongType
from leastnoise.privacy.sensitivity import Limits

if TYPE_CHECKING:
    import ibis.expr.types as ir

WORD_MASK = 2**32 - 1  # of a word of 32 bits
# Odd and below 2^31, so that a product with a 32-bit word stays below 2^63 and no engine overflows.
MULTIPLIER_1, MULTIPLIER_2, MULTIPLIER_3 = 0x7FEB352D, 0x45D9F3B3, 0x2C1B3C6D
MOST_COPIES = 2**20 - 1  # rows of one unit that are alike and have a lot each
MAX_LIST_LENGTH = 1000  # rows of a unit; beyond this a sort is quicker than a list of smallest values


@dataclass(frozen=True, slots=True)
class Coding:
    """code = bin * 2^value_bits + (value - lowest)."""

    bins: int
    value_bits: int = 0
    lowest: int = 0

    @property
    def size(self) -> int:
        """All codes are below this."""
        return self.bins << self.value_bits

    @property
    def low_bits(self) -> int:
        """By how many bits a code is longer than 32."""
        return max(0, (self.size - 1).bit_length() - 32)

    def bin_of(self, code: ir.IntegerValue) -> ir.IntegerValue:
        return code >> self.value_bits if self.value_bits else code

    def content_of(self, rows: ir.Table) -> ir.IntegerValue:
        """32 bits of what `code` holds: of the bin, and of the value if there is one."""
        code = rows["code"]
        if not self.value_bits:
            return fold(code)
        return next_word(fold(code >> self.value_bits), (code & ((1 << self.value_bits) - 1)) + 1)

    def value_of(self, code: ir.IntegerValue) -> ir.IntegerValue:
        return (code & ((1 << self.value_bits) - 1)) + self.lowest


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


def with_copies(rows: ir.Table, kept: int) -> ir.Table:
    """`rows` with `_copy`, which numbers those that are alike in all columns: 0, 1, 2 ... kept: how many a limit keeps.

    They are counted first, so that of a unit with many rows of few kinds little is sent and sorted. More than
    MOST_COPIES are taken for so many, unless more are kept: they are made anew as one list, and nobody's rows are to
    decide whether that fits into memory. The lot of a unit with a million rows of one kind is hardly changed by it.
    """
    import ibis

    counted = rows.group_by(list(rows.columns)).aggregate(_copies=rows.count())
    copies = ibis.least(counted["_copies"], max(kept, MOST_COPIES))
    return counted.mutate(_copy=ibis.range(0, copies).unnest()).drop("_copies")


def bounded(
    rows: ir.Table, *, unit: tuple[str, ...], coding: Coding, limits: Limits, key: int, engine: Engine
) -> ir.Table:
    """A table of the one column `code`: the rows that are kept. `rows` has the unit, `_unit` and `code`.

    A limit is applied unless those already applied, and the size of the domain, imply it.
    """
    rows = rows.select(*unit, "_unit", "code")
    in_bin, bins = math.inf, float(coding.bins)
    if limits.max_per_bin == 1 < limits.max_rows and coding.value_bits == 0 and coding.size <= WORD_MASK + 1:
        return _one_of_each(rows, unit, coding, limits, key, engine)
    if limits.max_per_bin < limits.max_rows and coding.value_bits == 0:
        rows = _of_equal_rows(rows, unit, coding, limits, key)
        in_bin, bins = limits.max_per_bin, min(_most_bins(limits), bins)
    elif limits.max_per_bin < limits.max_rows:
        rows, in_bin = _within_bins(rows, unit, coding, limits.max_per_bin, key, engine), limits.max_per_bin
    if limits.max_bins < min(limits.max_rows, bins):
        rows, bins = _fewer_bins(rows, unit, coding, limits.max_bins, key ^ MULTIPLIER_3), limits.max_bins
    if in_bin * bins > limits.max_rows:
        rows = _fewer_rows(rows, unit, coding, limits.max_rows, key, engine)
    return rows.select("code")


def fits_lists(rows: ir.Table, *, unit: tuple[str, ...], coding: Coding, limits: Limits) -> bool:
    """Whether `unit_lists` keeps the same rows: by public facts, the type of the unit, sizes and limits."""
    names, kind = len(unit), rows[unit[0]].type()
    whole = kind.is_boolean() or kind.is_date() or (kind.is_integer() and kind.nbytes + kind.is_unsigned_integer() <= 8)
    few = coding.bins <= WORD_MASK + 1 and 1 < coding.size <= 2**63 and limits.max_rows <= MAX_LIST_LENGTH
    return names == 1 and whole and few and limits.max_bins >= min(limits.max_rows, coding.bins)


def as_stream(rows: ir.Table, unit: tuple[str, ...]) -> ir.Table:
    """Unit and code of every row, as `unit_lists` takes them: the unit as the integer that `word` folds."""
    kind = rows[unit[0]].type()
    value = epoch_days(rows[unit[0]], unit[0]) if kind.is_date() else rows[unit[0]].cast("int64")
    return rows.select(unit=value, code=rows["code"].cast("int64"))


def _most_bins(limits: Limits) -> float:
    """In how many bins a unit may be, as far as its rows do not say: with one row a bin they do at once."""
    if limits.max_per_bin == 1:
        return min(limits.max_bins, limits.max_rows)
    return limits.max_bins if limits.max_bins < limits.max_rows else math.inf


def _one_of_each(
    rows: ir.Table, unit: tuple[str, ...], coding: Coding, limits: Limits, key: int, engine: Engine
) -> ir.Table:
    """One row a bin, and rows of a bin are alike: the first bins of a unit in the order of (hash, bin), as one integer.
    With them max_bins and max_rows hold as well."""
    if limits.max_bins < limits.max_rows:
        rows = with_hash(rows, key ^ MULTIPLIER_3, content=coding.content_of)
    else:
        rows = with_hash(rows.mutate(_copy=0), key, content=coding.content_of, copy="_copy")
    rows = rows.mutate(code=(rows["_hash"] << 32) | rows["code"])
    count = min(limits.max_bins, limits.max_rows, coding.bins)
    kept = engine.smallest_distinct(
        rows.select(*unit, "code"), unit=list(unit), column="code", count=count, different=coding.bins
    )
    return kept.select(code=kept["code"] & WORD_MASK)


def _of_equal_rows(rows: ir.Table, unit: tuple[str, ...], coding: Coding, limits: Limits, key: int) -> ir.Table:
    """max_per_bin and max_bins where rows of one unit and bin are all alike: both are read off one order of its rows.

    Equal rows follow each other: `row_number` less `rank` numbers them, and `dense_rank` numbers the bins.
    """
    import ibis

    key = key ^ MULTIPLIER_3 if limits.max_bins < limits.max_rows else key
    rows = with_hash(rows, key, content=coding.content_of)
    within = ibis.window(group_by=list(unit), order_by=["_hash", "code"])
    copy = ibis.row_number().over(within) - ibis.rank().over(within)
    rows = rows.mutate(_copy=copy, _bin=ibis.dense_rank().over(within))  # together: apart they would be two sorts
    kept = rows.filter(rows["_copy"] < limits.max_per_bin)
    kept = kept.filter(kept["_bin"] < _most_bins(limits)) if _most_bins(limits) < coding.bins else kept
    return kept.drop("_bin", "_hash")


def _within_bins(
    rows: ir.Table, unit: tuple[str, ...], coding: Coding, count: int, key: int, engine: Engine
) -> ir.Table:
    rows = with_copies(rows.mutate(_bin=coding.bin_of(rows["code"])), count)
    rows = with_hash(rows, key ^ MULTIPLIER_2, content=coding.content_of, copy="_copy")
    keep = [*unit, "_unit", "code"]
    return engine.first(rows, unit=[*unit, "_bin"], order=["_hash", "code"], count=count, keep=keep)


def _fewer_bins(rows: ir.Table, unit: tuple[str, ...], coding: Coding, count: int, key: int) -> ir.Table:
    """The order depends on unit and bin alone, so the dense rank numbers the distinct bins of a unit."""
    import ibis

    rows = rows.mutate(_bin=coding.bin_of(rows["code"]))
    rows = with_hash(rows, key, content=content_of("_bin"))
    within = ibis.window(group_by=list(unit), order_by=["_hash", "_bin"])
    rows = rows.mutate(_rank=ibis.dense_rank().over(within))
    return rows.filter(rows["_rank"] < count).drop("_rank", "_hash", "_bin")


def _fewer_rows(
    rows: ir.Table, unit: tuple[str, ...], coding: Coding, count: int, key: int, engine: Engine
) -> ir.Table:
    """The rows with the smallest (hash, code). Where both fit one integer, it is found without a sort."""
    rows = rows if "_copy" in rows.columns else with_copies(rows, count)
    rows = with_hash(rows, key, content=coding.content_of, copy="_copy")
    if coding.size <= WORD_MASK + 1 and count <= MAX_LIST_LENGTH:
        rows = rows.mutate(code=(rows["_hash"] << 32) | rows["code"])
        kept = engine.smallest(rows.select(*unit, "code"), unit=list(unit), column="code", count=count)
        return kept.mutate(code=kept["code"] & WORD_MASK)
    return engine.first(rows, unit=list(unit), order=["_hash", "code"], count=count, keep=["code"])


def mixed(rows: ir.Table, name: str) -> ir.Table:
    """A bijection of 32-bit words in which every input bit flips every output bit about half of the time."""
    rows = rows.mutate(**{name: (rows[name] ^ (rows[name] >> 16)) * MULTIPLIER_2 & WORD_MASK})
    rows = rows.mutate(**{name: (rows[name] ^ (rows[name] >> 15)) * MULTIPLIER_3 & WORD_MASK})
    return rows.mutate(**{name: rows[name] ^ (rows[name] >> 16)})
