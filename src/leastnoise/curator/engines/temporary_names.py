"""Names of temporary tables and columns."""

from __future__ import annotations

import uuid


def unique(word: str) -> str:
    """A name that nothing else in a session has."""
    return f"leastnoise_{word}_{uuid.uuid4().hex}"
