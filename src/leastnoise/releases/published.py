"""Published: what plots, pages, files and the command line rely on, whatever kind of release it is."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from leastnoise import errors
from leastnoise._support.validation import Number
from leastnoise.releases import labels, views
from leastnoise.releases.column_labels import labelled_domain
from leastnoise.releases.file_format import Saved
from leastnoise.releases.frames import Frames, Spreadsheets
from leastnoise.releases.noise import Noisy
from leastnoise.releases.provenance import Promised

if TYPE_CHECKING:
    from leastnoise.domain import Domain, Zones
    from leastnoise.graphs import Graph
    from leastnoise.releases.estimate import Estimate


class Binned(Promised, Frames, Spreadsheets, Saved):
    """A value, or several, for each bin of a domain."""

    __slots__ = ()

    if TYPE_CHECKING:  # fields of some kinds, computed by others. (At run time a property would be a field's default.)

        @property
        def domain(self) -> Domain | None:
            """The bins; None where they are only numbered."""

        @property
        def bins(self) -> int:
            """How many bins."""

    @property
    def _rows(self) -> int:
        return self.bins

    @property
    def _shown_domain(self) -> Domain | None:
        """The domain by what readers call its columns."""
        return labelled_domain(self.domain, self.provenance.labels)

    def bin_names(self, most: int) -> tuple[str, list[str]]:
        """What the bins are by, and what the first are called, at most `most` of them."""
        return labels.title(self._shown_domain), labels.of(self.domain, range(min(self.bins, most)))

    @property
    def why_not_denoised(self) -> str:
        """Why `denoise` is refused, where it is; the page says the same."""
        return ""

    def denoise(self, method: str = "auto", **options: Any) -> Any:
        """Refused, with the reason, unless the values are a truth plus noise of one known law.

        method, options: those of releases that can be denoised.
        """
        raise errors.InvalidParameter(self.why_not_denoised, parameter="method", value=method)


class Published(Binned, Noisy, ABC):
    """A release of any kind, or an estimate made from one."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def values(self) -> Any:
            """What is published, one value a bin."""

        @property
        def kind(self) -> str:
            """count, sum, vector, mean, quantile or estimate."""

        @property
        def column(self) -> str | None:
            """Whose means or quantiles they are; None where that is not known, or there is no one column."""

    covers_domain: ClassVar[bool] = True  # whether every bin has a value, in order, so that nodes can stand for them
    _picture: ClassVar[str] = "release"  # the function of `leastnoise.plot` that draws it

    # What each kind says of itself

    @property
    @abstractmethod
    def bins(self) -> int:
        """How many values."""

    @property
    def noun(self) -> str:
        """What one of the values is called."""
        return self.kind

    @property
    def at_least(self) -> int | None:
        """What a noisy count had to reach to be shown; None where all bins show."""
        return None

    @property
    def one_distribution(self) -> bool:
        """Whether the noise of a value is of one known distribution, which a page can draw."""
        return True

    @property
    def noise_added_to(self) -> str:
        """What the noise was added to."""
        return "a value"

    @abstractmethod
    def interval(self, confidence: Number = 0.95) -> tuple[Any, Any]:
        """Where the truth lies with this `confidence`, bin by bin: low and high."""

    @abstractmethod
    def explain(self) -> str:
        """What was published, and what it promises, in plain words."""

    @abstractmethod
    def errors_in_words(self) -> str:
        """How far off what is published is."""

    def spread_in_words(self, digits: int = 6) -> str:
        """How wide the noise is, to so many `digits`."""
        return self.noise.in_words(digits)

    # The noise

    @property
    def mechanism_in_words(self) -> str:
        """Gaussian noise, Laplace noise, or what else there was."""
        return f"{self.mechanism.capitalize()} noise"

    # Where it comes from

    @property
    def note(self) -> str:
        """Why this noise was chosen."""
        reason = self.provenance.reason
        return "" if reason is None else reason.in_words(self.mechanism, self.std)

    # What is made of it

    def plot(self, **options: Any) -> Any:
        """The values with their intervals as a picture: `leastnoise.plot.release` (of an estimate: `plot.estimate`).

        The `options` `estimate`, `graph`, `zones` and `ax` are passed on. It needs matplotlib.
        """
        return views.plot(self, **options)

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        estimate: Estimate | Literal["auto"] | None = "auto",
        graph: Graph | None = None,
        zones: Zones | None = None,
        title: str | None = None,
        allow_seeded: bool = False,
    ) -> Path:
        """One HTML page for people, with nothing to fetch: what was released, the promise, a map or a chart, a table.

        It is written to `path`. `estimate` is "auto" to denoise first, an Estimate of your own, or None; `graph`, or
        `zones` by name, make it a map; `title` is the page's heading. `allow_seeded` lets a test write what a seed
        made.
        """
        return views.report(
            path, self, estimate=estimate, graph=graph, zones=zones, title=title, allow_seeded=allow_seeded
        )
