"""The units of the times in a Parquet file, from its footer: engines agree about microseconds alone."""

from __future__ import annotations

import json


def units(file: str) -> dict[str, str]:
    """The columns of times that are not in microseconds: "milliseconds" or "nanoseconds"."""
    import pyarrow.parquet as pq

    schema = pq.read_metadata(file).schema
    found = {}
    for place in range(len(schema)):
        column = schema.column(place)
        logical = json.loads(column.logical_type.to_json())
        if logical["Type"] == "Timestamp" and logical["timeUnit"] != "microseconds":
            found[column.path] = logical["timeUnit"]
    return found


def has_odd_times(file: str) -> bool:
    """Whether a Parquet file has times that DuckDB's own reader fails at or does not know."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = [kind for kind in pq.read_schema(file).types if pa.types.is_timestamp(kind)]
    return "milliseconds" in units(file).values() or any(kind.unit == "ns" and kind.tz for kind in kinds)
