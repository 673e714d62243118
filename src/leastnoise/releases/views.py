"""What is made of a release by the packages above this one: they are imported at the call, and in this file only."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leastnoise import errors
from leastnoise._support import files, progress, validation
from leastnoise.releases import file_format

if TYPE_CHECKING:
    from leastnoise.releases.crosstab_estimate import CrosstabsEstimate
    from leastnoise.releases.crosstabs import CrosstabsRelease
    from leastnoise.releases.estimate import Estimate
    from leastnoise.releases.release import Release
    from leastnoise.synthetic import SyntheticRows

Along = str | Sequence[str] | bool | None


def plot(published: Any, **options: Any) -> Any:
    """Its picture, by `leastnoise.plot`."""
    from leastnoise import plot

    return getattr(plot, getattr(published, "_picture", "release"))(published, **options)


def report(
    path: str | os.PathLike[str],
    published: Any,
    *,
    estimate: Any = None,
    title: str | None,
    allow_seeded: bool,
    **on_a_map: Any,
) -> Path:
    """Its page, by `leastnoise.report`. estimate: what stands beside; "auto" denoises what can be denoised."""
    from leastnoise import report

    file_format.refuse_seeded_noise(published.seeded or getattr(estimate, "seeded", False), allow_seeded)
    files.check_writable(path, "page")  # before anything slow
    why_none = ""
    if isinstance(estimate, str):
        validation.word("estimate", estimate, ["auto"])
        estimate, why_none = _denoised(published, on_a_map)
    with progress.watched("writing the page"):
        return report.write(path, published, estimate=estimate, why_no_estimate=why_none, title=title, **on_a_map)


def _denoised(published: Any, on_a_map: dict[str, Any]) -> tuple[Any, str]:
    """The estimate of what can be denoised, or why there is none; a set that no denoiser takes has a page without."""
    if getattr(published, "why_not_denoised", ""):
        return None, ""
    try:
        return published.denoise(**({"graph": on_a_map["graph"]} if on_a_map else {})), ""
    except errors.LeastnoiseError as reason:
        return None, str(reason) if on_a_map else ""


def export(form: str, published: Any, path: str | os.PathLike[str], asked: dict[str, Any], allow_seeded: bool) -> Path:
    """Its numbers for spreadsheets, by `leastnoise.export`; `form` is csv or workbook."""
    from leastnoise import export

    file_format.refuse_seeded_noise(published.seeded or getattr(asked["estimate"], "seeded", False), allow_seeded)
    path_written: Path = getattr(export, f"write_{form}")(published, path, **asked)
    return path_written


def denoise(release: Release, method: str, along: Along, options: dict[str, Any]) -> Estimate:
    """The values with noise taken back out, by `leastnoise.denoise.<method>`."""
    from leastnoise import denoise

    return denoise.denoise_release(release, method, along, options, denoise.METHODS)


def denoise_tables(release: CrosstabsRelease, known: Mapping[Any, Any]) -> CrosstabsEstimate:
    """The tables of a set with noise taken back out, by `leastnoise.denoise`."""
    from leastnoise import denoise

    return denoise.denoise_set(release, known)


def rows(release: CrosstabsRelease, count: int | None, **options: Any) -> SyntheticRows:
    """Rows near its tables, by `leastnoise.synthetic`."""
    from leastnoise import synthetic

    return synthetic.of_release(release, count, **options)
