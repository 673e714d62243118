"""Files whose rows nobody can read."""

from __future__ import annotations

import os
from pathlib import Path


def spoil(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    footer = int.from_bytes(raw[-8:-4], "little") + 8
    raw[4:-footer] = os.urandom(len(raw) - footer - 4)
    path.write_bytes(bytes(raw))
