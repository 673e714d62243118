"""`leastnoise export`: a saved release in, a CSV file, a folder of them or an Excel workbook out."""

from __future__ import annotations

from rich.console import Console

import leastnoise as ln
from leastnoise.cli import options
from leastnoise.cli.json_output import print_json
from leastnoise.jobs.sheets import write


def export(
    release: options.ReleaseFile,
    output: options.SheetFile,
    denoised: options.Denoised = False,
    confidence: options.SheetConfidence = 0.95,
    round_to: options.RoundTo = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """The numbers for spreadsheets: keys, values, low and high, below what was promised.

    Example: [bold]leastnoise export map.parquet --denoised -o map.xlsx[/bold]
    """
    made = write(ln.load(release), output, denoised=denoised, confidence=confidence, round_to=round_to)
    if quiet:
        return
    if json:
        print_json({"output": str(made)})
        return
    Console().print(f"Written: {made}", highlight=False, markup=False, soft_wrap=True)
