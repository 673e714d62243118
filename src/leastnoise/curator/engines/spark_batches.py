"""Python where the rows are: what runs in the executors of Spark on record batches, and what comes back of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from leastnoise.curator.engines.engine import RowRule

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

CELLS_SENT = 2**20  # of a count, in one batch


def totals(
    frame: Any, reduce: Callable[[Iterator[pa.RecordBatch]], np.ndarray[Any, Any]]
) -> list[np.ndarray[Any, Any]]:
    """Of `reduce`, once a partition; its integers come back as decimals in text."""
    import numpy as np

    def part(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        yield pa.RecordBatch.from_pydict({"total": [[str(value) for value in reduce(batches)]]})

    answer = frame.mapInArrow(part, "total array<string>").collect()
    return [np.array([int(value) for value in row.total], dtype=object) for row in answer]


def kept_codes(frame: Any, rule: RowRule) -> Any:
    """A frame of the codes that the rule keeps. That a group comes to one call whole is what Spark's `applyInArrow`
    means, however its plan is changed while it runs."""

    def sent(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return rule.send(batches)

    def received(group: pa.Table) -> pa.Table:
        return rule.receive(group)

    chunks = frame.mapInArrow(sent, "group int, packed binary")
    return chunks.groupBy("group").applyInArrow(received, "code bigint")


def summed_cells(
    frame: Any, count: Callable[[Iterator[pa.RecordBatch]], np.ndarray[Any, Any]], cells: int
) -> np.ndarray[Any, Any]:
    """The sum of `count`, once a partition; the cells that are not zero are added up in the executors as well."""
    import numpy as np

    def part(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import numpy as np
        import pyarrow as pa

        total = count(batches)
        (filled,) = np.nonzero(total)
        for begin in range(0, filled.size, CELLS_SENT):
            some = filled[begin : begin + CELLS_SENT]
            yield pa.RecordBatch.from_pydict({"cell": some.astype(np.int64), "total": total[some]})

    answer = frame.mapInArrow(part, "cell bigint, total bigint").groupBy("cell").sum("total").toArrow()
    made = np.zeros(cells, np.int64)
    made[answer["cell"].to_numpy()] = answer["sum(total)"].to_numpy()
    return made
