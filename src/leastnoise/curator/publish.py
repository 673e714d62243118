"""From a question's exact integers to what is published: decide, pay, read, draw.

The order is fixed: everything public is decided first (noise, threshold), then a budget is debited, then the rows are
read, then noise is drawn. A failure before the reading tells nothing about people. Reading fails on no value that we
know of; if it fails all the same, that may tell about a row, and no cost makes up for it: after two retries under the
same debit the budget is closed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, TypedDict

import numpy as np

from leastnoise import errors
from leastnoise.curator.aggregate import bounding
from leastnoise.curator.aggregate.exact_totals import Aggregate
from leastnoise.curator.budget import kinds
from leastnoise.curator.budget.charge import Charge, Noise, Receipt
from leastnoise.curator.budget.kinds import OtherKind
from leastnoise.curator.engines.withheld_errors import reading
from leastnoise.domain import with_lattices
from leastnoise.privacy.strength import Strength
from leastnoise.releases.clip_suggestion import ClipSuggestion
from leastnoise.releases.columns import refuse_reserved
from leastnoise.releases.crosstabs import CrosstabsRelease
from leastnoise.releases.left_out import LeftOut
from leastnoise.releases.limit_suggestion import LimitSuggestion
from leastnoise.releases.mean import MeanRelease
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

MAX_ATTEMPTS = 3  # at reading the rows: a lost executor is no attack


class Facts(TypedDict):
    """What a release records of where it comes from: public."""

    id: str
    unit: str
    labels: Mapping[str, str]
    limits: dict[str, int]
    left_out: tuple[LeftOut, ...]
    query: str
    table: str
    strength: Strength
    ledger: str | None


class ForTheLedger(TypedDict):
    """What a debit says about a release: public."""

    query: str
    unit: str
    table: str
    note: str


@dataclass(frozen=True, slots=True)
class Decision(Generic[Noise]):
    """Decided from public facts, and not yet paid: noise and its cost; and how, once that is paid, it is drawn."""

    charge: Charge[Noise]
    draw: Callable[[Aggregate, Facts], Answer]
    reads: Query | None = None  # what is read for it, where the noise decides that; None: the question itself


def release(query: Query, request: PrivacyRequest) -> Answer:
    """Decide, pay, read, draw. No row is read before the debit is on disk."""
    with np.errstate(all="ignore"):  # a caller's numpy.seterr must not make an error of a number
        return _released(query, request)


def check_question(query: Query) -> None:
    """Refuse what can be neither released nor expected, whatever is paid: from public facts."""
    query._data.source.check_unchanged()
    bounding.salt(query._salt_facts())
    refuse_reserved(query.by)


def rehearse(query: Query, request: PrivacyRequest) -> OtherKind | None:
    """Refuse what could not be paid for; what a budget of the other kind would buy, where that is less. Nothing is
    paid, and the engine is not asked."""
    if request.budget is None:
        return None
    charge, error = query._priced(request)
    charge.check(**_for_the_ledger(query, request))
    return kinds.beside(request, charge.cost, error, lambda asked: query._priced(asked)[1])


def _for_the_ledger(query: Query, request: PrivacyRequest) -> ForTheLedger:
    """What a debit says about the release, beside its cost."""
    unit, table = " + ".join(query.unit), query._data.source.name
    return ForTheLedger(query=query.describe(), unit=unit, table=table, note=request.note)


def _released(query: Query, request: PrivacyRequest) -> Answer:
    decided, words = query._decide(request), _for_the_ledger(query, request)
    request.warn()
    left_out, reads = query.left_out, decided.reads or query
    with query._data.source.turn():  # before it is paid for
        query._data.engine.check_ready(query.rows, in_python=reads._in_python)
        receipt = decided.charge.pay(**words, public_units=query._data.public_units)
        exact = _read(reads, receipt)
    facts = Facts(
        id=receipt.id,
        unit=words["unit"],
        labels=query._labels(),
        limits=query.limits_used,
        left_out=left_out,
        query=words["query"],
        table=words["table"],
        strength=receipt.strength,
        ledger=receipt.ledger,
    )
    return _on_map(decided.draw(exact, facts), query)


def _on_map(made: Answer, query: Query) -> Answer:
    """Keys that were found among cells of a map know whose cells they are."""
    lattices = query._data.lattices
    if not lattices or not isinstance(made, Release) or made.domain is None:
        return made
    return replace(made, domain=with_lattices(made.domain, lattices))


def _read(query: Query, receipt: Receipt) -> Aggregate:
    """The exact integers. Only ReadingFailed is tried again and closes the budget: every other error of ours is public
    (and `reading` lets no other one out), and an interrupt is the caller's.

    An engine that is gone at a later attempt may be so because of what the first one read: that is the same failure.
    """
    failed: errors.ReadingFailed | None = None
    for _ in range(MAX_ATTEMPTS):
        try:
            return reading(query._aggregate, query.files)
        except errors.ReadingFailed as problem:
            failed = problem
        except errors.EngineUnavailable:
            if failed is None:
                raise
    assert failed is not None
    raise receipt.close(failed)
