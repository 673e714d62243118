"""What was released as a table of another library: one `_columns()`, three ways out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

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

    def to_pandas(self) -> pd.DataFrame:
        """The columns as a pandas data frame, which is free to change."""
        try:
            import pandas as pd
        except ImportError:
            raise errors.MissingPackage.named("pandas", "to_pandas()") from None
        columns = self._columns()
        return pd.DataFrame({name: np.array(c) if isinstance(c, np.ndarray) else c for name, c in columns.items()})

    def to_polars(self) -> pl.DataFrame:
        """The columns as a Polars data frame."""
        try:
            import polars as pl
        except ImportError:
            raise errors.MissingPackage.named("polars", "to_polars()") from None
        return pl.DataFrame(self._columns())
