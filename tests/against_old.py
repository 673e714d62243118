"""`make against-old`: random queries answered by the sources of an old commit and by today's.

Integers, claims, costs and refusals must be the same. Both answer the queries that today's generator makes
(`support/queries_at_random.py`), each in an environment of its own: the old one with the libraries that it asked for. A
difference that is meant stands in `INTENDED`, with the reason; a query with any other fails.

Both answer on DuckDB. That Spark gives the integers of DuckDB is for today's sources alone, in tests/engines: on a
cluster every query of `support/dirty_rows.py` (test_agreement); over Connect five kinds that take different ways
(test_connect); with workers that lack the package, and once it is shipped, vectors and histograms (test_workers).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
OLD = ROOT / ".old"
REQUESTS: list[dict[str, Any]] = [
    {"epsilon": 1, "delta": 1e-6},
    {"epsilon": 0.5, "delta": 0},
    {"epsilon": 2, "delta": 1e-5, "mechanism": "gaussian"},
]
SHARES = ["1/3", "1/100"]
# By kind of query, or "" for all: the facts in which today's answers may differ, and why.
INTENDED: dict[str, dict[str, str]] = {}
# What is called otherwise in the description of a query: integers too large for 64 bits are integers now.
RENAMED = {" number": " integer"}


def answers(first: int, last: int) -> Iterator[dict[str, Any]]:
    """What the library that is imported here says of the queries of these seeds."""
    import queries_at_random as queries
    import tables_at_random as tables
    from leastnoise.testing import aggregate

    kinds = list(queries.KINDS)
    for seed in range(first, last):
        chance, kind = random.Random(seed), kinds[seed % len(kinds)]
        schema, relation = tables.schema(chance), chance.choice(tables.RELATIONS)
        form = chance.choice(("Arrow", "pandas", "Parquet", "CSV"))
        with tempfile.TemporaryDirectory() as folder:
            said: dict[str, Any] = {"seed": seed, "kind": kind, "form": form, "relation": relation}
            if kind == "unit counts":  # no caller can ask that by itself: proposals do, which are paid for
                opened = tables.opened(tables.rows(schema, chance), form, Path(folder), relation=relation)
                yield said | {"costs": [_proposed(opened, schema, chance, share, Path(folder)) for share in SHARES]}
                continue
            made, rows = queries.ask(kind, schema, chance), tables.rows(schema, chance)
            try:
                query = made(tables.opened(rows, form, Path(folder), relation=relation))
            except Exception as refusal:  # every refusal is an answer
                yield said | {"refused": _refusal(refusal)}
                continue
            said |= {"describe": query.describe(), "sensitivity": _sensitivity(query)}
            found = aggregate(query)
            said |= {"integers": [int(each) for each in found.values], "keys": _texts(found.keys)}
            said["expected"] = [_expected(query, request) for request in REQUESTS]
            said["costs"] = [_paid(query.release, share, Path(folder) / "city.ledger") for share in SHARES]
            yield said


def _proposed(table: Any, schema: Any, chance: random.Random, share: str, folder: Path) -> Any:
    """What limits of a histogram and ends of a column cost that are proposed for this share, or why they are not."""
    import queries_at_random as queries

    part, keys = queries.by(chance)
    value, within = schema[chance.choice(queries.VALUES)], chance.choice(queries.CLIPS)
    nulls, rows = chance.choice(["drop", "bin"]), chance.choice([1, 3])
    proposals: list[Callable[..., Any]] = [
        lambda **paid: table.suggest_limits(
            schema[part], keys=keys, nulls=nulls, for_epsilon=1, for_delta=1e-6, **paid
        ),
        lambda **paid: table.suggest_clip(value, within=within, max_rows=rows, **paid),
    ]
    return [_paid(proposal, share, folder / f"{place}.ledger") for place, proposal in enumerate(proposals)]


def _refusal(error: Exception) -> list[str]:
    return [type(error).__name__, str(getattr(error, "parameter", ""))]


def _texts(keys: Any) -> list[str] | None:
    return None if keys is None else [str(key) for key in keys]


def _sensitivity(query: Any) -> Any:
    claimed = query.sensitivity
    return [float(getattr(claimed, name)) for name in ("l1", "l2")]


def _expected(query: Any, request: dict[str, Any]) -> Any:
    try:
        made = query.expect(**request)
    except Exception as refusal:
        return _refusal(refusal)
    lines = getattr(made, "tables", None) or getattr(made, "statistics", None) or ()
    facts = {name: _plain(getattr(made, name, None)) for name in ("mechanism", "std", "half_width", "threshold")}
    return facts | {"lines": [[_plain(getattr(line, name, None)) for name in ("std", "half_width")] for line in lines]}


def _plain(value: Any) -> Any:
    return {str(key): each for key, each in value.items()} if isinstance(value, dict) else value


def _paid(release: Callable[..., Any], share: str, path: Path) -> Any:
    """What the ledger says that a share costs, exactly."""
    import leastnoise as ln

    budget = ln.Budget.open(path.with_stem(f"{path.stem}-{share.replace('/', '-')}"), epsilon=1, delta=1e-6)
    try:
        release(budget=budget, share=share)
    except Exception as refusal:
        return _refusal(refusal)
    entry = budget.history()[-1]
    return [str(entry.gaussian), str(entry.pure), str(entry.threshold)]


def asked(source: Path, python: Path, first: int, last: int) -> list[dict[str, Any]]:
    """The answers of these sources, from a process of their own."""
    environment = {**os.environ, "PYTHONPATH": f"{source}:{ROOT / 'tests' / 'support'}", "PYTHONWARNINGS": "ignore"}
    command = [str(python), str(Path(__file__)), "--answer", str(first), str(last)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{source}: {done.stderr[-2000:]}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def differences(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """The facts in which two answers differ and should not."""
    meant = INTENDED.get("", {}) | INTENDED.get(new["kind"], {})
    old, new = ({**said, "describe": renamed(said["describe"])} if "describe" in said else said for said in (old, new))
    return [fact for fact in sorted((old.keys() | new.keys()) - meant.keys()) if not same(old.get(fact), new.get(fact))]


def renamed(description: str) -> str:
    """A description in today's words."""
    for before, now in RENAMED.items():
        description = description.replace(before, now)
    return description


def same(old: Any, new: Any) -> bool:
    """Equal; numbers that are not whole to a relative 1e-12."""
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(same, old, new))
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(same(old[name], new[name]) for name in old)
    if isinstance(old, float) and isinstance(new, float):
        return old == new or abs(old - new) <= 1e-12 * abs(old)
    return bool(old == new)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answer", nargs=2, type=int, metavar=("FIRST", "LAST"))
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--from", dest="first", type=int, default=0)
    given = parser.parse_args()
    if given.answer:
        for answer in answers(*given.answer):
            print(json.dumps(answer, default=str), flush=True)
        return 0
    last, wrong, refused = given.first + given.queries, 0, 0
    old = asked(OLD / "src", OLD / ".venv" / "bin" / "python", given.first, last)
    new = asked(ROOT / "src", Path(sys.executable), given.first, last)
    for before, after in zip(old, new, strict=True):
        refused += "refused" in after
        if found := differences(before, after):
            wrong += 1
            print(f"seed {after['seed']}, {after['kind']}: {', '.join(found)} differ")
            for fact in found:
                print(f"  old {fact}: {str(before.get(fact))[:300]}\n  new {fact}: {str(after.get(fact))[:300]}")
    seen = Counter((answer["kind"], answer["relation"]) for answer in new if "refused" not in answer)
    kinds = {kind for kind, _ in seen}
    both = sum((kind, "add-remove") in seen and (kind, "replace") in seen for kind in kinds)
    print(f"Answered: {len(kinds)} kinds of queries, {both} of them under both relations of neighbours.")
    print(f"{len(new)} queries, {refused} of them refused by both, {wrong} answered otherwise than by the old sources.")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
