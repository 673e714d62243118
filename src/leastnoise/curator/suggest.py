"""Limits for a question, bought with a small release of its own: decide for what noise, release, propose."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from leastnoise import errors
from leastnoise._support import library_warnings
from leastnoise._support.validation import Number
from leastnoise.curator.budget.deciding import decide
from leastnoise.curator.budget.terms import Share, exact_share
from leastnoise.curator.dataset import Dataset
from leastnoise.curator.queries.unit_counts import UnitCounts
from leastnoise.curator.request import PrivacyRequest
from leastnoise.privacy.neighbours import Neighbours
from leastnoise.privacy.vector_noise import VectorPlan, VectorPlanner
from leastnoise.releases.limit_errors import AskedNoise
from leastnoise.releases.limit_suggestion import LimitSuggestion

_WIDE, _HOPELESS = 1e6, 1e12  # sensitivities: large, so that rounding to whole numbers hardly matters


def limit_question(
    data: Dataset,
    by: Sequence[str],
    *,
    keys: Any,
    nulls: str,
    request: PrivacyRequest,
    for_epsilon: Number | None,
    for_delta: Number | None,
    for_share: Share | None,
) -> UnitCounts:
    """The question that limits are proposed from: everything public is checked, nothing is read or paid."""
    if data.row_is_unit:
        raise errors.InvalidParameter(
            f"Every {data.unit_name} has one row in this table, so there is nothing to limit: ask the question without "
            "limits."
        )
    later = later_request(request, epsilon=for_epsilon, delta=for_delta, share=for_share)
    return UnitCounts.of(data, by, keys, nulls, asked_noise(later, data.neighbours))


def suggest_limits(data: Dataset, by: Sequence[str], *, request: PrivacyRequest, **asked: Any) -> LimitSuggestion:
    """What one preliminary release proposes: one release, one debit."""
    made = limit_question(data, by, request=request, **asked).release(
        epsilon=request.epsilon,
        delta=request.delta,
        sigma=request.sigma,
        mechanism=request.mechanism,
        budget=request.budget,
        share=request.share,
        note=request.note,
    )
    assert isinstance(made, LimitSuggestion)
    return made


def later_request(
    request: PrivacyRequest, *, epsilon: Number | None, delta: Number | None, share: Share | None
) -> PrivacyRequest:
    """How private the question itself will be: as was said, else as this release; of a budget, by all that is left."""
    if request.budget is None:
        same = epsilon is None and delta is None and share is None
        chosen = (request.epsilon, request.delta) if same else (epsilon, delta)
        return PrivacyRequest(epsilon=chosen[0], delta=chosen[1], share=share)
    if share is not None and request.share is not None:
        _check_both_fit(request, share)
    if epsilon is not None or delta is not None or share is not None:
        return PrivacyRequest(epsilon=epsilon, delta=delta, share=share, budget=request.budget)
    left = request.budget.remaining.share - (0.0 if request.share is None else float(exact_share(request.share)))
    if left <= 0:
        raise errors.InvalidParameter(
            "After this nothing of the budget is left for the question that the limits are for.",
            parameter="share",
            value=request.share,
            example={"share": 0.02},
        )
    return PrivacyRequest(budget=request.budget, share=left)


def _check_both_fit(request: PrivacyRequest, for_share: Share) -> None:
    """Refuse a release after which the question could not be paid. (What is left is rounded down to a millionth.)"""
    assert request.budget is not None
    assert request.share is not None
    left, own = exact_share(request.budget.remaining.share), exact_share(request.share)
    if own <= left < own + exact_share(for_share, "for_share") - Fraction(1, 10**6):
        raise errors.InvalidParameter(
            f"Of the budget {float(left):g} is left, and {request.share} of it for this release and {for_share} for "
            "the question do not both fit. Take less for one of them.",
            parameter="for_share",
            value=for_share,
            example={"share": float(left) / 50, "for_share": float(left) / 2},
        )


def asked_noise(later: PrivacyRequest, neighbours: Neighbours) -> AskedNoise:
    """The standard deviation for a sensitivity of one, of whichever noise such a request takes."""

    def of(l1: float) -> VectorPlan:
        wide = {"sensitivity": _WIDE, "l1_sensitivity": l1}
        return decide(later, VectorPlanner(bins=1, integers=True, neighbours=neighbours, **wide)).plan  # type: ignore[arg-type]

    with library_warnings.none_at_all():  # about noise that is not drawn here
        gaussian, least = of(_HOPELESS), of(_WIDE)
    if gaussian.mechanism == "laplace":
        return AskedNoise(None, gaussian.distribution.std / _HOPELESS, neighbours)
    per_l1 = least.distribution.std / _WIDE if least.mechanism == "laplace" else None
    return AskedNoise(gaussian.distribution.std / _WIDE, per_l1, neighbours)
