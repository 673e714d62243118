"""Sums and means of vectors, each clipped to an L2 norm: several columns, or one array column."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, TypeVar

import numpy as np

from leastnoise.curator import description, expectation
from leastnoise.curator.dataset import Dataset
from leastnoise.curator.expectation import Computed
from leastnoise.curator.queries.options import limits_of
from leastnoise.curator.queries.query import Query
from leastnoise.curator.rows import clipping, keeping, vectors
from leastnoise.curator.rows.columns import CleanRows
from leastnoise.curator.rows.keeping import Rule
from leastnoise.curator.rows.totals import Aggregate, to_int64
from leastnoise.curator.rows.vectors import Integers, NormClip
from leastnoise.domain import Domain
from leastnoise.errors import InvalidParameter, MissingParameter
from leastnoise.privacy import sensitivity as sensitivities
from leastnoise.privacy.distributions import Distribution
from leastnoise.privacy.sensitivity import Sensitivity
from leastnoise.privacy.vector_noise import VectorPlan
from leastnoise.releases.left_out import LeftOut
from leastnoise.releases.mean import MeanRelease, centred
from leastnoise.releases.release import Release

if TYPE_CHECKING:
    import ibis.expr.types as ir

Q = TypeVar("Q", bound="VectorQuery")
MAX_LENGTH = 2**20


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class VectorQuery(Query):
    """What sums and means of vectors share."""

    _in_python: ClassVar[bool] = True
    clip: NormClip
    _columns: tuple[str, ...]

    @classmethod
    def of(
        cls: type[Q],
        data: Dataset,
        columns: str | Sequence[str],
        *,
        clip_norm: float,
        length: int | None,
        max_rows: int | None,
    ) -> Q:
        """The question, checked."""
        names = (columns,) if isinstance(columns, str) else tuple(columns)
        for column in names:
            data.check_usable(column)
        size = _length(data, names, length)
        norm = clipping.checked_norm(clip_norm)
        vectors.check_columns(data.clean.given, names, size)
        limits = limits_of(data, bins=1, max_rows=max_rows)
        return cls(_data=data, _columns=names, clip=NormClip.of(norm, size), limits=limits)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that make up a vector, or the one array column."""
        return self._columns

    @property
    def grid(self) -> float:
        """The step to which elements are rounded."""
        return self.clip.grid

    @abstractmethod
    def _of_total(self, total: Integers) -> Integers:
        """The integers of the answer, from the sum of the vectors and, at the end, their number."""

    def _sensitivity(self, *, counted: bool) -> Sensitivity:
        return sensitivities.of_vector_sum(
            norm=self.clip.radius * Fraction(self.clip.grid),
            length=self.clip.length,
            max_rows=self.limits.max_rows,
            counted=counted,
            neighbours=self.neighbours,
        )

    @property
    def _bins_of_limits(self) -> int:
        """A vector is one bin."""
        return 1

    def _values_left_out(self) -> Sequence[LeftOut]:
        columns, array = self.columns, self._data.clean.given[self.columns[0]].type().is_array()
        length = [LeftOut("not of the length", columns=columns, numbers=(self.clip.length,))] if array else []
        norm = LeftOut("clip_norm", columns=columns, numbers=(self.clip.norm,))
        return [LeftOut("null", columns=columns), *length, norm]

    def _subject(self) -> str:
        return f"{self.kind} of {description.shortened(self.columns)}"

    def _size_in_words(self) -> str:
        return description.counted(self.clip.length, "component")

    def _clip_in_words(self) -> str:
        return f", norm clipped to {self.clip.norm!r}"

    def _clip_facts(self) -> dict[str, object]:
        return {"clip_norm": self.clip.norm, "length": self.clip.length}

    def _prepare(self) -> None:
        vectors.prepare()

    def _expression(self) -> ir.Table:
        return keeping.in_sql(*self._ranked(None))

    def _ranked(self, clean: CleanRows | None) -> tuple[ir.Table, Rule]:
        """The vectors of the table's rows or of a copy of them, and which are kept."""
        named = self._named(clean)
        return vectors.competing(
            named.rows,
            unit=named.unit,
            columns=named.columns,
            clip=self.clip,
            max_rows=self.limits.max_rows,
            key=self._salt,
            engine=self._data.engine,
        )

    def _totals(self) -> Aggregate:
        engine, clean = self._data.engine, self._data.clean
        if not engine.copies:
            total = vectors.added(*self._ranked(None), clip=self.clip, engine=engine)
        else:
            with self._same_rows(clean.given.select(*self.unit, *self.columns)) as same:
                total = self._bounded_sums(CleanRows(same, already_clean=clean.already_clean))
        return Aggregate(values=to_int64(self._of_total(total)))

    def _bounded_sums(self, clean: CleanRows) -> Integers:
        """A thousand columns are a thousand expressions, and the loops drop NaN themselves: unless rows must be ranked,
        only the unit is cleaned, and every column is named once."""
        rows = clean.with_clean(self.unit)
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
            ranked=lambda: self._ranked(clean),
            engine=self._data.engine,
        )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class VectorSum(VectorQuery):
    """The sum of vectors, component by component."""

    kind: ClassVar[str] = "vector_sum"

    @property
    def size(self) -> int:
        """How many components."""
        return self.clip.length

    @property
    def sensitivity(self) -> Sensitivity:
        """Of a sum of vectors within the norm."""
        return self._sensitivity(counted=False)

    def _of_total(self, total: Integers) -> Integers:
        return total[:-1]

    def _released_as(self) -> tuple[str, Domain | None]:
        return "sum", None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class VectorMean(VectorQuery):
    """The mean of vectors: the sums of the components and then the count times `clip.radius`, under one noise."""

    kind: ClassVar[str] = "vector_mean"

    @property
    def size(self) -> int:
        """The components, and the count."""
        return self.clip.length + 1

    @property
    def sensitivity(self) -> Sensitivity:
        """Of the sum and the scaled count together."""
        return self._sensitivity(counted=True)

    def _of_total(self, total: Integers) -> Integers:
        return np.append(total[:-1], total[-1] * self.clip.radius)

    def _wrap(self, noisy: Release) -> MeanRelease:
        norm = self.clip.norm
        return MeanRelease.of(noisy, centre=0.0, half_range=norm, within=(-norm, norm), domain=None, column=None)

    def _computed(self, distribution: Distribution) -> Computed:
        return expectation.of_means(distribution, centre=0.0, half_range=self.clip.norm)

    def _note(self, plan: VectorPlan) -> str:
        return centred(plan.reason, plan.note)


def _length(data: Dataset, names: tuple[str, ...], length: int | None) -> int:
    if not names or len(set(names)) < len(names):
        raise InvalidParameter("a vector needs one or more different columns. Name each once.")
    if not data.clean.given[names[0]].type().is_array():
        return len(names)
    if len(names) > 1 or length is None or isinstance(length, bool) or not 2 <= length <= MAX_LENGTH:
        raise MissingParameter(
            "an array column needs its public length, from 2 to 2^20.", parameter="length", example={"length": 128}
        )
    return length
