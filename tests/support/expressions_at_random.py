"""Expressions over one row, drawn by their types: each can be written as SQL and as Ibis."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ibis

COLUMNS = {  # of extreme_rows, by what they are to an expression
    "boolean": ["flag"],
    "integer": ["tiny", "i8", "i32", "i64", "u8", "u32", "u64"],
    "real": ["f32", "f64", "short_decimal", "long_decimal"],
    "text": ["text", 'odd "name"'],
    "date": ["day", "late day"],
    "time": ["moment", "moment in zone"],
}
LITERALS: dict[str, list[Any]] = {
    "boolean": [True, False],
    "integer": [0, 1, -1, 2, 7, 100, 2**31, 2**53 + 1, 2**63 - 1, -(2**63) + 1],
    "real": [0.5, -2.5, 1e300, 1e-300, 0.1, 3.0, 1e15],
    "text": ["a", "", "it's", "${env:HOME}", "%", "20130101", "1_000", "back\\slash", "é", "now"],
    "date": ["2013-01-31", "0001-01-01", "9999-12-31", "1970-01-01"],
    "time": ["2013-01-31 07:00:00", "0001-01-01 00:00:00", "9999-12-31 23:59:59"],
}
PATTERNS = ["%a%", "_", "%", "", "a_c%", "%\\%", "100%", "__", "%\n%", "é%", "${%"]
PIECES = ["", "a", "it", "$", "%", "\\", "1", "é"]
CASTS = {
    "boolean": "BOOLEAN",
    "integer": "BIGINT",
    "real": "DOUBLE",
    "text": "VARCHAR",
    "date": "DATE",
    "time": "TIMESTAMP",
}
IBIS_CASTS = {
    "boolean": "boolean",
    "integer": "int64",
    "real": "float64",
    "text": "string",
    "date": "date",
    "time": "timestamp(6)",
}
PARTS = ["year", "quarter", "month", "week", "day", "doy", "dow", "hour", "minute", "second"]
STEPS = {"year": "Y", "quarter": "Q", "month": "M", "week": "W", "day": "D", "hour": "h", "minute": "m", "second": "s"}
COMPARE = ["=", "<>", "<", "<=", ">", ">="]
ARITHMETIC = {"integer": ["+", "-", "*", "//", "%"], "real": ["+", "-", "*", "/"]}


@dataclass(frozen=True)
class Node:
    """An operation, the kind of its result, and its arguments: nodes, or words of its own."""

    name: str
    kind: str
    parts: tuple[Any, ...] = ()

    def __str__(self) -> str:
        return SQL[self.name](*(str(part) if isinstance(part, Node) else part for part in self.parts))

    def ibis(self, rows: Any) -> Any:
        return IBIS[self.name](rows, *(part.ibis(rows) if isinstance(part, Node) else part for part in self.parts))


class Grammar:
    """Draws a node of a kind; `words` restricts the operations, `columns` and `literals` the leaves."""

    def __init__(
        self, chance: random.Random, *, words: set[str] | None = None,
        columns: dict[str, list[str]] = COLUMNS, literals: dict[str, list[Any]] = LITERALS,
    ) -> None:  # fmt: skip
        self.chance, self.words, self.columns, self.literals = chance, words, columns, literals

    def draw(self, kind: str, depth: int) -> Node:
        if depth <= 0 or self.chance.random() < 0.15:
            return self.leaf(kind)
        makers = [maker for name, maker in RULES[kind] if self.words is None or name in self.words]
        return self.chance.choice(makers)(self, depth - 1) if makers else self.leaf(kind)

    def leaf(self, kind: str) -> Node:
        return self.column(kind) if self.chance.random() < 0.75 else self.literal(kind)

    def column(self, kind: str) -> Node:
        return Node("column", kind, (self.chance.choice(self.columns[kind]),))

    def literal(self, kind: str) -> Node:
        return Node("literal", kind, (kind, self.chance.choice(self.literals[kind])))

    def any_kind(self) -> str:
        return self.chance.choice(list(self.columns))


def compared(g: Grammar, depth: int) -> Node:
    kind = g.any_kind()
    name = "distinct" if g.chance.random() < 0.15 and (g.words is None or "distinct" in g.words) else "compare"
    word = g.chance.choice(COMPARE) if name == "compare" else g.chance.choice(["", "NOT "])
    return Node(name, "boolean", (word, g.draw(kind, depth), g.draw(kind, depth)))


def among(g: Grammar, depth: int) -> Node:
    kind, no = g.any_kind(), g.chance.choice(["", "NOT "])
    return Node("in", "boolean", (no, g.draw(kind, depth), *(g.literal(kind) for _ in range(g.chance.randint(1, 3)))))


def between(g: Grammar, depth: int) -> Node:
    kind, no = g.any_kind(), g.chance.choice(["", "NOT "])
    return Node("between", "boolean", (no, *(g.draw(kind, depth) for _ in range(3))))


def missing(g: Grammar, depth: int) -> Node:
    return Node("is null", "boolean", (g.chance.choice(["", "NOT "]), g.draw(g.any_kind(), depth)))


def chosen(kind: str) -> Callable[[Grammar, int], Node]:
    """A value of any kind by CASE, COALESCE or NULLIF."""

    def make(g: Grammar, depth: int) -> Node:
        name = g.chance.choice(["case", "case", "switch", "coalesce", "nullif", "half a case"])
        if name == "switch":
            test = g.any_kind()
            return Node(name, kind, (g.draw(test, depth), g.literal(test), g.draw(kind, depth), g.draw(kind, depth)))
        if name in ("coalesce", "nullif"):
            return Node(name, kind, (g.draw(kind, depth), g.draw(kind, depth)))
        return Node(name, kind, (g.draw("boolean", depth), g.draw(kind, depth), g.draw(kind, depth)))

    return make


def unary(name: str, kind: str, of: str, *words: Any) -> Callable[[Grammar, int], Node]:
    """An operation of one node; of `words`, lists to choose from, one each."""
    return lambda g, depth: Node(name, kind, (*(g.chance.choice(w) for w in words), g.draw(of, depth)))


def binary(name: str, kind: str, *words: Any) -> Callable[[Grammar, int], Node]:
    return lambda g, depth: Node(
        name, kind, (*(g.chance.choice(w) for w in words), g.draw(kind, depth), g.draw(kind, depth))
    )


def casts(kind: str) -> list[tuple[str, Callable[[Grammar, int], Node]]]:
    return [("cast", unary("cast", kind, of, [kind])) for of in COLUMNS if of != kind]


RULES: dict[str, list[tuple[str, Callable[[Grammar, int], Node]]]] = {
    "boolean": [
        *[("compare", compared)] * 3, ("in", among), ("between", between),
        *[("logic", binary("logic", "boolean", ["AND", "OR"]))] * 2, ("not", unary("not", "boolean", "boolean")),
        *[("is null", missing)] * 3,
        ("like", unary("like", "boolean", "text", ["", "NOT "], PATTERNS)),
        ("piece", unary("piece", "boolean", "text", ["STARTS_WITH", "ENDS_WITH", "CONTAINS"], PIECES)),
    ],
    "integer": [
        *[("arithmetic", binary("arithmetic", "integer", ARITHMETIC["integer"]))] * 3,
        ("negate", unary("negate", "integer", "integer")), ("abs", unary("abs", "integer", "integer")),
        ("floor", unary("floor", "integer", "real", ["FLOOR", "CEIL"])), ("length", unary("length", "integer", "text")),
        ("extract", unary("extract", "integer", "time", PARTS)),
        ("extract", unary("extract", "integer", "date", PARTS[:7])),
    ],
    "real": [
        *[("arithmetic", binary("arithmetic", "real", ARITHMETIC["real"]))] * 3,
        ("negate", unary("negate", "real", "real")), ("abs", unary("abs", "real", "real")),
    ],
    "text": [
        ("concat", binary("concat", "text")),
        ("substring", unary("substring", "text", "text", [1, 2, 5], [0, 1, 3, 1000])),
    ],
    "date": [("truncate", unary("truncate", "date", "date", list(STEPS)[:5]))],
    "time": [("truncate", unary("truncate", "time", "time", list(STEPS)))],
}  # fmt: skip
for each in RULES:
    RULES[each] += [("choice", chosen(each)), *casts(each)]


def literal(kind: str, value: Any) -> str:
    if kind in ("boolean", "integer", "real"):
        return str(value).upper() if kind == "boolean" else f"({value!r})" if value < 0 else repr(value)
    word = {"date": "DATE ", "time": "TIMESTAMP "}.get(kind, "")
    return f"{word}'{value.replace(chr(39), chr(39) * 2)}'"


SQL: dict[str, Callable[..., str]] = {
    "column": lambda name: '"' + name.replace('"', '""') + '"',
    "literal": literal,
    "compare": lambda sign, a, b: f"({a} {sign} {b})",
    "distinct": lambda no, a, b: f"({a} IS {no}DISTINCT FROM {b})",
    "in": lambda no, a, *keys: f"({a} {no}IN ({', '.join(keys)}))",
    "between": lambda no, a, low, high: f"({a} {no}BETWEEN {low} AND {high})",
    "logic": lambda word, a, b: f"({a} {word} {b})",
    "not": lambda a: f"(NOT {a})",
    "is null": lambda no, a: f"({a} IS {no}NULL)",
    "like": lambda no, pattern, a: f"({a} {no}LIKE {literal('text', pattern)})",
    "piece": lambda word, piece, a: f"{word}({a}, {literal('text', piece)})",
    "case": lambda test, a, b: f"CASE WHEN {test} THEN {a} ELSE {b} END",
    "half a case": lambda test, a, b: f"CASE WHEN {test} THEN {a} ELSE NULL END",
    "switch": lambda value, key, a, b: f"CASE {value} WHEN {key} THEN {a} ELSE {b} END",
    "coalesce": lambda a, b: f"COALESCE({a}, {b})",
    "nullif": lambda a, b: f"NULLIF({a}, {b})",
    "arithmetic": lambda sign, a, b: f"({a} {sign} {b})",
    "negate": lambda a: f"(-{a})",
    "abs": lambda a: f"ABS({a})",
    "floor": lambda word, a: f"{word}({a})",
    "length": lambda a: f"LENGTH({a})",
    "extract": lambda part, a: f"EXTRACT({part} FROM {a})",
    "truncate": lambda step, a: f"DATE_TRUNC('{step}', {a})",
    "concat": lambda a, b: f"({a} || {b})",
    "substring": lambda start, size, a: f"SUBSTRING({a}, {start}, {size})",
    "cast": lambda kind, a: f"CAST({a} AS {CASTS[kind]})",
}
SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "=": lambda a, b: a == b, "<>": lambda a, b: a != b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b, ">=": lambda a, b: a >= b, "+": lambda a, b: a + b, "-": lambda a, b: a - b,
    "*": lambda a, b: a * b, "/": lambda a, b: a / b, "//": lambda a, b: a // b, "%": lambda a, b: a % b,
    "AND": lambda a, b: a & b, "OR": lambda a, b: a | b,
}  # fmt: skip
METHODS = {
    "week": "week_of_year",
    "doy": "day_of_year",
    "STARTS_WITH": "startswith",
    "ENDS_WITH": "endswith",
    "CONTAINS": "contains",
}
LITERAL_IN_IBIS: dict[str, Any] = {"date": ibis.date, "time": ibis.timestamp}


def unless(no: str, made: Any) -> Any:
    return ~made if no else made


IBIS: dict[str, Callable[..., Any]] = {
    "column": lambda rows, name: rows[name],
    "literal": lambda rows, kind, value: LITERAL_IN_IBIS.get(kind, ibis.literal)(value),
    "compare": lambda rows, sign, a, b: SIGNS[sign](a, b),
    "distinct": lambda rows, no, a, b: a.identical_to(b) if no else ~a.identical_to(b),
    "in": lambda rows, no, a, *keys: unless(no, a.isin(list(keys))),
    "between": lambda rows, no, a, low, high: unless(no, a.between(low, high)),
    "logic": lambda rows, word, a, b: SIGNS[word](a, b),
    "not": lambda rows, a: ~a,
    "is null": lambda rows, no, a: a.notnull() if no else a.isnull(),
    "like": lambda rows, no, pattern, a: unless(no, a.like(pattern)),
    "piece": lambda rows, word, piece, a: getattr(a, METHODS[word])(piece),
    "case": lambda rows, test, a, b: ibis.ifelse(test, a, b),
    "half a case": lambda rows, test, a, b: ibis.cases((test, a)),
    "switch": lambda rows, value, key, a, b: value.cases((key, a), else_=b),
    "coalesce": lambda rows, a, b: ibis.coalesce(a, b),
    "nullif": lambda rows, a, b: a.nullif(b),
    "arithmetic": lambda rows, sign, a, b: SIGNS[sign](a, b),
    "negate": lambda rows, a: -a,
    "abs": lambda rows, a: a.abs(),
    "floor": lambda rows, word, a: a.floor() if word == "FLOOR" else a.ceil(),
    "length": lambda rows, a: a.length(),
    "extract": lambda rows, part, a: a.day_of_week.index() if part == "dow" else getattr(a, METHODS.get(part, part))(),
    "truncate": lambda rows, step, a: a.truncate(STEPS[step]),
    "concat": lambda rows, a, b: a + b,
    "substring": lambda rows, start, size, a: a.substr(start - 1, size),
    "cast": lambda rows, kind, a: a.cast(IBIS_CASTS[kind]),
}
