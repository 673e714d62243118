"""Sums and means of vectors, each clipped to an L2 norm: several columns, or one array column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

import ibis.expr.types as ir
import numpy as np

from leastnoise.curator import description
from leastnoise.curator.dataset import Dataset
from leastnoise.curator.queries.options import limits_of
from leastnoise.curator.queries.query import Facts, Query, released
from leastnoise.curator.release import Answer, Batch
from leastnoise.curator.rows import clipping, vectors
from leastnoise.curator.rows.keeping import Rule
from leastnoise.curator.rows.vectors import Integers, NormClip
from leastnoise.errors import InvalidParameter, MissingParameter
from leastnoise.privacy import sensitivity as sensitivities
from leastnoise.privacy.sensitivity import Sensitivity
from leastnoise.privacy.vector_noise import NUMBERS, VectorPlan
from leastnoise.releases.left_out import LeftOut
from leastnoise.releases.mean import MeanRelease
from leastnoise.releases.provenance import Provenance

MAX_LENGTH = 2**20


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Vectors(Query):
    """The sum of vectors, component by component; or their mean: these sums and then the count times `clip.radius`,
    under one noise."""

    _in_python: ClassVar[bool] = True
    kind: Literal["vector_sum", "vector_mean"]
    clip: NormClip
    _columns: tuple[str, ...]

    @classmethod
    def of(
        cls,
        data: Dataset,
        kind: Literal["vector_sum", "vector_mean"],
        columns: str | Sequence[str],
        *,
        clip_norm: float,
        length: int | None,
        max_rows: int | None,
    ) -> Vectors:
        """The question, checked."""
        names = (columns,) if isinstance(columns, str) else tuple(columns)
        for column in names:
            data.check_usable(column)
        size = _length(data, names, length)
        norm = clipping.checked_norm(clip_norm)
        vectors.check_columns(data.clean.given, names, size)
        limits = limits_of(data, bins=1, max_rows=max_rows)
        return cls(_data=data, kind=kind, _columns=names, clip=NormClip.of(norm, size), limits=limits)

    @property
    def _counted(self) -> bool:
        """Whether there is the number of vectors, too: a mean is divided by it."""
        return self.kind == "vector_mean"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that make up a vector, or the one array column."""
        return self._columns

    @property
    def grid(self) -> float:
        """The step to which elements are rounded."""
        return self.clip.grid

    @property
    def size(self) -> int:
        """The components, and the count."""
        return self.clip.length + self._counted

    @property
    def sensitivity(self) -> Sensitivity:
        """Of a sum of vectors within the norm; with the scaled count together."""
        return sensitivities.of_vector_sum(
            norm=self.clip.radius * Fraction(self.clip.grid),
            length=self.clip.length,
            max_rows=self.limits.max_rows,
            counted=self._counted,
            neighbours=self.neighbours,
        )

    def _facts(self) -> Facts:
        columns, array = self.columns, self._data.clean.given[self.columns[0]].type().is_array()
        length = [LeftOut("not of the length", columns=columns, numbers=(self.clip.length,))] if array else []
        norm = LeftOut("clip_norm", columns=columns, numbers=(self.clip.norm,))
        return Facts(
            subject=f"{self.kind} of {description.shortened(columns)}",
            size=description.counted(self.clip.length, "component"),
            clip=f", norm clipped to {self.clip.norm!r}",
            salt={"clip_norm": self.clip.norm, "length": self.clip.length},
            left_out=[LeftOut("null", columns=columns), *length, norm],
            bins=1,
        )

    def _content(self) -> tuple[ir.Table, Rule]:
        named = self._named()
        return vectors.competing(
            named.rows,
            unit=named.unit,
            columns=named.columns,
            clip=self.clip,
            max_rows=self.limits.max_rows,
            key=self._salt,
            engine=self._data.engine,
        )

    def _totals(self) -> Batch:
        if self._data.source.rereadable:
            total = self._bounded_sums()
        else:
            total = vectors.added(*self._content(), clip=self.clip, engine=self._data.engine)
        sums, count = total[:-1], total[-1:]
        return Batch({NUMBERS: np.append(sums, count * self.clip.radius) if self._counted else sums})

    def _bounded_sums(self) -> Integers:
        """A thousand columns are a thousand expressions, and the loops drop NaN themselves: unless rows must be ranked,
        only the unit is cleaned, and every column is named once."""
        rows = self._data.clean.with_clean(self.unit)
        named = {f"unit{place}": rows[column] for place, column in enumerate(self.unit)}
        columns = {f"column{place}": column for place, column in enumerate(self.columns)}

        def elements(nameless: bool) -> ir.Table:
            kept = rows.filter([rows[column].notnull() for column in self.unit]) if nameless else rows
            return kept.select(**{name: kept[column] for name, column in columns.items()})

        return vectors.sums(
            elements,
            units=rows.select(**named),
            clip=self.clip,
            max_rows=self.limits.max_rows,
            ranked=self._content,
            engine=self._data.engine,
        )

    def read(self, plan: VectorPlan, noisy: Batch, provenance: Provenance) -> Answer:
        """The sums of the components; or their means."""
        norm, kind = self.clip.norm, self.kind.removeprefix("vector_")
        sums = released(noisy, plan, provenance, kind=kind, domain=None)
        if not self._counted:
            return sums
        return MeanRelease.of(sums, **self._centred(), within=(-norm, norm), domain=None, column=None)

    def _centred(self) -> dict[str, float]:
        return {"centre": 0.0, "half_range": self.clip.norm} if self._counted else {}


def _length(data: Dataset, names: tuple[str, ...], length: int | None) -> int:
    if not names or len(set(names)) < len(names):
        raise InvalidParameter("a vector needs one or more different columns. Name each once.")
    if not data.clean.given[names[0]].type().is_array():
        return len(names)
    if len(names) > 1 or length is None or isinstance(length, bool) or not 2 <= length <= MAX_LENGTH:
        raise MissingParameter("an array column needs its public length, from 2 to 2^20.", example={"length": 128})
    return length
