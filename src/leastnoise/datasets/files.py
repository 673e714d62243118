"""The made-up people and their visits as files, for whoever wants to begin where a real job begins: at a CSV."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

import pyarrow.csv

from leastnoise.datasets.register import OLDEST, SEXES, people, people_keys
from leastnoise.datasets.visits import SERVICES, visits


def write_files(folder: str | os.PathLike[str] | None = None) -> Path:
    """Write people.csv and visits.csv, each with a file of its public keys, into a folder, which is returned.

    folder: where to; it is made if need be. Left out, a new temporary one.

    >>> sorted(path.name for path in write_files().iterdir())
    ['people.csv', 'people.toml', 'visits.csv', 'visits.toml']
    """
    place = Path(tempfile.mkdtemp(prefix="leastnoise-")) if folder is None else Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    pyarrow.csv.write_csv(people(), place / "people.csv")
    pyarrow.csv.write_csv(visits(), place / "visits.csv")
    keys = people_keys()
    district = f"district = {_texts(keys['district'])}\n"
    edges = ", ".join(f"{edge:.0f}" for edge in keys["income"].edges)
    (place / "people.toml").write_text(
        f"{district}age = {{ range = [0, {OLDEST + 1}] }}\nsex = {_texts(SEXES)}\njob = {_texts(keys['job'])}\n"
        f"income = {{ edges = [{edges}] }}\n",
        encoding="utf-8",
    )
    (place / "visits.toml").write_text(
        f"month = {{ range = [1, 13] }}\nservice = {_texts(SERVICES)}\n{district}", encoding="utf-8"
    )
    return place


def _texts(names: Iterable[str]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"
