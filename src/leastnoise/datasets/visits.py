"""Visits of made-up people to the services of their city: one row a visit, many for a few people and few for most.

How often a person comes is log-normal, so that limits on the rows of one person matter: half of the visitors come at
most five times a year, one in a hundred more than seventy times.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from leastnoise._support import validation
from leastnoise.datasets.register import DISTRICTS

SERVICES = ("library", "pool", "clinic", "museum", "town hall", "advice", "sports hall", "allotments")
_SHARES = np.array([0.30, 0.22, 0.16, 0.08, 0.09, 0.05, 0.08, 0.02])
_SUMMER = np.array([0.9, 1.9, 0.8, 1.0, 0.9, 0.9, 0.6, 3.0])  # how much more often in July than in January
_MEDIAN_VISITS, _SPREAD = 4.5, 1.2  # a year; the second is of the logarithm


def visits(people: int = 20_000, *, seed: int = 0) -> pa.Table:
    """Visits in one year, one row each, as an Arrow table: person, month, service, district and minutes waited.

    people: how many people come at all.
    seed: another seed draws other people of the same city.

    >>> visits(100).column_names
    ['person', 'month', 'service', 'district', 'minutes']
    """
    people = validation.integer("people", people)
    rng = np.random.default_rng([seed, 21])
    count = 1 + rng.poisson(_MEDIAN_VISITS * np.exp(_SPREAD * rng.standard_normal(people)))
    person = np.repeat(rng.permutation(people), count)
    favourite = np.repeat(rng.choice(len(SERVICES), people, p=_SHARES), count)
    service = np.where(rng.random(person.size) < 0.6, favourite, rng.choice(len(SERVICES), person.size, p=_SHARES))
    home = np.repeat(rng.choice(len(DISTRICTS), people, p=[each.share for each in DISTRICTS]), count)
    return pa.table(
        {
            "person": person.astype(np.int64),
            "month": _months(rng, service).astype(np.int32),
            "service": pa.array(SERVICES).take(pa.array(service)),
            "district": pa.array([each.name for each in DISTRICTS]).take(pa.array(home)),
            "minutes": np.round(rng.gamma(1.5, 6 + 2.0 * service), 1),
        }
    ).take(pa.array(rng.permutation(person.size)))


def visit_keys() -> dict[str, Any]:
    """The public keys of the visits' columns, as `keys=` takes them: nothing in them comes from a row."""
    return {"month": range(1, 13), "service": list(SERVICES), "district": [each.name for each in DISTRICTS]}


def _months(rng: np.random.Generator, service: Any) -> Any:
    """A month for each visit: a wave through the year, whose height is the service's."""
    wave = (1 - np.cos(np.arange(12) / 12 * 2 * np.pi)) / 2  # 0 in January, 1 in July
    weight = _SUMMER[:, None] ** wave
    edges = np.cumsum(weight / weight.sum(axis=1, keepdims=True), axis=1)
    return 1 + (rng.random(service.size)[:, None] > edges[service]).sum(axis=1).clip(max=11)
