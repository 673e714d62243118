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
            import pandas as pd  # noqa: F401
        except ImportError:
            raise errors.MissingPackage.named("pandas", "to_pandas()") from None
        frame: pd.DataFrame = self.to_arrow().to_pandas()
        return frame

    def to_polars(self) -> pl.DataFrame:
        """The columns as a Polars data frame."""
        try:
            import polars as pl
        except ImportError:
            raise errors.MissingPackage.named("polars", "to_polars()") from None
        return pl.DataFrame(self)
