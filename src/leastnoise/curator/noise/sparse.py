"""Rounded Gaussian noise on every bin of a huge domain, then a threshold, without visiting the empty bins.

The distribution is that of: add round(sigma Z) to each of `domain_size` integer counts, keep the bins with |value| >=
at_least. Bins are independent, so it can be drawn in two parts that do not look at each other:

  empty     as if every bin were empty, each survives with probability q = P(|K| >= at_least). The gaps
            between survivors are geometric, P(gap >= n) = (1 - q)^n, so gap = floor(log V / log(1 - q)) for a
            uniform V, exactly, its bits read as needed. A survivor's value is K given |K| >= at_least.
  occupied  bins with a count get fresh noise on it and the same threshold; what the first part drew there is
            dropped, whatever it was.

The first part sees no data. Side channel: the time and memory of the second grow with the number of occupied
bins, and the time of sorting with their order. Hide both from anyone who must not learn that number.

The kept values are not Gaussian about the counts any more: the threshold has chosen them. Soft thresholding
is left to the caller: with at_least = floor(amount) + 1, moving a kept value `amount` grid steps toward zero
never changes its sign.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfc

from leastnoise._support import validation
from leastnoise.curator import coercion
from leastnoise.curator.noise import entropy, gaussian, inverse_cdf, lazy_uniform
from leastnoise.errors import InvalidParameter, WrongType

MAX_COUNT = 1 << 62  # with a draw below 2^58 the sum fits 64 bits
MAX_BINS = 1 << 512
MAX_SURVIVORS = 10**7

Integers = NDArray[Any] | Sequence[int]


def sparse_gaussian(
    indices: Integers, counts: Integers, *, domain_size: int, sigma: Fraction | float, at_least: int
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The surviving bins, sorted, and their noisy values: (indices, values).

    Indices come back as uint64, or as Python integers in an object array where the domain is larger than
    2^64. Counts of the same index are added. What an error would betray about the data is settled silently,
    without raising any sensitivity: an index outside the domain is no bin and is dropped, a count beyond
    +-2^62 counts as +-2^62. In a list or an array of objects an index that is no integer is no bin either, and
    such a count is 0: the sensitivity must hold after that.
    """
    check_columns(indices, counts)
    domain, scale, least = check(domain_size=domain_size, sigma=sigma, at_least=at_least)
    where, total = _occupied(indices, counts, domain)
    noisy = total + gaussian.rounded_gaussian(sigma, total.size)
    kept = np.abs(noisy) >= least
    empty = np.array(_survivors(domain, scale, least), dtype=where.dtype)
    values = gaussian.tail_gaussian(sigma, least, empty.size)
    free = np.searchsorted(where, empty, "left") == np.searchsorted(where, empty, "right")
    places = np.concatenate([where[kept], empty[free]])
    order = np.argsort(places, kind="stable")
    return places[order], np.concatenate([noisy[kept], values[free]])[order]


def check(*, domain_size: int, sigma: Fraction | float, at_least: int) -> tuple[int, Fraction, int]:
    """The public parameters, or the error that names the mistake; to be called before a budget is debited."""
    scale = inverse_cdf.scale_in_steps("sigma", sigma)
    least = gaussian.threshold(at_least, scale)
    domain = _domain(domain_size)
    _check_survivors(domain, scale, least)
    return domain, scale, least


def _survivors(domain: int, scale: Fraction, least: int) -> list[int]:
    """Which of `domain` empty bins survive, in order."""
    found: list[int] = []
    start = 0
    while start < domain:
        v = lazy_uniform.Uniform(int(entropy.words(1)[0]), 64)
        gap = lazy_uniform.decide_floor(
            v, lambda v: v.log() / (-gaussian.survival(scale, least)).log1p(), least=0, most=domain - start
        )
        found.append(start + gap)
        start += gap + 1
    return [bin_ for bin_ in found if bin_ < domain]


def _occupied(indices: Integers, counts: Integers, domain: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The occupied bins, sorted, each once, and the sum of its counts clamped into +-2^62."""
    where, count = _integers(indices, otherwise=-1), _integers(counts, otherwise=0)
    inside = np.asarray((where >= 0) & (where < domain), dtype=bool)
    where, number = np.unique(where[inside].astype(np.uint64 if domain <= 2**64 else object), return_inverse=True)
    return where, _sums(_clamped(count[inside]), number, where.size)


def _clamped(count: NDArray[Any]) -> NDArray[np.int64]:
    """Each count moved into +-2^62: two counts never move apart, so no sensitivity grows."""
    if count.dtype.kind == "u":
        return np.minimum(count.astype(np.uint64), np.uint64(MAX_COUNT)).astype(np.int64)
    if count.dtype.kind == "i":
        return np.clip(count.astype(np.int64), -MAX_COUNT, MAX_COUNT)
    return np.array([min(max(c, -MAX_COUNT), MAX_COUNT) for c in count.tolist()], dtype=np.int64)


def _sums(count: NDArray[np.int64], number: NDArray[np.intp], size: int) -> NDArray[np.int64]:
    """The counts added by bin and clamped again; in halves of 32 bits, so that 2^31 of them cannot
    overflow."""
    high, low = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    np.add.at(high, number, count >> 32)
    np.add.at(low, number, count & 0xFFFFFFFF)
    high += low >> 32
    total = (np.clip(high, -(2**30), 2**30 - 1) << 32) + (low & 0xFFFFFFFF)
    total[high >= 2**30] = MAX_COUNT
    total[high < -(2**30)] = -MAX_COUNT
    return total


def check_columns(indices: Integers, counts: Integers) -> None:
    """What is public about the data: two columns of one table, of types that can hold integers."""
    for name, column in (("indices", indices), ("counts", counts)):
        kind = getattr(column, "dtype", None)
        declared = isinstance(kind, np.dtype) and kind.kind in "iuO" and getattr(column, "ndim", 1) == 1
        if not (declared or (kind is None and _is_list(column))):
            raise WrongType(
                f"{name} must be a flat array of integers, or a list of them. The noise is exact for whole numbers "
                "only: round to the grid and pass integers, such as counts.astype(np.int64)."
            )
    if len(indices) != len(counts):
        raise InvalidParameter(
            "indices and counts must have the same length, one count to an index. A count without its bin "
            "cannot be hidden in one: pass them as two columns of one table."
        )


def _is_list(column: Any) -> bool:
    return isinstance(column, Sequence) and not isinstance(column, (str, bytes, bytearray, memoryview))


def _integers(numbers: Integers, *, otherwise: int) -> NDArray[Any]:
    """An array of an integer type as it is, else of Python integers: `otherwise` for what is none."""
    if getattr(numbers, "dtype", np.dtype(object)).kind in "iu":
        return np.asarray(numbers)
    array = np.empty(len(numbers), dtype=object)
    array[:] = [otherwise if found is None else found for found in map(coercion.as_integer, numbers)]
    return array


def _domain(domain_size: Any) -> int:
    domain = validation.integer("domain_size", domain_size)
    if domain > MAX_BINS:
        raise InvalidParameter(
            "domain_size must be between 1 and 2^512. It is the public number of bins, occupied or not.",
            value=domain_size,
            example={"domain_size": 10**12},
        )
    return domain


def _check_survivors(domain: int, scale: Fraction, least: int) -> None:
    if least < 1:
        raise InvalidParameter(
            "at_least must be 1 or more. At zero every bin of the domain survives: draw them all with rounded_gaussian."
        )
    # As a double: this check guards the machine's memory, not anybody's privacy.
    expected = domain * erfc((least - 0.5) / (float(scale) * math.sqrt(2)))
    if expected > MAX_SURVIVORS:
        raise InvalidParameter(
            f"About {expected:.3g} empty bins would pass at_least = {least}. Each costs time and memory, and "
            "none tells anything: raise at_least to about sigma * sqrt(2 * log(domain_size))."
        )
