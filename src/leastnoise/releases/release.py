"""A Release: noisy values, and everything public that is known about their noise.

It stands below the wall: it knows nothing of how it was made, so whatever is done with it (intervals, totals,
denoising, pictures) is post-processing and can hurt nobody.
"""

from __future__ import annotations

import math
import os
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leastnoise import errors
from leastnoise._support import atomic_files, validation
from leastnoise._support.directed_rounding import next_up
from leastnoise._support.immutable import Frozen
from leastnoise._support.renamed import renamed_arguments
from leastnoise._support.validation import Number
from leastnoise._support.version import VERSION
from leastnoise.domain import Domain
from leastnoise.privacy.distributions import LARGEST_SCALE, Distribution, Gaussian, Laplace
from leastnoise.privacy.guarantee import Promise, guarantee_facts, promise_in_words, read_guarantee
from leastnoise.releases import views
from leastnoise.releases.columns import key_columns, read_domain, write_domain
from leastnoise.releases.estimate import Estimate
from leastnoise.releases.frames import Frames
from leastnoise.releases.views import Views

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Group

Values = NDArray[np.int64] | NDArray[np.float64]


class Interval(NamedTuple):
    """Where the truth lies, bin by bin."""

    low: Values
    high: Values


class Total(NamedTuple):
    """A sum of bins, with its error bar."""

    value: float
    std: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Release(Frames, Views):
    """Noisy values. `sigma` is the standard deviation that was calibrated, `std` what was drawn on the grid."""

    values: Values
    mechanism: Literal["gaussian", "laplace"]
    scale: float  # sigma, or Laplace's b
    grid: float = 0.0  # 0: no grid (noise from elsewhere)
    guarantee: Promise | None = None  # None: nothing is known (noise from elsewhere)
    delta: float | None = None  # the delta that was asked for
    sensitivity: float | None = None  # in L2, what Gaussian noise hides
    l1_sensitivity: float | None = None  # what Laplace noise hides; None: not known (also in older files)
    domain: Domain | None = None
    kind: str = "vector"
    unit: str | None = None
    limits: Mapping[str, int] = field(default_factory=Frozen)
    query: str | None = None
    threshold: int | None = None  # unknown bins: only noisy counts at or above it were published
    note: str = ""
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    made: datetime = field(default_factory=lambda: datetime.now(UTC))
    version: str = VERSION
    seeded: bool = False

    def __post_init__(self) -> None:
        self.values.flags.writeable = False
        object.__setattr__(self, "limits", Frozen(self.limits))
        if self.domain is not None and self.domain.size != self.values.size:
            raise errors.BadDomain(
                f"The domain has {self.domain.size:,} bins and the release {self.values.size:,}. Give one key a bin."
            )

    @property
    def distribution(self) -> Distribution:
        """The law of one bin's noise, on its grid."""
        return Gaussian(self.scale, self.grid) if self.mechanism == "gaussian" else Laplace(self.scale, self.grid)

    @property
    def sigma(self) -> float:
        """The standard deviation that was calibrated (Laplace: scale * sqrt 2)."""
        return self.scale if self.mechanism == "gaussian" else math.sqrt(2) * self.scale

    @property
    def std(self) -> float:
        """The standard deviation of the published values, the grid's rounding included."""
        return self.distribution.std

    @property
    def bins(self) -> int:
        """How many values."""
        return int(self.values.size)

    def interval(self, confidence: Number = 0.95, *, simultaneous: bool = False) -> Interval:
        """Intervals that hold the truth with this confidence, each bin by itself or all bins at once.

        By the exact law on the grid. Real numbers were rounded to the grid before the noise, by half a step at
        most, which widens their interval by as much. Bins that nobody listed show because their noisy count reached
        a threshold; their intervals hold given that they do.
        """
        confidence = validation.number("confidence", confidence)
        if self.threshold is not None:
            return self._interval_given_shown(confidence, simultaneous)
        half = self.distribution.half_width(confidence, max(1, self.bins) if simultaneous else 1)
        if self.values.dtype == np.int64:
            step = np.int64(half)
            room = np.iinfo(np.int64)
            low: Any = np.where(self.values < room.min + step, room.min, self.values - step)
            high: Any = np.where(self.values > room.max - step, room.max, self.values + step)
            return Interval(low, high)
        half = next_up(half + self.grid / 2)
        real: Any = self.values
        return Interval(real - half, real + half)

    def _interval_given_shown(self, confidence: float, simultaneous: bool) -> Interval:
        miss = (1 - confidence) / (max(1, self.bins) if simultaneous else 1)
        distribution, shown = Gaussian(self.scale, self.grid), self.values.astype(np.float64)
        low = np.floor(distribution.truth_given_shown(shown, self.threshold or 0, miss / 2))
        high = np.ceil(distribution.truth_given_shown(shown + self.grid, self.threshold or 0, 1 - miss / 2))
        return Interval(low.astype(np.int64), high.astype(np.int64))

    def total(self, bins: ArrayLike | slice | None = None, confidence: Number = 0.95) -> Total:
        """The sum of some bins (all by default) with its standard deviation and interval.

        `bins` is a list of keys (or one key) where the release has a domain, positions otherwise; a mask or a slice
        always means positions.
        """
        confidence = validation.number("confidence", confidence)
        chosen = self.values[self._positions(bins)]
        value = float(sum(chosen.tolist())) if chosen.dtype == np.int64 else math.fsum(chosen.tolist())
        if chosen.size == 0:
            return Total(0.0, 0.0, 0.0, 0.0)
        if self.threshold is not None:  # chosen by their noise: the sum of intervals that hold together
            low, high = (end[self._positions(bins)] for end in self.interval(confidence, simultaneous=True))
            return Total(value, math.nan, float(low.sum()), float(high.sum()))
        half = self.distribution.sum_half_width(chosen.size, confidence)
        if self.values.dtype != np.int64:
            half += chosen.size * self.grid / 2
        return Total(value, self.std * math.sqrt(chosen.size), value - half, value + half)

    def _positions(self, bins: ArrayLike | slice | None) -> Any:
        if bins is None:
            return slice(None)
        if isinstance(bins, slice):
            return bins
        array = np.asarray(bins)
        if array.size == 0:
            return np.zeros(0, dtype=np.int64)
        if array.dtype == bool or self.domain is None:
            if array.dtype.kind not in "biu" or array.ndim > 1 or (array.dtype == bool and array.size != self.bins):
                raise errors.WrongType("bins must be positions, a mask as long as the release, or a slice.")
            if array.dtype != bool and array.size and not (-self.bins <= array.min() and array.max() < self.bins):
                raise errors.BadDomain(f"There are {self.bins:,} bins, numbered from 0. One of the positions is none.")
            return np.unique(array % self.bins) if array.dtype != bool else array
        keys: Any = bins if isinstance(bins, list) else array.tolist() if isinstance(bins, np.ndarray) else bins
        found = {self._index(key): key for key in (keys if isinstance(keys, list) else [keys])}
        if None in found:
            raise errors.BadDomain(f"There is no bin {found[None]!r}. The first few are {self._some_keys()}.")
        return sorted(index for index in found if index is not None)

    def _index(self, key: Any) -> int | None:
        """The position of a key; None for what is no key of this domain at all."""
        try:
            return (self.domain or Domain()).index(key)
        except (TypeError, ValueError):
            return None

    def _some_keys(self) -> str:
        domain = self.domain or Domain()
        return ", ".join(repr(domain.key(i)) for i in range(min(5, self.bins)))

    def denoise(self, method: str = "auto", **options: Any) -> Estimate:
        """The values with noise taken back out, by `leastnoise.denoise.<method>`; it costs no privacy.

        Counts are known not to be negative, so "auto", "empirical_bayes" and "neighbour_bayes" say so for them unless
        you do (nonnegative=False, support="real"). The noise is taken as it was drawn, rounding to the grid included.
        """
        return views.denoise(self, method, options)

    def _is_seeded(self) -> bool:
        return self.seeded

    def explain(self) -> str:
        """What was protected, how well, and what the noise is, in plain words."""
        what = self._what()
        each = "it" if self.bins == 1 else "each"
        spread = f"standard deviation {self.std:.4g}{self._typically()}"
        return f"{what} with {self.mechanism.capitalize()} noise added to {each} ({spread}).\n{self.promised()}"

    def promised(self) -> str:
        """Whom it protects and how well: the part of `explain` that is true of whatever is computed from it."""
        lines = [f"The question: {self.query}." if self.query else "", self.note, self._promise()]
        if self.threshold is not None:
            lines.append(
                f"Bins were not listed in advance: only those with a noisy count of {self.threshold} or more show, "
                "which makes them too high on average. Their intervals allow for that."
            )
        if self.limits:
            kept = ", ".join(f"{name} = {value}" for name, value in self.limits.items())
            lines.append(f"Of each {self.unit or 'unit'} at most this was used: {kept}.")
        if self.seeded:
            lines.append("WARNING: the noise came from a test's seed, so it hides nothing. Never publish this.")
        return "\n".join(line for line in lines if line)

    def _typically(self) -> str:
        if self.threshold is not None:
            return ""
        half = f"{self.distribution.half_width(0.95):.4g}"
        return (
            f"; with 95 % confidence off by at most {half}" if self.bins == 1 else f"; 95 % are off by at most {half}"
        )

    def _what(self) -> str:
        name = "value" if self.kind not in ("count", "sum") else self.kind
        return f"{self.bins:,} {name}" + ("" if self.bins == 1 else "s")

    def _promise(self) -> str:
        if self.guarantee is None:
            return "What it promises is known to whoever added the noise, not to us."
        return promise_in_words(self.guarantee, delta=self.delta, unit=self.unit)

    def __repr__(self) -> str:
        loud = ", SEEDED: hides nothing" if self.seeded else ""
        return f"<Release of {self._what()}, {self.mechanism} noise, std {self.std:.4g}{loud}>"

    def _preview(self, rows: int = 10) -> tuple[list[str], list[list[str]]]:
        columns = {name: column[:rows] for name, column in self._columns(rows).items()}
        body = [[_shown(cell) for cell in row] for row in zip(*columns.values(), strict=True)]
        return list(columns), body

    def _repr_html_(self) -> str:
        from html import escape

        names, body = self._preview()
        head = "".join(f"<th>{escape(name)}</th>" for name in names)
        rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in body)
        more = f"<p>… {self.bins - len(body):,} more</p>" if self.bins > len(body) else ""
        words = escape(self.explain()).replace("\n", "<br>")
        return f"<p>{words}</p><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}"

    def __rich__(self) -> Group:
        from rich.console import Group
        from rich.table import Table

        names, body = self._preview()
        table = Table()
        for name in names:
            table.add_column(name, justify="right")
        for row in body:
            table.add_row(*row)
        more = [f"… {self.bins - len(body):,} more"] if self.bins > len(body) else []
        return Group(table, *more, self.explain())

    def _columns(self, rows: int | None = None) -> dict[str, Any]:
        """Key columns and `value`, at most `rows` of them."""
        count = self.bins if rows is None else min(rows, self.bins)
        keys = {"bin": np.arange(count)} if self.domain is None else key_columns(self.domain, count)
        return {**keys, "value": self.values[:count]}

    def save(self, path: str | os.PathLike[str], *, allow_seeded: bool = False) -> None:
        """One Parquet file: key columns and `value`, readable by anyone, with all the rest in its metadata.

        An earlier file of ours at that path is replaced; anything else there is refused.
        """
        self.refuse_seeded(allow_seeded)
        atomic_files.write(path, self.to_arrow(), what="release", facts=self.facts())

    def refuse_seeded(self, allowed: bool) -> None:
        """Refuse to write noise that can be repeated."""
        atomic_files.refuse_seeded_noise(self.seeded, allowed)

    def facts(self) -> dict[str, Any]:
        """Everything but the values, as JSON."""
        facts = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("values", "domain", "guarantee")}
        facts["made"] = self.made.isoformat()
        facts["limits"] = dict(self.limits)
        facts["guarantee"] = guarantee_facts(self.guarantee)
        facts["domain"] = write_domain(self.domain)
        return facts

    @classmethod
    def _read(cls, table: pa.Table, facts: dict[str, Any], path: str | os.PathLike[str]) -> Release:
        return cls.of_facts(np.array(table["value"]), facts, table, path)

    @classmethod
    def of_facts(
        cls, values: Values, facts: dict[str, Any], table: pa.Table | None, path: str | os.PathLike[str]
    ) -> Release:
        """The release that `facts()` described, with these values."""
        facts = {"l1_sensitivity": None, **facts}  # which older files do not tell
        atomic_files.refuse_unknown(facts, {f.name for f in fields(cls)} - {"values"}, path)
        read = {
            "made": datetime.fromisoformat(facts["made"]),
            "guarantee": read_guarantee(facts["guarantee"]),
            "domain": read_domain(facts["domain"], table),
        }
        return cls(values=values, **{**facts, **read})


@renamed_arguments(noise="mechanism")
def wrap(y: ArrayLike, *, sigma: Number, mechanism: Literal["gaussian", "laplace"] = "gaussian") -> Release:
    """Another library's noisy vector as a Release, so that intervals and denoisers can work on it.

    `sigma` is the standard deviation of its noise, whatever the law.

    >>> wrap([3.2, -1.1, 8.0], sigma=2.0).interval(0.95).low.round(2)
    array([-0.72, -5.02,  4.08])
    """
    sigma = validation.number("sigma", sigma)
    validation.word("mechanism", mechanism, ("gaussian", "laplace"))
    values = np.array(y, copy=True)
    if values.dtype.kind not in "iuf":
        raise errors.WrongType(f"y must be an array of numbers. Got an array of {values.dtype} instead.")
    if values.ndim != 1:
        raise errors.InvalidParameter(f"y must be a vector. Got {values.ndim} dimensions instead: say y.ravel().")
    values = values.astype(np.float64)
    if values.size == 0:
        raise errors.InvalidParameter("y is empty, so there is nothing to wrap.")
    if not np.isfinite(values).all():
        raise errors.InvalidParameter(
            "y holds NaN or infinity, which no noise of finite sigma makes. Drop those entries."
        )
    if sigma > LARGEST_SCALE:
        raise errors.OutOfRange(
            f"Noise of sigma {sigma:.3g} overflows doubles, so no interval could hold it. Divide y and sigma by 1000."
        )
    scale = sigma if mechanism == "gaussian" else sigma / math.sqrt(2)
    return Release(
        values=values, mechanism=mechanism, scale=scale, kind="vector", note="The noise was added elsewhere."
    )


Reader = Callable[[Any, dict[str, Any], str | os.PathLike[str]], Any]
_READERS: dict[str, Reader] = {
    "release": Release._read,
    "estimate": Estimate._read,
}
_ROOMS = {
    "sparse release": "leastnoise.releases.sparse",
    "mean release": "leastnoise.releases.mean",
    "quantile release": "leastnoise.releases.quantile",
}


def register(what: str, reader: Reader) -> None:
    """Let `load` bring back another kind of file."""
    _READERS[what] = reader


def load(path: str | os.PathLike[str]) -> Any:
    """What `save` wrote: a Release, or whatever else of ours has a `save`."""
    table, what, facts = atomic_files.read(path)
    if what in _ROOMS:
        import_module(_ROOMS[what])  # it registers its reader
    if what not in _READERS:
        raise errors.NotOurs(f"{os.fspath(path)!r} holds a {what}, which this version does not know. Upgrade.")
    try:
        _check_scales(facts)
        _check_ids(facts)
        loaded = _READERS[what](table, facts, path)
        loaded.explain()  # facts that cannot even be told do not fit together
        return loaded
    except errors.NotOurs:
        raise
    except Exception:
        raise errors.NotOurs(f"{os.fspath(path)!r} was edited or damaged: its facts do not fit together.") from None


def _check_scales(facts: dict[str, Any]) -> None:
    """Noise that nobody can have drawn: no law is searched for the quantiles of an edited scale.

    Whatever was released or wrapped passes; noise far finer than its grid is all zeros, and was still released.
    """
    for part in (facts, facts.get("components", {})):
        scale, grid = part.get("scale", part.get("sigma", 1.0)), part.get("grid", 0.0)
        numbers = all(isinstance(number, (int, float)) and not isinstance(number, bool) for number in (scale, grid))
        if not numbers or not (
            0 < scale <= LARGEST_SCALE and 0 <= grid <= LARGEST_SCALE and (grid == 0 or scale / grid < 2.0**53)
        ):
            raise ValueError


def _check_ids(facts: dict[str, Any]) -> None:
    """An id is what `secrets.token_hex(8)` writes, and nothing that a page or a ledger's reader could run."""
    for part in (facts, facts.get("components", {})):
        named = [part[name] for name in ("id", "release") if name in part]
        if not all(re.fullmatch("[0-9a-f]{16}", name) for name in named if name is not None or "id" in part):
            raise ValueError


def _shown(cell: Any) -> str:
    return f"{cell:.6g}" if isinstance(cell, (float, np.floating)) else str(cell)
