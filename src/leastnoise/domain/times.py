"""Days and hours as axes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any, ClassVar

import numpy as np

from leastnoise._support import toml
from leastnoise.domain.axes import Axis, within
from leastnoise.errors import BadDomain, Code, WrongType


class _Calendar(Axis):
    """Units of time in a row, from a start to a stop."""

    __slots__ = ()
    start: Any
    stop: Any
    unit: ClassVar[timedelta]

    def _check_some(self) -> None:
        if self.stop <= self.start:
            word = type(self).__name__.lower().removesuffix("s")
            raise BadDomain(f"no {word} lies between {self.start} and {self.stop}. Say start < stop.")

    @property
    def size(self) -> int:
        return int((self.stop - self.start) // self.unit)

    def key(self, position: int) -> Any:
        return self.start + within(position, self.size) * self.unit

    def index(self, key: Any) -> int | None:
        place: int = (key - self.start) // self.unit
        return place if 0 <= place < self.size else None

    @property
    def has_order(self) -> bool:
        return True

    def toml(self) -> str:
        return f"{type(self).__name__.lower()} = {toml.value((self.start, self.stop))}"


@dataclass(frozen=True, slots=True)
class Days(_Calendar):
    """Days in a row.

    start: the first, a date, its ISO text or its midnight. stop: the day after the last.
    """

    start: date
    stop: date
    unit: ClassVar[timedelta] = timedelta(days=1)

    def __post_init__(self) -> None:
        for name in ("start", "stop"):
            object.__setattr__(self, name, _day(getattr(self, name)))
        self._check_some()

    @property
    def first(self) -> int:
        """Days from 1970-01-01 to start."""
        return (self.start - date(1970, 1, 1)).days


@dataclass(frozen=True, slots=True)
class Hours(_Calendar):
    """Hours in a row, in UTC or in the table's own clock (times without a zone).

    start: the beginning of the first, a datetime or its ISO text. stop: the end of the last.
    """

    start: datetime
    stop: datetime
    unit: ClassVar[timedelta] = timedelta(hours=1)

    def __post_init__(self) -> None:
        for name in ("start", "stop"):
            object.__setattr__(self, name, _moment(getattr(self, name)))
        if (self.start.tzinfo is None) != (self.stop.tzinfo is None):
            raise BadDomain("one end of the hours has a time zone and the other has none. Give both one, or neither.")
        if any((end - datetime(1970, 1, 1)) % self.unit for end in map(_in_utc, (self.start, self.stop))):
            raise BadDomain("hours begin on the hour, those with a time zone on one of UTC. Give ends that do.")
        self._check_some()

    @property
    def first(self) -> int:
        """Hours from 1970-01-01 00:00 to start."""
        return (_in_utc(self.start) - datetime(1970, 1, 1)) // self.unit


def _day(end: Any) -> date:
    """A date; of its ISO text, and of its midnight, as pandas and NumPy have days."""
    plain = _plain_time(end, date)
    if isinstance(plain, datetime) and plain.tzinfo is None and plain == datetime(plain.year, plain.month, plain.day):
        plain = plain.date()
    if isinstance(plain, date) and not isinstance(plain, datetime):
        return plain
    raise WrongType(
        f"days begin and end at dates, or at their ISO texts. Got {end!r} instead. Hours are ln.domain.Hours(...).",
        parameter="keys",
        value=end,
        example=Code(
            'ln.domain.Days("2013-01-01", "2013-02-01")', "{ days = [2013-01-01, 2013-02-01] } in a keys.toml"
        ),
    )


def _moment(end: Any) -> datetime:
    """A time, or that of its ISO text; with a zone, its year in UTC is one of 1 to 9999, too."""
    plain = _plain_time(end, datetime)
    try:
        if isinstance(plain, datetime):
            in_utc = _in_utc(plain)
            # Hours are counted by subtraction, which within one zone goes by its clock: a day of 23 would have 24.
            fixed = plain.tzinfo is None or isinstance(plain.tzinfo, timezone)
            return plain if fixed else in_utc.replace(tzinfo=UTC)
    except OverflowError:
        pass
    ends = "2013-01-01T00:00:00, 2013-01-02T00:00:00"
    raise WrongType(
        f"hours begin and end at times, or at their ISO texts. Got {end!r} instead. Days are ln.domain.Days(...).",
        parameter="keys",
        value=end,
        example=Code(
            'ln.domain.Hours("2013-01-01 00:00", "2013-01-02 00:00")', f"{{ hours = [{ends}] }} in a keys.toml"
        ),
    )


def _plain_time(end: Any, kind: type[date] | type[datetime]) -> Any:
    """What a text says, and the Python value of a pandas or a NumPy one; None where that would lose something."""
    if isinstance(end, str):
        try:
            return kind.fromisoformat(end)
        except ValueError:
            return None
    if isinstance(end, np.datetime64):
        return end.astype("datetime64[us]").item() if end.astype("datetime64[us]") == end else None
    if hasattr(end, "to_pydatetime"):  # (a missing one does not equal itself)
        return end.to_pydatetime(warn=False) if end == end and not end.nanosecond else None
    return end


def _in_utc(end: datetime) -> datetime:
    """The time without a zone; of one with a zone, that of UTC."""
    return end if end.tzinfo is None else end.astimezone(UTC).replace(tzinfo=None)
