"""Days and times at the ends of their types and of the years 1 to 9999."""

from __future__ import annotations

import pyarrow as pa

END = 2**31 - 1
DAYS = [-END - 1, -END, -719_163, -719_162, 0, 2_932_896, 2_932_897, END - 1, END]
LIMIT = 2**63 - 1
MICROS = [-LIMIT - 1, -LIMIT, -62_135_596_800_000_001, -62_135_596_800_000_000, 0, 253_402_300_799_999_999,
          253_402_300_800_000_000, LIMIT - 1, LIMIT]  # fmt: skip
MILLIS = [-LIMIT - 1, -LIMIT, -62_135_596_800_001, -62_135_596_800_000, 0, 253_402_300_799_999, 253_402_300_800_000,
          LIMIT - 1, LIMIT]  # fmt: skip
NANOS = [-LIMIT - 1, -LIMIT, -1001, -1000, -999, -1, 999, 1999, LIMIT]
TIMES = {
    "day": pa.array(DAYS, pa.int32()).view(pa.date32()),
    "us": pa.array(MICROS).view(pa.timestamp("us")),
    "zoned": pa.array(MICROS).view(pa.timestamp("us", "Europe/Paris")),
    "ms": pa.array(MILLIS).view(pa.timestamp("ms")),
    "ns": pa.array(NANOS).view(pa.timestamp("ns")),
}
