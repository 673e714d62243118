"""What the statistics of a summary share that have no file of their own: they are computed from several noisy numbers,
and saved with the summary that has all of those."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from leastnoise import errors
from leastnoise._support.number_format import rounded
from leastnoise.releases.display import TOO_FEW
from leastnoise.releases.frames import typed
from leastnoise.releases.published import Published

if TYPE_CHECKING:
    import pyarrow as pa


class SummaryPart(Published):
    """A statistic that is saved with its summary."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def enough(self) -> NDArray[np.bool_]:
            """Whether it can be told, bin by bin."""

    @property
    def divided_by(self) -> str:
        """The noisy number that may be too small."""
        return "count"

    def errors_in_words(self) -> str:
        """How far off what is published is, and what cannot be told."""
        enough, (low, high) = self.enough, self.interval(0.95)
        where = ""
        if enough.any():
            widest = rounded((high - low)[enough].max(), 3)
            where = f"95 % of the time a {self.noun} lies between its low and its high, at most {widest} apart."
        missing = int((~enough).sum())
        within = f"the noisy {self.divided_by} is within its noise"
        few = f" {missing:,} of {self.bins:,} are {TOO_FEW}: {within}." if missing else ""
        return f"{where}{few}".strip()

    def _arrow(self, columns: dict[str, Any]) -> pa.Table:
        """What cannot be told is null."""
        import pyarrow as pa

        return pa.table(typed(columns) | {self.kind: pa.array(columns[self.kind], mask=~self.enough)})

    def save(self, path: str | os.PathLike[str], *, allow_seeded: bool = False) -> None:
        """Refused: it is saved with the summary that it is a part of.

        path, allow_seeded: those of other releases.
        """
        raise errors.InvalidParameter("This is a part of a summary. Save the summary: its file has all of them.")
