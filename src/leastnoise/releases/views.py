"""What is made of a release by the packages above this one: they are imported at the call, and in this file only."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from leastnoise import errors
from leastnoise._support import files, progress, validation
from leastnoise.releases import file_format

if TYPE_CHECKING:
    from leastnoise.domain import Zones
    from leastnoise.graphs import Graph
    from leastnoise.releases.crosstab_estimate import CrosstabsEstimate
    from leastnoise.releases.crosstabs import CrosstabsRelease
    from leastnoise.releases.estimate import Estimate
    from leastnoise.releases.limit_suggestion import LimitSuggestion
    from leastnoise.releases.published import Published
    from leastnoise.releases.release import Release
    from leastnoise.releases.summary import SummaryRelease

Along = str | Sequence[str] | bool | None


def plot(published: Any, **options: Any) -> Any:
    """Its picture, by `leastnoise.plot`."""
    from leastnoise import plot

    return getattr(plot, getattr(published, "_picture", "release"))(published, **options)


def report(
    path: str | os.PathLike[str],
    published: Published,
    *,
    estimate: Estimate | Literal["auto"] | None,
    graph: Graph | None,
    zones: Zones | None,
    title: str | None,
    allow_seeded: bool,
) -> Path:
    """Its page, by `leastnoise.report`."""
    from leastnoise import report
    from leastnoise.releases.estimate import Estimate

    seeded = published.seeded or (isinstance(estimate, Estimate) and estimate.seeded)
    file_format.refuse_seeded_noise(seeded, allow_seeded)
    files.check_writable(path, "page")  # before anything slow
    beside, why_none = _estimate_for_page(published, estimate, graph)
    with progress.watched("writing the page"):
        return report.write(
            path, published, estimate=beside, why_no_estimate=why_none, graph=graph, zones=zones, title=title
        )


def report_tables(
    path: str | os.PathLike[str],
    release: CrosstabsRelease,
    *,
    estimate: CrosstabsEstimate | Literal["auto"] | None,
    title: str | None,
    allow_seeded: bool,
) -> Path:
    """The page of a set of tables, by `leastnoise.report`."""
    from leastnoise import report

    if isinstance(estimate, str):
        validation.word("estimate", estimate, ["auto"])
        files.check_writable(path, "page")  # before anything slow
        try:
            estimate = release.denoise()
        except errors.LeastnoiseError:  # a set that no denoiser takes has a page without an estimate
            estimate = None
    file_format.refuse_seeded_noise(release.seeded, allow_seeded)  # an estimate of it is as seeded as it is
    with progress.watched("writing the page"):
        return report.write(path, release, estimate=estimate, title=title)


def export(
    form: Literal["csv", "excel"],
    published: Any,
    path: str | os.PathLike[str],
    *,
    estimate: Any,
    confidence: validation.Number,
    round_to: validation.Number | None,
    allow_seeded: bool,
) -> Path:
    """Its numbers for spreadsheets, by `leastnoise.export`."""
    from leastnoise import export

    file_format.refuse_seeded_noise(published.seeded or (estimate is not None and estimate.seeded), allow_seeded)
    write = export.write_csv if form == "csv" else export.write_workbook
    return write(published, path, estimate=estimate, confidence=confidence, round_to=round_to)


def report_alone(
    path: str | os.PathLike[str], release: SummaryRelease | LimitSuggestion, *, title: str | None, allow_seeded: bool
) -> Path:
    """The page of what no estimate stands beside, by `leastnoise.report`."""
    from leastnoise import report

    file_format.refuse_seeded_noise(release.seeded, allow_seeded)
    return report.write(path, release, title=title)


def _estimate_for_page(
    published: Published, estimate: Estimate | Literal["auto"] | None, graph: Graph | None
) -> tuple[Estimate | None, str]:
    """What the page shows beside the release, or why nothing: "auto" denoises a Release, and no other kind."""
    from leastnoise.releases.estimate import Estimate

    if estimate is None or isinstance(estimate, Estimate):
        return estimate, ""
    validation.word("estimate", estimate, ["auto"])
    if published.why_not_denoised:
        return None, ""
    try:
        return published.denoise(graph=graph), ""
    except errors.LeastnoiseError as reason:
        return None, str(reason)


def denoise(release: Release, method: str, along: Along, options: dict[str, Any]) -> Estimate:
    """The values with noise taken back out, by `leastnoise.denoise.<method>`."""
    from leastnoise import denoise

    return denoise.denoise_release(release, method, along, options, denoise.METHODS)


def denoise_tables(release: CrosstabsRelease, known: Mapping[Any, Any]) -> CrosstabsEstimate:
    """The tables of a set with noise taken back out, by `leastnoise.denoise`."""
    from leastnoise import denoise

    return denoise.denoise_set(release, known)
