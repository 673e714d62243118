"""A session on the command line: the exit code of every command, the keys of its --json, and which files it wrote.

The lines are typed in this order in one folder. Numbers that are drawn are not stored.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import command_line
import golden_queries
import golden_table

ASK = "--unit person --epsilon 1 --delta 1e-6"
PAY = "--unit person --budget city.ledger --table trips"
DISTRICTS = ",".join(golden_queries.DISTRICTS)
BY = f"--by district --keys {DISTRICTS} --max-rows 3"
DEAR = '--where "fare > 10" --derive "dear=fare > 30" --by dear --keys true,false --max-rows 2'
JOB = """\
[table]
source = "trips.parquet"
unit = "person"
name = "trips"

[keys]
district = ["north", "east", "south", "west", "harbour"]

[ask]
kind = "histogram"
by = ["district"]
max_rows = 3
max_per_bin = 1

[privacy]
budget = "city.ledger"
share = 0.05

[output]
release = "out-{date:%Y-%m}.parquet"
csv = "out-{date:%Y-%m}.csv"
page = "out-{date:%Y-%m}.html"
"""
KEYS = f"""\
district = {golden_queries.DISTRICTS}
member = [false, true]
"""
SESSION = f"""
--version
--help
nothing
sigma --epsilon 1 --delta 1e-6 --sensitivity 5 --json
sigma --epsilon 1 --delta 1e-6
sigma --epsilon -1 --delta 1e-6
sigma --epsilon one --delta 1e-6
sigma --epsilon 1
epsilon --sigma 4 --delta 1e-6 --json
delta --sigma 4 --epsilon 1 --json
plan --error 10 --bins 100 --delta 1e-6 --grid 1 --json
plan --error -1 --delta 1e-6
compare --epsilon 0.5 --delta 1e-6 --l1-sensitivity 5 --json
budget create city.ledger --epsilon 3 --delta 1e-6 --unit person --table trips --json
budget create city.ledger --epsilon 4 --delta 1e-6
budget create none.ledger --epsilon -4 --delta 1e-6
budget city.ledger --json
budget none.ledger
budget job.toml
count trips.parquet {ASK} --max-rows 3 --expect --json
count trips.parquet {ASK} --max-rows 3 -o count.parquet --json
count trips.parquet {ASK} --units -o units.parquet --json
count trips.parquet {ASK}
count trips.parquet {ASK} --max-rows 3
count none.parquet {ASK} --max-rows 3 -o none.parquet
histogram trips.parquet {ASK} {BY} --expect --json
histogram trips.parquet {ASK} {BY} -o histogram.parquet --json
histogram trips.parquet {ASK} {BY} -o quiet.parquet --quiet
histogram trips.parquet {ASK} {BY} -o job.toml
histogram trips.parquet {ASK} --by nothing --keys a --max-rows 3 -o none.parquet
histogram trips.parquet {ASK} --by district --keys a,a --max-rows 3 -o none.parquet
histogram trips.parquet --unit person {BY} -o none.parquet
histogram trips.parquet --unit person {BY} --epsilon 90 --delta 1e-6 -o none.parquet
histogram trips.parquet {PAY} {BY} --share 0.25 --note "the map" -o paid.parquet --json
histogram trips.parquet {PAY} {BY} --share 0.9 -o none.parquet
histogram trips.parquet {PAY} {BY} --share 2 -o none.parquet
histogram trips.parquet --unit home --budget city.ledger --table trips {BY} --share 0.01 -o none.parquet
histogram trips.parquet {ASK} --by district --max-rows 2 --max-per-bin 1 --others 0.2 --expect --json
histogram trips.parquet {ASK} --by district --max-rows 2 --max-per-bin 1 -o unknown.parquet --quiet
histogram trips.parquet {ASK} {DEAR} -o dear.parquet --json
sum trips.parquet {ASK} --column fare --clip 0,50 --max-rows 2 --expect --json
sum trips.parquet {ASK} --column fare --clip 0,50 --max-rows 2 -o sum.parquet --json
sum trips.parquet {ASK} --column fare --clip 50,0 --max-rows 2 -o none.parquet
sum trips.parquet {ASK} --column fare --max-rows 2 -o none.parquet
mean trips.parquet {ASK} --column fare --clip 0,50 {BY} --expect --json
mean trips.parquet {ASK} --column fare --clip 0,50 {BY} -o mean.parquet --json
quantile trips.parquet {ASK} --column fare --levels 0.25,0.5 --clip 0,50 --max-rows 2 --expect --json
quantile trips.parquet {ASK} --column fare --levels 0.25,0.5 --clip 0,50 --max-rows 2 -o quantile.parquet --json
quantile trips.parquet {ASK} --column fare --levels 2 --clip 0,50 --max-rows 2 -o none.parquet
summarize trips.parquet {ASK} {BY} --stat n=count --stat fare=mean:fare:0:50 --expect --json
summarize trips.parquet {ASK} {BY} --stat n=count --stat fare=mean:fare:0:50 -o summary.parquet --json
summarize trips.parquet {ASK} {BY} --stat n=mode:fare -o none.parquet
crosstabs trips.parquet {ASK} --keys keys.toml --ways 2 --max-rows 1 --expect --json
crosstabs trips.parquet {ASK} --keys keys.toml --ways 2 --max-rows 1 -o tables.parquet --json
rows tables.parquet -n 40 -o rows.parquet --json
rows tables.parquet -n 40 -o rows.xlsx
rows histogram.parquet -o none.parquet
crosstabs trips.parquet {ASK} --keys none.toml --ways 2 --max-rows 1 -o none.parquet
suggest-limits trips.parquet {ASK} --by district --keys {DISTRICTS} --expect --json
suggest-limits trips.parquet {ASK} --by district --keys {DISTRICTS} -o limits.parquet --json
private-check trips.parquet --unit person
private-check trips.parquet --unit person {BY}
keys trips.parquet --unit person --known member=false,true -o new-keys.toml
keys trips.parquet --unit person -o keys.toml
release vector.npy --sensitivity 1 --epsilon 1 --delta 1e-6 -o vector.parquet --json
release vector.npy --sensitivity 1 --epsilon 1 --delta 1e-6 --type int --expect --json
release vector.npy --sensitivity 0 --epsilon 1 --delta 1e-6 -o none.parquet
denoise histogram.parquet -o denoised.parquet --json
denoise histogram.parquet -o none.parquet --method magic
denoise tables.parquet -o tables-denoised.parquet --json
denoise trips.parquet -o none.parquet
report histogram.parquet -o page.html --json
report tables.parquet -o tables.html --quiet
report summary.parquet -o summary.html --quiet
report limits.parquet -o limits.html --quiet
report none.parquet
show histogram.parquet --json
show mean.parquet --json
show quantile.parquet --json
show summary.parquet --json
show tables.parquet --json
show tables.parquet --table-by district --json
show tables.parquet --table-by nothing
show denoised.parquet --json
show tables-denoised.parquet --json
show limits.parquet --json
show vector.parquet --json
show none.parquet
show trips.parquet
export histogram.parquet -o histogram.csv --json
export histogram.parquet -o denoised.csv --denoised --json
export histogram.parquet -o histogram.xlsx --json
export histogram.parquet -o histogram.pdf
export tables.parquet -o tables --json
export mean.parquet -o mean.csv --round-to 5 --quiet
run job.toml --date 2026-10-31 --expect --json
run job.toml --date 2026-10-31 --json
run job.toml --date 2026-10-31 --json
run job.toml --date someday
run none.toml
budget allocate city.ledger --name team --share 0.25 --json
budget allocate city.ledger --name team --share 0.25
budget allocate city.ledger --name other --share 0.9
budget return city.ledger team --json
budget return city.ledger nobody
budget close city.ledger --reason "the year is over" --json
histogram trips.parquet {PAY} {BY} --share 0.01 -o none.parquet
budget reopen city.ledger --reason "it is not" --json
budget city.ledger --history --verify --json
budget city.ledger --report budget.html
studio --help
demo --help
"""
SCENE = TemporaryDirectory()


def lines() -> list[str]:
    """What is typed; the second time the same is typed, it says so."""
    typed: list[str] = []
    for line in SESSION.strip().splitlines():
        typed.append(f"{line} # again" if line in typed else line)
    return typed


@cache
def session() -> dict[str, Any]:
    """Everything that was typed, and what came of it."""
    folder, before = Path(SCENE.name), Path.cwd()
    golden_table.write(folder)
    np.save(folder / "vector.npy", np.arange(5))
    (folder / "job.toml").write_text(JOB)
    (folder / "keys.toml").write_text(KEYS)
    os.chdir(folder)
    try:
        return {line: typed(folder, line) for line in lines()}
    finally:
        os.chdir(before)


def typed(folder: Path, line: str) -> dict[str, Any]:
    there = {path.name for path in folder.iterdir()}
    done = command_line.run(*shlex.split(line.removesuffix(" # again")), columns=400)
    found: dict[str, Any] = {"exit": done.returncode}
    if "--json" in line and done.returncode == 0:
        found["json"] = sorted(keys(json.loads(done.stdout)))
    else:
        found["prints"] = bool(done.stdout.strip())
    if done.returncode and done.stderr:
        found["error"] = done.stderr.partition(":")[0].strip().splitlines()[0].split()[0]
    new = sorted(path.name for path in folder.iterdir() if path.name not in there)
    return found | ({"writes": new} if new else {})


def keys(value: Any, above: str = "") -> Iterator[str]:
    """Every key of an object, below its own; of a list, those of its first."""
    if isinstance(value, list):
        yield from keys(value[0], f"{above}[]") if value else ()
    elif isinstance(value, dict):
        for key, each in value.items():
            yield f"{above}.{key}".removeprefix(".")
            yield from keys(each, f"{above}.{key}")


def done(line: str, _: Path) -> dict[str, Any]:
    found: dict[str, Any] = session()[line]
    return found
