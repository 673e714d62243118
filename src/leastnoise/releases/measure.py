"""A Measure: one statistic of published blocks, with its bins."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.text import rounded
from leastnoise._support.validation import Number
from leastnoise.domain import Domain
from leastnoise.releases.block import Blocks, Interval, Reading, ReadingText
from leastnoise.releases.columns import key_columns
from leastnoise.releases.display import too_few_in_words
from leastnoise.releases.noise import Noise
from leastnoise.releases.provenance import Provenance
from leastnoise.releases.published import Published, refuse_beside, typed

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Measure(Published):
    """One statistic, bin by bin: computed by its reading from blocks that were published under one guarantee."""

    blocks: Blocks
    reading: Reading
    domain: Domain | None = None
    provenance: Provenance

    _unnamed: ClassVar[str] = "bin"  # the column with the numbers of bins that have no keys

    def __post_init__(self) -> None:
        if self.domain is not None and self.domain.size != self._domain_size:
            raise errors.BadDomain(
                f"The domain has {self.domain.size:,} bins and the release {self._domain_size:,}. Give one key a bin."
            )

    @property
    def _domain_size(self) -> int:
        return self.bins

    def _fits(self) -> dict[str, bool]:
        return {
            "reading": self.reading.fits(self.blocks),
            "blocks": set(self.blocks) == set(self.reading.needs),
            "id": self.id != "",
        }

    @property
    def noise(self) -> Noise:
        """The noise of what each value is mostly made of: see `noise_added_to`."""
        return self.reading.value_noise(self.blocks)

    @property
    def _text(self) -> ReadingText:
        return self.reading.text(self._words, f"{self.mechanism.capitalize()} noise")

    @property
    def kind(self) -> str:
        """The statistic, in a word."""
        return self.reading.kind

    @property
    def noun(self) -> str:
        """What one of the values is called."""
        return self._text.noun

    @property
    def column(self) -> str | None:
        """Whose statistic it is; None where that is not known, or there is no one column."""
        return self._text.label

    @property
    def noise_added_to(self) -> str:
        """What the noise was added to."""
        return self._text.noisy_number

    @property
    def bins(self) -> int:
        """How many values."""
        return int(self.blocks[self.reading.needs[0]].numbers.size)

    @property
    def enough(self) -> NDArray[np.bool_]:
        """Whether a value can be told: what it is divided by is larger than 95% of the noise.

        The rule reads nothing that is not published.
        """
        return self.reading.reliable(self.blocks)

    @property
    def values(self) -> Any:
        """The statistic, bin by bin; not a number (NaN) where it cannot be told."""
        return self.reading.values(self.blocks)

    def interval(self, confidence: Number = 0.95) -> Interval:
        """Where each value lies with this `confidence`, each bin by itself; all that public facts allow where nothing
        can be told."""
        return self.reading.interval(self.blocks, validation.number("confidence", confidence))

    @property
    def why_not_denoised(self) -> str:
        """No law of one noise holds for what is computed from several noisy numbers."""
        return self._text.why_not_denoised

    def explain(self) -> str:
        """What was protected, how well, and what the noise is, in plain words."""
        many = f"{self.bins:,} {self.noun}s, each" if self.bins != 1 else f"1 {self.noun},"
        return f"{many} {self._text.first_sentence}\n{self.promise_in_words(self.errors_in_words())}"

    def errors_in_words(self) -> str:
        """How far off what is published is, and what cannot be told."""
        enough, (low, high) = self.enough, self.interval(0.95)
        where = ""
        if enough.any():
            widest = rounded((high - low)[enough].max(), 3)
            where = f"95% of the time a {self.noun} lies between its low and its high, at most {widest} apart."
        few = too_few_in_words(enough, self.noun, f"the noisy {self._text.divisor} is within its noise")
        return f"{where}{few}".strip()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.bins:,} {self.noun}s, {self.mechanism} noise{self._seeded_mark}>"

    def save(self, path: str | os.PathLike[str], *, allow_seeded: bool = False) -> None:
        """One Parquet file at `path`, readable by anyone. `allow_seeded` lets a test write what a seed made.

        It is refused of a part of a summary, which is saved with that.
        """
        if self._is_a_part:
            raise errors.InvalidParameter("This is a part of a summary. Save the summary: its file has all of them.")
        Published.save(self, path, allow_seeded=allow_seeded)

    @property
    def _is_a_part(self) -> bool:
        return not self._what

    def _keys(self, count: int, for_people: bool = False) -> dict[str, Any]:
        """The keys of the first bins, or their numbers."""
        if self.domain is None:
            return {self._unnamed: np.arange(count)}
        return dict(key_columns(self.domain, count, for_people=for_people))

    @property
    def _value_column(self) -> str:
        return self.kind

    def _columns(self) -> dict[str, Any]:
        """Key columns, the statistic, `low` and `high` (95%), and what stands beside."""
        return self._shown_columns()

    def _shown_columns(
        self, confidence: Number = 0.95, estimate: Any = None, *, for_people: bool = False
    ) -> dict[str, Any]:
        refuse_beside(estimate)
        low, high = self.interval(confidence)
        numbers = {self._value_column: self.values, "low": low, "high": high}
        beside = self.reading.columns(self.blocks)
        ravelled = {name: np.ravel(column) for name, column in (numbers | beside).items()}
        return {**self._keys(self.bins, for_people), **ravelled}

    def _arrow(self, columns: dict[str, Any]) -> pa.Table:
        """What cannot be told is null."""
        import pyarrow as pa

        unknown, name = ~np.ravel(self.enough), self._value_column
        masked = {name: pa.array(columns[name], mask=unknown)} if unknown.any() else {}
        return pa.table(typed(columns) | masked)
