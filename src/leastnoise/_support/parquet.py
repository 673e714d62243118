"""Parquet into memory, within limits: a file of a kilobyte can say "this word, ten thousand million times".

A column in memory takes at most rows * width bytes, which the footer says before a page is opened; text is kept as a
dictionary until the sum of its lengths is known. What would take more than MAX_BYTES, and more than MAX_RATIO times
the file itself, is refused: no honest column packs better. One page unpacks to 2 GiB at most, by its format.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from leastnoise import errors

if TYPE_CHECKING:
    import pyarrow as pa

MAX_BYTES = 2**28  # in memory, for any file
MAX_RATIO = 1000  # of the bytes in memory to those of the file


def read(
    source: str | os.PathLike[str] | pa.Buffer, columns: Iterable[str] | None = None, *, checksums: bool = False
) -> pa.Table:
    """The columns (all, if none are named) as a table; whatever Arrow raises for a damaged file is not translated."""
    import pyarrow as pa

    limit = most_bytes(source.size if isinstance(source, pa.Buffer) else os.path.getsize(source))
    with _opened(source, columns, checksums) as file:
        names = file.schema_arrow.names if columns is None else list(dict.fromkeys(columns))
        fields = [file.schema_arrow.field(name) for name in names]
        _check_widths(fields, file.metadata, limit)
        groups, left = [], float(limit)
        for number in range(file.num_row_groups):
            groups.append(file.read_row_group(number, columns=names))
            left -= _unfolded(groups[-1])
            if left < 0:
                raise too_large(limit)
        table = pa.concat_tables(groups) if groups else file.schema_arrow.empty_table().select(names)
        return table.cast(pa.schema([_plain(field) for field in fields]))


def most_bytes(size: int) -> int:
    """What a file of this size may unpack to."""
    return max(MAX_BYTES, MAX_RATIO * size)


def too_large(limit: float) -> errors.NotOurs:
    """The error for a file that would unpack to more than `limit` bytes."""
    return errors.NotOurs(
        f"The file would unpack to more than {limit / 2**20:,.0f} MiB, far out of proportion to its size, so it is not "
        "read: it may be made to fill the memory. If it is honest, write it without compression and dictionaries."
    )


def _opened(source: Any, columns: Iterable[str] | None, checksums: bool) -> Any:
    """The file, with text as dictionaries."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    def place() -> Any:
        return pa.BufferReader(source) if isinstance(source, pa.Buffer) else source

    with pq.ParquetFile(place()) as plain:
        wanted = plain.schema_arrow.names if columns is None else columns
        texts = [field.name for field in plain.schema_arrow if field.name in wanted and _is_text(field.type)]
        metadata = plain.metadata
    return pq.ParquetFile(place(), metadata=metadata, read_dictionary=texts, page_checksum_verification=checksums)


def _is_text(kind: pa.DataType) -> bool:
    import pyarrow.types as types

    tests = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    return any(test(kind) for test in tests)


def _plain(field: pa.Field) -> pa.Field:
    """Text as text again, of the type that holds more than 2^31 characters."""
    import pyarrow as pa

    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    if not _is_text(kind):
        return field
    binary = pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
    return field.with_type(pa.large_binary() if binary else pa.large_string())


def _check_widths(fields: list[pa.Field], metadata: Any, limit: float) -> None:
    import pyarrow as pa

    width = 0.0
    for field in fields:
        if pa.types.is_nested(field.type):
            raise errors.WrongType(f'column "{field.name}" holds {field.type}: one value a row is needed.')
        width += _width(field.type)
    groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
    if width * sum(max(group.num_rows, 0) for group in groups) > limit:
        raise too_large(limit)


def _width(kind: pa.DataType) -> float:
    import pyarrow as pa

    try:
        return 8.0 if pa.types.is_dictionary(kind) else float(kind.bit_width) / 8
    except ValueError:  # text: its lengths are counted when they are known
        return 8.0


def _unfolded(table: pa.Table) -> float:
    """The bytes of the table, were every word written out."""
    import pyarrow as pa
    import pyarrow.compute as pc

    size = table.nbytes
    for column in table.columns:
        if pa.types.is_dictionary(column.type) and _is_text(column.type.value_type):
            for chunk in column.chunks:
                lengths = pc.cast(pc.binary_length(chunk.dictionary), pa.int64())
                size += pc.sum(lengths.take(chunk.indices)).as_py() or 0
    return float(size)
