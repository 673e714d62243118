"""The functions there are: a call of another one, or of arguments that do not fit, is refused before any row is read.

Each is a total function of its arguments: it is built so that no value makes an engine fail. What could not be made so,
or differs between engines, is not here: lower and upper case (beyond ASCII every engine has its own), rounding,
logarithms, joining texts (which may grow beyond any memory).

`FUNCTIONS`, at the end, has an entry for each: what it takes, how it is built, and what it is read from.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import ibis
from sqlglot import expressions as sql

from leastnoise.curator.expressions.tree import Call, Column, Literal, Node, recast, text
from leastnoise.curator.rows.columns import Type
from leastnoise.curator.rows.placing import double_literal
from leastnoise.errors import BadExpression, WrongType

BOOLEAN, INTEGER, REAL, TEXT = Type.BOOLEAN, Type.INTEGER, Type.REAL, Type.TEXT
DATE, TIMESTAMP, NULL, OTHER = Type.DATE, Type.TIMESTAMP, Type.NULL, Type.OTHER
NUMBERS, TIMES = (INTEGER, REAL), (DATE, TIMESTAMP)
TYPED = (BOOLEAN, *NUMBERS, *TIMES)  # what a text may be read as
MAX_SUBSTRING_PLACE = 2**20
# The units that times are cut to, and Ibis' names of them.
UNITS = {"year": "Y", "quarter": "Q", "month": "M", "week": "W", "day": "D", "hour": "h", "minute": "m", "second": "s"}
CLOCK = ("hour", "minute", "second")
# What may be cast to what; a text that is not written like its target is null.
CASTS = {
    (BOOLEAN, INTEGER), (BOOLEAN, REAL), (INTEGER, REAL), (INTEGER, TEXT), (TIMESTAMP, DATE), (DATE, TIMESTAMP),
    (TEXT, BOOLEAN), (TEXT, INTEGER), (TEXT, REAL), (TEXT, DATE), (TEXT, TIMESTAMP),
}  # fmt: skip
Takes = Callable[[str, Sequence[Node]], Call]


@dataclass(frozen=True, slots=True)
class Function:
    """A function of one row.

    takes: makes the call, its arguments cast to fitting types; raises where they do not fit.
    build: its value from those of its arguments, as an Ibis expression that no value makes fail; of `arithmetic`, from
    doubles. sql, ibis: what it is read from, classes of sqlglot's tree and names of Ibis operations.
    """

    name: str
    takes: Takes
    build: Callable[..., Any]
    sql: tuple[type, ...] = ()
    ibis: tuple[str, ...] = ()
    arithmetic: bool = False


def call(name: str, *given: Node) -> Call:
    """The call of a function, its arguments cast to a common type where that loses nothing."""
    return FUNCTIONS[name].takes(name, given)


def cast(node: Node, wanted: Type) -> Node:
    """The value as another type; a literal is read here and now."""
    if node.type is wanted:
        return node
    if node.type is NULL:
        return Literal(None, wanted)
    if isinstance(node, Literal) and (known := recast(node, wanted)) is not None:
        return known
    if (node.type, wanted) not in CASTS:
        cure = " Use FLOOR(...) for whole numbers." if (node.type, wanted) == (REAL, INTEGER) else ""
        raise BadExpression(
            f"{text(node)} holds {node.type.value}, and casting those to {wanted.value} is not the same on every "
            f"engine.{cure}"
        )
    return Call("cast", (node,), wanted)


def _widened(node: Node, wanted: Type) -> Node:
    """The value in a wider type because of its neighbours; unlike a cast, it is not written in the record."""
    made = cast(node, wanted)
    return Call("widen", made.arguments, wanted) if isinstance(made, Call) and made is not node else made


def between(value: Node, low: Node, high: Node) -> Call:
    """value >= low and value <= high."""
    return call("and", call(">=", value, low), call("<=", value, high))


def _unify(name: str, nodes: Sequence[Node]) -> tuple[Node, ...]:
    """The nodes in one type: whole numbers become real beside real ones, dates become times, text literals are read."""
    kinds = {node.type for node in nodes if not _is_word(node)} - {NULL} or {TEXT}
    if any(_is_word(node) for node in nodes) and not kinds & set(TIMES):
        kinds = kinds | {TEXT}
    wanted = next((kind for kind in (REAL, TIMESTAMP) if kind in kinds), None) or min(kinds, key=lambda kind: kind.name)
    same = {REAL: set(NUMBERS), TIMESTAMP: set(TIMES)}.get(wanted, {wanted})
    if kinds <= same and OTHER not in kinds:
        return tuple(_widened(node, wanted) for node in nodes)
    column = next((node for node in nodes if isinstance(node, Column) and node.type is TEXT), None)
    other = next((node.type for node in nodes if node.type in TYPED), None)
    if column is not None and other is not None:
        raise _text_column(column, other, quoted=name in ("=", "<>", "in"))
    odd = next((node for node in nodes if node.type not in (nodes[0].type, NULL)), nodes[-1])
    hint = " A text stands in 'single quotes', a date or time like '2013-01-31 07:00'." if TEXT in kinds else ""
    raise WrongType(
        f"{text(nodes[0])} holds {nodes[0].type.value} and {text(odd)} holds {odd.type.value}: in {name.upper()} they "
        f"cannot stand beside each other.{hint}"
    )


def _text_column(column: Column, wanted: Type, *, quoted: bool = False) -> WrongType:
    """A column of text where something else is needed. In quotes a number has no order but that of its letters, so that
    quotes are named where none is asked for (`quoted`)."""
    quotes = " A text that it may equal stands in 'single quotes'." if quoted else ""
    return WrongType(
        f"{text(column)} holds text, and {wanted.value} are needed here. Declare its type where the table is opened, "
        f"or write CAST({text(column)} AS {wanted.sql}).{quotes}",
        parameter="types",
        example={"types": {column.name: wanted.declared}},
    )


def _is_word(node: Node) -> bool:
    return isinstance(node, Literal) and node.type is TEXT


def _need(name: str, node: Node, *wanted: Type) -> Node:
    """The node, if it has one of these types; null has every type."""
    if node.type is NULL:
        return Literal(None, wanted[0])
    if node.type in wanted:
        return node
    if isinstance(node, Column) and node.type is TEXT and wanted[0] in TYPED:
        raise _text_column(node, wanted[0])
    raise WrongType(
        f"{name.upper()} takes {' or '.join(kind.value for kind in wanted)}, and {text(node)} holds {node.type.value}."
    )


# What a call takes


def _takes(*wanted: Type, gives: Type) -> Takes:
    """Arguments that are each of one of these types; any, where none is named."""

    def takes(name: str, given: Sequence[Node]) -> Call:
        return Call(name, tuple(_need(name, node, *wanted) for node in given) if wanted else tuple(given), gives)

    return takes


def _logic(name: str, given: Sequence[Node]) -> Call:
    flat: list[Node] = []
    for node in given:
        joined = name in ("and", "or") and isinstance(node, Call) and node.function == name
        flat += node.arguments if joined and isinstance(node, Call) else [_need(name, node, BOOLEAN)]
    return Call(name, tuple(flat), BOOLEAN)


def _xor(name: str, given: Sequence[Node]) -> Call:
    """Of two truths, one: they differ."""
    return Call("<>", _logic(name, given).arguments, BOOLEAN)


def _compare(name: str, given: Sequence[Node]) -> Call:
    if any(isinstance(node, Literal) and node.value is None for node in given) and name != "is not distinct from":
        raise BadExpression(
            f"{' and '.join(map(text, given[:2]))}: comparing with NULL is never true. Write IS NULL or IS NOT NULL."
        )
    return Call(name, _unify(name, given), BOOLEAN)


def _in(name: str, given: Sequence[Node]) -> Call:
    if len(given) < 2:
        raise BadExpression(f"{text(given[0])} IN () holds for no row. List at least one value.")
    if all(isinstance(node, Literal) for node in given[1:]):
        return _compare(name, given)
    return call("or", *(call("=", given[0], node) for node in given[1:]))


def _choice(name: str, given: Sequence[Node]) -> Call:
    """CASE: conditions and values in turn, and last the value where no condition is true."""
    conditions = [_need(name, node, BOOLEAN) for node in given[:-1:2]]
    values = _unify(name, [*given[1:-1:2], given[-1]])
    pairs = [node for pair in zip(conditions, values[:-1], strict=True) for node in pair]
    return Call(name, (*pairs, values[-1]), values[-1].type)


def _first(name: str, given: Sequence[Node]) -> Call:
    same = _unify(name, given)
    return Call(name, same, same[0].type)


def _arithmetic(name: str, given: Sequence[Node]) -> Call:
    """Whole numbers stay whole but for `/`; `//` is the floor of the quotient."""
    numbers = tuple(_need(name, node, *NUMBERS) for node in given)
    integers = name == "//" or (name != "/" and all(node.type is INTEGER for node in numbers))
    return Call(name, numbers, INTEGER if integers else REAL)


def _substring(name: str, given: Sequence[Node]) -> Call:
    """Positions from 0, and length; both literals."""
    places = [node.value if isinstance(node, Literal) else None for node in given[1:]]
    if not all(type(place) is int and 0 <= place < MAX_SUBSTRING_PLACE for place in places):
        raise BadExpression(
            "SUBSTRING cuts at places that are written out as numbers below 2^20: SUBSTRING(zone, 1, 3), or "
            ".substr(0, 3) in Ibis."
        )
    return Call(name, (_need(name, given[0], TEXT), *given[1:]), TEXT)


def _truncate(name: str, given: Sequence[Node]) -> Call:
    """A date or time, and the unit as a text."""
    unit = given[1].value if isinstance(given[1], Literal) else None
    if unit not in UNITS:
        raise BadExpression(
            f"DATE_TRUNC cuts to one of {', '.join(UNITS)}, written out in quotes. Got {unit!r} instead."
        )
    value = _need(name, given[0], TIMESTAMP) if unit in CLOCK else _need(name, given[0], *TIMES)
    return Call(name, (value, given[1]), value.type)


def _like(name: str, given: Sequence[Node]) -> Call:
    pattern = given[1]
    if not (isinstance(pattern, Literal) and isinstance(pattern.value, str)) or "\\" in pattern.value:
        raise BadExpression("LIKE takes a pattern in quotes, without backslashes: zone LIKE 'north%'.")
    return _takes(TEXT, gives=BOOLEAN)(name, given)


# How a value is built


def _balanced(join: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """A chain as a tree of logarithmic depth: parsers nest."""

    def joined(*values: Any) -> Any:
        if len(values) == 1:
            return values[0]
        middle = len(values) // 2
        return join(joined(*values[:middle]), joined(*values[middle:]))

    return joined


def _cases(*given: Any) -> Any:
    return ibis.cases(*zip(given[:-1:2], given[1::2], strict=True), else_=given[-1])


def _quotient(a: Any, b: Any) -> Any:
    return a / b.nullif(double_literal(0.0))


def _written_out(a: Any, b: Any) -> NoReturn:
    """Never built: `total` writes a % b as a - b * (a // b) first."""
    raise NotImplementedError


def _is_infinite(value: Any) -> Any:
    return value.cast("float64").isin([double_literal(float("inf")), double_literal(-float("inf"))])


def _truncated(value: Any, unit: Any) -> Any:
    """By way of a time, because Spark makes one of a truncated date, and Ibis does not know it."""
    kind = "date" if value.type().is_date() else "timestamp(6)"
    return value.cast("timestamp(6)").truncate(UNITS[unit.op().value]).cast(kind)


def _part(method: str) -> Callable[[Any], Any]:
    return lambda value: getattr(value, method)().cast("int64")


OF_NUMBER, OF_TEXTS = _takes(*NUMBERS, gives=BOOLEAN), _takes(TEXT, gives=BOOLEAN)
OF_DAY, OF_TIME = _takes(*TIMES, gives=INTEGER), _takes(TIMESTAMP, gives=INTEGER)
TO_INTEGER = _takes(*NUMBERS, gives=INTEGER)
FUNCTIONS = {
    each.name: each
    for each in (
        Function("and", _logic, _balanced(operator.and_), ibis=("And",)),
        Function("or", _logic, _balanced(operator.or_), ibis=("Or",)),
        Function("not", _logic, operator.invert, (sql.Not,), ("Not",)),
        Function("xor", _xor, operator.ne, ibis=("Xor",)),
        Function("is null", _takes(gives=BOOLEAN), lambda value: value.isnull(), ibis=("IsNull",)),
        Function("=", _compare, operator.eq, (sql.EQ,), ("Equals",)),
        Function("<>", _compare, operator.ne, (sql.NEQ,), ("NotEquals",)),
        Function("<", _compare, operator.lt, (sql.LT,), ("Less",)),
        Function("<=", _compare, operator.le, (sql.LTE,), ("LessEqual",)),
        Function(">", _compare, operator.gt, (sql.GT,), ("Greater",)),
        Function(">=", _compare, operator.ge, (sql.GTE,), ("GreaterEqual",)),
        Function("is not distinct from", _compare, lambda a, b: a.identical_to(b), (sql.NullSafeEQ,), ("IdenticalTo",)),
        Function("in", _in, lambda value, *listed: value.isin(listed)),
        Function("case", _choice, _cases),
        Function("coalesce", _first, ibis.coalesce, (sql.Coalesce,)),
        Function("nullif", _first, lambda a, b: a.nullif(b), (sql.Nullif,), ("NullIf",)),
        # Arithmetic, in doubles: see `total`.
        Function("+", _arithmetic, operator.add, (sql.Add,), ("Add",), arithmetic=True),
        Function("-", _arithmetic, operator.sub, (sql.Sub,), ("Subtract",), arithmetic=True),
        Function("*", _arithmetic, operator.mul, (sql.Mul,), ("Multiply",), arithmetic=True),
        Function("/", _arithmetic, _quotient, (sql.Div,), ("Divide",), arithmetic=True),
        Function("//", _arithmetic, _quotient, (sql.IntDiv,), ("FloorDivide",), arithmetic=True),
        Function("%", _arithmetic, _written_out, (sql.Mod,), ("Modulus",)),
        Function("negate", _arithmetic, lambda a: double_literal(0.0) - a, ibis=("Negate",), arithmetic=True),
        Function("abs", _arithmetic, lambda a: a.abs(), (sql.Abs,), ("Abs",), arithmetic=True),
        Function("floor", TO_INTEGER, lambda a: a, (sql.Floor,), ("Floor",), arithmetic=True),
        # The ceiling is -floor(-a).
        Function("ceil", TO_INTEGER, lambda a: double_literal(0.0) - a, (sql.Ceil,), ("Ceil",), arithmetic=True),
        # NaN is null where rows enter, so no value is NaN here.
        Function("isnan", OF_NUMBER, lambda value: value.isnull() & False, (sql.IsNan,), ("IsNan",)),
        Function("isinf", OF_NUMBER, _is_infinite, (sql.IsInf,), ("IsInf",)),
        Function(
            "length", _takes(TEXT, gives=INTEGER), lambda a: a.length().cast("int64"), (sql.Length,), ("StringLength",)
        ),
        Function("substring", _substring, lambda value, *places: value.substr(*places)),
        Function("starts_with", OF_TEXTS, lambda a, b: a.startswith(b), (sql.StartsWith,), ("StartsWith",)),
        Function("ends_with", OF_TEXTS, lambda a, b: a.endswith(b), (sql.EndsWith,), ("EndsWith",)),
        Function("contains", OF_TEXTS, lambda a, b: a.contains(b), (sql.Contains,), ("StringContains",)),
        Function("like", _like, lambda value, pattern: value.like(pattern.op().value), (sql.Like,)),
        Function("year", OF_DAY, _part("year"), (sql.Year,), ("ExtractYear",)),
        Function("quarter", OF_DAY, _part("quarter"), (sql.Quarter,), ("ExtractQuarter",)),
        Function("month", OF_DAY, _part("month"), (sql.Month,), ("ExtractMonth",)),
        Function("week", OF_DAY, _part("week_of_year"), (sql.Week, sql.WeekOfYear), ("ExtractWeekOfYear",)),
        Function("day", OF_DAY, _part("day"), (sql.Day, sql.DayOfMonth), ("ExtractDay",)),
        Function("doy", OF_DAY, _part("day_of_year"), (sql.DayOfYear,), ("ExtractDayOfYear",)),
        Function("isodow", OF_DAY, lambda a: a.day_of_week.index().cast("int64") + 1, (sql.DayOfWeekIso,)),
        Function("hour", OF_TIME, _part("hour"), (sql.Hour,), ("ExtractHour",)),
        Function("minute", OF_TIME, _part("minute"), (sql.Minute,), ("ExtractMinute",)),
        Function(
            "second", OF_TIME, lambda a: a.truncate("s").second().cast("int64"), (sql.Second,), ("ExtractSecond",)
        ),
        Function("truncate", _truncate, _truncated),
    )
}
