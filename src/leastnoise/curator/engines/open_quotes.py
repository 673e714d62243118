"""A CSV that ends inside a quoted cell is refused before DuckDB reads it.

Read from its beginning by one reader, which takes no line of a cell for a row, such a file ends for DuckDB where the
quote opens: all rows after it would be missing in silence.

A cell is quoted if its first byte that is no blank is a quote. It ends at the next quote, but for two in a row, which
are one quote in the cell. Elsewhere a quote is a byte like any other. So say DuckDB and this file alike.
"""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from leastnoise.curator.engines.csv_layout import PLAIN, CsvLayout
from leastnoise.curator.engines.headers import opened
from leastnoise.curator.engines.quote_loops import BEGUN, QUOTED, state_after

CHUNK_BYTES = 2**22
FEW_BYTES = 2**17  # up to here a loop of Python's takes less time than to load a compiler
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def verify(files: Sequence[str], layout: CsvLayout = PLAIN) -> None:
    """Raise where a file ends inside a quoted cell."""
    for file in files:
        if _last_state(file, layout) == QUOTED:
            raise ValueError("a quote is not closed")


def _last_state(file: str, layout: CsvLayout = PLAIN) -> int:
    state, delimiter = BEGUN, ord(layout.separator(file))
    with opened(file) as raw:
        content: Any = gzip.GzipFile(fileobj=raw) if file.lower().endswith(".gz") else raw
        chunk = content.read(CHUNK_BYTES).removeprefix(BYTE_ORDER_MARK)
        walk = state_after if len(chunk) <= FEW_BYTES else _compiled()
        while chunk:
            state = int(walk(np.frombuffer(chunk, np.uint8), delimiter, state))
            chunk = content.read(CHUNK_BYTES)
    return state


@cache
def _compiled() -> Any:
    from leastnoise._support.compilation import compiled

    return compiled(state_after)
