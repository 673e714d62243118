"""Limits for a question, bought with a small release of its own: decide for what noise, release, propose.

Or with several: with `most_share` a further look is bought while the counts of all so far leave open which limits are
good. Each is debited before it reads a row, and whether there is another follows from what was released and from public
facts alone (`releases.looks` has the proof that nothing is lost by it).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from leastnoise import errors
from leastnoise._support import library_warnings
from leastnoise._support.validation import Number
from leastnoise.curator.budget import charge, shares
from leastnoise.curator.budget.shares import Share
from leastnoise.curator.dataset import Dataset
from leastnoise.curator.queries.unit_counts import UnitCounts
from leastnoise.curator.request import PrivacyRequest
from leastnoise.privacy.neighbours import Neighbours
from leastnoise.privacy.noise_choice import NoiseChoice
from leastnoise.releases.limit_errors import AskedNoise
from leastnoise.releases.limit_suggestion import OPEN, LimitSuggestion

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
    after: LimitSuggestion | None = None,
) -> UnitCounts:
    """The question that limits are proposed from: everything public is checked, nothing is read or paid."""
    if data.row_is_unit:
        raise errors.InvalidParameter(
            f"Every {data.unit_name} has one row in this table, so there is nothing to limit: ask the question without "
            "limits."
        )
    later = later_request(request, epsilon=for_epsilon, delta=for_delta, share=for_share)
    asked = asked_noise(later, data.neighbours)
    return UnitCounts.of(data, by, keys, nulls, asked).going_on(after)


def suggest_limits(data: Dataset, by: Sequence[str], **asked: Any) -> LimitSuggestion:
    """What one look proposes, or several; each is one release and one debit. An error after the first has the last one
    that was paid for as its attribute `earlier`."""
    last: LimitSuggestion | None = None
    try:
        for last in looks(data, by, **asked):  # noqa: B007
            pass
    except BaseException as problem:
        if last is not None:
            _keep(problem, last)
        raise
    assert last is not None
    return last


def looks(
    data: Dataset,
    by: Sequence[str],
    *,
    request: PrivacyRequest,
    most_share: Share | None = None,
    after: LimitSuggestion | None = None,
    **asked: Any,
) -> Iterator[LimitSuggestion]:
    """One look after the other, each put together with those before it, while they leave open which limits are good and
    less than most_share was paid. Whoever takes them keeps each: what was paid for is not lost if a later one fails."""
    most = Fraction(0) if most_share is None else _checked_most(request, most_share, asked.get("for_share"))
    question = limit_question(data, by, request=request, after=after, **asked)
    found = _released(question, request)
    yield found
    paid = Fraction(0) if request.share is None else shares.exact(request.share)
    while paid < most and found.risk >= OPEN:
        request = replace(request, share=next_share(paid, most))
        paid += shares.exact(request.share)  # type: ignore[arg-type]
        later = later_request(request, **{name: asked[f"for_{name}"] for name in ("epsilon", "delta", "share")})
        found = _released(replace(question, asked=asked_noise(later, data.neighbours), after=found), request)
        yield found


def _released(question: UnitCounts, request: PrivacyRequest) -> LimitSuggestion:
    """One release, one debit."""
    made = question.release(
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


def next_share(paid: Fraction, most: Fraction) -> Fraction:
    """What the next look takes: as much as was paid, so that the variance is halved; or all that may still be paid,
    where less than half of what will have been paid would be left for another.

    >>> paid, most = Fraction(1, 50), Fraction(1, 5)
    >>> while paid < most:
    ...     paid += next_share(paid, most)
    ...     print(float(paid))
    0.04
    0.08
    0.2
    """
    return paid if most - 2 * paid >= paid else most - paid


def _checked_most(request: PrivacyRequest, most_share: Share, for_share: Share | None) -> Fraction:
    """What all looks may take together: at least the first one's share, and the budget has that left, with something
    for the question. Another who pays from it meanwhile can still take it away."""
    if request.budget is None or request.share is None:
        raise errors.MissingParameter(
            "most_share is what all looks may take of a budget, and the first one takes its share.",
            parameter="share" if request.budget is not None else "budget",
            example={"budget": errors.Code('ln.Budget.open("city.ledger")', "city.ledger"), "share": 0.02},
        )
    try:
        most = shares.exact(most_share)
    except errors.WrongType as problem:
        raise errors.WrongType(
            f"most_share: {problem.message}", parameter="most_share", value=most_share, example={"most_share": 0.2}
        ) from None
    if most < shares.exact(request.share):
        raise errors.InvalidParameter(
            f"most_share is what all looks may take together, so it is at least the share of the first, "
            f"{request.share}. Got {most_share} instead.",
            parameter="most_share",
            value=most_share,
            example={"share": 0.02, "most_share": 0.2},
        )
    left = shares.exact(request.budget.remaining.share)
    later = Fraction(0) if for_share is None else shares.exact(for_share)
    if most + later > left or (most >= left and for_share is None):
        beside = "something" if for_share is None else f"{for_share}"
        raise errors.InvalidParameter(
            f"Of the budget {request.budget.remaining.share:g} is left, and most_share must leave {beside} of it for "
            f"the question that the limits are for. Got {most_share} instead.",
            parameter="most_share",
            value=most_share,
            example={"share": 0.02, "most_share": 0.2},
        )
    return most


def _keep(problem: BaseException, found: LimitSuggestion) -> None:
    """What was paid for is not lost with a later look: the error has it."""
    problem.earlier = found  # type: ignore[attr-defined]
    problem.add_note(
        f"The look before this one was paid for and is not lost: it is this error's attribute `earlier` (release "
        f"{found.id}). Save it; suggest_limits(..., after=error.earlier) goes on from it."
    )


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
    left = request.budget.remaining.share - (0.0 if request.share is None else float(shares.exact(request.share)))
    if left <= 0:
        raise errors.InvalidParameter(
            "After this nothing of the budget is left for the question that the limits are for.",
            parameter="share",
            value=request.share,
            example={"share": 0.02},
        )
    return PrivacyRequest(budget=request.budget, share=left)


def _check_both_fit(request: PrivacyRequest, for_share: Share) -> None:
    """Refuse a look after which the question could not be paid. (What is left is rounded down to a millionth.)"""
    assert request.budget is not None
    assert request.share is not None
    left, own = shares.exact(request.budget.remaining.share), shares.exact(request.share)
    if own <= left < own + shares.exact(for_share, "for_share") - Fraction(1, 10**6):
        raise errors.InvalidParameter(
            f"Of the budget {float(left):g} is left, and {request.share} of it for this look and {for_share} for the "
            "question do not both fit. Take less for one of them.",
            parameter="for_share",
            value=for_share,
            example={"share": float(left) / 50, "for_share": float(left) / 2},
        )


def asked_noise(later: PrivacyRequest, neighbours: Neighbours) -> AskedNoise:
    """The standard deviation for a sensitivity of one, of whichever noise such a request takes."""

    def of(l1: float) -> NoiseChoice:
        return charge.decide(
            later, bins=1, integers=True, sensitivity=_WIDE, l1_sensitivity=l1, neighbours=neighbours
        ).noise

    with library_warnings.none_at_all():  # about noise that is not drawn here
        gaussian, least = of(_HOPELESS), of(_WIDE)
    if gaussian.mechanism == "laplace":
        return AskedNoise(None, gaussian.distribution.std / _HOPELESS, neighbours)
    per_l1 = least.distribution.std / _WIDE if least.mechanism == "laplace" else None
    return AskedNoise(gaussian.distribution.std / _WIDE, per_l1, neighbours)
