"""Private numbers in, a Release out: decide from public facts, pay, draw, add.

What is published is a function of (exact values on a grid +
exact noise on that grid), so a float's low bits never show; and which noise is drawn, how, and how long that takes
does not depend on the values at all.

With a budget everything public is checked first, then the cost is debited durably, and only then is a value looked
at. From there on nothing is refused: whatever a value is, it counts as some number (see `coercion`).
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from leastnoise import domain as domains
from leastnoise import errors
from leastnoise._support import progress, validation
from leastnoise._support.validation import Number
from leastnoise.curator import coercion
from leastnoise.curator.budget import Budget
from leastnoise.curator.budget.deciding import decide
from leastnoise.curator.budget.terms import Share
from leastnoise.curator.noise.sparse import check, check_columns, sparse_gaussian
from leastnoise.curator.release import CHUNK, SAMPLERS, Batch, add_noise, noise_of, provenance_of
from leastnoise.curator.request import PrivacyRequest
from leastnoise.domain import Domain
from leastnoise.privacy.neighbours import Neighbours
from leastnoise.privacy.noise_plan import Choice
from leastnoise.privacy.vector_noise import NUMBERS, VectorPlan, VectorPlanner
from leastnoise.releases.block import Values
from leastnoise.releases.columns import refuse_reserved
from leastnoise.releases.noise import Noise
from leastnoise.releases.provenance import Provenance
from leastnoise.releases.release import Release
from leastnoise.releases.sparse import SparseRelease


def release(
    values: Any,
    *,
    sensitivity: Number,
    l1_sensitivity: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    sigma: Number | None = None,
    mechanism: Choice = "auto",
    domain: Domain | Sequence[Any] | None = None,
    neighbours: Neighbours = "add-remove",
    budget: Budget | None = None,
    share: Share | None = None,
    note: str = "",
) -> Release:
    """Publish a vector with the least noise that keeps the promise.

    Say how private it must be in one of three ways: `epsilon` and `delta`, `sigma`, or a `budget` and a `share`.

    values: the vector of exact numbers. An array (or NumPy number) of an integer type stays whole. A list or a bare
        Python number is released as real numbers, whatever it holds: say np.int64(count) for one count.
    sensitivity: how far (L2) one person can move the vector *of doubles or integers as computed*.
    l1_sensitivity: the same in L1. Given, Laplace noise is taken where it is less. Left out, it is bounded by the L2.
    epsilon: the privacy loss, above 0; 1 is common. Smaller is more private and noisier.
    delta: the probability with which epsilon may be exceeded, such as 1e-6; 0 takes Laplace noise.
    sigma: the standard deviation of Gaussian noise itself, in the unit of the values, instead of the two.
    mechanism: "gaussian", "laplace", or "auto" (the default): whichever has less noise.
    domain: the public names of the bins: a list with one key for each value, or a Domain. Left out, they have none.
    neighbours: "add-remove" (the default) or "replace": between which tables `sensitivity` holds.
    budget: an open `ln.Budget`, debited on disk before a value is looked at. Left out, nothing is debited.
    share: how much of the whole budget to spend, such as 0.25 or "1/52", instead of epsilon and delta.
    note: a line for the budget's history, such as "the weekly map". It is public.

    No value is refused, because a refusal would tell about it: NaN, a null and what is no number in a list count as 0,
    infinities as the largest double. That alone protects nobody: `sensitivity` must hold *after* it, and a sum that
    one person turned into NaN moves by the whole sum. Clean people's rows before you add them up; tables do it for you.

    >>> import numpy as np
    >>> r = release(np.array([120, 0, 45]), sensitivity=1, epsilon=1, delta=1e-6)
    >>> r.values.dtype, round(r.sigma, 4), r.mechanism
    (dtype('int64'), 4.2247, 'gaussian')
    """
    given = _declared(values)
    request = PrivacyRequest(
        epsilon=epsilon, delta=delta, sigma=sigma, mechanism=mechanism, budget=budget, share=share, note=note
    )
    planner = VectorPlanner.of(
        bins=len(given),
        integers=isinstance(given, np.ndarray) and given.dtype.kind in "iu",
        sensitivity=sensitivity,
        l1_sensitivity=l1_sensitivity,
        neighbours=neighbours,
    )
    decided = decide(request, planner)
    bins = _domain(domain, len(given))
    request.warn()
    receipt = decided.pay(query=f"a vector of {len(given):,} value{'s' * (len(given) != 1)}", note=request.note)
    private = given if isinstance(given, np.ndarray) else coercion.as_doubles(given, len(given))
    with np.errstate(all="ignore"):  # a caller's numpy.seterr must not make an error of a value
        noisy = _noisy(private, decided.plan)
    made = provenance_of(decided.plan, receipt)
    return Release.of(noisy, noise_of(decided.plan), provenance=made, domain=bins)


def release_sparse(
    indices: Any,
    counts: Any,
    *,
    domain_size: int,
    sensitivity: Number,
    epsilon: Number | None = None,
    delta: Number | None = None,
    sigma: Number | None = None,
    threshold: Number | Literal["universal"] = "universal",
    kind: Literal["soft", "hard"] = "soft",
    neighbours: Neighbours = "add-remove",
    budget: Budget | None = None,
    share: Share | None = None,
    note: str = "",
) -> SparseRelease:
    """Whole counts in a huge domain: noise on *every* bin, then a threshold, in time that grows with the occupied ones.

    The time and memory taken grow with the number of occupied bins: hide them from whoever must not learn it.

    indices, counts: the occupied bins and their counts, two columns of one table: arrays of integers, or lists, and as
        long as each other. An index that is no integer or outside the domain is no bin and is left out, a count that is
        no integer counts as 0.
    domain_size: how many bins there are in all.
    sensitivity: how far (L2) one person can move the counts, after the above.
    epsilon, delta, sigma, budget, share, note: how private, as for `release`; the noise is Gaussian.
    threshold: from which noisy count on a bin shows. "universal" (the default) is sigma sqrt(2 log domain_size), which
        hardly any empty bin passes.
    kind: "soft" (the default) moves what shows toward zero by the threshold, "hard" leaves it as it is.
    neighbours: "add-remove" (the default) or "replace": between which tables `sensitivity` holds.
    """
    size = validation.integer("domain_size", domain_size)
    check_columns(indices, counts)
    request = PrivacyRequest(
        epsilon=epsilon, delta=delta, sigma=sigma, mechanism="gaussian", budget=budget, share=share, note=note
    )
    planner = VectorPlanner.of(bins=size, integers=True, sensitivity=sensitivity, neighbours=neighbours)
    decided = decide(request, planner)
    cut = SparseCut.of(decided.plan, size, threshold, kind)
    request.warn()
    receipt = decided.pay(query=f"occupied bins of {size:,}", note=request.note)
    found = cut.drawn(indices, counts)
    return cut.released(*found, provenance=provenance_of(decided.plan, receipt))


@dataclass(frozen=True, slots=True)
class SparseCut:
    """Noise on every bin of a huge domain, and from which noisy count on one shows."""

    plan: VectorPlan
    size: int
    threshold: float
    kind: Literal["soft", "hard"]

    @classmethod
    def of(
        cls, plan: VectorPlan, size: int, threshold: Number | Literal["universal"], kind: Literal["soft", "hard"]
    ) -> SparseCut:
        """With everything public checked: to be called before a budget is debited."""
        validation.word("kind", kind, ("soft", "hard"))
        level = _universal(plan.scale, size) if threshold == "universal" else validation.number("threshold", threshold)
        made = cls(plan, size, level, kind)
        check(domain_size=size, sigma=plan.scale, at_least=made.at_least)
        return made

    @property
    def at_least(self) -> int:
        """The least noisy count that shows."""
        return int(self.threshold // 1) + 1

    def drawn(self, indices: Any, counts: Any) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """The bins that show, with their noisy counts. It must be paid for already."""
        return sparse_gaussian(indices, counts, domain_size=self.size, sigma=self.plan.scale, at_least=self.at_least)

    def released(
        self, where: NDArray[Any], noisy: NDArray[np.int64], *, provenance: Provenance, domain: Domain | None = None
    ) -> SparseRelease:
        """The bins that show, as they are published."""
        values: Values = noisy if self.kind == "hard" else noisy - np.copysign(self.threshold, noisy)
        return SparseRelease(
            indices=where,
            values=values,
            domain_size=self.size,
            threshold=self.threshold,
            thresholding=self.kind,
            noise=Noise("gaussian", self.plan.scale, 1.0),
            provenance=replace(provenance, l1_sensitivity=None, reason=None),
            domain=domain,
        )


def _declared(values: Any) -> NDArray[Any] | list[Any]:
    """What is public about the values: their declared type and how many they are. No value is looked at.

    Only what has a dtype declares its type. Anything else would have one inferred from private values: one person's
    2.5 among whole numbers must not change the grid, nor must a total of 3.0 instead of 3, or a null. So a list, and
    one bare number as a list of one, is always real numbers.
    """
    if isinstance(values, np.ma.MaskedArray):
        raise errors.WrongType(
            "values is a masked array, and what a mask hides would be published. Say values.filled(0)."
        )
    given = _array(values) if hasattr(values, "dtype") else [values] if _is_bare(values) else _list(values)
    if len(given) == 0:
        raise errors.InvalidParameter("values is empty, so there is nothing to publish. Give at least one bin.")
    return given


def _is_bare(value: Any) -> bool:
    """Python's numbers of every type, and the nulls that a library gives where a number would be."""
    return isinstance(value, numbers.Number) or type(value).__name__ in ("NoneType", "NAType", "NaTType")


def _array(values: Any) -> NDArray[Any]:
    given = _without_nulls(values)
    if given.dtype.kind not in "iuf" or given.dtype.itemsize > 8:
        raise errors.WrongType(
            f"values must be integers or floats of at most 64 bits. Got {values.dtype} instead. "
            "Say values.astype(np.int64) for counts, or np.float64 for anything else."
        )
    if given.ndim > 1:
        raise errors.InvalidParameter(
            f"values must be a vector. Got {given.ndim} dimensions instead: say values.ravel()."
        )
    return np.atleast_1d(given)


def _without_nulls(values: Any) -> NDArray[Any]:
    """The array of the declared type. pandas and Polars make one of another type when there is a null: here it is 0."""
    declared = values.dtype
    if hasattr(values, "to_numpy") and not isinstance(declared, np.dtype):
        if getattr(declared, "kind", "") in ("i", "u", "f"):  # pandas
            kinds = {"i": np.int64, "u": np.uint64, "f": np.float64}
            return np.asarray(values.to_numpy(dtype=kinds[declared.kind], na_value=0))
        if hasattr(declared, "is_integer") and (declared.is_integer() or declared.is_float()):  # Polars
            return np.asarray(values.fill_null(0).to_numpy())
        raise errors.WrongType(f"values must be integers or floats. Got {declared} instead.")
    return np.asarray(values)


def _list(values: Any) -> list[Any]:
    """The elements of a sequence that declares no type. What they are is private, so none is refused."""
    tabular = any(hasattr(values, name) for name in ("columns", "to_numpy", "__array__", "__arrow_c_stream__"))
    if tabular or isinstance(values, (str, bytes, Mapping, Set)) or not isinstance(values, Iterable):
        raise errors.WrongType(
            f"values must be an array of numbers. Got {type(values).__name__} instead. Say np.asarray(values, float)."
        )
    return list(values)


def _noisy(private: NDArray[Any], plan: VectorPlan) -> Values:
    """The values with noise. Integers stay integers; real numbers are rounded to the grid, chunk by chunk."""
    if private.dtype.kind in "iu":
        return add_noise(plan, Batch({NUMBERS: _int64(private)})).blocks[NUMBERS]
    out, draw = np.empty(private.size), SAMPLERS[plan.mechanism]
    with progress.bar("drawing noise", private.size) as advance:
        for start in range(0, private.size, CHUNK):
            part = private[start : start + CHUNK]
            out[start : start + CHUNK] = _add_real(part, draw(plan.scales[NUMBERS], part.size), plan.grid)
            advance(part.size)
    return out


def _add_real(exact: NDArray[Any], noise: NDArray[np.int64], grid: float) -> NDArray[np.float64]:
    """round(exact to grid) + grid * noise. Both are exact doubles, so their sum depends on the exact sum alone.

    From 2^52 grid steps on every double is a multiple of the grid already (and exact/grid might overflow). Noise is
    below 2^53 steps, so grid * noise is exact; as an integer it has no signed zero to leak.
    """
    x = coercion.finite(exact)
    fine = np.abs(x) < 2.0**52 * grid
    x[fine] = np.rint(x[fine] / grid) * grid
    with np.errstate(over="ignore"):
        total: NDArray[np.float64] = np.clip(x + noise * grid, -coercion.MAX_DOUBLE, coercion.MAX_DOUBLE)
    return total


def _int64(part: NDArray[Any]) -> NDArray[np.int64]:
    """Integers of any type as int64; unsigned ones past 2^63 are clamped, which moves no two of them apart."""
    if part.dtype.kind == "u" and part.dtype.itemsize == 8:  # of either byte order
        part = np.minimum(part.astype(np.uint64), np.uint64(2**63 - 1))
    integers: NDArray[np.int64] = part.astype(np.int64)
    return integers


def _domain(given: Domain | Sequence[Any] | None, bins: int) -> Domain | None:
    found = given if given is None or isinstance(given, Domain) else Domain(("bin",), (domains.axis(given),))
    if found is not None and found.size != bins:
        raise errors.BadDomain(f"domain has {found.size:,} bins and values {bins:,}. Give one key a bin.")
    if found is not None:
        refuse_reserved(found.names)
    return found


def _universal(sigma: float, size: int) -> float:
    """sigma sqrt(2 log d) (Theorem 12); at least sigma, for a domain of one or two bins."""
    return sigma * math.sqrt(2 * max(math.log(size), 0.5))
