"""What is made of a release by the packages above this one: they are imported at the call, and in this file only."""

from __future__ import annotations

import inspect
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from leastnoise import errors
from leastnoise._support import atomic_files, validation

if TYPE_CHECKING:
    from leastnoise.releases.estimate import Estimate
    from leastnoise.releases.release import Release


class Views:
    """Anything published: it has a picture and a page."""

    __slots__ = ()
    _picture: ClassVar[str] = "release"  # the function of `leastnoise.plot` that draws it

    def _is_seeded(self) -> bool:
        raise NotImplementedError

    def plot(self, **options: Any) -> Any:
        """The values with their intervals as a picture: `leastnoise.plot.release` (of an estimate: `plot.estimate`).

        `estimate`, `graph` and `ax` are passed on. It needs matplotlib.
        """
        from leastnoise import plot

        return getattr(plot, self._picture)(self, **options)

    def report(self, path: str | os.PathLike[str], *, allow_seeded: bool = False, **options: Any) -> Path:
        """One HTML page for people, with nothing to fetch: what was released, the promise, a map or a chart, a table.

        `estimate` is "auto" to denoise first, an Estimate of your own, or None; `graph` makes it a map. `allow_seeded`
        lets a test write what a seed made.
        """
        from leastnoise import report

        seeded = self._is_seeded() or getattr(options.get("estimate"), "seeded", False)
        atomic_files.refuse_seeded_noise(seeded, allow_seeded)
        return report.write(path, self, **options)


def denoise(release: Release, method: str, options: dict[str, Any]) -> Estimate:
    """The values with noise taken back out, by `leastnoise.denoise.<method>`."""
    from leastnoise import denoise

    validation.word("method", method, denoise.METHODS)
    if release.threshold is not None:
        raise errors.InvalidParameter(
            f"Only bins whose noisy count reached {release.threshold} were published, so what is left of their noise "
            "is not symmetric and no denoiser's law holds. List the keys to denoise; the intervals are right as is."
        )
    needed = [
        name
        for name, parameter in inspect.signature(denoise.METHODS[method]).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY and parameter.default is parameter.empty and name not in options
    ]
    if needed:
        example = ", ".join(f"{name}=..." for name in needed)
        raise errors.MissingParameter(
            f'{method} needs to be told {" and ".join(needed)}: release.denoise("{method}", {example}) in Python. '
            "What needs nothing is auto, empirical_bayes, james_stein, soft_threshold, hard_threshold or isotonic."
        )
    if release.kind == "count":
        options = {**NOT_NEGATIVE.get(method, {}), **options}
    made = denoise.METHODS[method](release.values, release.std, mechanism=release.mechanism, **options)
    return replace(
        made,
        domain=release.domain,
        seeded=release.seeded,
        guarantee=release.guarantee,
        delta=release.delta,
        unit=release.unit,
        limits=release.limits,
        release=release.id,
    )


# What is known of counts, unless the caller says otherwise.
NOT_NEGATIVE: dict[str, dict[str, Any]] = {
    "auto": {"nonnegative": True},
    "empirical_bayes": {"support": "nonnegative"},
    "neighbour_bayes": {"support": "nonnegative"},
}
