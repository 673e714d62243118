"""Conditions of which one branch fails, and an attacker who asks them and remembers whether there was an answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.parquet as pq
from ibis import _

import leastnoise as ln
from leastnoise.errors import LeastnoiseError

FARE = 774.77
SHARE = 1e-6
PERSON = {"who": "zoe", "fare": FARE, "day": 15_706, "word": "a"}
OTHERS = [{"who": f"p{place}", "fare": 0.01, "day": 15_706, "word": "b"} for place in range(5)]
KINDS = pa.schema([("who", pa.string()), ("fare", pa.float64()), ("day", pa.date32()), ("word", pa.string())])


def day(written: str) -> Callable[[float], Any]:
    return lambda x: ibis.ifelse(_.fare > x, ibis.literal(written).cast("date") == _.day, True)


def moment(written: str) -> Callable[[float], Any]:
    return lambda x: ibis.ifelse(
        _.fare > x, ibis.literal(written).cast("timestamp") > ibis.timestamp("2013-01-01"), True
    )


def number(written: str) -> Callable[[float], Any]:
    return lambda x: ibis.ifelse(_.fare > x, ibis.literal(written).cast("float64") > _.fare, True)


def narrowed(kind: str) -> Callable[[float], Any]:
    return lambda x: ibis.ifelse(_.fare > x, _.fare * 1e300, _.fare).cast(kind) > -1


def in_words(branch: str) -> Callable[[float], Any]:
    return lambda x: f"CASE WHEN fare > {x!r} THEN {branch} ELSE TRUE END"


TRICKS: dict[str, Callable[[float], Any]] = {
    "a day without dashes": day("20130101"),
    "a day of a week": day("2013-W01-1"),
    "a day in wide digits": day("２０１３-０１-０１"),
    "a time after an x": moment("2013-01-01x00:00"),
    "a time with a zone": moment("2013-01-01T00:00:00.5+01:00:30"),
    "a number in wide digits": number("１２.５"),
    "a number with an underscore": number("1_000"),
    "a number that is none": number("nan"),
    "half a double": narrowed("float32"),
    "a quarter of a double": narrowed("float16"),
    "a cast of a text": in_words("CAST(word AS BIGINT) > 0"),
    "a cast of a day": in_words("CAST('20130101' AS DATE) = day"),
    "a cast of a number": in_words("CAST(fare * 1e300 AS BIGINT) > 0"),
    "a division by zero": in_words("1 // (fare - fare) > 0"),
    "an integer beyond 64 bits": in_words("CAST(9223372036854775807 AS BIGINT) + CAST(FLOOR(fare) AS BIGINT) > 0"),
    "a day beyond the calendar": in_words("CAST('99999-01-01' AS DATE) = day"),
}


class Attacker:
    """Asks through the public functions, and remembers only whether there was an answer."""

    def __init__(self, people: list[dict[str, Any]], folder: Path, *, engine: str | None = None) -> None:
        self.budget = ln.Budget.open(folder / "city.ledger", epsilon=1, delta=1e-6)
        source: Any = pa.Table.from_pylist(people, KINDS)
        if engine is not None:
            pq.write_table(source, folder / "rows.parquet")
            source = folder / "rows.parquet"
        self.rows = ln.table(source, unit="who", name="rides", engine=engine)

    def outcome(self, shape: Callable[[Any], Any]) -> str:
        try:
            shape(self.rows).count(max_rows=1).release(budget=self.budget, share=SHARE)
        except LeastnoiseError as error:
            return type(error).__name__
        return "an answer"

    def outcomes(self, condition: Any) -> list[str]:
        """As a condition, and as a column that a condition reads."""
        derived = lambda rows: rows.derive(made=condition).where(_.made)  # noqa: E731
        return [self.outcome(lambda rows: rows.where(condition)), self.outcome(derived)]


def both(folder: Path, engine: str | None = None) -> tuple[Attacker, Attacker]:
    """The same table with the person and without."""
    (folder / "with").mkdir()
    (folder / "without").mkdir()
    return Attacker([*OTHERS, PERSON], folder / "with", engine=engine), Attacker(
        OTHERS, folder / "without", engine=engine
    )
