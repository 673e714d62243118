"""From a question's exact integers to what is published: decide, pay, read, draw.

The order is fixed: everything public is decided first (noise, threshold), then a budget is debited, then the rows are
read, then noise is drawn. A failure before the reading tells nothing about people, and a process that ends after the
debit has paid for nothing: that costs budget, never privacy. Reading fails on no value that we
know of; if it fails all the same, that may tell about a row, and no cost makes up for it: after two retries under the
same debit the budget is closed.

Of keys that nobody listed, how many there are is known only while they are read: they come in batches, each has its
noise at once, and those below the threshold are forgotten before the next one comes. A reading that is tried again has
new noise, and nobody saw the first.

What a reviewer asks. *May drawing fail?* Only for want of random numbers, which no row decides: then the debit stays
and nothing is published. *Does the order of keys tell?* They are sorted before they are published. *Does the time that
it takes?* Yes, as that of any reading: time and memory are not hidden (docs/promise.md, "What is not promised").
*Does a budget that closes tell?* At most at which attempt, of the LEAST_SHARE that every attempt costs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from leastnoise import errors
from leastnoise._support import progress
from leastnoise.curator.budget import kinds
from leastnoise.curator.budget.charge import Charge, Facts, Receipt
from leastnoise.curator.engines.engine import redact_errors
from leastnoise.curator.expectation import Preview
from leastnoise.curator.noise import entropy
from leastnoise.curator.noise.gaussian import rounded_gaussian
from leastnoise.curator.noise.laplace import two_sided_geometric
from leastnoise.curator.rows import priorities
from leastnoise.domain import with_lattices
from leastnoise.privacy.noise_plan import NoisePlan, Plan
from leastnoise.privacy.vector_noise import VectorPlan
from leastnoise.releases.clip_suggestion import ClipSuggestion
from leastnoise.releases.columns import refuse_reserved
from leastnoise.releases.crosstabs import CrosstabsRelease
from leastnoise.releases.limit_suggestion import LimitSuggestion
from leastnoise.releases.mean import MeanRelease
from leastnoise.releases.noise import Noise
from leastnoise.releases.provenance import Provenance
from leastnoise.releases.quantile import QuantileRelease
from leastnoise.releases.release import Release
from leastnoise.releases.sparse import SparseRelease
from leastnoise.releases.summary import SummaryRelease

if TYPE_CHECKING:
    from leastnoise.curator.queries.query import Query
    from leastnoise.curator.request import PrivacyRequest

Answer = (
    Release
    | SparseRelease
    | MeanRelease
    | QuantileRelease
    | CrosstabsRelease
    | SummaryRelease
    | LimitSuggestion
    | ClipSuggestion
)
Integers = NDArray[np.int64]
Read = TypeVar("Read")

MAX_ATTEMPTS = 3  # at reading the rows: a lost executor is no attack
CHUNK = 1 << 20  # numbers at a time: the memory beyond the output stays within a few dozen megabytes
SAMPLERS = {"gaussian": rounded_gaussian, "laplace": two_sided_geometric}


@dataclass(frozen=True, slots=True)
class Batch:
    """Integers by block: PRIVATE until noise is added. `keys`, where nobody listed them; `indices`, of a sparse domain
    or of steps that have rows; `total`: of all keys, those that do not show among them."""

    blocks: Mapping[Any, Integers]
    keys: Sequence[Any] | None = None
    indices: NDArray[Any] | None = None
    total: int | None = None


@dataclass(frozen=True, slots=True)
class Decision(Generic[Plan]):
    """Decided from public facts, and not yet paid: the noise and its cost, and which question has it, where several
    could answer. Those are compared by their `typical_error`."""

    charge: Charge[Plan]
    query: Query
    typical_error: float | None = None

    @property
    def error(self) -> float:
        """By which this is compared with other noise for the same question."""
        return self.charge.plan.error if self.typical_error is None else self.typical_error


def release(query: Query, request: PrivacyRequest) -> Answer:
    """Decide, pay, read, draw. No row is read before the debit is on disk."""
    with np.errstate(all="ignore"):  # a caller's numpy.seterr must not make an error of a number
        decided, words = query.decide(request), _for_the_ledger(query, request)
        plan, asked, data, left_out = decided.charge.plan, decided.query, query._data, query.left_out
        request.warn()
        with data.source.exclusive():  # another thread's query would make this one fail, which closes a budget
            # An engine that is not there is told before it is paid for.
            data.engine.check_ready(query.rows, in_python=asked._in_python)
            receipt = decided.charge.pay(**words, public_units=data.public_units)
            batch = read_rows(asked, lambda: asked.measure(plan), receipt)
        noisy = asked.draw(plan, batch)
    provenance = provenance_of(
        plan,
        receipt,
        unit=words["unit"],
        labels=query._labels(),
        limits=query.limits_used,
        left_out=left_out,
        query=words["query"],
        table=words["table"],
    )
    return _on_map(asked.read(plan, noisy, provenance), query)


def expect(query: Query, request: PrivacyRequest, *, payable: bool = True) -> Preview:
    """What `release` would give: decided in the same way, and neither paid for nor read.

    payable: whether to refuse what could not be paid for, and to say what a budget of the other kind would buy.
    """
    decided, other = query.decide(request), None
    if payable and request.budget is not None:
        decided.charge.check(**_for_the_ledger(query, request))
        other = kinds.beside(request, decided.charge.cost, decided.error, lambda asked: query.decide(asked).error)
    told = decided.query.expected(decided.charge, request)
    if other is not None:
        other = replace(other, std=getattr(told, "half_width", None) is not None)
    return replace(
        told,
        unit=query._data.unit_name,
        left_out=query.left_out,
        labels=query._labels(),
        note=" ".join(filter(None, (told.note, request.caution))),
        strength=told.strength and told.strength.with_units(query._data.public_units),
        other_kind=other,
    )


def provenance_of(plan: NoisePlan, receipt: Receipt, **facts: Any) -> Provenance:
    """What a release records of its noise and its debit, and of where it comes from: public."""
    return Provenance(
        guarantee=plan.guarantee,
        delta=plan.delta,
        sensitivity=plan.sensitivity,
        l1_sensitivity=plan.l1_sensitivity,
        reason=plan.reason,
        seeded=entropy.is_seeded(),
        id=receipt.id,
        strength=receipt.strength,
        ledger=receipt.ledger,
        **facts,
    )


def noise_of(plan: VectorPlan) -> Noise:
    """The noise of every number of a vector."""
    return Noise(plan.mechanism, plan.scale, plan.grid)


def read_rows(query: Query, work: Callable[[], Read], receipt: Receipt) -> Read:
    """What `work` reads for the query, of one state of the table. Only ReadingFailed is tried again and closes the
    budget: every other error of ours is public (and `redact_errors` lets no other one out), and an interrupt is the
    caller's.

    An engine that is gone at a later attempt may be so because of what the first one read: that is the same failure.
    """
    failed: errors.ReadingFailed | None = None
    for _ in range(MAX_ATTEMPTS):
        try:
            return redact_errors(lambda: query._of_one_state(work), query.files)
        except errors.ReadingFailed as problem:
            failed = problem
        except errors.EngineUnavailable:
            if failed is None:
                raise
    assert failed is not None
    raise receipt.close(failed)


def add_noise(plan: NoisePlan, batch: Batch) -> Batch:
    """Exact noise on every integer, block after block. It must be paid for already."""
    with progress.bar("drawing noise", sum(exact.size for exact in batch.blocks.values())) as advance:
        noisy = {}
        for name, exact in batch.blocks.items():
            noisy[name] = with_noise(plan, name, exact)
            advance(exact.size)
    return replace(batch, blocks=noisy)


def with_noise(plan: NoisePlan, name: Any, exact: Integers) -> Integers:
    """The integers of one block with its noise."""
    draw, flat = SAMPLERS[plan.mechanism], exact.ravel()
    noisy = np.empty(flat.size, dtype=np.int64)
    for start in range(0, flat.size, CHUNK):
        part = flat[start : start + CHUNK]
        noisy[start : start + CHUNK] = add_integers(part, draw(plan.scales[name], part.size))
    return noisy.reshape(exact.shape)


def add_integers(exact: Integers, noise: Integers) -> Integers:
    """The sum, stopped at the ends of 64 bits: a function of the exact sum alone."""
    total = exact + noise  # may wrap
    wrapped = ((exact ^ total) & (noise ^ total)) < 0
    limits = np.iinfo(np.int64)
    return np.where(wrapped, np.where(noise > 0, limits.max, limits.min), total)


def _on_map(made: Answer, query: Query) -> Answer:
    """Keys that were found among cells of a map know whose cells they are."""
    lattices = query._data.lattices
    if not lattices or not isinstance(made, Release) or made.domain is None:
        return made
    return replace(made, domain=with_lattices(made.domain, lattices))


def check_question(query: Query) -> None:
    """Refuse what can be neither released nor expected, whatever is paid: from public facts."""
    query._data.source.check_unchanged()
    priorities.salt(query._salt_facts())
    refuse_reserved(query.by)


def _for_the_ledger(query: Query, request: PrivacyRequest) -> Facts:
    """What a debit says about the release, beside its cost."""
    unit, table = " + ".join(query.unit), query._data.source.name
    return Facts(query=query.describe(), unit=unit, table=table, note=request.note)
