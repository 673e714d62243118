"""What every kind of release has: frames through Arrow, which pandas, Polars, DuckDB and others read; spreadsheets; and
whatever has a value a bin, bins with names, intervals, words, a picture and a page.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from leastnoise import errors
from leastnoise._support.validation import Number
from leastnoise.releases import display, views
from leastnoise.releases.block import BinPromise
from leastnoise.releases.columns import labelled_domain
from leastnoise.releases.file_format import Saved
from leastnoise.releases.noise import Noisy
from leastnoise.releases.provenance import Promised

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from rich.console import Group

    from leastnoise.domain import Domain, Zones
    from leastnoise.graphs import Graph
    from leastnoise.releases.estimate import Estimate


def typed(columns: dict[str, Any]) -> dict[str, Any]:
    """The columns, with lists of keys that only unsigned integers hold as such: Arrow itself takes all for signed."""
    import pyarrow as pa

    made = {}
    for name, column in columns.items():
        try:
            made[name] = pa.array(column) if isinstance(column, list) else column
        except (pa.ArrowInvalid, OverflowError):
            made[name] = pa.array(column, pa.uint64())
    return made


def refuse_beside(estimate: object) -> None:
    """Refuse an estimate where nothing is denoised."""
    if estimate is not None:
        raise errors.InvalidParameter("Nothing is denoised here, so no estimate stands beside it. Leave it out.")


class Frames:
    """Anything with columns of equal length, by name: those of its file, and those that people are shown."""

    __slots__ = ()

    def _columns(self) -> dict[str, Any]:
        """The columns of the file."""
        raise NotImplementedError

    def _shown_columns(
        self, confidence: Number = 0.95, estimate: Estimate | None = None, *, for_people: bool = False
    ) -> dict[str, Any]:
        """The columns of a frame; `for_people` has keys as they were written, whatever types a column then mixes."""
        refuse_beside(estimate)
        return self._columns()

    def _promised_of(self, confidence: Number) -> BinPromise:
        """What intervals of this confidence promise."""
        return "every bin"

    def _others_in_words(self) -> str:
        """What the keys that do not show have together, where that is known too."""
        return ""

    @property
    def _rows(self) -> int:
        """How many rows it has."""
        return len(next(iter(self._columns().values())))

    def _first_columns(self, rows: int) -> dict[str, Any]:
        """The first rows of what is printed."""
        return {name: column[:rows] for name, column in self._columns().items()}

    def __str__(self) -> str:
        """What it is, and the first rows."""
        return display.as_text(self)

    def _repr_html_(self) -> str:
        return display.as_html(self)

    def __rich__(self) -> Group:
        return display.as_rich(self)

    def _file_table(self) -> pa.Table:
        return self._arrow(self._columns())

    def _arrow(self, columns: dict[str, Any]) -> pa.Table:
        import pyarrow as pa

        return pa.table(typed(columns))

    def to_arrow(self, *, confidence: Number = 0.95, estimate: Estimate | None = None) -> pa.Table:
        """Keys, values and their intervals as an Arrow table.

        confidence: that of `low` and `high`.
        estimate: what `denoise` made of this release, whose values and intervals stand beside.
        """
        return self._arrow(self._shown_columns(confidence, estimate))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The Arrow PyCapsule protocol: `polars.DataFrame(release)`, `duckdb.from_arrow(release)`."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_pandas(self, *, confidence: Number = 0.95, estimate: Estimate | None = None) -> pd.DataFrame:
        """Keys, values and their intervals as a pandas data frame, which is free to change.

        confidence: that of `low` and `high`.
        estimate: what `denoise` made of this release, whose values and intervals stand beside.
        """
        try:
            import pandas as pd
        except ImportError:
            raise errors.MissingPackage.named("pandas", "to_pandas()") from None
        import pyarrow as pa

        table = self.to_arrow(confidence=confidence, estimate=estimate)
        frame: pd.DataFrame = table.to_pandas()
        for name, column in zip(table.column_names, table.columns, strict=True):
            if column.null_count and pa.types.is_integer(column.type):  # else pandas makes them floats and NaN
                kind = pd.UInt64Dtype() if pa.types.is_uint64(column.type) else pd.Int64Dtype()
                frame[name] = column.to_pandas(types_mapper={column.type: kind}.get)
        return frame

    def to_polars(self, *, confidence: Number = 0.95, estimate: Estimate | None = None) -> pl.DataFrame:
        """Keys, values and their intervals as a Polars data frame.

        confidence: that of `low` and `high`.
        estimate: what `denoise` made of this release, whose values and intervals stand beside.
        """
        try:
            import polars as pl
        except ImportError:
            raise errors.MissingPackage.named("polars", "to_polars()") from None
        return pl.DataFrame(self.to_arrow(confidence=confidence, estimate=estimate))


class Spreadsheets:
    """Anything with columns and a promise, or a set of tables that have them."""

    __slots__ = ()

    def to_csv(
        self,
        path: str | os.PathLike[str],
        *,
        estimate: Any = None,
        confidence: Number = 0.95,
        round_to: Number | None = None,
        allow_seeded: bool = False,
    ) -> Path:
        """One CSV file for spreadsheets: comment lines with the promise, then keys, values, and their low and high.
        Of a set of tables a folder of such files, one a table.

        path: where it is written; an earlier file of ours is replaced, anything else there is refused. A folder is a
            new or empty one, or one with earlier tables of leastnoise, which are replaced.
        estimate: what `denoise` made of this release, whose values, errors and intervals stand beside.
        confidence: that of low and high.
        round_to: round what is written to multiples of this, such as 5; low ends down and high ends up. Tables of a
            set then add up only nearly.
        allow_seeded: lets a test write what a seed made.
        """
        asked = {"estimate": estimate, "confidence": confidence, "round_to": round_to}
        return views.export("csv", self, path, asked, allow_seeded)

    def to_excel(
        self,
        path: str | os.PathLike[str],
        *,
        estimate: Any = None,
        confidence: Number = 0.95,
        round_to: Number | None = None,
        allow_seeded: bool = False,
    ) -> Path:
        """One Excel workbook: a first sheet with the promise, then keys, values, and their low and high. Of a set of
        tables the first sheet lists them, and each has a sheet.

        Texts are texts: nothing in it is a formula. It needs the extra `excel`.

        path: where it is written; an earlier file of ours is replaced, anything else there is refused.
        estimate: what `denoise` made of this release, whose values, errors and intervals stand beside.
        confidence: that of low and high.
        round_to: round what is written to multiples of this, such as 5; low ends down and high ends up. Tables of a
            set then add up only nearly.
        allow_seeded: lets a test write what a seed made.
        """
        asked = {"estimate": estimate, "confidence": confidence, "round_to": round_to}
        return views.export("workbook", self, path, asked, allow_seeded)


class Binned(Promised, Frames, Spreadsheets, Saved):
    """A value, or several, for each bin of a domain."""

    __slots__ = ()

    if TYPE_CHECKING:  # fields of some kinds, computed by others. (At run time a property would be a field's default.)

        @property
        def domain(self) -> Domain | None:
            """The bins; None where they are only numbered."""

        @property
        def bins(self) -> int:
            """How many bins."""

    @property
    def _rows(self) -> int:
        return self.bins

    @property
    def _shown_domain(self) -> Domain | None:
        """The domain by what readers call its columns."""
        return labelled_domain(self.domain, self.provenance.labels)

    @property
    def why_not_denoised(self) -> str:
        """Why `denoise` is refused, where it is; the page says the same."""
        return ""

    def denoise(self, method: str = "auto", **options: Any) -> Any:
        """Refused, with the reason, unless the values are a truth plus noise of one known law.

        method, options: those of releases that can be denoised.
        """
        raise errors.InvalidParameter(self.why_not_denoised, parameter="method", value=method)


class Published(Binned, Noisy, ABC):
    """A release of any kind, or an estimate made from one."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def values(self) -> Any:
            """What is published, one value a bin."""

        @property
        def kind(self) -> str:
            """count, sum, vector, mean, quantile or estimate."""

        @property
        def column(self) -> str | None:
            """Whose means or quantiles they are; None where that is not known, or there is no one column."""

    covers_domain: ClassVar[bool] = True  # whether every bin has a value, in order, so that nodes can stand for them
    _picture: ClassVar[str] = "release"  # the function of `leastnoise.plot` that draws it

    # What each kind says of itself

    @property
    @abstractmethod
    def bins(self) -> int:
        """How many values."""

    @property
    def noun(self) -> str:
        """What one of the values is called."""
        return self.kind

    @property
    def at_least(self) -> int | None:
        """What a noisy count had to reach to be shown; None where all bins show."""
        return None

    @property
    def one_distribution(self) -> bool:
        """Whether the noise of a value is of one known distribution, which a page can draw."""
        return True

    @property
    def noise_added_to(self) -> str:
        """What the noise was added to."""
        return "a value"

    @abstractmethod
    def interval(self, confidence: Number = 0.95) -> tuple[Any, Any]:
        """Where the truth lies with this `confidence`, bin by bin: low and high."""

    @abstractmethod
    def explain(self) -> str:
        """What was published, and what it promises, in plain words."""

    @abstractmethod
    def errors_in_words(self) -> str:
        """How far off what is published is."""

    def spread_in_words(self, digits: int = 6) -> str:
        """How wide the noise is, to so many `digits`."""
        return self.noise.in_words(digits)

    # The noise

    @property
    def mechanism_in_words(self) -> str:
        """Gaussian noise, Laplace noise, or what else there was."""
        return f"{self.mechanism.capitalize()} noise"

    # Where it comes from

    @property
    def note(self) -> str:
        """Why this noise was chosen."""
        reason = self.provenance.reason
        return "" if reason is None else reason.in_words(self.mechanism, self.std)

    # What is made of it

    def plot(self, **options: Any) -> Any:
        """The values with their intervals as a picture: `leastnoise.plot.release` (of an estimate: `plot.estimate`).

        The `options` `estimate`, `graph`, `zones` and `ax` are passed on. It needs matplotlib.
        """
        return views.plot(self, **options)

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        estimate: Estimate | Literal["auto"] | None = "auto",
        graph: Graph | None = None,
        zones: Zones | None = None,
        title: str | None = None,
        allow_seeded: bool = False,
    ) -> Path:
        """One HTML page for people, with nothing to fetch: what was released, the promise, a map or a chart, a table.

        It is written to `path`. `estimate` is "auto" to denoise first, an Estimate of your own, or None; `graph`, or
        `zones` by name, make it a map; `title` is the page's heading. `allow_seeded` lets a test write what a seed
        made.
        """
        return views.report(
            path, self, estimate=estimate, graph=graph, zones=zones, title=title, allow_seeded=allow_seeded
        )
