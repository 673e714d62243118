"""Eight ways to say how private, and what each query then gives: before a row is read, and paid from a budget."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

import golden_queries
import leastnoise as ln
from golden_facts import apart, attributes, facts, named, refusal
from leastnoise import testing

SEED = 42
PLAIN: dict[str, dict[str, Any]] = {
    "epsilon and delta": {"epsilon": 1, "delta": 1e-6},
    "delta 0": {"epsilon": 1, "delta": 0},
    "sigma": {"sigma": 25},
    "gaussian": {"epsilon": 0.7, "delta": 1e-5, "mechanism": "gaussian"},
    "laplace": {"epsilon": 0.7, "delta": 1e-5, "mechanism": "laplace"},
}
BUDGETS: dict[str, dict[str, Any]] = {
    "share": {"epsilon": 3, "delta": 1e-6, "threshold_delta": 1e-7},
    "pure share": {"epsilon": 3, "delta": 0},
    "paid": {"epsilon": 3, "delta": 1e-6, "threshold_delta": 5e-7},
}
PAID: dict[str, dict[str, Any]] = {
    "share": {"share": Fraction(2, 7)},
    "pure share": {"share": Fraction(2, 7)},
    "paid": {"epsilon": 0.8, "delta": 2e-7, "note": "the weekly table"},
}
# Released by every request; the other queries by a share alone, since each reads the rows once more.
EVERY_REQUEST = (
    "count", "units", "histogram every limit", "histogram of kernels", "histogram of a huge domain", "unknown keys",
    "unknown keys with others", "unknown keys total", "sum", "sum by unknown keys", "mean by", "quantile",
    "quantiles by", "summary", "summary of every statistic", "summary of unknown keys", "crosstabs",
    "crosstabs of ranges", "crosstabs along a tree", "crosstabs of weights", "vector mean", "people by trips",
    "histogram every limit, replace",
)  # fmt: skip
ENTRY = ("kind", "query", "noise", "gaussian", "pure", "threshold", "unit", "table", "note")
RELEASED = (
    "kind", "mechanism", "scale", "sigma", "std", "grid", "scales", "threshold", "guarantee", "delta", "sensitivity",
    "l1_sensitivity", "unit", "limits", "table", "levels", "domain_size",
)  # fmt: skip
GRAPHS = {"histogram of nodes": golden_queries.JUNCTIONS, "histogram of kernels": golden_queries.JUNCTIONS}
DENOISED = (
    "histogram", "histogram of numbers", "histogram of days", "histogram of two columns", "histogram of nodes",
    "histogram of kernels", "unknown keys once per bin", "sum by", "crosstabs", "crosstabs along a tree", "vector sum",
)  # fmt: skip


class Paid(NamedTuple):
    """A release with seeded noise, or the refusal; and the ledger after it, where a budget paid."""

    made: Any
    ledger: dict[str, Any]


# What is released without a table of rows, and the limits that a small release of its own suggests.
COUNTS = np.array([120, 0, 45, 7, 300, -2, 18, 64])
REALS = [0.25, -1e-3, 17.5, 1e9, float("nan"), None, float("inf"), 3]
ARRAYS: dict[str, Callable[..., Any]] = {
    "whole numbers": lambda **asked: ln.release(COUNTS, sensitivity=2, l1_sensitivity=3, **asked),
    "whole numbers, L2 alone": lambda **asked: ln.release(COUNTS, sensitivity=2, **asked),
    "whole numbers with keys": lambda **asked: ln.release(COUNTS[:3], sensitivity=1, domain=["a", "b", "c"], **asked),
    "real numbers": lambda **asked: ln.release(REALS, sensitivity=1.5, **asked),
    "one number": lambda **asked: ln.release(np.int64(7), sensitivity=1, l1_sensitivity=1, **asked),
    "sparse": lambda **asked: ln.release_sparse(
        [5, 9, 10**9, -3], [100, 200, 300, 400], domain_size=2**40, sensitivity=1, **_without_mechanism(asked)
    ),
    "sparse, hard": lambda **asked: ln.release_sparse(
        [5, 9], [100, 20], domain_size=1000, sensitivity=1, threshold=30, kind="hard", **_without_mechanism(asked)
    ),
    "limits": lambda **asked: golden_queries.trips().suggest_limits(
        "district", keys=golden_queries.DISTRICTS, **_without_mechanism(asked)
    ),
    "limits of all rows": lambda **asked: golden_queries.trips().suggest_limits(**_without_mechanism(asked)),
}


def _without_mechanism(asked: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in asked.items() if name != "mechanism"}


def requests(name: str) -> list[str]:
    if name.startswith("limits"):
        return ["epsilon and delta", "delta 0", *PAID]
    if name in ARRAYS:
        return [*PLAIN, *PAID]
    return list(PAID) if name in EVERY_REQUEST else ["share"]


def about(name: str, _: Path) -> dict[str, Any]:
    """What a query is, without any request: in words, its limits, and its exact integers."""
    query = golden_queries.query(name)
    return {
        "describe": query.describe(),
        "kind": query.kind,
        "unit": facts(query.unit),
        "neighbours": query.neighbours,
        "sensitivity": attributes(query.sensitivity, ("l1", "l2", "linf")),
        "integers": integers(testing.aggregate(query)),
    }


def integers(found: Any) -> Any:
    """The exact integers; by their keys where nobody listed these, and by their places where most are zero."""
    values = [int(value) for value in np.ravel(found.values)]
    if found.keys is not None:
        names = sorted(map(str, facts(found.keys)))
        return {"keys": names, "values": values, "total": found.total}
    if found.indices is not None:
        return [[int(index), value] for index, value in zip(found.indices, values, strict=True)]
    return values


def budget(request: str, folder: Path, neighbours: str) -> ln.Budget:
    return ln.Budget.open(folder / f"{request}.ledger", neighbours=neighbours, **BUDGETS[request])


def expectations(name: str, folder: Path) -> dict[str, Any]:
    """What a release would be like, by each request."""
    query, found = golden_queries.query(name), {}
    for request in (*PLAIN, *PAID):
        asked = PLAIN.get(request) or {**PAID[request], "budget": budget(request, folder, query.neighbours)}
        try:
            found[request] = facts(query.expect(**asked))
        except ln.errors.LeastnoiseError as problem:
            found[request] = refusal(problem)
    return apart(found)


@cache
def paid(name: str, request: str) -> Paid:
    """The release of a query or of a vector, made once; from a budget where the request names one."""
    query = None if name in ARRAYS else golden_queries.query(name)
    neighbours = "add-remove" if query is None else query.neighbours
    with TemporaryDirectory() as folder:
        paying = budget(request, Path(folder), neighbours) if request in PAID else None
        asked = PLAIN[request] if paying is None else {**PAID[request], "budget": paying}
        try:
            with testing.seeded(SEED):
                made = ARRAYS[name](**asked) if query is None else query.release(**asked)
        except ln.errors.LeastnoiseError as problem:
            made = problem
        return Paid(made, {} if paying is None else ledger(paying, "" if query is None else query.describe()))


def ledger(paying: ln.Budget, described: str) -> dict[str, Any]:
    """What the ledger says after a release. described: the question, which its entry is not to repeat here."""
    entries = []
    for entry in paying.history():
        asked = "as described" if entry.query == described else entry.query
        entries.append({**attributes(entry, ENTRY), "note": entry.note, "query": asked})
    return {"entries": entries, "remaining": facts(paying.remaining)}


def releases(name: str, _: Path) -> dict[str, Any]:
    """Of each request: the noise, the guarantee, and what the ledger says; nothing that was drawn."""
    found = {}
    for request in requests(name):
        one = paid(name, request)
        answer = refusal(one.made) if isinstance(one.made, Exception) else attributes(one.made, RELEASED)
        found[request] = answer | ({"ledger": one.ledger} if one.ledger else {})
    return apart(found)


def draws(name: str, _: Path) -> dict[str, Any]:
    """What was drawn with a seed: values, intervals, and of some what denoising makes of them."""
    found = {}
    for request in requests(name):
        made = paid(name, request).made
        if isinstance(made, Exception):
            continue
        found[request] = drawn(made)
        if name in DENOISED:
            found[request]["denoised"] = denoised(name, made)
    return found


def drawn(made: Any) -> dict[str, Any]:
    """The values of a release, with their intervals."""
    if isinstance(made, ln.CrosstabsRelease):
        return {
            "total": facts(made.total()),
            "tables": {named(table): drawn(made[table]) for table in made.tables},
        }
    if isinstance(made, ln.SummaryRelease):
        ends = made.interval()
        return {name: {"values": facts(made[name].values), **facts(ends[name])} for name in ends}
    if isinstance(made, ln.LimitSuggestion):
        return attributes(made, ("limits", "error", "regret", "risk", "kept", "kept_interval", "error_interval"))
    low, high = made.interval()
    found = {"values": facts(np.ravel(made.values)), "low": facts(np.ravel(low)), "high": facts(np.ravel(high))}
    if isinstance(made, ln.SparseRelease):
        found["indices"] = facts(made.indices)
    elif made.domain is not None and made.at_least is not None:
        found["keys"] = list(map(facts, made.domain.keys()))
    if getattr(made, "all_keys", None) is not None:
        found["others"] = facts(made.others())
    return found


def denoised(name: str, made: Any) -> dict[str, Any]:
    """The values without noise, how far off they are, and by which method."""
    estimate = made.denoise(**({"graph": GRAPHS[name]} if name in GRAPHS else {}))
    if isinstance(estimate, ln.CrosstabsEstimate):
        values: Any = {named(table): facts(np.ravel(estimate[table].values)) for table in estimate.tables}
        return {"values": values, "rmse": facts(estimate.rmse)}
    return {"values": facts(np.ravel(estimate.values)), "rmse": facts(estimate.rmse), "method": estimate.method}


def exports(name: str, folder: Path) -> dict[str, Any]:
    """The columns of frames and files."""
    made = paid(name, "share").made
    if isinstance(made, Exception):
        return {}
    if isinstance(made, ln.CrosstabsRelease):
        made.to_csv(folder / "tables", allow_seeded=True)
        files = {path.name: header(path) for path in sorted((folder / "tables").iterdir()) if path.suffix == ".csv"}
        return {"csv": files, **{named(table): frames(made[table]) for table in made.tables}}
    made.to_csv(folder / "out.csv", allow_seeded=True)
    return {"csv": header(folder / "out.csv"), **frames(made), "parquet": stored(made, folder / "out.parquet")}


def frames(made: Any) -> dict[str, Any]:
    arrow, pandas, polars = made.to_arrow(), made.to_pandas(), made.to_polars()
    return {
        "arrow": {field.name: str(field.type) for field in arrow.schema},
        "pandas": {str(column): str(kind) for column, kind in pandas.dtypes.items()},
        "polars": {column: str(kind) for column, kind in polars.schema.items()},
    }


def header(path: Path) -> str:
    """The line of a CSV that names its columns: the first that is no comment."""
    return next(line for line in path.read_text(encoding="utf-8-sig").splitlines() if not line.startswith("#"))


def stored(made: Any, path: Path) -> dict[str, str]:
    """The columns of the file that keeps a release."""
    import pyarrow.parquet as pq

    made.save(path, allow_seeded=True)
    return {field.name: str(field.type) for field in pq.read_schema(path)}
