"""Which file beside a page holds the release that the page is about: its reader is told that name."""

from __future__ import annotations

import json
import os
from pathlib import Path

from leastnoise._support import outputs

MOST_FILES = 500  # looked at


def saved_file(page: str | os.PathLike[str], release: str, otherwise: str) -> str:
    """The name of the newest Parquet file of ours in the page's folder with this release in it; `otherwise` if none."""
    try:
        found = sorted(Path(os.fsdecode(page)).absolute().parent.glob("*.parquet"), key=os.path.getmtime, reverse=True)
    except OSError:
        return otherwise
    for path in found[:MOST_FILES]:
        try:
            facts = outputs.facts(path)
        except ValueError:
            continue
        if release and facts is not None and release in json.dumps(facts):
            return path.name
    return otherwise
