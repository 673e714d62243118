"""A release as a spreadsheet: a CSV file, a folder of them, or a workbook, by the name of the output."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import leastnoise as ln
from leastnoise import errors

if TYPE_CHECKING:
    from leastnoise.releases.published import Published


def write(
    loaded: Published | ln.CrosstabsRelease | ln.CrosstabsEstimate,
    output: Path,
    *,
    denoised: bool = False,
    estimate: Any = None,
    confidence: float = 0.95,
    round_to: float | None = None,
) -> Path:
    """Write what was loaded, in the form that the name of the output says.

    denoised: with an estimate beside it, made here; or `estimate`, one that was made before.
    """
    excel = output.suffix.lower() == ".xlsx"
    if isinstance(loaded, ln.CrosstabsEstimate):
        if excel:
            raise errors.BadOutput(
                "A workbook has denoised tables beside the release that they were made from, with its intervals. Give "
                "the file of that release and --denoised; or a folder, tables/, for CSV files of these."
            )
        return loaded.to_csv(folder_of(output), round_to=round_to)
    if isinstance(loaded, ln.CrosstabsRelease):
        estimate = loaded.denoise() if denoised and estimate is None else estimate
        write_set, place = (loaded.to_excel, output) if excel else (loaded.to_csv, folder_of(output))
        return write_set(place, estimate=estimate, confidence=confidence, round_to=round_to)
    if denoised and not isinstance(loaded, ln.Release):
        raise errors.InvalidParameter(f"{type(loaded).__name__} is not denoised here. Leave out --denoised.")
    beside = loaded.denoise() if denoised and estimate is None and isinstance(loaded, ln.Release) else estimate
    to_file = loaded.to_excel if excel else loaded.to_csv
    return to_file(output, estimate=beside, confidence=confidence, round_to=round_to)


def folder_of(output: Path) -> Path:
    """The folder for a set of tables, by a name that is not a file's."""
    if output.suffix:
        raise errors.BadOutput(
            f"A set of tables is a folder of CSV files, or one workbook, and {str(output)!r} is neither. Say "
            f"{output.stem}/, or {output.stem}.xlsx."
        )
    return output
