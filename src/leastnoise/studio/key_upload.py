"""A file of public keys that was dropped on the page: what it is to the job, by the rules of the command line.

    keys.toml       keys of many columns, as `--keys keys.toml` reads them
    wards.csv       a column of a public file, as `--keys wards.csv:name` reads it; of several the one that is called
                    like the table's, else the first
    wards.txt       one key on each line, as they are typed into the field

The file is kept in the folder, so that a script or the command line finds it. No file that is there is replaced, and
the table's own files are not even compared with: what they hold is nobody's business before the release.
"""

from __future__ import annotations

import json
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from leastnoise import domain, errors
from leastnoise._support import files, toml
from leastnoise.domain import Zones
from leastnoise.jobs import keys as typed_keys
from leastnoise.studio.columns import columns
from leastnoise.studio.draft import Draft
from leastnoise.studio.session import Studio

MAX_BYTES = 8 * 2**20
MAX_TEXT_BYTES = 2**18  # of keys that are typed into the field, which goes to and fro with the form
ENDS = (".toml", ".csv", ".txt", ".geojson")


def receive(studio: Studio, draft: Draft, name: str, column: str, body: bytes) -> dict[str, str]:
    """What the form shall hold: a file of keys for all columns, or the text of this column's keys."""
    end = Path(name).suffix.lower()
    if end not in ENDS:
        raise errors.BadDomain(f"Keys come from files that end in {', '.join(ENDS)}.", parameter="keys")
    if len(body) > (MAX_TEXT_BYTES if end == ".txt" else MAX_BYTES):
        raise errors.BadDomain("This file is too large for keys.", parameter="keys")
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise errors.BadDomain("This file is not written in UTF-8, so it cannot be read.", parameter="keys") from None
    if end == ".txt":
        return _typed(draft, column, text)
    studio.check_public(draft, name)
    found = _zones(name, text) if end == ".geojson" else _keys(studio, draft, name, column, text)
    _keep(studio.folder.path(name), body)
    return found


def _typed(draft: Draft, column: str, text: str) -> dict[str, str]:
    """The lines of a text, checked as if they were typed."""
    kind = next((each.kind for each in columns(draft) if each.name == column), None)
    lines = "\n".join(line.strip() for line in text.splitlines() if line.strip())
    typed_keys.entry(column, lines, kind)
    return {"text": lines}


def _zones(name: str, text: str) -> dict[str, str]:
    """A file of zones, and the first property that can name them; none where they have ids."""
    try:
        found = json.loads(text)
        names = list(found["features"][0].get("properties") or {})
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        raise errors.BadDomain("This is no GeoJSON of zones.", parameter="zones") from None
    named = next((key for key in (None, *names) if _names_all(found["features"], key)), None)
    try:
        Zones.read(found, key=named)
    except errors.LeastnoiseError as problem:
        raise errors.BadDomain(f"No property of these zones can name them. {problem}", parameter="zones") from None
    return {"zones": name, "zone_name": named or ""}


def _names_all(features: list[Any], key: str | None) -> bool:
    """Whether every feature has a text, or every one a whole number, as its id or as this property.

    It ends with the first that has neither: a file may have as many properties as it has room for, and reading its
    polygons once for each would take hours.
    """
    return any(all(type(_named(each, key)) is kind for each in features) for kind in (str, int))


def _named(feature: Any, key: str | None) -> Any:
    if not isinstance(feature, dict):
        return None
    properties = feature.get("properties")
    return feature.get("id") if key is None else properties.get(key) if isinstance(properties, dict) else None


def _keys(studio: Studio, draft: Draft, name: str, column: str, text: str) -> dict[str, str]:
    """What a file of keys is to the job; an error where it cannot be read, before it is kept."""
    if name.lower().endswith(".toml"):
        try:
            toml.check_dots(text)
            found = tomllib.loads(text)
        except (ValueError, RecursionError):
            raise errors.BadDomain(
                f"{name!r} is no file of keys: it cannot be read as TOML.", parameter="keys"
            ) from None
        studio.check_keys(draft, found)
        domain.parse(found, place=lambda each: name, folder=studio.folder.root, path=name)
        return {"keys_file": name}
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "keys.csv"
        copy.write_text(text, encoding="utf-8")
        try:
            chosen = _column_of(str(copy), column)
            domain.axis(domain.read_public_column(str(copy), chosen))
        except errors.LeastnoiseError as problem:
            raise errors.BadDomain(problem.message.replace(str(copy), name), parameter="keys") from None
    return {"text": f"{name}:{chosen}"}


def _column_of(path: str, column: str) -> str:
    """The column of a file that is called like the table's; else its first."""
    from pyarrow import ArrowException, csv

    try:
        names = csv.read_csv(path).column_names
    except ArrowException:
        raise errors.BadDomain(f"{path!r} cannot be read as CSV.") from None
    return column if column in names else str(names[0])


def _keep(path: Path, body: bytes) -> None:
    """In the folder, unless the same is there already."""
    if path.exists():
        if path.stat().st_size == len(body) and path.read_bytes() == body:
            return
        raise errors.BadOutput(f"There is another {path.name!r} in this folder. Rename yours, and drop it again.")
    files.create(path, body.decode("utf-8"))
