"""What is public about a table: the names and types of its columns."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache

from leastnoise._support.toml import TomlFile
from leastnoise.domain import ColumnKind
from leastnoise.jobs.file import Job
from leastnoise.jobs.running import open_table
from leastnoise.studio.draft import Draft
from leastnoise.studio.job_places import sources_of

WORDS: dict[ColumnKind | None, str] = {
    "text": "text", "integer": "whole numbers", "number": "numbers", "boolean": "yes or no", "date": "days",
    "timestamp": "times", None: "a type without keys",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table."""

    name: str
    kind: ColumnKind | None

    @property
    def words(self) -> str:
        """Its type, for people."""
        return WORDS[self.kind]

    @property
    def is_number(self) -> bool:
        """Whether its values can be added up."""
        return self.kind in ("integer", "number", "boolean")


def columns(draft: Draft) -> tuple[Column, ...]:
    """The columns of the table as the draft opens it; those of its files, before a unit was chosen."""
    return _columns(json.dumps(draft.section("table"), sort_keys=True, default=str), str(draft.path))


def declares_types(draft: Draft) -> bool:
    """Whether a person says what the columns hold: of CSV, also zipped or in a folder, which does not say it."""
    from leastnoise.curator.engines.sources import ending, find_files

    first = find_files(str(draft.path.parent / sources_of(draft)[0]))[0]
    return ending(first) != ".parquet"


@lru_cache(maxsize=64)  # opening takes a tenth of a second, and only another [table] has other columns
def _columns(section: str, path: str) -> tuple[Column, ...]:
    from leastnoise.curator.dataset import kind_of
    from leastnoise.curator.engines.files import CsvLayout
    from leastnoise.curator.engines.sources import open_source

    job = Job(TomlFile(path, {}, ""), json.loads(section), {}, {}, {}, {})
    if "unit" in job.table:
        table = open_table(job)
        return tuple(Column(name, kind_of(table[name].type())) for name in table.columns)
    source = job.table["source"]
    paths = job.path(source) if isinstance(source, str) else [job.path(each) for each in source]
    layout = CsvLayout(job.table.get("delimiter"), job.table.get("decimal"))
    opened = open_source(paths, layout=layout)
    return tuple(Column(name, kind_of(kind)) for name, kind in opened.rows.schema().items())
