"""What a message calls a column's type: its outermost word alone.

The names of a nested type's fields may have been taken from people's dictionaries, so they stay out of messages.
"""

from __future__ import annotations

import re


def type_name(kind: object) -> str:
    """The type of a column in Ibis, Arrow, NumPy, pandas or Polars without what is inside it.

    >>> type_name("struct<alice: int64>"), type_name("timestamp('UTC', 6)"), type_name("!decimal(38, 0)")
    ('struct', 'timestamp', 'decimal')
    """
    found = re.match(r"!?(\w+)", str(kind))
    return found.group(1).lower() if found else "another type"
