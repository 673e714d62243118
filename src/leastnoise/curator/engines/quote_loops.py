"""Whether a CSV ends inside a quoted cell: a walk over its bytes."""

from __future__ import annotations

from typing import Any

BEGUN, UNQUOTED, QUOTED, QUOTE = range(4)  # of a cell; QUOTE: one was just seen inside it, and may be its end


def state_after(content: Any, delimiter: int, state: int) -> int:
    """The state behind these bytes, from the one before them. Compiled where there are many of them."""
    for byte in content:
        if state == QUOTED:
            if byte == 34:  # a quote
                state = QUOTE
        elif byte == 34 and state != UNQUOTED:
            state = QUOTED
        elif byte == delimiter or byte == 10 or byte == 13:
            state = BEGUN
        elif byte != 32 or state == QUOTE:
            state = UNQUOTED
    return state
