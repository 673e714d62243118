"""Which rows of a unit are kept: one rule for every question and every engine, as SQL and as a loop.

A row is (unit, content): its content are the integers that the question reads of it, its bin first, then the code of
each value (value - lowest + 1, and 0 where there is none). A unit's rows of one content are alike, and are numbered
0, 1, 2 ...: which of them has which number decides nothing. A hash of unit, content and number is a row's priority, and
the rows with the smallest are kept; rows that tie in it follow each other in the order of their content. So what is
kept is a function of the unit's own rows as a multiset: neither scan order nor a collision decides. *The hash is one,
whatever is asked*: `priorities.with_hash`, of 32 bits of the unit and 32 of the content.

Every row has a priority of its own, so each is as likely to be kept as any other. (Were it that of the content alone,
equal rows would be kept or left out together: of a unit with 80 rows of one kind and 20 of another, max_rows = 10 would
keep ten of the one or ten of the other, with even odds, and a share of a fifth would be told as a half.) Without the
unit in the hash every heavy unit would keep the same bins.

The hash is public, and is no secret that privacy rests on: whichever of its rows a unit may bring through, they are no
more than the limits, which is all that the noise counts on. Nor does it matter where 32 bits of two units agree: rows
are grouped and limited by the units themselves.

The limits act in the order max_per_bin, max_bins, max_rows (other orders keep fewer rows), each by priorities of its
own among the rows that are left, which are numbered anew. Bins compete as bins, however many rows they hold.

Of a large table the engine sorts the rows by unit, bin and content, on disk where memory ends, and hands them to the
loop: there a unit is a run, so is a bin, and so are rows that are alike. Where bins compete they are sorted by their
hashes, so that the first are kept. (Any order of the content would do that puts equal values next to each other, but
for rows that tie: these follow it.) Between two rows the loop holds what the limits may still keep of one unit: no
unit's rows have to fit into memory, and which way a table goes, what is asked of the engine and how much memory it
takes depend on sizes, types and limits, but on nobody's rows.

SQL and the loop have to agree on every table, not on most: the number of rows, by which one of them is asked, may be
another without one unit's, and what is kept of the other units must not be. (The proof is in `keeping_loop`.)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from leastnoise.curator.engines.engine import Engine
from leastnoise.curator.rows import priorities
from leastnoise.curator.rows.priorities import MULTIPLIER_2, MULTIPLIER_3
from leastnoise.privacy.sensitivity import Limits

MANY_ROWS = 2**20  # from here on the loop is quicker than SQL, although a compiler has to be loaded: half a second
MOST_COPIES = 2**20 - 1  # rows of one unit that are alike and have a priority each
MOST_ROWS = 2**32  # of one unit: more than there are
MOST_HELD = 2**20  # rows of one unit between two rows of the loop: 16 MB
BIN_HASH = "_bin_hash"  # the column by which bins compete


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What is kept of rows that have these columns, and `_unit`, 32 bits of the unit.

    unit: whose rows they are. bin: what names a bin; by its first column, an integer, it is hashed. codes: the other
    integers of a content. rest: what rows are ordered by that are of one content and not alike. keep: the columns of
    the rows that are kept. bins: how many there are; None: nobody knows.
    """

    unit: tuple[str, ...]
    bin: tuple[str, ...]
    codes: tuple[str, ...] = ()
    rest: tuple[str, ...] = ()
    keep: tuple[str, ...]
    limits: Limits
    bins: int | None = None
    key: int

    @property
    def order(self) -> list[str]:
        """By which a unit's rows are ordered, and those that tie."""
        return [*([BIN_HASH] if self.limits_bins else []), *self.bin, *self.codes, *self.rest]

    @property
    def limits_rows_of_bins(self) -> bool:
        """Whether max_per_bin is a limit of its own."""
        return self.limits.max_per_bin < self.limits.max_rows

    @property
    def most_alike(self) -> int:
        """How many rows of one content have a priority each."""
        return MOST_ROWS if self.rest else MOST_COPIES

    @property
    def bins_are_contents(self) -> bool:
        """Whether the rows of a bin are all alike: as many as the limit says are any of them."""
        return not (self.codes or self.rest)

    @property
    def limits_bins(self) -> bool:
        """Whether max_bins is a limit of its own."""
        in_all = math.inf if self.bins is None else self.bins
        return self.limits.max_bins < min(self.limits.max_rows, in_all)

    @property
    def limits_rows(self) -> bool:
        """Whether max_rows is a limit that the others do not imply."""
        bins = self.limits.max_bins if self.limits_bins else math.inf if self.bins is None else self.bins
        in_bin = self.limits.max_per_bin if self.limits_rows_of_bins else math.inf
        return in_bin * bins > self.limits.max_rows

    @property
    def fits_loop(self) -> bool:
        """Whether what the loop holds of one unit is little: by the limits alone. So max_rows is at most MOST_COPIES,
        and SQL and the loop number as many rows that are alike."""
        return self.limits.max_rows + min(self.limits.max_per_bin, self.limits.max_rows) <= MOST_HELD


@contextmanager
def kept(rows: ir.Table, rule: Rule, engine: Engine) -> Iterator[ir.Table]:
    """The rows that are kept, while the block lasts: as an expression, or found by the loop. It needs a compiler;
    without one, SQL finds the same."""
    if not (rule.fits_loop and engine.size(rows) >= MANY_ROWS and _compiled(engine)):
        yield in_sql(rows, rule)
        return
    word = () if _is_word(rows, rule.unit) else ("_unit",)
    columns = dict.fromkeys([*rule.unit, *word, *rule.order, *rule.keep])
    order = [*rule.unit, *rule.order]
    rows = with_bin_hash(rows, rule).select(*columns)
    with engine.sorted_through(rows, unit=rule.unit, order=order, keep=rule.keep, work=Loop(rule)) as found:
        yield found


def _is_word(rows: ir.Table, unit: tuple[str, ...]) -> bool:
    """Whether 32 bits of the unit are those of one integer that is a column already."""
    kind = rows[unit[0]].type()
    return len(unit) == 1 and (
        kind.is_boolean() or (kind.is_integer() and kind.nbytes + kind.is_unsigned_integer() <= 8)
    )


def with_bin_hash(rows: ir.Table, rule: Rule) -> ir.Table:
    """`rows`, with the hash of each unit's bins where these compete."""
    if not rule.limits_bins:
        return rows
    content = priorities.content_of(rule.bin[0])
    return priorities.with_hash(rows, rule.key ^ MULTIPLIER_3, content=content, name=BIN_HASH)


def in_sql(rows: ir.Table, rule: Rule) -> ir.Table:
    """The rows that are kept. A limit is applied unless those already applied, and the number of bins, imply it."""
    unit, limits = [*rule.unit], rule.limits
    rows = with_bin_hash(rows, rule).select(*dict.fromkeys([*unit, "_unit", *rule.order, *rule.keep]))
    if rule.limits_rows_of_bins and rule.bins_are_contents:
        rows = _numbered(rows, rule, limits.max_per_bin)
        rows = rows.filter(rows["_copy"] < limits.max_per_bin)
    elif rule.limits_rows_of_bins:
        rows = _smallest(rows, rule, [*unit, *rule.bin], limits.max_per_bin, rule.key ^ MULTIPLIER_2)
    if rule.limits_bins:
        within = ibis.window(group_by=unit, order_by=[BIN_HASH, *rule.bin])
        rows = rows.mutate(_rank=ibis.dense_rank().over(within))
        rows = rows.filter(rows["_rank"] < limits.max_bins).drop("_rank")
    if rule.limits_rows:
        rows = _smallest(rows, rule, unit, limits.max_rows, rule.key)
    return rows.select(*rule.keep)


def _smallest(rows: ir.Table, rule: Rule, group: Sequence[str], count: int, key: int) -> ir.Table:
    """Of each group the `count` rows with the smallest priorities."""
    rows = ranked(rows, rule, group, count, key)
    return rows.filter(rows["_rank"] <= count).drop("_rank", "_copy")


def ranked(rows: ir.Table, rule: Rule, group: Sequence[str], count: int, key: int) -> ir.Table:
    """`rows` with `_rank`: 1, 2, 3 ... in each group by priority. count: how many are kept."""
    rows = rows if "_copy" in rows.columns else _numbered(rows, rule, count)
    rows = priorities.with_hash(rows, key, content=priorities.content_of(rule.bin[0], *rule.codes), copy="_copy")
    return rows.mutate(_rank=_row_number(group, ["_hash", *rule.order])).drop("_hash")


def _numbered(rows: ir.Table, rule: Rule, kept: int) -> ir.Table:
    """`rows` with `_copy`, which numbers those of one content: 0, 1, 2 ... kept: how many a limit keeps.

    Those that are alike are counted first, so that of a unit with many rows of few kinds little is sent and sorted.
    More than MOST_COPIES are taken for so many, unless more are kept: they are made anew as one list, and nobody's rows
    are to decide whether that fits into memory. What is kept of a unit with a million rows of one kind is hardly
    changed by it. (Rows with more to be ordered by are not counted, and no list is made of them: each has a number.)
    """
    if rule.rest:
        content = ibis.window(group_by=[*rule.unit, *rule.bin, *rule.codes], order_by=list(rule.rest))
        return rows.mutate(_copy=ibis.row_number().over(content))
    counted = rows.group_by(list(rows.columns)).aggregate(_copies=rows.count())
    copies = ibis.least(counted["_copies"], max(kept, MOST_COPIES))
    return counted.mutate(_copy=ibis.range(0, copies).unnest()).drop("_copies")


def _row_number(group: Sequence[str], order: list[str]) -> ir.Value:
    """1, 2, 3 ...: compared with a constant and nothing in between, it lets Spark keep the first rows of a group in
    every part of a table before they are sent."""
    number = ibis.udf.agg.builtin(_own, name="row_number", signature=((), "int64"))
    return number().over(ibis.window(group_by=list(group), order_by=order, rows=(None, 0)))


def _own() -> Any:
    """The engine's own: 1, 2, 3 ... in the order of the window."""


@dataclass(frozen=True, slots=True)
class Loop:
    """What runs where the rows are: batches of sorted rows in, which are those of whole units, and of those that are
    kept out."""

    rule: Rule

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from leastnoise.curator.rows import keeping_loops  # which needs a compiler

        for rows in keeping_loops.kept(batches, self.rule):
            yield from rows.select(list(self.rule.keep)).combine_chunks().to_batches()


def prepare() -> None:
    """Compile on made-up rows: what can fail does so before anything is paid for, and tells nothing of a row."""
    limits = Limits(max_rows=2, max_per_bin=1, max_bins=1)
    rule = Rule(unit=("unit",), bin=("bin",), codes=("code",), keep=("bin", "code"), limits=limits, key=0)
    made_up = pa.record_batch({name: pa.array([0, 0, 1], pa.int64()) for name in ("unit", "bin", "code")})
    for _ in Loop(rule)(iter([made_up, made_up])):
        pass


def _compiled(engine: Engine) -> bool:
    with suppress(Exception):
        prepare()
        return engine.runs_python()
    return False
