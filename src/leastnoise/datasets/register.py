"""A register of the people of a made-up city: one row per person, with district, age, sex, job and yearly income.

Its columns depend on each other as in a real one. Families, students and the old live in different districts; jobs go
with age, sex and district; incomes with job, age, district and sex, and they are skewed: most are modest, some are not.

Their visits to the services of the city are one row for each visit, many for a few people and few for most. How often a
person comes is log-normal, so that limits on the rows per person matter: half of the visitors come at most five times a
year, one in a hundred more than seventy times.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from leastnoise._support import validation
from leastnoise._support.validation import Floats
from leastnoise.domain import Edges

OLDEST = 99
SEXES = ("female", "male")
INCOME_STEP = 100.0  # incomes are recorded in whole hundreds


@dataclass(frozen=True, slots=True)
class _District:
    """Its part of the people, how much its incomes exceed the city's, who lives there, and which jobs are common."""

    name: str
    share: float
    wealth: float
    children: float = 1.0
    students: float = 1.0
    old: float = 1.0
    common: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Job:
    """Its part of those at work, its median income at forty, how much incomes spread, and the odds that women and that
    beginners do it."""

    name: str
    share: float
    median: float
    spread: float
    women: float
    young: float


DISTRICTS = (
    _District("Harbour", 0.13, 0.82, 1.0, 1.1, 0.8, {"transport": 3.0, "industry": 2.0, "hospitality": 1.6}),
    _District("Old Town", 0.09, 1.10, 0.6, 1.7, 1.2, {"hospitality": 2.5, "office": 1.4, "technology": 1.3}),
    _District("Kestrel Hill", 0.06, 1.75, 1.1, 0.5, 1.5, {"office": 2.0, "health": 1.6, "industry": 0.3}),
    _District("Mill Ponds", 0.12, 0.95, 1.3, 0.8, 0.9, {"industry": 1.8, "building": 1.5}),
    _District("Saltmarsh", 0.05, 0.78, 0.8, 0.5, 2.2, {"building": 1.4, "care": 1.5}),
    _District("Copper Yard", 0.10, 1.15, 0.7, 2.2, 0.4, {"technology": 3.0, "hospitality": 1.4}),
    _District("Long Orchard", 0.11, 1.20, 1.8, 0.5, 0.9, {"teaching": 1.6, "technology": 1.3}),
    _District("Lantern Row", 0.08, 0.88, 0.9, 1.5, 0.8, {"shops": 1.8, "hospitality": 1.6}),
    _District("Northgate", 0.14, 0.90, 1.2, 0.9, 1.0, {"shops": 1.3, "transport": 1.3}),
    _District("Quarry End", 0.07, 0.72, 1.4, 0.7, 1.1, {"building": 2.4, "industry": 1.6, "technology": 0.4}),
    _District("Foxglove Park", 0.04, 1.45, 1.6, 0.4, 1.3, {"health": 1.8, "office": 1.5, "transport": 0.4}),
    _District("St Aldwin", 0.01, 1.00, 0.2, 6.0, 0.3, {"teaching": 2.0}),
)
JOBS = (
    _Job("building", 0.09, 31_000, 0.30, 0.12, 1.6),
    _Job("care", 0.10, 24_000, 0.25, 4.5, 1.2),
    _Job("health", 0.08, 41_000, 0.45, 2.2, 0.2),
    _Job("hospitality", 0.09, 20_000, 0.32, 1.2, 5.0),
    _Job("industry", 0.13, 33_000, 0.30, 0.35, 0.8),
    _Job("office", 0.19, 38_000, 0.48, 1.3, 0.6),
    _Job("shops", 0.13, 23_000, 0.30, 1.7, 3.5),
    _Job("teaching", 0.08, 36_000, 0.25, 2.4, 0.1),
    _Job("technology", 0.06, 52_000, 0.42, 0.4, 0.9),
    _Job("transport", 0.05, 29_000, 0.26, 0.2, 0.7),
)
AGES_OF_WORK = (25, 35, 50)  # beginners, and then three more
WITHOUT = ("in school", "student", "retired", "not working")  # instead of a job
SERVICES = ("library", "pool", "clinic", "museum", "town hall", "advice", "sports hall", "allotments")
_SHARES = np.array([0.30, 0.22, 0.16, 0.08, 0.09, 0.05, 0.08, 0.02])
_SUMMER = np.array([0.9, 1.9, 0.8, 1.0, 0.9, 0.9, 0.6, 3.0])  # how much more often in July than in January
_MEDIAN_VISITS, _SPREAD = 4.5, 1.2  # a year; the second is of the logarithm


def people(rows: int = 50_000, *, seed: int = 0) -> pa.Table:
    """A register of made-up people, one row each, as an Arrow table: person, district, age, sex, job and income.

    rows: how many people.
    seed: another seed draws other people of the same city.

    >>> register = people(1000)
    >>> register.column_names
    ['person', 'district', 'age', 'sex', 'job', 'income']
    """
    rows = validation.integer("rows", rows)
    rng = np.random.default_rng([seed, 20])
    district = _draw(rng, np.array([each.share for each in DISTRICTS]), rows)
    age = _draw_each(rng, np.stack([_ages(each) for each in DISTRICTS]), district)
    female = rng.random(rows) < 0.487 + 0.17 * (age / OLDEST) ** 3
    job = _jobs(rng, district, age, female)
    return pa.table(
        {
            "person": rng.permutation(rows).astype(np.int64),
            "district": pa.array([each.name for each in DISTRICTS]).take(pa.array(district)),
            "age": age.astype(np.int32),
            "sex": pa.array(SEXES).take(pa.array(np.where(female, 0, 1))),
            "job": pa.array(_job_names()).take(pa.array(job)),
            "income": _incomes(rng, district, age, female, job),
        }
    )


def people_keys() -> dict[str, Any]:
    """The public keys of the register's columns, as `keys=` takes them: nothing in them comes from a row.

    >>> list(people_keys()), people_keys()["age"]
    (['district', 'age', 'sex', 'job', 'income'], range(0, 100))
    """
    return {
        "district": [each.name for each in DISTRICTS],
        "age": range(OLDEST + 1),
        "sex": list(SEXES),
        "job": list(_job_names()),
        "income": Edges((0.0, 10_000.0, 20_000.0, 30_000.0, 40_000.0, 60_000.0, 100_000.0, 1_000_000.0)),
    }


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


def write_files(folder: str | os.PathLike[str] | None = None) -> Path:
    """Write people.csv and visits.csv, each with a file of its public keys, into a folder, which is returned.

    folder: where to; it is made if need be. Left out, a new temporary one.

    >>> sorted(path.name for path in write_files().iterdir())
    ['people.csv', 'people.toml', 'visits.csv', 'visits.toml']
    """
    place = Path(tempfile.mkdtemp(prefix="leastnoise-")) if folder is None else Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    pyarrow.csv.write_csv(people(), place / "people.csv")
    pyarrow.csv.write_csv(visits(), place / "visits.csv")
    keys = people_keys()
    district = f"district = {_texts(keys['district'])}\n"
    edges = ", ".join(f"{edge:.0f}" for edge in keys["income"].edges)
    (place / "people.toml").write_text(
        f"{district}age = {{ range = [0, {OLDEST + 1}] }}\nsex = {_texts(SEXES)}\njob = {_texts(keys['job'])}\n"
        f"income = {{ edges = [{edges}] }}\n",
        encoding="utf-8",
    )
    (place / "visits.toml").write_text(
        f"month = {{ range = [1, 13] }}\nservice = {_texts(SERVICES)}\n{district}", encoding="utf-8"
    )
    return place


def _job_names() -> tuple[str, ...]:
    return (*(each.name for each in JOBS), *WITHOUT)


def _ages(district: _District) -> Floats:
    """How many live at each age: broad to sixty, then fewer and fewer; more or less of some, by district."""
    age = np.arange(OLDEST + 1)
    alive = 1 / (1 + np.exp((age - 80) / 6))
    weight = alive * (1 + 0.25 * np.exp(-(((age - 52) / 9) ** 2)))
    weight = weight * np.where(age < 18, district.children, 1.0)
    weight = weight * (1 + (district.students - 1) * np.exp(-(((age - 24) / 4) ** 2)))
    weight = weight * (1 + (district.old - 1) / (1 + np.exp(-(age - 66) / 3)))
    share: Floats = weight / weight.sum()
    return share


def _jobs(
    rng: np.random.Generator, district: NDArray[np.int64], age: NDArray[np.int64], female: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Who learns, works, rests or does neither; and of those at work, what."""
    of_district = np.array([[each.share * d.common.get(each.name, 1.0) for each in JOBS] for d in DISTRICTS])
    of_women = np.array([each.women for each in JOBS])
    of_sex = np.stack([2 / (1 + of_women), 2 * of_women / (1 + of_women)])
    of_age = np.array([each.young for each in JOBS]) ** np.array([1.0, 0.3, -0.1, -0.2])[:, None]
    weight = np.einsum("dj,sj,aj->dsaj", of_district, of_sex, of_age).reshape(-1, len(JOBS))
    kind = (2 * district + female) * len(of_age) + np.searchsorted(AGES_OF_WORK, age, side="right")
    job = _draw_each(rng, weight / weight.sum(axis=1, keepdims=True), kind)
    learning = np.where(age < 16, 1.0, np.where(age < 19, 0.75, 0.42 * np.exp(-(((age - 20) / 5) ** 2))))
    retired = 1 / (1 + np.exp(-(age - 65.5) / 1.6)) * (age >= 55)
    idle = np.where(female, 0.16, 0.10) + 0.08 * (age > 57)
    chance = rng.random((3, len(age)))
    job = np.where(chance[0] < idle, len(JOBS) + 3, job)
    job = np.where(chance[1] < retired, len(JOBS) + 2, job)
    job = np.where(chance[2] < learning, len(JOBS) + (age >= 16), job)
    return np.where((job == len(JOBS) + 1) & (age > 45), len(JOBS) + 3, job)


def _incomes(
    rng: np.random.Generator,
    district: NDArray[np.int64],
    age: NDArray[np.int64],
    female: NDArray[np.bool_],
    job: NDArray[np.int64],
) -> NDArray[np.int64]:
    """A year's income: lognormal about what job, age, district and sex suggest, with a long tail; none in school."""
    median = np.array([*(each.median for each in JOBS), 0.0, 7_000.0, 19_000.0, 8_000.0])[job]
    spread = np.array([*(each.spread for each in JOBS), 0.0, 0.5, 0.45, 0.6])[job]
    wealth = np.array([each.wealth for each in DISTRICTS])[district]
    working = job < len(JOBS)
    career = np.where(working, 1 - 0.45 * np.exp(-(age - 17) / 12) - 0.002 * np.clip(age - 55, 0, None), 1.0)
    gap = np.where(female & working, 0.90, 1.0)
    tail = np.exp(rng.exponential(0.4, len(age)) * (working & (rng.random(len(age)) < 0.06)))
    income = median * wealth**0.8 * career * gap * np.exp(spread * rng.standard_normal(len(age))) * tail
    return (np.round(np.clip(income, 0, 990_000) / INCOME_STEP) * INCOME_STEP).astype(np.int64)


def _draw(rng: np.random.Generator, share: Floats, count: int) -> NDArray[np.int64]:
    return np.searchsorted(np.cumsum(share / share.sum()), rng.random(count) * (1 - 1e-12)).astype(np.int64)


def _draw_each(rng: np.random.Generator, shares: Floats, row: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each person one of the columns of `shares`, by the probabilities in the row of their kind."""
    ends = np.cumsum(shares, axis=1)
    ends[:, -1] = np.inf
    chance, drawn = rng.random(len(row)), np.empty(len(row), dtype=np.int64)
    for kind in range(len(shares)):
        here = np.flatnonzero(row == kind)
        drawn[here] = np.searchsorted(ends[kind], chance[here], side="right")
    return drawn


def _months(rng: np.random.Generator, service: Any) -> Any:
    """A month for each visit: a wave through the year, whose height is the service's."""
    wave = (1 - np.cos(np.arange(12) / 12 * 2 * np.pi)) / 2  # 0 in January, 1 in July
    weight = _SUMMER[:, None] ** wave
    edges = np.cumsum(weight / weight.sum(axis=1, keepdims=True), axis=1)
    return 1 + (rng.random(service.size)[:, None] > edges[service]).sum(axis=1).clip(max=11)


def _texts(names: Iterable[str]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"
