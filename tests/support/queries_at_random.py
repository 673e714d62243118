"""Every kind of query over the tables of tables_at_random, with limits in every relation to each other.

Through public names, so that other versions of the library can be asked the same (`against_old.py`).
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from datetime import date, datetime
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from leastnoise import lattice, stats
from leastnoise.domain import Days, Edges, Hours, Zones, with_other
from tables_at_random import TEXTS, Schema

Table = Any
Ask = Callable[[Table], Any]
NODES = SimpleNamespace(coordinates=[[0.0, 0.0], [0.001, 0.0], [0.0, 0.01], [0.5, 0.5], [-0.01, 0.01]])
SQUARES = Zones(
    ("a", "b"),
    tuple(
        (np.array([[x, -0.02], [x + 0.005, -0.02], [x + 0.005, 0.02], [x, 0.02], [x, -0.02]]),) for x in (-0.004, 0.001)
    ),
)
CLIPS = [(0, 10), (-5, 5), (-10, -1), (2.5, 2.75), (-1000, 1), (0, 1)]
KEYS: dict[str, list[Any]] = {
    "integer": [range(4), range(-1, 8, 2), [0, 2, 7, -1], [2**63 - 1, -(2**63), 0]],
    "small": [range(4), range(-128, 128), [0, 3, 127]],
    "unsigned": [range(3), [0, 1, 2**62]],
    "whole": [range(4), [0, 1, -3]],
    "real": [Edges((-3.0, 0.0, 0.1, 9.99, 1e300)), Edges((0.0, 1.0))],
    "single": [Edges((-3.0, 0.0, 0.1, 2.5)), Edges((0.0, 1.0))],
    "decimal": [Edges((-999.99, 0.0, 0.01, 200.0))],
    "text": [TEXTS, ["a", "e\u0301", "", "absent"], ["ß", "İ", "a "]],
    "flag": [[True, False], [True]],
    "day": [Days(date(1969, 12, 30), date(1970, 1, 5)), [date(1, 1, 1), date(9999, 12, 31), date(1970, 1, 1)]],
    "time": [
        Hours(datetime(1969, 12, 31), datetime(1970, 1, 2)),
        Hours(datetime(2013, 1, 1), datetime(2013, 1, 1, 4)),
        Days(date(1969, 12, 31), date(1970, 1, 2)),
    ],
}
UNLISTED = ["integer", "small", "unsigned", "whole", "text", "flag", "day"]
VALUES = ["integer", "small", "unsigned", "whole", "real", "single", "decimal"]


def limits(chance: random.Random, names: tuple[str, ...] = ("max_rows", "max_per_bin", "max_bins")) -> dict[str, int]:
    """One, two or all of the limits; the first unless the others are enough without it."""
    chosen = chance.choice([names[:1], names[:1] + names[2:], names[:2], names, names[1:] or names])
    return {name: chance.choice([1, 1, 2, 3, 5]) for name in chosen}


def rows_only(chance: random.Random) -> dict[str, int]:
    return {"max_rows": chance.choice([1, 2, 3, 5, 1000])}


def by(chance: random.Random, columns: list[str] | None = None) -> tuple[str, Any]:
    part = chance.choice(columns or list(KEYS))
    keys = chance.choice(KEYS[part])
    return part, with_other(keys) if chance.random() < 0.2 else keys


def count(s: Schema, chance: random.Random) -> Ask:
    given = rows_only(chance)
    return lambda t: t.count(**given)


def histogram(s: Schema, chance: random.Random) -> Ask:
    part, keys = by(chance)
    given = {"keys": keys, "nulls": chance.choice(["drop", "bin"]), **limits(chance)}
    return lambda t: t.histogram(s[part], **given)


def product(s: Schema, chance: random.Random) -> Ask:
    (a, first), (b, second) = by(chance, ["text", "integer", "day"]), by(chance, ["flag", "real", "small", "time"])
    given = {"keys": [first, second], "nulls": chance.choice(["drop", "bin"]), **limits(chance)}
    return lambda t: t.histogram(s[a], s[b], **given)


def unlisted(s: Schema, chance: random.Random) -> Ask:
    parts = chance.sample(UNLISTED, chance.choice([1, 1, 2]))
    given = {"nulls": chance.choice(["drop", "bin"]), **limits(chance)}
    return lambda t: t.histogram(*(s[part] for part in parts), **given)


def sparse(s: Schema, chance: random.Random) -> Ask:
    given = {"keys": range(-(2**40), 2**60), **limits(chance)}
    return lambda t: t.histogram(s["integer"], **given)


def cells(s: Schema, chance: random.Random) -> Ask:
    step, given = chance.choice([0.001, 0.25]), limits(chance)
    grid = lattice(s["lon"], s["lat"], step)
    keys = grid.box(x=(-0.02, 0.6), y=(-0.02, 0.02))
    return lambda t: t.derive(cell=grid).histogram("cell", keys=keys, **given)


def nearest(s: Schema, chance: random.Random) -> Ask:
    within, given = chance.choice([200.0, 30_000.0]), limits(chance)
    place = {"lon": s["lon"], "lat": s["lat"], "within": within, "name": "node"}
    return lambda t: t.nearest(NODES, **place).histogram("node", keys=range(5), **given)


def kernel(s: Schema, chance: random.Random) -> Ask:
    width, spread, given = chance.choice([5.0, 900.0, 1e5]), chance.choice([1, 3, 5]), rows_only(chance)
    place = {"lon": s["lon"], "lat": s["lat"], "within": 50_000.0, "name": "node"}
    ready = {"kernel_width": width, "spread": spread}
    return lambda t: t.nearest(NODES, **place, **ready).histogram("node", keys=range(5), **given)


def total(kind: str) -> Callable[[Schema, random.Random], Ask]:
    """A sum or mean, of everything or by bin."""

    def make(s: Schema, chance: random.Random) -> Ask:
        value, clip = chance.choice(VALUES), chance.choice(CLIPS)
        if chance.random() < 0.4:
            given = rows_only(chance)
            return lambda t: getattr(t, kind)(s[value], clip=clip, **given)
        part, keys = by(chance, ["integer", "text", "flag", "small", "time"])
        binned = {"by": s[part], "keys": keys, "nulls": chance.choice(["drop", "bin"]), **limits(chance)}
        return lambda t: getattr(t, kind)(s[value], clip=clip, **binned)

    return make


def quantile(s: Schema, chance: random.Random) -> Ask:
    value, bins, given = chance.choice(VALUES), chance.choice([1, 7, 300]), rows_only(chance)
    asked = {"clip": (-5, 10), "bins": bins}
    if chance.random() < 0.4:
        part, keys = by(chance, ["integer", "text", "flag", "small", "time"])
        asked |= {"by": s[part], "keys": keys, "nulls": chance.choice(["drop", "bin"])}
        given = limits(chance)
    return lambda t: t.quantile(s[value], [0.25, 0.5], **asked, **given)


def vector(kind: str) -> Callable[[Schema, random.Random], Ask]:
    """Of several columns, or of an array."""

    def make(s: Schema, chance: random.Random) -> Ask:
        given = {"clip_norm": chance.choice([0.1, 1.0, 1.5, 1e6]), **rows_only(chance)}
        if chance.random() < 0.4:
            return lambda t: getattr(t, kind)(s["array"], length=3, **given)
        parts = chance.sample(["real", "single", "integer", "lon", "small"], chance.choice([1, 2, 3]))
        return lambda t: getattr(t, kind)([s[part] for part in parts], **given)

    return make


def crosstabs(s: Schema, chance: random.Random) -> Ask:
    """Tables none of which contains another, so that all are counted."""
    parts = chance.sample(["integer", "text", "flag", "small", "day", "real"], 3)
    keys: dict[str, Any] = {s[part]: chance.choice([k for k in KEYS[part] if k != [True]]) for part in parts}
    names = list(keys)
    tables = chance.choice([[tuple(names)], [names[0], tuple(names[1:])], list(itertools.pairwise(names))])
    other = chance.choice([None, None, False, True, "no answer"])
    nulls = chance.choice([None, "bin"] if other else [None, None, "drop", "bin"])
    given: dict[str, Any] = {"keys": keys, "nulls": nulls, "other": other}
    given |= chance.choice(
        [
            rows_only(chance),
            {"row_weight": "shared", "max_rows": chance.choice([None, 2])},
            {"weight": s[chance.choice(VALUES)], "weight_clip": chance.choice([(0, 3), (0.5, 7.25)])}
            | rows_only(chance),
        ]
    )
    return lambda t: t.crosstabs(*tables, **given)


def of_units(s: Schema, chance: random.Random) -> Ask:
    """Any question about a table of one row a unit; what it names need not be limited."""
    part, keys = by(chance)
    value = chance.choice(VALUES)
    kept = chance.choice([stats.min, stats.max, stats.mode])(s[part])
    total = stats.sum(s[value], grid=chance.choice([None, 0.25, 3]), clip=chance.choice([None, (-2.5, 7)]))
    clip, nulls = chance.choice(CLIPS), chance.choice(["drop", "bin"])
    question: Ask = chance.choice(
        [
            lambda t: t.histogram("kept", keys=keys, nulls=nulls),
            lambda t: t.histogram("kept", "different", keys=[keys, range(5)], max_rows=7, max_bins=2),
            lambda t: t.histogram("times", nulls=nulls),
            lambda t: t.sum("total", clip=clip),
            lambda t: t.mean("total", clip=clip, by="kept", keys=keys, nulls=nulls),
            lambda t: t.where("times > 1").quantile("total", 0.5, clip=clip, bins=7),
            lambda t: t.vector_sum(["total", "times"], clip_norm=2.5),
            lambda t: t.crosstabs(("times", "different"), keys={"times": range(5), "different": range(5)}),
            lambda t: t.derive(more="times + different").where("more > 2").count(),
        ]
    )
    made = {"kept": kept, "total": total, "times": stats.count(), "different": stats.distinct(s["text"])}
    return lambda t: question(t.per_unit(**made))


def joined(s: Schema, chance: random.Random) -> Ask:
    """By a column that a public table has some values of."""
    part = chance.choice(["integer", "small", "unsigned", "whole", "real", "text", "flag"])
    known: dict[str, list[Any]] = {"text": TEXTS, "flag": [True, False]}
    keys = known.get(part, ["0", "1", "02", "3", "-1", "127"])
    kept = chance.sample(keys, chance.randint(1, len(keys)))
    names = [chance.choice(["p", "q", None]) for _ in kept]
    given = {"nulls": chance.choice(["drop", "bin"]), **limits(chance)}
    public = pd.DataFrame({"key": kept, "joined": pd.array(names, "string")})
    if chance.random() < 0.5:
        return lambda t: t.join_public(public, on={s[part]: "key"}).histogram("joined", **given)
    return lambda t: t.join_public(public, on={s[part]: "key"}).histogram("joined", keys=["p", "q"], **given)


def zones(s: Schema, chance: random.Random) -> Ask:
    given = limits(chance)
    return lambda t: t.within(SQUARES, lon=s["lon"], lat=s["lat"], name="zone").histogram(
        "zone", keys=SQUARES.keys, **given
    )


def unit_counts(s: Schema, chance: random.Random) -> Ask:
    """What `suggest_limits` asks. No caller has it by itself."""
    from leastnoise.curator.queries.suggestions import UnitCounts
    from leastnoise.releases.limit_errors import AskedNoise

    part, keys = by(chance)
    nulls = chance.choice(["drop", "bin"])
    return lambda t: UnitCounts.of(t._data, (s[part],), keys, nulls, AskedNoise(1.0, None))


def some_ratio(s: Schema, seed: str) -> dict[str, Any]:
    """In two of five cases a ratio of two columns, the one below clipped at zero or above."""
    chance = random.Random(f"ratio: {seed}")
    if chance.random() > 0.4:
        return {}
    above, below = chance.sample(VALUES, 2)
    over = chance.choice([(0, 10), (0, 1), (1, 4)])
    return {"per": stats.ratio(s[above], s[below], clip=chance.choice(CLIPS), over_clip=over)}


def summary(s: Schema, chance: random.Random) -> Ask:
    """Some statistics of one or two columns and of a condition."""
    part, keys = by(chance, ["integer", "text", "flag", "small", "day"])
    one, other = (chance.choice(VALUES) for _ in range(2))
    possible: dict[str, Any] = {
        "rows": stats.count(),
        "average": stats.mean(s[one], clip=chance.choice(CLIPS)),
        "spread": stats.variance(s[one], clip=chance.choice(CLIPS)),
        "total": stats.sum(s[other], clip=chance.choice(CLIPS)),
        "yes": stats.rate(lambda rows: rows[s["real"]] > 0),
        "part": stats.share(),
    }
    names = chance.sample(list(possible), chance.choice([1, 2, 3, 5]))
    given = {"nulls": chance.choice(["drop", "bin"]), **limits(chance)}
    chosen = {name: possible[name] for name in names} | some_ratio(s, f"{names} {given}")
    if chance.random() < 0.3:
        rows = rows_only(chance)
        return lambda t: t.summarize(**rows, **chosen)
    return lambda t: t.summarize(s[part], keys=keys, **given, **chosen)


def unknown_summary(s: Schema, chance: random.Random) -> Ask:
    """Statistics of keys that nobody listed."""
    parts = chance.sample(UNLISTED, chance.choice([1, 1, 2]))
    possible: dict[str, Any] = {
        "rows_": stats.count(),
        "average": stats.mean(s[chance.choice(VALUES)], clip=chance.choice(CLIPS)),
        "total": stats.sum(s[chance.choice(VALUES)], clip=chance.choice(CLIPS)),
        "yes": stats.rate(lambda rows: rows[s["real"]] > 0),
    }
    names = chance.sample(list(possible), chance.choice([1, 2, 4]))
    given = {"nulls": chance.choice(["drop", "bin"]), **limits(chance)}
    chosen = {name: possible[name] for name in names} | some_ratio(s, f"{names} {given}")
    return lambda t: t.derive(**{f"key{i}": _copy(s[part]) for i, part in enumerate(parts)}).summarize(
        *(f"key{i}" for i in range(len(parts))), **given, **chosen
    )


def unknown_sum(s: Schema, chance: random.Random) -> Ask:
    """A sum or mean of keys that nobody listed."""
    kind, value, part = chance.choice(["sum", "mean"]), chance.choice(VALUES), chance.choice(UNLISTED)
    asked = {"by": "key", "clip": chance.choice(CLIPS), "nulls": chance.choice(["drop", "bin"]), **limits(chance)}
    return lambda t: getattr(t.derive(key=_copy(s[part])), kind)(s[value], **asked)


def sum_of_units(s: Schema, chance: random.Random) -> Ask:
    """Of what each unit has in all, clipped far from where doubles lose digits."""
    value, clip = chance.choice(["real", "real", "single"]), chance.choice(CLIPS)
    total = stats.sum(s[value], grid=chance.choice([None, 0.25]))
    return lambda t: t.per_unit(total=total).sum("total", clip=clip)


def joined_units(s: Schema, chance: random.Random) -> Ask:
    """A public table joined to one row a unit."""
    part = chance.choice(["integer", "small", "text", "flag"])
    known: dict[str, list[Any]] = {"text": TEXTS, "flag": [True, False]}
    keys = known.get(part, ["0", "1", "2", "3", "-1"])
    public = pd.DataFrame({"key": keys, "joined": [chance.choice("pq") for _ in keys]})
    kept = chance.choice([stats.mode, stats.min, stats.max])(s[part])
    return lambda t: t.per_unit(kept=kept).join_public(public, on={"kept": "key"}).histogram("joined", keys=["p", "q"])


def _copy(column: str) -> Callable[[Any], Any]:
    return lambda rows: rows[column]


def unknown_total(s: Schema, chance: random.Random) -> Ask:
    ask_keys = unlisted(s, chance)
    return lambda t: ask_keys(t).total()


KINDS: dict[str, Callable[[Schema, random.Random], Ask]] = {
    "count": count,
    "count_units": lambda s, chance: lambda t: t.count_units(),
    "histogram": histogram,
    "product": product,
    "unknown keys": unlisted,
    "sparse": sparse,
    "lattice": cells,
    "nearest": nearest,
    "kernel": kernel,
    "sum": total("sum"),
    "mean": total("mean"),
    "quantile": quantile,
    "vector_sum": vector("vector_sum"),
    "vector_mean": vector("vector_mean"),
    "crosstabs": crosstabs,
    "per unit": of_units,
    "public table": joined,
    "zones": zones,
    "unit counts": unit_counts,
    "summary": summary,
    "unknown summary": unknown_summary,
    "unknown total": unknown_total,
    "unknown sum": unknown_sum,
    "public table of units": joined_units,
    "sum of units": sum_of_units,
}


def shaped(s: Schema, chance: random.Random) -> Callable[[Table], Table]:
    """Some rows only, or new columns beside them."""
    real, integer = s["real"], s["integer"]
    return chance.choice(
        [
            *[lambda t: t] * 3,
            lambda t: t.where(lambda rows: rows[real] > 0),
            lambda t: t.where(lambda rows: rows[s["flag"]] | rows[s["text"]].notnull()),
            lambda t: t.derive(fresh=lambda rows: rows[integer] % 3).where("fresh < 2"),
            lambda t: t.derive(fresh=lambda rows: rows[real] * rows[s["single"]]).where("not fresh > 1e300"),
        ]
    )


def ask(kind: str, s: Schema, chance: random.Random) -> Ask:
    """A query of that kind."""
    shape, question = shaped(s, chance), KINDS[kind](s, chance)
    return lambda t: question(shape(t))
