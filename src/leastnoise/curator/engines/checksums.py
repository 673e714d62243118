"""Parquet pages that carry a checksum are checked before DuckDB, which does not check them, reads their
file.

Bytes overwritten on disk would otherwise change the answer in silence. Whether a file carries checksums
is seen in the header of its first page, a Thrift record: three integers (kind, size, compressed size),
each one byte of field header and a variable-length number, and then, if the next field header is that of
an integer, the checksum.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from leastnoise._support.parquet import batches

INTEGER_FIELD = 0x15  # the next field, of type i32, in Thrift's compact protocol


def verify(files: Sequence[str], columns: Iterable[str]) -> None:
    """Read the columns of every file that has checksums; pyarrow raises where one is wrong."""
    import pyarrow.parquet as pq

    for file in files:
        plain = pq.ParquetFile(file)
        if not has_checksums(file, plain.metadata):
            continue
        chosen = [name for name in columns if name in plain.schema_arrow.names]
        for _ in batches(file, chosen, checksums=True):
            pass


def has_checksums(file: str, metadata: Any) -> bool:
    """Whether the first page of a file carries one."""
    if not metadata.num_row_groups:
        return False
    chunk = metadata.row_group(0).column(0)
    places = [chunk.data_page_offset]
    if chunk.has_dictionary_page and chunk.dictionary_page_offset is not None:
        places.append(chunk.dictionary_page_offset)
    with open(file, "rb") as raw:
        raw.seek(min(places))
        header = raw.read(32)
    place = 0
    for _ in range(3):
        place += 1
        while place < len(header) and header[place] & 0x80:
            place += 1
        place += 1
    return place < len(header) and header[place] == INTEGER_FIELD
