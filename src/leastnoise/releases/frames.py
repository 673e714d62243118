"""What was published as a table: through Arrow, which pandas, Polars, DuckDB and others read; and for spreadsheets, a
CSV file or an Excel workbook."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from leastnoise import errors
from leastnoise._support.validation import Number
from leastnoise.releases import display, views
from leastnoise.releases.block import BinPromise

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from rich.console import Group

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
        return self._export("csv", path, estimate, confidence, round_to, allow_seeded)

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
        return self._export("excel", path, estimate, confidence, round_to, allow_seeded)

    def _export(
        self,
        form: Literal["csv", "excel"],
        path: str | os.PathLike[str],
        estimate: Any,
        confidence: Number,
        round_to: Number | None,
        allow_seeded: bool,
    ) -> Path:
        return views.export(
            form, self, path, estimate=estimate, confidence=confidence, round_to=round_to, allow_seeded=allow_seeded
        )
