"""The main job with nothing but what `pip install` brings, and which extra each other thing asks for."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = (
    "pandas",
    "polars",
    "matplotlib",
    "networkx",
    "xlsxwriter",
    "pyspark",
    "torch",
    "psycopg",
    "starlette",
    "uvicorn",
)
JOB = f"""
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {EXTRAS!r}:
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Missing())      # as if they were not installed
import pyarrow as pa, pyarrow.csv
import leastnoise as ln
from leastnoise import errors
pa.csv.write_csv(pa.table({{"who": list(range(60)), "zone": ["a", "b"] * 30, "x": [1.0] * 60}}), "people.csv")
t = ln.table("people.csv", unit="who", types={{"x": "float"}})
rows = t.derive(double="x * 2").where("double > 1")
r = rows.histogram("zone", keys=["a", "b"], max_rows=1).release(epsilon=1, delta=0)
e = r.denoise()
t.mean("x", clip=(0, 2), by="zone", keys=["a", "b"], max_rows=1).release(epsilon=1, delta=1e-6).to_csv("m.csv")
c = t.crosstabs("zone", keys={{"zone": ["a", "b"]}}, max_rows=1).release(epsilon=1, delta=1e-6)
c.denoise().to_csv("tables")
r.save("r.parquet")
ln.load("r.parquet").to_csv("r.csv", estimate=e)
print(r)
r.report("r.html")
for use in (r.plot, lambda: r.to_excel("r.xlsx"), r.to_pandas, r.to_polars,
            lambda: ln.Budget.open("postgresql://127.0.0.1:1/db?budget=a")):
    try:
        use()
    except errors.MissingPackage as missing:
        print(str(missing).rsplit("pip install ")[1])
"""


def test_the_job_needs_no_extra(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", JOB], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    asked = done.stdout.splitlines()[-5:]
    assert asked == [
        "'leastnoise[plot]'",
        "'leastnoise[excel]'",
        "pandas",
        "polars",
        "'leastnoise[postgres]'",
    ]


@pytest.mark.parametrize("extra", ["plot", "excel", "spark", "postgres"])
def test_every_extra_that_is_asked_for_exists(extra: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert extra in project["optional-dependencies"]
