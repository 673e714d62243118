"""Days and hours as axes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from leastnoise.domain.axes import _within
from leastnoise.errors import BadDomain


@dataclass(frozen=True, slots=True)
class Days:
    """Days in a row.

    start: the first, a date or its ISO text. stop: the day after the last.
    """

    start: date
    stop: date

    def __post_init__(self) -> None:
        for name in ("start", "stop"):
            if isinstance(getattr(self, name), str):
                object.__setattr__(self, name, date.fromisoformat(getattr(self, name)))
        if self.stop <= self.start:
            raise BadDomain(f"no day lies between {self.start} and {self.stop}. Say start < stop.")

    @property
    def size(self) -> int:
        return (self.stop - self.start).days

    @property
    def first(self) -> int:
        """Days from 1970-01-01 to start."""
        return (self.start - date(1970, 1, 1)).days

    def key(self, position: int) -> date:
        return self.start + timedelta(days=_within(position, self.size))

    def index(self, key: date) -> int | None:
        place = (key - self.start).days
        return place if 0 <= place < self.size else None


@dataclass(frozen=True, slots=True)
class Hours:
    """Hours in a row, in UTC or in the table's own clock (times without a zone).

    start: the beginning of the first, a datetime or its ISO text. stop: the end of the last.
    """

    start: datetime
    stop: datetime

    def __post_init__(self) -> None:
        for name in ("start", "stop"):
            if isinstance(getattr(self, name), str):
                object.__setattr__(self, name, datetime.fromisoformat(getattr(self, name)))
        ends = (self.start, self.stop)
        if any((end.minute, end.second, end.microsecond) != (0, 0, 0) for end in ends):
            raise BadDomain("hours begin on the hour. Give ends with no minutes and seconds.")
        if self.stop <= self.start:
            raise BadDomain(f"no hour lies between {self.start} and {self.stop}. Say start < stop.")

    @property
    def size(self) -> int:
        return int((self.stop - self.start) / timedelta(hours=1))

    @property
    def first(self) -> int:
        """Hours from 1970-01-01 00:00 to start."""
        naive = self.start if self.start.tzinfo is None else self.start.astimezone(UTC).replace(tzinfo=None)
        return int((naive - datetime(1970, 1, 1)) / timedelta(hours=1))

    def key(self, position: int) -> datetime:
        return self.start + timedelta(hours=_within(position, self.size))

    def index(self, key: datetime) -> int | None:
        place = (key - self.start) // timedelta(hours=1)
        return place if 0 <= place < self.size else None
