"""The functions there are, and which types they take: a call that does not fit is refused before any row is read.

Each is a total function of its arguments: `safe_expressions.py` builds it so that no value makes an engine fail. What
could not be made so, or differs between engines, is not here: lower and upper case (beyond ASCII every engine has its
own), rounding, logarithms, joining texts (which may grow beyond any memory).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from leastnoise.curator.expressions.literals import recast
from leastnoise.curator.expressions.recorded_text import text
from leastnoise.curator.expressions.tree import Call, Column, Literal, Node, Type
from leastnoise.errors import BadExpression, WrongType

BOOLEAN, INTEGER, REAL, TEXT = Type.BOOLEAN, Type.INTEGER, Type.REAL, Type.TEXT
DATE, TIMESTAMP, NULL, OTHER = Type.DATE, Type.TIMESTAMP, Type.NULL, Type.OTHER
NUMBERS, TIMES = (INTEGER, REAL), (DATE, TIMESTAMP)
MAX_SUBSTRING_PLACE = 2**20
UNITS = ("year", "quarter", "month", "week", "day", "hour", "minute", "second")
CLOCK = ("hour", "minute", "second")
# What may be cast to what; a text that is not written like its target is null.
CASTS = {
    (BOOLEAN, INTEGER), (BOOLEAN, REAL), (INTEGER, REAL), (INTEGER, TEXT), (TIMESTAMP, DATE), (DATE, TIMESTAMP),
    (TEXT, BOOLEAN), (TEXT, INTEGER), (TEXT, REAL), (TEXT, DATE), (TEXT, TIMESTAMP),
}  # fmt: skip


def call(name: str, *given: Node) -> Call:
    """The call of a function, its arguments cast to a common type where that loses nothing."""
    return RULES[name](name, given)


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
    other = next((node.type for node in nodes if node.type in _DECLARED), None)
    if column is not None and other is not None:
        raise _text_column(column, other, quoted=name in ("=", "<>", "in"))
    odd = next((node for node in nodes if node.type not in (nodes[0].type, NULL)), nodes[-1])
    hint = " A text stands in 'single quotes', a date or time like '2013-01-31 07:00'." if TEXT in kinds else ""
    raise WrongType(
        f"{text(nodes[0])} holds {nodes[0].type.value} and {text(odd)} holds {odd.type.value}: in {name.upper()} they "
        f"cannot stand beside each other.{hint}"
    )


# A type as it is declared for a column of a CSV, and as SQL casts to it.
_DECLARED = {
    INTEGER: ("int", "INTEGER"),
    REAL: ("float", "DOUBLE"),
    BOOLEAN: ("bool", "BOOLEAN"),
    DATE: ("date", "DATE"),
    TIMESTAMP: ("timestamp", "TIMESTAMP"),
}


def _text_column(column: Column, wanted: Type, *, quoted: bool = False) -> WrongType:
    """A column of text where something else is needed. In quotes a number has no order but that of its letters, so that
    quotes are named where none is asked for (`quoted`)."""
    declared, sql = _DECLARED[wanted]
    quotes = " A text that it may equal stands in 'single quotes'." if quoted else ""
    return WrongType(
        f"{text(column)} holds text, and {wanted.value} are needed here. Declare its type where the table is opened, "
        f"or write CAST({text(column)} AS {sql}).{quotes}",
        parameter="types",
        example={"types": {column.name: declared}},
    )


def _is_word(node: Node) -> bool:
    return isinstance(node, Literal) and node.type is TEXT


def _need(name: str, node: Node, *wanted: Type) -> Node:
    """The node, if it has one of these types; null has every type."""
    if node.type is NULL:
        return Literal(None, wanted[0])
    if node.type in wanted:
        return node
    if isinstance(node, Column) and node.type is TEXT and wanted[0] in _DECLARED:
        raise _text_column(node, wanted[0])
    raise WrongType(
        f"{name.upper()} takes {' or '.join(kind.value for kind in wanted)}, and {text(node)} holds {node.type.value}."
    )


def _logic(name: str, given: Sequence[Node]) -> Call:
    flat: list[Node] = []
    for node in given:
        joined = name in ("and", "or") and isinstance(node, Call) and node.function == name
        flat += node.arguments if joined and isinstance(node, Call) else [_need(name, node, BOOLEAN)]
    return Call(name, tuple(flat), BOOLEAN)


def _xor(name: str, given: Sequence[Node]) -> Call:
    """Of two truths, one: they differ."""
    return Call("<>", tuple(_need(name, node, BOOLEAN) for node in given), BOOLEAN)


def _is_null(name: str, given: Sequence[Node]) -> Call:
    return Call(name, tuple(given), BOOLEAN)


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


def _to_integer(name: str, given: Sequence[Node]) -> Call:
    return Call(name, (_need(name, given[0], *NUMBERS),), INTEGER)


def _of_real(name: str, given: Sequence[Node]) -> Call:
    return Call(name, (_need(name, given[0], *NUMBERS),), BOOLEAN)


def _length(name: str, given: Sequence[Node]) -> Call:
    return Call(name, (_need(name, given[0], TEXT),), INTEGER)


def _substring(name: str, given: Sequence[Node]) -> Call:
    """Positions from 0, and length; both literals."""
    places = [node.value if isinstance(node, Literal) else None for node in given[1:]]
    if not all(type(place) is int and 0 <= place < MAX_SUBSTRING_PLACE for place in places):
        raise BadExpression(
            "SUBSTRING cuts at places that are written out as numbers below 2^20: SUBSTRING(zone, 1, 3), or "
            ".substr(0, 3) in Ibis."
        )
    return Call(name, (_need(name, given[0], TEXT), *given[1:]), TEXT)


def _text_test(name: str, given: Sequence[Node]) -> Call:
    return Call(name, tuple(_need(name, node, TEXT) for node in given), BOOLEAN)


def _like(name: str, given: Sequence[Node]) -> Call:
    pattern = given[1]
    if not (isinstance(pattern, Literal) and isinstance(pattern.value, str)) or "\\" in pattern.value:
        raise BadExpression("LIKE takes a pattern in quotes, without backslashes: zone LIKE 'north%'.")
    return _text_test(name, given)


def _part(name: str, given: Sequence[Node]) -> Call:
    wanted = (TIMESTAMP,) if name in CLOCK else TIMES
    return Call(name, (_need(name, given[0], *wanted),), INTEGER)


def _truncate(name: str, given: Sequence[Node]) -> Call:
    """A date or time, and the unit as a text."""
    unit = given[1].value if isinstance(given[1], Literal) else None
    if unit not in UNITS:
        raise BadExpression(
            f"DATE_TRUNC cuts to one of {', '.join(UNITS)}, written out in quotes. Got {unit!r} instead."
        )
    value = _need(name, given[0], TIMESTAMP) if unit in CLOCK else _need(name, given[0], *TIMES)
    return Call(name, (value, given[1]), value.type)


RULES: dict[str, Callable[[str, Sequence[Node]], Call]] = {
    **dict.fromkeys(("and", "or", "not"), _logic),
    "xor": _xor,
    "is null": _is_null,
    **dict.fromkeys(("=", "<>", "<", "<=", ">", ">=", "is not distinct from"), _compare),
    "in": _in,
    "case": _choice,
    **dict.fromkeys(("coalesce", "nullif"), _first),
    **dict.fromkeys(("+", "-", "*", "/", "//", "%", "negate", "abs"), _arithmetic),
    **dict.fromkeys(("floor", "ceil"), _to_integer),
    **dict.fromkeys(("isnan", "isinf"), _of_real),
    "length": _length,
    "substring": _substring,
    **dict.fromkeys(("starts_with", "ends_with", "contains"), _text_test),
    "like": _like,
    **dict.fromkeys(("year", "quarter", "month", "week", "day", "doy", "isodow", *CLOCK), _part),
    "truncate": _truncate,
}
