"""What was published as a table: through Arrow, which pandas, Polars, DuckDB and others read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leastnoise import errors
from leastnoise._support.validation import Number

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from leastnoise.releases.estimate import Estimate


def typed(columns: dict[str, Any]) -> dict[str, Any]:
    """The columns, with lists of keys that only unsigned integers hold as such: Arrow itself takes all for signed."""
    import pyarrow as pa

    large = [
        name
        for name, column in columns.items()
        if isinstance(column, list) and any(isinstance(key, int) and key >= 2**63 for key in column)
    ]
    return columns | {name: pa.array(columns[name], pa.uint64()) for name in large}


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
        if estimate is not None:
            raise errors.InvalidParameter("Nothing is denoised here, so no estimate stands beside it. Leave it out.")
        return self._columns()

    def _others_in_words(self) -> str:
        """What the keys that do not show have together, where that is known too."""
        return ""

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
