"""One Parquet file: columns that anyone can read without us, and what we know about them in its metadata.

The metadata key `leastnoise` holds one JSON object with `format` (a number), `what` (the kind of thing) and its
facts. A file with a higher format, or with facts that this version does not know, is refused rather than half
understood.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leastnoise import errors
from leastnoise._support import atomic_files, outputs, parquet
from leastnoise._support.paths import path_of

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 2


def write(path: str | os.PathLike[str], table: pa.Table, *, what: str, facts: dict[str, Any]) -> None:
    """Write the table and its facts to `path`, whole or not at all."""
    import pyarrow.parquet as pq

    described = json.dumps({"format": FORMAT, "what": what, **facts}).encode()
    tagged = table.replace_schema_metadata({outputs.KEY: described})
    with atomic_files.replacing(path, "release") as unfinished:
        pq.write_table(tagged, unfinished, write_page_checksum=True)


def read(path: str | os.PathLike[str]) -> tuple[pa.Table, str, dict[str, Any]]:
    """The table, what it is, and its facts."""
    import pyarrow as pa

    path = path_of(path)
    if not path.is_file():
        raise errors.NoSuchFile(f"There is no file {str(path)!r}. Check the path.")
    facts = _facts(path)
    written = facts.pop("format")
    if written > FORMAT:
        raise errors.NotOurs(f"{str(path)!r} was written by a newer leastnoise. Upgrade: pip install -U leastnoise")
    if written < FORMAT:
        raise errors.NotOurs(
            f"{str(path)!r} was written by an older leastnoise, before 1.0, and this version does not read its facts. "
            "Its columns are plain Parquet; load it with the version that wrote it to have the rest."
        )
    try:
        table = parquet.read(path, checksums=True)
    except errors.NotOurs:
        raise
    except (pa.ArrowException, OSError, errors.WrongType, MemoryError):
        raise errors.NotOurs(f"{str(path)!r} is damaged: its pages do not check. {_FIND_A_COPY}") from None
    return table, facts.pop("what"), facts


_FIND_A_COPY = "Look for a whole copy first: to release again costs privacy again."


def _facts(path: Path) -> dict[str, Any]:
    """What a file of ours says of itself; of others, what they are."""
    there = outputs.at(path)
    try:
        found = outputs.facts(path) if there in ("release", "parquet", "damaged") else None
    except ValueError:
        raise errors.NotOurs(f"{str(path)!r} is a Parquet file that is damaged or cut short. {_FIND_A_COPY}") from None
    if found is not None:
        return found
    why = {
        "parquet": "was not written by leastnoise. Noisy numbers from elsewhere come in through Python, by ln.wrap.",
        "ledger": "is a ledger: it records what was spent, and holds no release. Give the Parquet file of a release.",
        "page": "is a page about a release. Give the Parquet file that it was made from.",
        "csv": "has the numbers of a release as text. Give the Parquet file of the release itself.",
        "unreadable": "cannot be read. Check that you may read it.",
    }
    raise errors.NotOurs(
        f"{str(path)!r} {why.get(there or '', 'is no Parquet file, so no release of leastnoise. Check the path.')}"
    )


def refuse_seeded_noise(seeded: bool, allowed: bool) -> None:
    """Refuse to write noise that can be repeated."""
    if seeded and not allowed:
        raise errors.SeededRelease(
            "This release was made with a test's seed, so its noise can be repeated and hides nobody. Release again "
            "outside leastnoise.testing.seeded; or allow it for a file that is never published.",
            parameter="allow_seeded",
            example={"allow_seeded": True},
        )
