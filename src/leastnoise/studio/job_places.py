"""What a job's file leads to, before a page shows it: files of the folder, and budgets that a person chose.

The file may be anybody's, and its pages are asked for before somebody has read it. So no text of it may have this
machine start an engine, connect to a server, read a file elsewhere, or read the table for its keys.

No password passes through the studio. An address with one in it is refused, so that none can stand in a page, the
address of a page or a job's file; the driver finds it in ~/.pgpass, PGPASSWORD or a certificate, as for any program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from leastnoise import errors
from leastnoise._support import toml
from leastnoise.curator.budget import postgres_url
from leastnoise.graphs.bin_graph import GRAPH_NAMES
from leastnoise.jobs.file import on_day
from leastnoise.studio.draft import Draft
from leastnoise.studio.folder import Folder

ADDRESS_OPTIONS = ("budget", "sslmode", "sslrootcert", "connect_timeout")  # those that hold no secret


def check_job(draft: Draft, folder: Folder, source: str, servers: Sequence[str]) -> None:
    """Refuse a job that leads elsewhere.

    draft: what its file says; a text with {date:...} counts as what a run of today takes it for.
    source: the table that the studio was started for.
    servers: the addresses of budgets that a person has given to the studio.
    """
    table = draft.section("table")
    if table.get("engine", "duckdb") != "duckdb" or table.get("config"):
        raise errors.InvalidParameter(
            f"{draft.path.name!r} names an engine other than DuckDB, and the studio starts none on the word of a file. "
            "Use the command line: leastnoise run."
        )
    if not sources_of(draft):
        raise errors.InvalidParameter(f"{draft.path.name!r} is no job: it does not say which table it is about.")
    for name in sources_of(draft):
        if name != source:
            folder.inside(name)
    for name in _public_files(draft):
        check_not_table(folder, folder.inside(name), [source, *sources_of(draft)])
    _check_budget(draft, folder, servers)


def sources_of(draft: Draft) -> list[str]:
    """The files, folders and patterns of the job's table."""
    return _texts(draft.section("table").get("source"))


def check_not_table(folder: Folder, path: Path, sources: Sequence[str]) -> None:
    """Refuse the table where something public is read: nobody reads that before the release."""
    if folder.holds(path, sources):
        raise errors.BadDomain(
            f"{path.name!r} is the table itself. Keys come from what is public, never from the rows.", parameter="keys"
        )


def key_files(keys: Mapping[str, Any]) -> list[str]:
    """The files that keys are read from."""
    entries = [entry for entry in keys.values() if isinstance(entry, dict)]
    found = [entry[word] for entry in entries for word in ("file", "tree") if word in entry]
    if not all(isinstance(name, str) for name in found):
        raise errors.WrongType("A file of keys is named by a text.", parameter="keys")
    return found


def _public_files(draft: Draft) -> Iterator[str]:
    """Everything public that the job reads, from the folder of the job."""
    table, output, keys = draft.section("table"), draft.section("output"), draft.found.get("keys", {})
    within = table.get("within", {})
    for text in [*_texts(table.get("join")), *_texts(list(within.values()) if isinstance(within, dict) else [])]:
        yield text.rpartition(":")[0]
    near = table.get("nearest", {})
    for text in _texts(list(near.values()) if isinstance(near, dict) else []):
        yield from (name.strip() for name in text.split(",")[:2])
    yield from (name for word in ("limits", "clip") for name in _texts(draft.section("ask").get(word)))
    yield from (name for word in ("graph", "nodes") for name in _texts(output.get(word)) if name not in GRAPH_NAMES)
    if isinstance(keys, str):
        (name,) = _texts(keys)
        yield name
        path = draft.path.parent / name
        keys = toml.load(path, "keys").found if path.exists() else {}
        yield from (str(path.parent / each) for each in key_files(keys))  # its paths begin where it lies
    elif isinstance(keys, dict):
        yield from key_files(keys)


def _check_budget(draft: Draft, folder: Folder, servers: Sequence[str]) -> None:
    for place in _texts(draft.section("privacy").get("budget")):
        if not postgres_url.is_url(place):
            folder.path(place)
            continue
        try:
            checked_address(place)
        except errors.LeastnoiseError:
            raise errors.InvalidParameter(
                f"{draft.path.name!r} has a password in the address of its budget, which no page may show. Take it "
                "out: ~/.pgpass or PGPASSWORD hold it as well."
            ) from None
        if place not in servers:
            raise errors.InvalidParameter(
                f"{draft.path.name!r} is paid from the budget {postgres_url.parsed(place).location}, and this studio "
                "is not connected to it. Connect to it on the page of budgets."
            )


def checked_address(text: str) -> str:
    """An address without a secret in it. It is quoted in no error."""
    place = text.strip()
    if not postgres_url.is_url(place):
        raise errors.InvalidParameter(
            "The address of a budget on a server begins with postgresql://", parameter="place"
        )
    postgres_url.parsed(place)
    split = urlsplit(place)
    if (
        split.password is not None
        or any(name not in ADDRESS_OPTIONS for name, _ in parse_qsl(split.query))
        or split.fragment
    ):
        raise errors.InvalidParameter(
            "Leave the password out: no page and no job's file may hold one. Put it into ~/.pgpass, or into PGPASSWORD "
            f"before the studio is started. Of options an address may have {', '.join(ADDRESS_OPTIONS)}.",
            parameter="place",
        )
    return place


def _texts(found: Any) -> list[str]:
    """A text or a list of texts, as they are today; what is neither is refused with the job's types."""
    listed = found if isinstance(found, list) else [found]
    return [on_day(each, date.today()) for each in listed if isinstance(each, str)]
