"""One Parquet file: columns that anyone can read without us, and what we know about them in its metadata.

The metadata key `leastnoise` holds one JSON object with `format` (a number), `what` (the kind of thing) and its
facts, as `records` writes them. A file with a higher format, or with facts that this version does not know, is refused
rather than half understood.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from leastnoise import errors
from leastnoise._support import files, outputs, parquet
from leastnoise._support.outputs import path_of
from leastnoise.releases import records

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 1
KINDS: dict[str, type[Saved]] = {}  # by what their files say they are


class Saved:
    """What is kept in a file: a record, beside columns that people read. Some of its arrays are among these."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def seeded(self) -> bool:
            """Whether the noise came from a test's seed and hides nothing."""

        @property
        def bins(self) -> int:
            """How many values."""

    @property
    def _file_rows(self) -> int:
        """How many rows the columns have."""
        return self.bins

    _what: ClassVar[str] = ""  # the kind of thing that the file says it is; none: it has no file of its own
    _in_columns: ClassVar[Mapping[str, str]] = {}  # by the place of an array in the facts, the column that has it

    def __init_subclass__(cls, **given: Any) -> None:
        super().__init_subclass__(**given)
        if cls.__dict__.get("_what"):
            KINDS[cls._what] = cls

    @property
    def _array_columns(self) -> Mapping[str, str]:
        return self._in_columns

    def _file_table(self) -> pa.Table:
        """The columns of the file."""
        raise NotImplementedError

    def _facts(self) -> dict[str, Any]:
        """Everything, as JSON holds it; of an array that stands in a column, which column."""
        facts = records.encode(type(self), self)
        for place, column in self._array_columns.items():
            *outer, last = place.split("/")
            inside = reduce(getitem, outer, facts)
            if inside[last] is not None:
                inside[last] = {"column": column, "shape": list(inside[last].shape)}
        found: dict[str, Any] = records.in_text(facts)
        return found

    @classmethod
    def _loaded(cls, facts: dict[str, Any], decoder: records.Decoder) -> Self:
        """What `_facts` and `_file_table` wrote."""
        found: Self = decoder.value(cls, facts, "metadata")
        if decoder.columns is not None and found._file_rows != decoder.columns.num_rows:
            decoder.refuse("domain")
        return found

    def save(self, path: str | os.PathLike[str], *, allow_seeded: bool = False) -> None:
        """One Parquet file at `path`, readable by anyone, with all the rest in its metadata.

        An earlier file of ours at `path` is replaced; anything else there is refused. `allow_seeded` lets a test write
        what a seed made.
        """
        refuse_seeded_noise(self.seeded, allow_seeded)
        write(path, self._file_table(), what=self._what, facts=self._facts())


def load(path: str | os.PathLike[str]) -> Any:
    """What `save` wrote to `path`: a Release, a SparseRelease, a MeanRelease, a QuantileRelease, a
    CrosstabsRelease, a SummaryRelease, an Estimate, a CrosstabsEstimate, a LimitSuggestion or a
    ClipSuggestion."""
    table, what, facts = read(path)
    if what not in KINDS:
        raise errors.NotOurs(f"{os.fspath(path)!r} holds a {what}, which this version does not know. Upgrade.")
    try:
        return KINDS[what]._loaded(facts, records.Decoder(path, table))
    except errors.NotOurs:
        raise
    except Exception:  # columns and bins that do not belong together: the file is a stranger's, whatever they raise
        raise errors.NotOurs(f"{os.fspath(path)!r} was edited or damaged: its facts do not fit together.") from None


def write(path: str | os.PathLike[str], table: pa.Table, *, what: str, facts: dict[str, Any]) -> None:
    """Write the table and its facts to `path`, whole or not at all."""
    import pyarrow.parquet as pq

    described = json.dumps({"format": FORMAT, "what": what, **facts}).encode()
    tagged = table.replace_schema_metadata({outputs.KEY: described})
    with files.replacing(path, "release") as unfinished:
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
    if written < 1:
        raise errors.NotOurs(f"{str(path)!r} was edited or damaged: its format does not fit.")
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
