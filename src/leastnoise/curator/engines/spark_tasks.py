"""What runs in the Python processes of Spark's executors.

Each function here makes one that PySpark sends there whole, with what it was made from: workers import nothing from
this file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from leastnoise.curator.engines.engine import BatchWork

    Batches = Iterator[pa.RecordBatch]
    Task = Callable[[Batches], Batches]

CELLS_SENT = 2**20  # of a count, in one batch


def points(function: Any) -> Callable[[Any, Any], Any]:
    """A function of two arrays, of two series."""

    def task(x: Any, y: Any) -> Any:
        import pandas as pd

        return pd.Series(list(function(x.to_numpy(), y.to_numpy())))

    return task


def filled_cells(count: Callable[[Batches], np.ndarray[Any, Any]]) -> Task:
    """The cells that are not zero, each with its total."""

    def task(batches: Batches) -> Batches:
        import numpy as np
        import pyarrow as pa

        total = count(batches)
        (filled,) = np.nonzero(total)
        for begin in range(0, filled.size, CELLS_SENT):
            some = filled[begin : begin + CELLS_SENT]
            yield pa.RecordBatch.from_pydict({"cell": some.astype(np.int64), "total": total[some]})

    return task


def through(work: BatchWork) -> Task:
    """Batches of a partition in, others out."""

    def task(batches: Batches) -> Batches:
        return work(batches)

    return task


def probe() -> Task:
    """The version of leastnoise there, or what is missing."""

    def task(batches: Batches) -> Batches:
        import pyarrow as pa

        for _ in batches:
            pass
        try:
            import numba
            import scipy.spatial

            from leastnoise._support.version import VERSION
        except ImportError as missing:
            found = f"no {missing.name or 'leastnoise'}"
        else:
            found = VERSION if numba.__version__ and scipy.__version__ else ""
        yield pa.RecordBatch.from_pydict({"found": [found]})

    task.__module__ = "__main__"  # by which PySpark sends the function itself, not its name
    return task
