"""What was published as a table: through Arrow, which pandas, Polars, DuckDB and others read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leastnoise import errors

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa


class Frames:
    """Anything with columns of equal length, by name."""

    __slots__ = ()

    def _columns(self) -> dict[str, Any]:
        raise NotImplementedError

    def to_arrow(self) -> pa.Table:
        """The columns as an Arrow table."""
        import pyarrow as pa

        return pa.table(self._columns())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The Arrow PyCapsule protocol: `polars.DataFrame(release)`, `duckdb.from_arrow(release)`."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> pd.DataFrame:
        """The columns as a pandas data frame, which is free to change."""
        try:
            import pandas as pd
        except ImportError:
            raise errors.MissingPackage.named("pandas", "to_pandas()") from None
        import pyarrow as pa

        table = self.to_arrow()
        frame: pd.DataFrame = table.to_pandas()
        for name, column in zip(table.column_names, table.columns, strict=True):
            if column.null_count and pa.types.is_integer(column.type):  # else pandas makes them floats and NaN
                frame[name] = column.to_pandas(types_mapper={column.type: pd.Int64Dtype()}.get)
        return frame

    def to_polars(self) -> pl.DataFrame:
        """The columns as a Polars data frame."""
        try:
            import polars as pl
        except ImportError:
            raise errors.MissingPackage.named("polars", "to_polars()") from None
        return pl.DataFrame(self)
