"""What to expect of a release: free, from public facts alone. No row is read and nothing is debited."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from leastnoise._support.number_format import rounded
from leastnoise.curator import mechanism, publish
from leastnoise.privacy.distributions import Distribution, Gaussian
from leastnoise.privacy.guarantee import ApproxDP, GaussianDP, PureDP
from leastnoise.releases.mean import centred, half_widths
from leastnoise.releases.quantile import rank_error, ranks_in_words

if TYPE_CHECKING:
    from leastnoise.curator.query import Query
    from leastnoise.curator.request import PrivacyRequest


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
    description: str = ""  # what they say

    def __str__(self) -> str:
        kept = ", ".join(f"{name} = {value:,}" for name, value in self.limits.items())
        lines = [
            self._errors()
            if self.half_width is not None
            else f"{self.mechanism.capitalize()} noise. {self.description}",
            f"Bins show when their noisy count reaches {self.threshold}." if self.threshold else "",
            f"Of each unit at most this is used: {kept}." if kept else "",
            self.note,
        ]
        return "\n".join(line for line in lines if line)

    def _errors(self) -> str:
        noise = f"{self.mechanism.capitalize()} noise of standard deviation {self.std:.4g}"
        if self.bins == 1:
            return f"{noise} on the one number: with 95 % confidence it is off by at most {self.half_width:.4g}."
        every = f", and all {self.bins:,} at once by at most {self.half_width_all:.4g}" if self.half_width_all else ""
        return f"{noise} on each number: 95 % are off by at most {self.half_width:.4g}{every}."


def expect(query: Query, request: PrivacyRequest) -> Expectation:
    """What `release` would do with this request; a budget is only looked at."""
    return _expect_unknown(query, request) if query.size is None else _expect_listed(query, query.size, request)


def _expect_unknown(query: Query, request: PrivacyRequest) -> Expectation:
    decided = publish.decide_unknown(query, request)
    cut, distribution = decided.noise, Gaussian(decided.noise.sigma, 1.0)
    return Expectation(
        mechanism="gaussian",
        sigma=cut.sigma,
        std=distribution.std,
        half_width=distribution.half_width(0.95),
        half_width_all=None,
        threshold=cut.at_least,
        limits=publish.limits_of(query),
        bins=None,
        guarantee=decided.guarantee,
        note="Bins that nobody listed: their chance to show is part of delta.",
    )


def _expect_listed(query: Query, size: int, request: PrivacyRequest) -> Expectation:
    chosen = publish.decide(query, size, request).noise
    at_least = None
    if query.sparse:
        at_least = int(mechanism.sparse_cut(chosen, size, "universal", "soft") // 1) + 1
    widths, words = _computed(query, size, chosen.distribution)
    return Expectation(
        mechanism=chosen.mechanism,
        sigma=chosen.scale if chosen.mechanism == "gaussian" else chosen.scale * 2**0.5,
        std=chosen.distribution.std,
        half_width=None if words else chosen.distribution.half_width(0.95),
        half_width_all=None if words else chosen.distribution.half_width(0.95, size),
        threshold=at_least,
        limits=publish.limits_of(query),
        bins=size,
        guarantee=chosen.guarantee,
        note=centred(chosen.reason, chosen.note) if query.kind in ("mean", "vector_mean") else chosen.note,
        half_widths=widths,
        description=words,
    )


def _computed(query: Query, size: int, distribution: Distribution) -> tuple[dict[str, float], str]:
    """The errors of what is computed from several noisy numbers: means and quantiles."""
    if query.kind == "quantile":
        found = {f"rank at {q:g}": rank_error(distribution, bins=size, level=q) for q in query.levels}
        return found, ranks_in_words(distribution, bins=size, levels=query.levels)
    if query.kind not in ("mean", "vector_mean"):
        return {}, ""
    centre, half, _ = publish.middle(query)
    off = half_widths(distribution, centre=centre, half_range=half)
    # From so many rows on that half of the clip's half is left, at most.
    first = math.ceil(math.log10(max(1.0, 2 * off.mean_times_rows / half)))
    some = ", ".join(f"{rounded(off.mean_times_rows / n, 3)} for {n:,}" for n in (10 ** (first + i) for i in range(3)))
    words = (
        f"95 % of the time a sum is off by at most {rounded(off.sum)} and a count by at most {rounded(off.count)}; a "
        f"mean over n rows is off by at most {rounded(off.mean_times_rows)}/n: {some} rows."
    )
    return asdict(off), words
