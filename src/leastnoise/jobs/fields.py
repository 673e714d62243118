"""Every field of a job, declared once: how it is typed as an option or into a form, how a job's file holds it, and the
line of help that all of them show.

A field is a name and a `Kind`: what a value is in words, whether a value of TOML is one, and how typed text is read.
`questions` says which fields a question has. Options, forms, checks and the reference page are made from both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from leastnoise import errors
from leastnoise._support import toml

MAX_POWER = 300  # of ten: what is beyond is no float


def is_number(value: object) -> bool:
    """Not NaN, nor an infinity, nor what no float holds."""
    if isinstance(value, Decimal):
        return value.is_finite() and abs(value.adjusted()) <= MAX_POWER
    return type(value) is int


def number(text: str) -> int | Decimal:
    """A number as it is typed; ValueError where it is none."""
    try:
        found = Decimal(text.strip())
    except InvalidOperation:
        raise ValueError(text) from None
    if not is_number(found):
        raise ValueError(text)
    return int(found) if found == found.to_integral_value() and abs(found) < 10**15 else found


def words(text: str) -> list[str]:
    """What commas part."""
    return [word.strip() for word in text.split(",") if word.strip()]


def pair(text: str) -> dict[str, str]:
    """NAME=TEXT; ValueError where it is not."""
    name, sign, rest = text.partition("=")
    if not (name.strip() and sign and rest.strip()):
        raise ValueError(text)
    return {name.strip(): rest.strip()}


def listed(value: Any) -> list[Any]:
    """One or several as a list."""
    return value if isinstance(value, list) else [value]


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_integer(value: object) -> bool:
    return type(value) is int


def _list_of(fits: Callable[[Any], bool], *, empty: bool = False) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and (empty or bool(value)) and all(map(fits, value))


def _or(*kinds: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: any(fits(value) for fits in kinds)


def _mapping_of(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, dict) and all(map(fits, value.values()))


def _one_or_several(found: list[str]) -> str | list[str]:
    return found[0] if len(found) == 1 else found


def _types(text: str) -> dict[str, str]:
    parts = [word.rpartition("=") for word in words(text)]
    if not all(column and kind for column, _, kind in parts):
        raise ValueError(text)
    return {column: kind for column, _, kind in parts}


def _integer(text: str) -> int:
    found = number(text)
    if not isinstance(found, int):
        raise ValueError(text)
    return found


def _clip(text: str) -> str | list[Any]:
    return text if text.endswith(".parquet") else _pair_of_numbers(text)


def _pair_of_numbers(text: str) -> list[Any]:
    low, high = map(number, text.split(","))
    return [low, high]


def _ways(text: str) -> int | list[int]:
    first, dash, last = text.partition("-")
    return list(range(_integer(first), _integer(last) + 1)) if dash else _integer(first)


def _weight(text: str) -> str | dict[str, Any]:
    name, sign, size = text.rpartition("=")
    return {name.strip(): number(size)} if sign else text


def _truth(text: str) -> bool:
    return {"true": True, "yes": True, "false": False, "no": False}[text.lower()]


def _flag_or_label(text: str) -> bool | str:
    try:
        return _truth(text)
    except KeyError:
        return text


@dataclass(frozen=True, slots=True)
class Kind:
    """What a value is.

    words, fits: of a value of TOML, in words and as a test.
    typed: the value that a typed text is; ValueError or KeyError where it is none.
    how: what is typed, in words.
    metavar: the same in a word of --help.
    several: an option may be repeated; lists are joined, and mappings, with each name once.
    """

    words: str
    fits: Callable[[Any], bool]
    typed: Callable[[str], Any]
    how: str
    metavar: str = "TEXT"
    several: bool = False


TEXT = Kind("a text in quotes", _is_text, str, "text")
TEXTS = Kind(
    "a text in quotes, or a list of texts",
    _or(_is_text, _list_of(_is_text)),
    words,
    "names with commas",
    "NAMES",
    several=True,
)
LINES = Kind(TEXTS.words, TEXTS.fits, lambda text: [text], "text", several=True)
NUMBER = Kind("a number", is_number, number, "a number", "NUMBER")
INTEGER = Kind("an integer", _is_integer, _integer, "an integer", "INTEGER")
SHARE = Kind(
    'a number, or a text like "1/52"', _or(is_number, _is_text), str, "a number or a fraction such as 1/52", "SHARE"
)
NUMBERS = Kind(
    "a number, or a list of numbers",
    _or(is_number, _list_of(is_number)),
    lambda text: list(map(number, text.split(","))),
    "numbers with commas",
    "NUMBERS",
)
PAIR = Kind(
    "two numbers, [low, high]",
    lambda value: _list_of(is_number)(value) and len(value) == 2,
    _pair_of_numbers,
    "two numbers with a comma",
    "LOW,HIGH",
)
CLIP = Kind(
    "two numbers, [low, high], or the file that suggest-clip wrote, in quotes",
    _or(_is_text, PAIR.fits),
    _clip,
    "two numbers with a comma, or the file that suggest-clip wrote",
    "LOW,HIGH",
)
WAYS = Kind(
    "an integer, or a list of them",
    _or(_is_integer, _list_of(_is_integer, empty=True)),
    _ways,
    "an integer, or 1-2",
    "INTEGER",
)
TABLES = Kind(
    'a list of columns, and of lists of columns: ["age", ["age", "sex"]]',
    _list_of(_or(_is_text, _list_of(_is_text, empty=True))),
    lambda text: [words(text)],
    "columns with commas",
    "COLUMNS",
    several=True,
)
WEIGHTS = Kind(
    'a text in quotes, or numbers by name, { "age,sex" = 10 }',
    _or(_is_text, _mapping_of(is_number)),
    _weight,
    "a word, or NAME=NUMBER",
    "WORD",
    several=True,
)
FLAG = Kind("true or false", lambda value: isinstance(value, bool), _truth, "yes or no")
FLAG_OR_LABEL = Kind(
    'true, false, or a label in quotes, "no answer"',
    lambda value: isinstance(value, bool) or (isinstance(value, str) and bool(value.strip())),
    _flag_or_label,
    "yes, no, or a label",
)
NAMED = Kind('texts by name, { hour = "int" }', _mapping_of(_is_text), pair, "NAME=VALUE", "NAME=VALUE", several=True)
TYPES = Kind(NAMED.words, NAMED.fits, _types, "COLUMN=TYPE", "COLUMN=TYPE", several=True)
DELIMITER = Kind(TEXT.words, _is_text, lambda text: "\t" if text == "tab" else text, "a sign, or tab")


@dataclass(frozen=True, slots=True)
class Field:
    """One field.

    help: the line that --help, the reference page and forms show.
    example: a value of TOML that would do. why: what to say where a field that is needed is missing.
    option: how it is typed, where that is not --name.
    """

    name: str
    kind: Kind
    help: str
    example: Any = None
    option: str = ""
    why: str = ""

    @property
    def flag(self) -> str:
        """The option."""
        return self.option or f"--{self.name.replace('_', '-')}"

    def read(self, texts: list[str]) -> Any:
        """What was typed, as a job's file holds it."""
        try:
            parts = [self.kind.typed(text) for text in texts]
            return self._together(parts) if self.kind.several else parts[-1]
        except (ValueError, KeyError):
            raise errors.InvalidParameter(
                f"{self.flag} takes {self.kind.how}. Got {' '.join(texts)!r} instead.",
                parameter=self.name,
                value=texts,
                example={} if self.example is None else {self.name: self.example},
            ) from None

    def _together(self, parts: list[Any]) -> Any:
        if all(isinstance(part, dict) for part in parts):
            names = [name for part in parts for name in part]
            if len(set(names)) < len(names):
                raise ValueError(names)
            return {name: value for part in parts for name, value in part.items()}
        if all(isinstance(part, list) for part in parts):
            found = [each for part in parts for each in part]
            return found if self.kind is TABLES else _one_or_several(found)
        return parts[-1]

    def shown(self, value: Any) -> str:
        """A value as it is typed into a form: what `read` makes the same of; lines where an option is repeated."""
        if isinstance(value, dict):
            return "\n".join(f"{name}={each}" for name, each in value.items())
        if self.kind is WAYS and isinstance(value, list):
            return f"{value[0]}-{value[-1]}"
        if isinstance(value, list):
            sign = "\n" if self.kind in (LINES, TABLES) else ","
            return sign.join(",".join(each) if isinstance(each, list) else str(each) for each in value)
        if isinstance(value, bool):
            return "yes" if value else "no"
        return "tab" if value == "\t" else str(value)

    def check(self, value: Any) -> None:
        """Refuse a value of TOML of another kind."""
        if not self.kind.fits(value):
            got = str(value) if isinstance(value, Decimal) else repr(value)
            raise errors.InvalidParameter(
                f"{self.name} must be {self.kind.words}. Got {got} instead.", parameter=self.name
            )

    @property
    def line(self) -> str:
        """An example of it in a job's file."""
        return f"{self.name} = {toml.value(self.example)}"


def _section(*fields: Field) -> dict[str, Field]:
    return {field.name: field for field in fields}


_WHOM = "Whom should the noise protect? All rows of one person count together, so a column must name the person."
_ENDS = (
    "Between which values is the column clipped? Noise must hide the largest value that anybody may have, so it is a "
    "public decision, and never read off the data."
)

SECTIONS: Mapping[str, Mapping[str, Field]] = {
    "table": _section(
        Field("source", LINES, "Parquet or CSV: a path, a quoted glob, or a folder.", "people.parquet"),
        Field(
            "unit", TEXTS,
            "The column that names the protected person; several with commas. None, each row a person? Add one that "
            "numbers the rows.", "person", why=_WHOM,
        ),
        Field("types", TYPES, "Types of a CSV's columns: hour=int,fare=float (bool, date, timestamp, text).",
              {"hour": "int"}),
        Field("delimiter", DELIMITER, "What separates a CSV's cells: ',', ';', '|' or tab. Default: a comma; in .tsv a "
              "tab.", ";"),
        Field("decimal", TEXT, "The decimal sign of a CSV's numbers: . or ,", ","),
        Field("missing", TEXTS, "Texts that stand for a missing value: NA,-999.", "NA"),
        Field("join", LINES, "Columns of a public table: zones.csv:zone_id, or zones.csv:pickup=zone_id.",
              "zones.csv:zone_id"),
        Field("within", NAMED, "The zone that holds a point: zone=zones.geojson:name,lon,lat, or without name by its "
              "id.", {"zone": "zones.geojson:name,lon,lat"}),
        Field("nearest", NAMED, "The nearest node of a public graph within so many metres: "
              "node=nodes.parquet,edges.parquet,lon,lat,250. Two more numbers spread a row over several nodes: the "
              "width of a kernel, and how many nodes.", {"node": "nodes.parquet,edges.parquet,lon,lat,250"}),
        Field("derive", NAMED, 'A new column: night="hour < 6".', {"night": "hour < 6"}),
        Field("lattice", NAMED, "Cells on a map: cell=lon,lat,0.01.", {"cell": "lon,lat,0.01"}),
        Field("where", TEXT, "Only rows with, for example, \"hour < 3 and city = 'Rome'\".", "hour < 3"),
        Field("per_unit", NAMED, "One row per person: trips=count, spent=sum:fare:0.01, home=mode:zone.",
              {"spent": "sum:fare:0.01"}),
        Field("having", TEXT, 'After --per-unit, only people with, for example, "trips > 1".', "trips > 1"),
        Field("name", TEXT, "What the ledger calls this table. Default: the file's name.", "trips", option="--table"),
        Field("labels", NAMED, "What readers call a column: edu=education.", {"edu": "education"}, option="--label"),
        Field("neighbours", TEXT, "add-remove (default) or replace.", "replace"),
        Field("public_units", INTEGER, "How many people there are, where that is public: delta is judged by it.",
              20000),
        Field("engine", TEXT, "duckdb (default), a Spark master such as spark://host:7077, or sc://host of Spark "
              "Connect.", "spark://host:7077"),
        Field("memory_limit", TEXT, "For DuckDB, such as 1GB.", "1GB"),
        Field("config", NAMED, "Of a Spark session that is started: spark.executor.memory=4g.",
              {"spark.executor.memory": "4g"}),
    ),
    "ask": _section(
        Field("kind", TEXT, "The question.", "histogram"),
        Field("by", TEXTS, "Bins by this column; several with commas.", "district",
              why="By which column should rows be counted?"),
        Field("column", TEXT, "The column of values.", "income", why="Of which column?"),
        Field("clip", CLIP, "low,high: values are clipped to this first; or the file that suggest-clip wrote.",
              [0, 100], why=_ENDS),
        Field("columns", TEXTS, "The columns that make up a vector, with commas; or one column of arrays.", ["x", "y"],
              why="Which columns make up the vector?"),
        Field("clip_norm", NUMBER, "The largest L2 norm of a vector; a longer one is scaled down to it.", 1,
              why="To which length are vectors clipped? Noise must hide the longest that anybody may have, so it is a "
              "public decision."),
        Field("length", INTEGER, "How many elements an array has, where the column holds arrays.", 10),
        Field("levels", NUMBERS, "Which quantiles, between 0 and 1: 0.5 is the median; 0.1,0.5,0.9 are three.", 0.5),
        Field("bins", INTEGER, "Steps of a noisy histogram, where there is one. Default: 32, 128 or 1,000.", 128),
        Field("intervals", FLAG, "A quarter of the guarantee for intervals, where quantiles are drawn by rank "
              "(default: yes).", False),
        Field("expected_rows", NUMBER, "About how many rows there are, where that is public (last year's number): by "
              "it mechanisms are compared.", 1000),
        Field("statistics", NAMED, "NAME=count or share of rows, NAME=KIND:COLUMN:LOW:HIGH (sum, mean, variance, std, "
              "share), NAME=ratio:COLUMN:LOW:HIGH:OVER:LOW:HIGH, or NAME=rate:CONDITION.", {"people": "count"},
              option="--stat", why="Which statistics?"),
        Field("tables", TABLES, "A table by these columns, age,sex.", [["age", "sex"]], option="--table-by"),
        Field("ways", WAYS, "Instead of tables: 2 for every table of at most two columns, 2-2 of exactly two.", 2),
        Field("weights", WEIGHTS, "What the noise is best for: of a set tables, cells, worst or age,sex=10; of "
              "statistics delay=4.", {"age,sex": 10}),
        Field("others", SHARE, "Without keys: the part of the release that tells what all other keys have, such as "
              "0.1.", "1/10"),
        Field("max_rows", INTEGER, "Use at most so many rows per person. More keeps more of the data, and needs more "
              "noise.", 5),
        Field("max_per_bin", INTEGER, "Of them at most so many in one bin. Default: as many as max_rows.", 1),
        Field("max_bins", INTEGER, "In at most so many bins. Default: as many as max_rows.", 2),
        Field("limits", TEXT, "The file that suggest-limits wrote: it has the limits.", "limits.parquet"),
        Field("row_weight", TEXT, "whole (default), or shared: all rows of a person weigh one.", "shared"),
        Field("weight", TEXT, "A column of survey weights to add up.", "weight"),
        Field("weight_clip", PAIR, "low,high: weights are clipped to this first.", [0, 500]),
        Field("other", FLAG_OR_LABEL, "Missing and unlisted values as one more key of every column, or left out of "
              "every table. Default: one more key where keys are a plain list.", True),
        Field("cumulative", TEXTS, "A column with accurate cumulative sums.", "age"),
        Field("ranges", TEXTS, "A column with accurate sums over ranges.", "age"),
        Field("nulls", TEXT, "Rows without a key: drop, or bin for a key of their own.", "bin"),
    ),
    "privacy": _section(
        Field("epsilon", NUMBER, "How much an attacker may learn; 0 or more. Small is private.", 1),
        Field("delta", NUMBER, "A small probability, such as 1e-6; 0 asks for Laplace noise.", 1e-6),
        Field("sigma", NUMBER, "Instead of epsilon and delta: the noise itself.", 3),
        Field("mechanism", TEXT, "auto (default), gaussian or laplace; of quantiles also exponential.", "laplace"),
        Field("budget", TEXT, "A ledger to pay from, a file or postgresql://...; see leastnoise budget.",
              "city.ledger"),
        Field("share", SHARE, "The part of it to spend, such as 0.25 or 1/52.", "1/52"),
        Field("note", TEXT, "A line for the ledger, such as 'the weekly map'.", "the weekly map"),
        Field("allocation", TEXT, "Pay from this allocation of the budget.", "maps"),
        Field("force", FLAG, "Release although the guarantee protects nobody in practice.", True, option="--force"),
    ),
    "output": _section(
        Field("release", TEXT, "The file of the release.", "out-{date:%Y-%m}.parquet"),
        Field("page", TEXT, "A page about it for people."),
        Field("estimate", TEXT, "The file of the denoised values."),
        Field("csv", TEXT, "A spreadsheet of it: a CSV file, or a folder of them."),
        Field("excel", TEXT, "A workbook of it."),
        Field("title", TEXT, "The page's heading."),
        Field("graph", TEXT, "Which bins are near: path, cycle, grid, or a Parquet file of edges (u, v) between keys."),
        Field("nodes", TEXT, "The nodes of such a graph: a Parquet file with id, lon, lat, which make a map."),
    ),
}  # fmt: skip
WRITTEN = ("release", "page", "estimate", "csv", "excel")  # of [output]: the files that a run makes
ROWS = ("join", "within", "nearest", "derive", "lattice", "where", "per_unit", "having")  # what one row is: `rows`
NEEDED = {"table": ("source", "unit"), "ask": ("kind",), "privacy": (), "output": ("release",)}
LIMITS = ("max_rows", "max_per_bin", "max_bins")
# What changes neither the answer nor its cost: a job with another of these is the same job.
IMMATERIAL = {"engine", "memory_limit", "config", "force", "note"}


def missing(field: Field) -> errors.MissingParameter:
    """The error where a field that is needed was not given."""
    return errors.MissingParameter(
        field.why or f"{field.flag} is needed.", parameter=field.name, example={field.name: field.example}
    )
