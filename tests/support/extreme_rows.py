"""Rows whose cells are the ends, the gaps and the traps of every type; each row has a number and a unit of its own."""

from __future__ import annotations

import math
import random
from decimal import Decimal

import pyarrow as pa

FLOATS = [0.0, -0.0, 1.0, 2.5, -2.5, 0.1, math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, 2.0**53, 2.0**63, 1e15]
TEXTS = [
    "a", "A", "", "\0", "it's", '"', "\\", "back\\slash", "${env:HOME}", "%", "_", "a\nb", "👩\u200d👧", "é", "e\u0301",
    "１２", "1_000", "20130101", "2013-W01-1", "2013-01-01", "2013-02-30", "2013-01-31 07:00:00", "now", "infinity",
    "nan", "1e400", "12", " 12 ", "1.5", "-0", "true", "t", "9223372036854775808", "x" * 5_000,
    "0001-01-01 BC", "10000-01-01", "100%",
]  # fmt: skip
DAYS = [0, 15_736, 11_016, -719_162, -719_163, -719_528, 2_932_896, 2_932_897, 2**31 - 1, -(2**31), -(2**31) + 1]
MOMENTS = [
    0, -1, 1, 1_359_615_600_000_000, 253_402_300_799_999_999, 253_402_300_800_000_000, -62_135_596_800_000_000,
    -62_135_596_800_000_001, 2**63 - 1, -(2**63), -(2**63) + 1, 951_782_400_000_000,
]  # fmt: skip
VALUES = {
    "flag": (pa.bool_(), [True, False]),
    "tiny": (pa.int32(), [0, 1, -1, 2, 3, 7, -5, 100]),
    "i8": (pa.int8(), [0, 1, 127, -128]),
    "i32": (pa.int32(), [0, 1, 2**31 - 1, -(2**31)]),
    "i64": (pa.int64(), [0, 1, -1, 2**53 + 1, 2**62, 2**63 - 1, -(2**63)]),
    "u8": (pa.uint8(), [0, 1, 255]),
    "u32": (pa.uint32(), [0, 7, 2**32 - 1]),
    "u64": (pa.uint64(), [0, 1, 2**63, 2**64 - 1]),
    "f32": (pa.float32(), [0.0, -0.0, 1.5, math.nan, math.inf, 3e38, 1e-45]),
    "f64": (pa.float64(), FLOATS),
    "short_decimal": (pa.decimal128(5, 2), [Decimal(text) for text in ("0", "0.01", "-999.99", "999.99", "2.50")]),
    "long_decimal": (pa.decimal128(38, 18), [Decimal(text) for text in ("0", "1E-18", "-99999999999999999999", "0.1")]),
    "text": (pa.string(), TEXTS),
    'odd "name"': (pa.string(), TEXTS[:12]),
    "day": (pa.date32(), DAYS),
    "late day": (pa.date32(), DAYS[:3]),
    "moment": (pa.timestamp("us"), MOMENTS),
    "moment in zone": (pa.timestamp("us", "Europe/Zurich"), MOMENTS),
}


def extreme_rows(count: int, seed: int) -> pa.Table:
    """`count` rows, each cell drawn by itself; one in ten is null."""
    chance = random.Random(seed)
    columns = {
        name: pa.array([None if chance.random() < 0.1 else chance.choice(pool) for _ in range(count)], kind)
        for name, (kind, pool) in VALUES.items()
    }
    return pa.table({"who": pa.array(range(count), pa.int64()), "row": pa.array(range(count), pa.int64()), **columns})
