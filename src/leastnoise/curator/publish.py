"""From a question's exact integers to what is published; and, before any row is read, what to expect of it.

The order is fixed: everything public is decided first (noise, threshold), then a budget is debited, then the rows are
read, then noise is drawn. A failure before the reading tells nothing about people. Reading fails on no value that we
know of; if it fails all the same, that may tell about a row, and no cost makes up for it: after two retries under the
same debit the budget is closed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastnoise import errors
from leastnoise._support.number_format import rounded
from leastnoise.curator import mechanism as gate
from leastnoise.curator.budget import charge
from leastnoise.curator.engines import reading
from leastnoise.curator.request import PrivacyRequest
from leastnoise.privacy.distributions import Gaussian, Law
from leastnoise.privacy.guarantee import ApproxDP, GaussianDP, PureDP
from leastnoise.privacy.noise_choice import Recipe
from leastnoise.privacy.partition_selection import Threshold
from leastnoise.releases.columns import refuse_reserved
from leastnoise.releases.mean import MeanRelease, centred, half_widths
from leastnoise.releases.quantile import QuantileRelease, rank_error, ranks_in_words
from leastnoise.releases.release import Release
from leastnoise.releases.sparse import SparseRelease

Answer = Release | SparseRelease | MeanRelease | QuantileRelease

ATTEMPTS = 3  # at reading the rows: a lost executor is no attack
_MOST = 2**62  # totals are clamped to this size, which moves no two of them apart


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a release will be like. It costs nothing and reads no row."""

    mechanism: str
    sigma: float
    std: float
    half_width: float | None  # None: what is published is computed from several numbers; `half_widths` has it
    half_width_all: float | None  # None: as above, or the number of bins is private
    threshold: int | None
    limits: dict[str, int]
    bins: int | None
    guarantee: PureDP | ApproxDP | GaussianDP
    note: str
    half_widths: Mapping[str, float] = field(default_factory=dict)  # of a mean: sum, count, mean_times_rows; of ranks
    words: str = ""  # what they say

    def __str__(self) -> str:
        kept = ", ".join(f"{name} = {value:,}" for name, value in self.limits.items())
        lines = [
            self._errors() if self.half_width is not None else f"{self.mechanism.capitalize()} noise. {self.words}",
            f"Bins show when their noisy count reaches {self.threshold}." if self.threshold else "",
            f"Of each unit at most this is used: {kept}.",
            self.note,
        ]
        return "\n".join(line for line in lines if line)

    def _errors(self) -> str:
        noise = f"{self.mechanism.capitalize()} noise of standard deviation {self.std:.4g}"
        if self.bins == 1:
            return f"{noise} on the one number: with 95 % confidence it is off by at most {self.half_width:.4g}."
        every = f", and all {self.bins:,} at once by at most {self.half_width_all:.4g}" if self.half_width_all else ""
        return f"{noise} on each number: 95 % are off by at most {self.half_width:.4g}{every}."


def expect(query: Any, request: PrivacyRequest) -> Expectation:
    """What `release` would do with these numbers; a budget is only looked at."""
    limits = limits_of(query)
    if unknown_keys(query):
        decided = _decide_unknown(query, request)
        cut, law = decided.noise, Gaussian(decided.noise.sigma, 1.0)
        note = "Bins that nobody listed: their chance to show is part of delta."
        half = law.half_width(0.95)
        return Expectation(
            "gaussian", cut.sigma, law.std, half, None, cut.at_least, limits, None, decided.guarantee, note
        )
    chosen = _decide(query, request).noise
    at_least = None
    if query.sparse:
        at_least = int(gate.sparse_cut(chosen, query.size, "universal", "soft") // 1) + 1
    sigma = chosen.scale if chosen.mechanism == "gaussian" else chosen.scale * 2**0.5
    widths, words = _computed(query, chosen.law)
    return Expectation(
        chosen.mechanism,
        sigma,
        chosen.law.std,
        None if words else chosen.law.half_width(0.95),
        None if words else chosen.law.half_width(0.95, query.size),
        at_least,
        limits,
        query.size,
        chosen.guarantee,
        centred(chosen.note) if "mean" in query.kind else chosen.note,
        widths,
        words,
    )


def _computed(query: Any, law: Law) -> tuple[dict[str, float], str]:
    """The errors of what is computed from several noisy numbers: means and quantiles."""
    if query.kind == "quantile":
        found = {f"rank at {q:g}": rank_error(law, bins=query.size, level=q) for q in query.levels}
        return found, ranks_in_words(law, bins=query.size, levels=query.levels)
    if query.kind not in ("mean", "vector_mean"):
        return {}, ""
    centre, half, _ = _middle(query)
    off = half_widths(law, centre=centre, half=half)
    # From so many rows on that half of the clip's half is left, at most.
    first = math.ceil(math.log10(max(1.0, 2 * off.mean_times_rows / half)))
    some = ", ".join(f"{rounded(off.mean_times_rows / n, 3)} for {n:,}" for n in (10 ** (first + i) for i in range(3)))
    words = (
        f"95 % of the time a sum is off by at most {rounded(off.sum)} and a count by at most {rounded(off.count)}; a "
        f"mean over n rows is off by at most {rounded(off.mean_times_rows)}/n: {some} rows."
    )
    return asdict(off), words


def _middle(query: Any) -> tuple[float, float, tuple[float, float]]:
    """Of a mean: the clip's centre, half its width, and its ends."""
    if query.kind == "mean":
        return query.clip.centre * query.grid, query.clip.half * query.grid, (query.clip.low, query.clip.high)
    norm = query.ball.radius * query.grid
    return 0.0, norm, (-norm, norm)


def release(query: Any, request: PrivacyRequest, read: Callable[[], Any]) -> Answer:
    """Decide, pay, read, draw. `read` gives the exact integers; it is not called before the debit is on disk."""
    refuse_reserved(query.by)
    facts = {"unit": " + ".join(query.unit), "limits": limits_of(query), "query": query.describe()}
    if unknown_keys(query):
        unlisted = _decide_unknown(query, request)
        paid = _pay(unlisted, query)
        found = _read(read, query, paid)
        return gate.publish_unknown(
            found.keys, whole(found.values), unlisted.noise, unlisted.guarantee, query.by, id=paid.id, **facts
        )
    decided = _decide(query, request)
    if query.sparse:
        cut = gate.sparse_cut(decided.noise, query.size, "universal", "soft")
        paid = _pay(decided, query)
        found = _read(read, query, paid)
        return gate.publish_sparse(
            found.indices,
            found.values,
            decided.noise,
            query.size,
            cut,
            "soft",
            id=paid.id,
            domain=query.domain,
            **facts,
        )
    paid = _pay(decided, query)
    return _dense(query, whole(_read(read, query, paid).values), decided.noise, id=paid.id, **facts)


def unknown_keys(query: Any) -> bool:
    """Whether the bins are not listed in advance."""
    return query.domain is None and query.size is None


def limits_of(query: Any) -> dict[str, int]:
    """How much of one unit is used, by name."""
    limits = query.limits
    return {"max_rows": limits.max_rows, "max_per_bin": limits.max_per_bin, "max_bins": limits.max_bins}


def whole(values: NDArray[Any]) -> NDArray[np.int64]:
    """Exact totals as int64, clamped: whether one was larger than 64 bits must not show."""
    if values.dtype == np.int64:
        return np.asarray(np.clip(values, -_MOST, _MOST))
    return np.array([min(max(int(value), -_MOST), _MOST) for value in values], dtype=np.int64)


def _pay(decided: charge.Charge[Any], query: Any) -> charge.Receipt:
    return decided.pay(query=query.describe(), unit=" + ".join(query.unit), table=query.source.name)


def _read(read: Callable[[], Any], query: Any, paid: charge.Receipt) -> Any:
    """The exact integers. Only ReadingFailed is tried again and closes the budget: every other error of ours is public
    (and `reading` lets no other one out), and an interrupt is the caller's."""
    for _ in range(ATTEMPTS - 1):
        with suppress(errors.ReadingFailed):
            return reading(read, query.source.files)
    try:
        return reading(read, query.source.files)
    except errors.ReadingFailed as problem:
        failed = problem
    raise paid.close(failed)


def _decide(query: Any, request: PrivacyRequest) -> charge.Charge[Recipe]:
    if query.sparse:
        if query.grid != 1:
            raise errors.DomainTooLarge("Only whole counts have a sparse release. Use a smaller domain.")
        request = request.with_threshold(
            "A domain this large is released sparsely, with Gaussian noise and a threshold"
        )
    return charge.decide(
        request,
        bins=query.size,
        whole=True,
        grid=query.grid,
        sensitivity=query.sensitivity.l2,
        l1_sensitivity=query.sensitivity.l1,
        neighbours=query.neighbours,
    )


def _decide_unknown(query: Any, request: PrivacyRequest) -> charge.Charge[Threshold]:
    return charge.decide_unknown(request, limits=query.limits, neighbours=query.neighbours)


def _dense(query: Any, integers: NDArray[np.int64], chosen: Recipe, /, **facts: Any) -> Answer:
    kind = {"units": "count", "vector_sum": "sum"}.get(query.kind, query.kind)
    simple = query.kind in ("count", "units", "sum", "vector_sum")
    made = gate.publish(integers, chosen, kind=kind, domain=query.domain if simple else None, **facts)
    if query.kind in ("mean", "vector_mean"):
        centre, half, within = _middle(query)
        domain, column = (query.domain, query.columns[0]) if query.kind == "mean" else (None, None)
        return MeanRelease(parts=made, centre=centre, half=half, within=within, domain=domain, column=column)
    if query.kind == "quantile":
        axis = query.domain.axes[0]
        edges = np.array([axis.key(i)[0] for i in range(axis.size)] + [axis.high])
        return QuantileRelease(parts=made, levels=query.levels, edges=edges, column=query.by[0])
    return made
