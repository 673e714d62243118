"""What was published for whoever works with a spreadsheet: a CSV file, or an Excel workbook."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from leastnoise._support.validation import Number
from leastnoise.releases import views
from leastnoise.releases.frames import Frames

if TYPE_CHECKING:
    from leastnoise.releases.estimate import Estimate


class Spreadsheets(Frames):
    """Anything with columns and a promise."""

    __slots__ = ()

    def to_csv(
        self,
        path: str | os.PathLike[str],
        *,
        estimate: Estimate | None = None,
        confidence: Number = 0.95,
        round_to: Number | None = None,
        allow_seeded: bool = False,
    ) -> Path:
        """One CSV file for spreadsheets: comment lines with the promise, then keys, values, and their low and high.

        path: where it is written; an earlier file of ours is replaced, anything else there is refused.
        estimate: what `denoise` made of this release, whose values and intervals stand beside.
        confidence: that of low and high.
        round_to: round what is written to multiples of this, such as 5; low ends down and high ends up.
        allow_seeded: lets a test write what a seed made.
        """
        return views.export(
            "csv", self, path, estimate, confidence=confidence, round_to=round_to, allow_seeded=allow_seeded
        )

    def to_excel(
        self,
        path: str | os.PathLike[str],
        *,
        estimate: Estimate | None = None,
        confidence: Number = 0.95,
        round_to: Number | None = None,
        allow_seeded: bool = False,
    ) -> Path:
        """One Excel workbook: a first sheet with the promise, then keys, values, and their low and high.

        Texts are texts: nothing in it is a formula. It needs the extra `excel`.

        path: where it is written; an earlier file of ours is replaced, anything else there is refused.
        estimate: what `denoise` made of this release, whose values and intervals stand beside.
        confidence: that of low and high.
        round_to: round what is written to multiples of this, such as 5; low ends down and high ends up.
        allow_seeded: lets a test write what a seed made.
        """
        return views.export(
            "excel", self, path, estimate, confidence=confidence, round_to=round_to, allow_seeded=allow_seeded
        )
