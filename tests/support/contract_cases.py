"""Jobs as people type them: as Python, as options, as a job's file and, where the studio can ask it, into its forms.

Together the cases of a question use all its fields, and `test_contract.py` checks that they do. What is written into a
form is sent step by step; `keys__sex` stands for `keys:sex`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

Form = dict[str, dict[str, Any]]  # what is filled in, by the step


class Case(NamedTuple):
    """One job, typed in each of the ways."""

    kind: str
    python: str
    options: str
    job: str
    form: Form
    source: str = "people.parquet"  # that the studio is started for


PRIVATE = "epsilon=1, delta=1e-6"
PROMISE = "--epsilon 1 --delta 1e-6"
PRIVACY = "[privacy]\nepsilon = 1\ndelta = 1e-6"
PRIVATELY = {"epsilon": "1", "delta": "1e-6"}
PEOPLE = 'ln.table("people.parquet", unit="person")'
TABLE = '[table]\nsource = "people.parquet"\nunit = "person"'
SEX_KEYS = '[keys]\nsex = ["F", "M"]'
SEX = {"by": ["sex"], "keys__sex": "F, M"}
UNIT = {"unit": "person"}
AS_SHOWN: dict[str, Any] = {"as shown": True}  # sent as the page has it

CASES: dict[str, Case] = {
    "count": Case(
        "count",
        f"{PEOPLE}.count(max_rows=2).expect({PRIVATE})",
        f"count people.parquet --unit person --max-rows 2 {PROMISE}",
        f'{TABLE}\n[ask]\nkind = "count"\nmax_rows = 2\n{PRIVACY}',
        {"table": UNIT, "question": {"question": "count"}, "limits": {"max_rows": "2"}, "privacy": PRIVATELY},
    ),
    "count, by the file of limits": Case(
        "count",
        f'{PEOPLE}.count(max_rows=ln.load("people-limits.parquet").limits["max_rows"]).expect({PRIVATE})',
        f"count people.parquet --unit person --limits people-limits.parquet {PROMISE}",
        f'{TABLE}\n[ask]\nkind = "count"\nlimits = "people-limits.parquet"\n{PRIVACY}',
        {"table": UNIT, "question": {"question": "count"}, "limits": {"go": "take limits"}, "limits again": AS_SHOWN,
         "privacy": PRIVATELY},
    ),
    "people": Case(
        "count_units",
        'ln.table("people.parquet", unit="person", neighbours="replace").where("age >= 18").count_units()'
        f".expect({PRIVATE})",
        f'count people.parquet --units --unit person --neighbours replace --where "age >= 18" {PROMISE}',
        f'{TABLE}\nneighbours = "replace"\nwhere = "age >= 18"\n[ask]\nkind = "count_units"\n{PRIVACY}',
        {"table": UNIT | {"neighbours": "replace", "where": "age >= 18"}, "question": {"question": "count_units"},
         "limits": {}, "privacy": PRIVATELY},
    ),
    "people, of a CSV": Case(
        "count_units",
        'ln.table("people.csv", unit="person", types={"income": "float", "age": "int"}, delimiter=";", decimal=",")'
        f'.where("income > 30000.5 and age > 20").count_units().expect({PRIVATE})',
        f'count people.csv --units --unit person --types income=float,age=int --delimiter ";" --decimal , '
        f'--where "income > 30000.5 and age > 20" {PROMISE}',
        '[table]\nsource = "people.csv"\nunit = "person"\ntypes = { income = "float", age = "int" }\ndelimiter = ";"\n'
        f'decimal = ","\nwhere = "income > 30000.5 and age > 20"\n[ask]\nkind = "count_units"\n{PRIVACY}',
        {"table": UNIT | {"delimiter": ";", "decimal": ",", "where": "income > 30000.5 and age > 20",
                          "type__income": "float", "type__age": "int"},
         "question": {"question": "count_units"}, "limits": {}, "privacy": PRIVATELY},
        "people.csv",
    ),
    "histogram, every limit": Case(
        "histogram",
        f'{PEOPLE}.histogram("sex", "age", keys=[["F", "M"], range(18, 60)], max_rows=3, max_per_bin=1, max_bins=2)'
        '.expect(budget=ln.Budget.open("city.ledger", allocation="maps"), share=0.25)',
        "histogram people.parquet --unit person --by sex,age --keys F,M --keys 18:60 --max-rows 3 --max-per-bin 1 "
        "--max-bins 2 --budget city.ledger --allocation maps --share 0.25",
        f'{TABLE}\n{SEX_KEYS}\nage = {{ range = [18, 60] }}\n[ask]\nkind = "histogram"\nby = ["sex", "age"]\n'
        'max_rows = 3\nmax_per_bin = 1\nmax_bins = 2\n[privacy]\nbudget = "city.ledger"\nallocation = "maps"\n'
        "share = 0.25",
        {"table": UNIT, "question": {"question": "histogram", "by": ["sex", "age"], "keys__sex": "F, M",
                                     "keys__age": "18 to 59"},
         "limits": {"max_rows": "3", "max_per_bin": "1", "max_bins": "2"},
         "privacy": {"budget": "city.ledger", "allocation": "maps", "share": "0.25"}},
    ),
    "histogram, by the file of limits": Case(
        "histogram",
        f'{PEOPLE}.histogram("sex", keys=["F", "M"], **ln.load("people-limits.parquet").limits).expect({PRIVATE})',
        f"histogram people.parquet --unit person --by sex --keys F,M --limits people-limits.parquet {PROMISE}",
        f'{TABLE}\n{SEX_KEYS}\n[ask]\nkind = "histogram"\nby = "sex"\nlimits = "people-limits.parquet"\n{PRIVACY}',
        {"table": UNIT, "question": {"question": "histogram", **SEX}, "limits": {"go": "take limits"},
         "limits again": AS_SHOWN, "privacy": PRIVATELY},
    ),
    "histogram, missing keys": Case(
        "histogram",
        f'{PEOPLE}.histogram("district", keys=ln.domain.read("keys.toml")["district"], max_rows=2, nulls="bin")'
        f'.expect(mechanism="laplace", {PRIVATE})',
        "histogram people.parquet --unit person --by district --keys keys.toml --max-rows 2 --nulls bin --mechanism "
        f"laplace {PROMISE}",
        f'keys = "keys.toml"\n{TABLE}\n[ask]\nkind = "histogram"\nby = "district"\nmax_rows = 2\nnulls = "bin"\n'
        f'{PRIVACY}\nmechanism = "laplace"',
        {"table": UNIT, "question": {"question": "histogram", "by": ["district"], "keys_file": "keys.toml",
                                     "nulls": "bin"},
         "limits": {"max_rows": "2"}, "privacy": PRIVATELY | {"mechanism": "laplace"}},
    ),
    "histogram, unknown keys": Case(
        "histogram",
        'ln.table("people.parquet", unit="person", public_units=20000).label(district="part of town", '
        'person="inhabitant").histogram("district", max_rows=2, others="1/10").expect(epsilon=1, delta=1e-4)',
        "histogram people.parquet --unit person --public-units 20000 --label 'district=part of town' --label "
        "person=inhabitant --by district --max-rows 2 --others 1/10 --epsilon 1 --delta 1e-4",
        f'{TABLE}\npublic_units = 20000\nlabels = {{ district = "part of town", person = "inhabitant" }}\n[ask]\n'
        'kind = "histogram"\nby = "district"\nmax_rows = 2\nothers = "1/10"\n[privacy]\nepsilon = 1\ndelta = 1e-4',
        {"table": UNIT | {"public_units": "20000", "labels": "district=part of town\nperson=inhabitant"},
         "question": {"question": "histogram", "by": ["district"], "others": "1/10"}, "limits": {"max_rows": "2"},
         "privacy": {"epsilon": "1", "delta": "1e-4", "force": "yes"}},
    ),
    "histogram, squares": Case(
        "histogram",
        f'{PEOPLE}.derive(cell=ln.lattice("lon", "lat", 0.25)).histogram("cell", '
        'keys=ln.lattice("lon", "lat", 0.25).box(x=(7, 9), y=(46.5, 47.5)), max_rows=2).expect(' + PRIVATE + ")",
        "histogram people.parquet --unit person --lattice cell=lon,lat,0.25 --by cell --keys box:7,9,46.5,47.5 "
        f"--max-rows 2 {PROMISE}",
        f'{TABLE}\nlattice = {{ cell = "lon,lat,0.25" }}\n[keys]\ncell = {{ box = [7, 9, 46.5, 47.5] }}\n[ask]\n'
        f'kind = "histogram"\nby = "cell"\nmax_rows = 2\n{PRIVACY}',
        {"table": UNIT, "question": {"question": "map", "map": "squares", "x": "lon", "y": "lat", "step": "0.25",
                                     "west": "7", "east": "9", "south": "46.5", "north": "47.5"},
         "limits": {"max_rows": "2"}, "privacy": PRIVATELY},
    ),
    "histogram, zones": Case(
        "histogram",
        f'{PEOPLE}.within("zones.geojson", lon="lon", lat="lat", name="zone", key="name").histogram("zone", '
        'keys=list(ln.domain.Zones.read("zones.geojson", key="name").keys), max_rows=2).expect(' + PRIVATE + ")",
        "histogram people.parquet --unit person --within zone=zones.geojson:name,lon,lat --by zone --keys "
        f"zones.geojson:name --max-rows 2 {PROMISE}",
        f'{TABLE}\nwithin = {{ zone = "zones.geojson:name,lon,lat" }}\n[ask]\nkind = "histogram"\nby = "zone"\n'
        f"max_rows = 2\n{PRIVACY}",
        {"table": UNIT, "question": {"question": "map", "map": "zones", "x": "lon", "y": "lat",
                                     "zones": "zones.geojson", "zone_name": "name"},
         "limits": {"max_rows": "2"}, "privacy": PRIVATELY},
    ),
    "histogram, nearest nodes": Case(
        "histogram",
        f'{PEOPLE}.nearest(ln.graphs.Graph.from_parquet("nodes.parquet", "edges.parquet"), lon="lon", lat="lat", '
        f'within=50000, name="node").histogram("node", keys=range(3), max_rows=2).expect({PRIVATE})',
        "histogram people.parquet --unit person --nearest node=nodes.parquet,edges.parquet,lon,lat,50000 --by node "
        f"--keys 0:3 --max-rows 2 {PROMISE}",
        f'{TABLE}\nnearest = {{ node = "nodes.parquet,edges.parquet,lon,lat,50000" }}\n[keys]\n'
        f'node = {{ range = [0, 3] }}\n[ask]\nkind = "histogram"\nby = "node"\nmax_rows = 2\n{PRIVACY}',
        {"table": UNIT | {"nearest": "node=nodes.parquet,edges.parquet,lon,lat,50000"},
         "question": {"question": "histogram", "by": ["node"], "keys__node": "0 to 2"},
         "limits": {"max_rows": "2"}, "privacy": PRIVATELY},
    ),
    "histogram, spread over nodes": Case(
        "histogram",
        f'{PEOPLE}.nearest(ln.graphs.Graph.from_parquet("nodes.parquet", "edges.parquet"), lon="lon", lat="lat", '
        'within=90000, name="node", kernel_width=30000, spread=2).histogram("node", keys=range(3), max_rows=2)'
        f".expect({PRIVATE})",
        "histogram people.parquet --unit person --nearest node=nodes.parquet,edges.parquet,lon,lat,90000,30000,2 --by "
        f"node --keys 0:3 --max-rows 2 {PROMISE}",
        f'{TABLE}\nnearest = {{ node = "nodes.parquet,edges.parquet,lon,lat,90000,30000,2" }}\n[keys]\n'
        f'node = {{ range = [0, 3] }}\n[ask]\nkind = "histogram"\nby = "node"\nmax_rows = 2\n{PRIVACY}',
        {"table": UNIT | {"nearest": "node=nodes.parquet,edges.parquet,lon,lat,90000,30000,2"},
         "question": {"question": "histogram", "by": ["node"], "keys__node": "0 to 2"},
         "limits": {"max_rows": "2"}, "privacy": PRIVATELY},
    ),
    "vector sum": Case(
        "vector_sum",
        f'{PEOPLE}.vector_sum("place", clip_norm=1.5, length=2, max_rows=2).expect({PRIVATE})',
        f"vector-sum people.parquet --unit person --columns place --clip-norm 1.5 --length 2 --max-rows 2 {PROMISE}",
        f'{TABLE}\n[ask]\nkind = "vector_sum"\ncolumns = "place"\nclip_norm = 1.5\nlength = 2\nmax_rows = 2\n'
        f"{PRIVACY}",
        {"table": UNIT, "question": {"question": "vector_sum", "columns": "place", "clip_norm": "1.5", "length": "2"},
         "limits": {"max_rows": "2"}, "privacy": PRIVATELY},
    ),
    "vector mean": Case(
        "vector_mean",
        f'{PEOPLE}.vector_mean("place", clip_norm=1.5, length=2, max_rows=2).expect({PRIVATE})',
        f"vector-mean people.parquet --unit person --columns place --clip-norm 1.5 --length 2 --max-rows 2 {PROMISE}",
        f'{TABLE}\n[ask]\nkind = "vector_mean"\ncolumns = "place"\nclip_norm = 1.5\nlength = 2\nmax_rows = 2\n'
        f"{PRIVACY}",
        {"table": UNIT, "question": {"question": "vector_mean", "columns": "place", "clip_norm": "1.5", "length": "2"},
         "limits": {"max_rows": "2"}, "privacy": PRIVATELY},
    ),
    "vector sum of columns": Case(
        "vector_sum",
        f'{PEOPLE}.vector_sum(["lon", "lat"], clip_norm=50, max_rows=2).expect({PRIVATE})',
        f"vector-sum people.parquet --unit person --columns lon,lat --clip-norm 50 --max-rows 2 {PROMISE}",
        f'{TABLE}\n[ask]\nkind = "vector_sum"\ncolumns = ["lon", "lat"]\nclip_norm = 50\nmax_rows = 2\n{PRIVACY}',
        {"table": UNIT, "question": {"question": "vector_sum", "columns": "lon, lat", "clip_norm": "50"},
         "limits": {"max_rows": "2"}, "privacy": PRIVATELY},
    ),
    "sum": Case(
        "sum",
        f'{PEOPLE}.join_public("places.csv", on={{"district": "place"}}).derive(double="income * 2").sum("double", '
        'clip=(-0.5, 90000), by="part", keys=["east", "west"], max_rows=3, max_per_bin=2, max_bins=2, nulls="bin")'
        ".expect(sigma=20000)",
        'sum people.parquet --unit person --join places.csv:district=place --derive "double=income * 2" --column '
        "double --clip -0.5,90000 --by part --keys east,west --max-rows 3 --max-per-bin 2 --max-bins 2 --nulls bin "
        "--sigma 20000",
        f'{TABLE}\njoin = "places.csv:district=place"\nderive = {{ double = "income * 2" }}\n[keys]\n'
        'part = ["east", "west"]\n[ask]\nkind = "sum"\ncolumn = "double"\nclip = [-0.5, 90000]\nby = "part"\n'
        'max_rows = 3\nmax_per_bin = 2\nmax_bins = 2\nnulls = "bin"\n[privacy]\nsigma = 20000',
        {"table": UNIT | {"join": "places.csv:district=place", "derive": "double=income * 2"},
         "question": {"question": "sum", "column": "double", "low": "-0.5", "high": "90000", "by": ["part"],
                      "keys__part": "east, west", "nulls": "bin"},
         "limits": {"max_rows": "3", "max_per_bin": "2", "max_bins": "2"},
         "privacy": PRIVATELY | {"sigma": "20000", "force": "yes"}},
    ),
    "sum, by a form": Case(
        "sum",
        f'{PEOPLE}.sum("income", clip=(0, 90000), by="sex", keys=["F", "M"], max_rows=3, max_per_bin=2, max_bins=2)'
        '.expect(budget=ln.Budget.open("city.ledger"), share=0.5)',
        "sum people.parquet --unit person --column income --clip 0,90000 --by sex --keys F,M --max-rows 3 "
        "--max-per-bin 2 --max-bins 2 --budget city.ledger --share 0.5",
        f'{TABLE}\n{SEX_KEYS}\n[ask]\nkind = "sum"\ncolumn = "income"\nclip = [0, 90000]\nby = "sex"\nmax_rows = 3\n'
        'max_per_bin = 2\nmax_bins = 2\n[privacy]\nbudget = "city.ledger"\nshare = 0.5',
        {"table": UNIT, "question": {"question": "sum", "column": "income", "low": "0", "high": "90000", **SEX},
         "limits": {"max_rows": "3", "max_per_bin": "2", "max_bins": "2"},
         "privacy": {"budget": "city.ledger", "share": "0.5"}},
    ),
    "sum, by the file of limits": Case(
        "sum",
        f'{PEOPLE}.sum("income", clip=(0, 90000), by="sex", keys=["F", "M"], '
        f'**ln.load("people-limits.parquet").limits).expect({PRIVATE})',
        "sum people.parquet --unit person --column income --clip 0,90000 --by sex --keys F,M --limits "
        f"people-limits.parquet {PROMISE}",
        f'{TABLE}\n{SEX_KEYS}\n[ask]\nkind = "sum"\ncolumn = "income"\nclip = [0, 90000]\nby = "sex"\n'
        f'limits = "people-limits.parquet"\n{PRIVACY}',
        {"table": UNIT, "question": {"question": "sum", "column": "income", "low": "0", "high": "90000", **SEX},
         "limits": {"go": "take limits"}, "limits again": AS_SHOWN, "privacy": PRIVATELY},
    ),
    "mean": Case(
        "mean",
        'ln.table("people.csv", unit="person", name="inhabitants", types={"income": "float"}, delimiter=";", '
        'decimal=",", missing=["-9", "n/a"]).mean("income", clip=(0, 90000.5), by=["sex", '
        '"district"], keys=[["F", "M"], ["Mill", "Harbour"]], max_rows=3, max_per_bin=2, max_bins=2, nulls="bin")'
        '.expect(budget=ln.Budget.open("inhabitants.ledger"), epsilon=1, delta=1e-7, note="a mean")',
        "mean people.csv --unit person --table inhabitants --types income=float --delimiter ; --decimal , --missing "
        "-9,n/a --column income --clip 0,90000.5 --by sex --by district --keys F,M --keys "
        "Mill,Harbour --max-rows 3 --max-per-bin 2 --max-bins 2 --nulls bin --budget inhabitants.ledger --epsilon 1 "
        '--delta 1e-7 --note "a mean"',
        '[table]\nsource = "people.csv"\nunit = "person"\nname = "inhabitants"\ntypes = { income = "float" }\n'
        'delimiter = ";"\ndecimal = ","\nmissing = ["-9", "n/a"]\n'
        f'{SEX_KEYS}\ndistrict = ["Mill", "Harbour"]\n[ask]\nkind = "mean"\ncolumn = "income"\nclip = [0, 90000.5]\n'
        'by = ["sex", "district"]\nmax_rows = 3\nmax_per_bin = 2\nmax_bins = 2\nnulls = "bin"\n[privacy]\n'
        'budget = "inhabitants.ledger"\nepsilon = 1\ndelta = 1e-7\nnote = "a mean"',
        {"table": UNIT | {"name": "inhabitants", "type__income": "float", "delimiter": ";", "decimal": ",",
                          "missing": "-9, n/a", "memory_limit": "1GB"},
         "question": {"question": "mean", "column": "income", "low": "0", "high": "90000.5", "by": ["sex", "district"],
                      "keys__sex": "F, M", "keys__district": "Mill, Harbour", "nulls": "bin"},
         "limits": {"max_rows": "3", "max_per_bin": "2", "max_bins": "2"},
         "privacy": {"budget": "inhabitants.ledger", "share": "", "epsilon": "1", "delta": "1e-7", "note": "a mean"}},
        "people.csv",
    ),
    "mean, by a form": Case(
        "mean",
        f'{PEOPLE}.mean("income", clip=(0, 90000), by="sex", keys=["F", "M"], max_rows=3, max_per_bin=2, max_bins=2)'
        f".expect({PRIVATE})",
        "mean people.parquet --unit person --column income --clip 0,90000 --by sex --keys F,M --max-rows 3 "
        f"--max-per-bin 2 --max-bins 2 {PROMISE}",
        f'{TABLE}\n{SEX_KEYS}\n[ask]\nkind = "mean"\ncolumn = "income"\nclip = [0, 90000]\nby = "sex"\nmax_rows = 3\n'
        f"max_per_bin = 2\nmax_bins = 2\n{PRIVACY}",
        {"table": UNIT, "question": {"question": "mean", "column": "income", "low": "0", "high": "90000", **SEX},
         "limits": {"max_rows": "3", "max_per_bin": "2", "max_bins": "2"}, "privacy": PRIVATELY},
    ),
    "mean, by proposals in files": Case(
        "mean",
        f'{PEOPLE}.mean("income", clip=ln.load("people-clip.parquet").clip, by="sex", keys=["F", "M"], '
        f'**ln.load("people-limits.parquet").limits).expect({PRIVATE})',
        "mean people.parquet --unit person --column income --clip people-clip.parquet --by sex --keys F,M --limits "
        f"people-limits.parquet {PROMISE}",
        f'{TABLE}\n{SEX_KEYS}\n[ask]\nkind = "mean"\ncolumn = "income"\nclip = "people-clip.parquet"\nby = "sex"\n'
        f'limits = "people-limits.parquet"\n{PRIVACY}',
        {"table": UNIT, "question": {"question": "mean", "column": "income", "low": "0", "high": "90000", **SEX},
         "limits": {"go": "take limits"}, "limits again": {"go": "take clip"}, "limits at last": AS_SHOWN,
         "privacy": PRIVATELY},
    ),
    "quantile": Case(
        "quantile",
        f'{PEOPLE}.quantile("age", [0.1, 0.5], clip=(0, 100), by="sex", keys=["F", "M"], bins=50, intervals=False, '
        'expected_rows=400, max_rows=3, max_per_bin=2, max_bins=2, nulls="bin").expect(mechanism="gaussian", '
        f"{PRIVATE})",
        "quantile people.parquet --unit person --column age --levels 0.1,0.5 --clip 0,100 --by sex --keys F,M --bins "
        "50 --no-intervals --expected-rows 400 --max-rows 3 --max-per-bin 2 --max-bins 2 --nulls bin --mechanism "
        f"gaussian {PROMISE}",
        f'{TABLE}\n{SEX_KEYS}\n[ask]\nkind = "quantile"\ncolumn = "age"\nlevels = [0.1, 0.5]\nclip = [0, 100]\n'
        'by = "sex"\nbins = 50\nintervals = false\nexpected_rows = 400\nmax_rows = 3\nmax_per_bin = 2\nmax_bins = 2\n'
        f'nulls = "bin"\n{PRIVACY}\nmechanism = "gaussian"',
        {"table": UNIT, "question": {"question": "quantile", "column": "age", "low": "0", "high": "100",
                                     "levels": "0.1, 0.5", "bins": "50", "intervals": "no", "expected_rows": "400",
                                     "nulls": "bin", **SEX},
         "limits": {"max_rows": "3", "max_per_bin": "2", "max_bins": "2"},
         "privacy": PRIVATELY | {"mechanism": "gaussian"}},
    ),
    "quantile without intervals": Case(
        "quantile",
        f'{PEOPLE}.quantile("age", 0.5, clip=(0, 100), intervals=False, max_rows=3).expect(epsilon=1, delta=0)',
        "quantile people.parquet --unit person --column age --levels 0.5 --clip 0,100 --no-intervals --max-rows 3 "
        "--epsilon 1 --delta 0",
        f'{TABLE}\n[ask]\nkind = "quantile"\ncolumn = "age"\nlevels = 0.5\nclip = [0, 100]\nintervals = false\n'
        "max_rows = 3\n[privacy]\nepsilon = 1\ndelta = 0",
        {"table": UNIT, "question": {"question": "quantile", "column": "age", "low": "0", "high": "100",
                                     "intervals": "no"},
         "limits": {"max_rows": "3"}, "privacy": {"epsilon": "1", "delta": "0"}},
    ),
    "quantile, by a form": Case(
        "quantile",
        f'{PEOPLE}.quantile("age", [0.1, 0.5], clip=(0, 100), expected_rows=400, max_rows=3, max_per_bin=2, '
        f"max_bins=2).expect({PRIVATE})",
        "quantile people.parquet --unit person --column age --levels 0.1,0.5 --clip 0,100 --expected-rows 400 "
        f"--max-rows 3 --max-per-bin 2 --max-bins 2 {PROMISE}",
        f'{TABLE}\n[ask]\nkind = "quantile"\ncolumn = "age"\nlevels = [0.1, 0.5]\nclip = [0, 100]\n'
        f"expected_rows = 400\nmax_rows = 3\nmax_per_bin = 2\nmax_bins = 2\n{PRIVACY}",
        {"table": UNIT, "question": {"question": "quantile", "column": "age", "low": "0", "high": "100",
                                     "levels": "10%, 0.5", "expected_rows": "400"},
         "limits": {"max_rows": "3", "max_per_bin": "2", "max_bins": "2"}, "privacy": PRIVATELY},
    ),
    "quantile, by the file of limits": Case(
        "quantile",
        f'{PEOPLE}.quantile("age", [0.5], clip=(0, 100), **ln.load("people-limits.parquet").limits).expect({PRIVATE})',
        "quantile people.parquet --unit person --column age --levels 0.5 --clip 0,100 --limits people-limits.parquet "
        f"{PROMISE}",
        f'{TABLE}\n[ask]\nkind = "quantile"\ncolumn = "age"\nlevels = 0.5\nclip = [0, 100]\n'
        f'limits = "people-limits.parquet"\n{PRIVACY}',
        {"table": UNIT, "question": {"question": "quantile", "column": "age", "low": "0", "high": "100"},
         "limits": {"go": "take limits"}, "limits again": AS_SHOWN, "privacy": PRIVATELY},
    ),
    "summarize": Case(
        "summarize",
        f'{PEOPLE}.summarize("sex", keys=["F", "M"], max_rows=3, max_per_bin=2, max_bins=2, weights={{"pay": 4, '
        '"part": 0.5}, nulls="bin", rows=ln.stats.count(), pay=ln.stats.mean("income", clip=(0, 90000)), '
        'old=ln.stats.rate("age >= 65"), part=ln.stats.share(), per_year=ln.stats.ratio("income", "age", '
        f"clip=(0, 9e4), over_clip=(1, 100))).expect({PRIVATE})",
        "summarize people.parquet --unit person --by sex --keys F,M --max-rows 3 --max-per-bin 2 --max-bins 2 "
        '--weights pay=4 --weights part=0.5 --nulls bin --stat rows=count --stat pay=mean:income:0:90000 --stat '
        f'"old=rate:age >= 65" --stat part=share --stat per_year=ratio:income:0:9e4:age:1:100 {PROMISE}',
        f'{TABLE}\n{SEX_KEYS}\n[ask]\nkind = "summarize"\nby = "sex"\nmax_rows = 3\nmax_per_bin = 2\nmax_bins = 2\n'
        'weights = { pay = 4, part = 0.5 }\nnulls = "bin"\nstatistics = { rows = "count", pay = "mean:income:0:90000", '
        'old = "rate:age >= 65", part = "share", per_year = "ratio:income:0:9e4:age:1:100" }\n' + PRIVACY,
        {"table": UNIT, "question": {"question": "summarize", "weights": "pay=4\npart=0.5", "nulls": "bin", **SEX,
                                     "statistics": "rows=count\npay=mean:income:0:90000\nold=rate:age >= 65\n"
                                     "part=share\nper_year=ratio:income:0:9e4:age:1:100"},
         "limits": {"max_rows": "3", "max_per_bin": "2", "max_bins": "2"}, "privacy": PRIVATELY},
    ),
    "summarize, by a form": Case(
        "summarize",
        f'{PEOPLE}.summarize("sex", keys=["F", "M"], max_rows=3, max_per_bin=2, max_bins=2, rows=ln.stats.count(), '
        f'rate=ln.stats.rate("age >= 65")).expect({PRIVATE})',
        "summarize people.parquet --unit person --by sex --keys F,M --max-rows 3 --max-per-bin 2 --max-bins 2 --stat "
        f'rows=count --stat "rate=rate:age >= 65" {PROMISE}',
        f'{TABLE}\n{SEX_KEYS}\n[ask]\nkind = "summarize"\nby = "sex"\nmax_rows = 3\nmax_per_bin = 2\nmax_bins = 2\n'
        f'statistics = {{ rows = "count", rate = "rate:age >= 65" }}\n{PRIVACY}',
        {"table": UNIT, "question": {"question": "rate", "condition": "age >= 65", **SEX},
         "limits": {"max_rows": "3", "max_per_bin": "2", "max_bins": "2"}, "privacy": PRIVATELY},
    ),
    "summarize, by the file of limits": Case(
        "summarize",
        f'{PEOPLE}.summarize(rows=ln.stats.count(), rate=ln.stats.rate("sex = \'F\'"), '
        f'**ln.load("people-limits.parquet").limits).expect({PRIVATE})',
        "summarize people.parquet --unit person --stat rows=count --stat \"rate=rate:sex = 'F'\" --limits "
        f"people-limits.parquet {PROMISE}",
        f'{TABLE}\n[ask]\nkind = "summarize"\nstatistics = {{ rows = "count", rate = "rate:sex = \'F\'" }}\n'
        f'limits = "people-limits.parquet"\n{PRIVACY}',
        {"table": UNIT, "question": {"question": "rate", "condition": "sex = 'F'"},
         "limits": {"go": "take limits"}, "limits again": AS_SHOWN, "privacy": PRIVATELY},
    ),
    "one row a person": Case(
        "summarize",
        f'{PEOPLE}.per_unit(n=ln.stats.count(), paid=ln.stats.sum("income", grid=100), home=ln.stats.mode("district"), '
        'places=ln.stats.distinct("district"), oldest=ln.stats.max("age"), first=ln.stats.min("age")).where("n > 1")'
        '.summarize("home", keys=["Mill", "Harbour"], paid=ln.stats.mean("paid", clip=(0, 90000)), '
        f'n=ln.stats.sum("n", clip=(0, 9)), moved=ln.stats.rate("places > 1 and oldest = first")).expect({PRIVATE})',
        "summarize people.parquet --unit person --per-unit n=count --per-unit paid=sum:income:100 --per-unit "
        "home=mode:district --per-unit places=distinct:district --per-unit oldest=max:age --per-unit first=min:age "
        '--having "n > 1" --by home --keys Mill,Harbour --stat paid=mean:paid:0:90000 --stat n=sum:n:0:9 --stat '
        f'"moved=rate:places > 1 and oldest = first" {PROMISE}',
        f'{TABLE}\nper_unit = {{ n = "count", paid = "sum:income:100", home = "mode:district", '
        'places = "distinct:district", oldest = "max:age", first = "min:age" }\nhaving = "n > 1"\n[keys]\n'
        'home = ["Mill", "Harbour"]\n[ask]\nkind = "summarize"\nby = "home"\nstatistics = { '
        'paid = "mean:paid:0:90000", n = "sum:n:0:9", moved = "rate:places > 1 and oldest = first" }\n' + PRIVACY,
        {"table": UNIT | {"per_unit": "n=count\npaid=sum:income:100\nhome=mode:district\nplaces=distinct:district\n"
                          "oldest=max:age\nfirst=min:age", "having": "n > 1"},
         "question": {"question": "summarize", "by": ["home"], "keys__home": "Mill, Harbour",
                      "statistics": "paid=mean:paid:0:90000\nn=sum:n:0:9\n"
                      "moved=rate:places > 1 and oldest = first"},
         "limits": {}, "privacy": PRIVATELY},
    ),
    "crosstabs": Case(
        "crosstabs",
        f'{PEOPLE}.crosstabs(ways=2, keys=ln.domain.read("keys.toml"), weights="cells", max_rows=2, '
        f'row_weight="shared", other="no answer").expect({PRIVATE})',
        "crosstabs people.parquet --unit person --ways 2 --keys keys.toml --weights cells --max-rows 2 --row-weight "
        f'shared --other-label "no answer" {PROMISE}',
        f'keys = "keys.toml"\n{TABLE}\n[ask]\nkind = "crosstabs"\nways = 2\nweights = "cells"\nmax_rows = 2\n'
        f'row_weight = "shared"\nother = "no answer"\n{PRIVACY}',
        {"table": UNIT, "question": {"question": "crosstabs", "keys_file": "keys.toml", "ways": "2", "weights": "cells",
                                     "row_weight": "shared", "other": "lists", "other_label": "no answer"},
         "limits": {"max_rows": "2"}, "privacy": PRIVATELY},
    ),
    "crosstabs, some tables": Case(
        "crosstabs",
        f'{PEOPLE}.crosstabs("sex", ("sex", "age"), "district", keys=ln.domain.read("keys.toml"), '
        'weights={("sex", "age"): 10, "district": 1, "sex": 1}, weight="income", weight_clip=(0, 5.5), max_rows=2, '
        f'other=True).expect({PRIVATE})',
        "crosstabs people.parquet --unit person --table-by sex --table-by sex,age --table-by district --keys keys.toml "
        "--weights sex,age=10 --weights district=1 --weights sex=1 --weight income --weight-clip 0,5.5 --max-rows 2 "
        f"--other {PROMISE}",
        f'keys = "keys.toml"\n{TABLE}\n[ask]\nkind = "crosstabs"\ntables = ["sex", ["sex", "age"], "district"]\n'
        'weights = { "sex,age" = 10, district = 1, sex = 1 }\nweight = "income"\nweight_clip = [0, 5.5]\n'
        f"max_rows = 2\nother = true\n{PRIVACY}",
        {"table": UNIT, "question": {"question": "crosstabs", "keys_file": "keys.toml", "other": "every",
                                     "tables": "sex\nsex,age\ndistrict", "weight": "income", "weight_clip": "0, 5.5",
                                     "weights": "sex,age=10\ndistrict=1\nsex=1"},
         "limits": {"max_rows": "2"}, "privacy": PRIVATELY},
    ),
    "crosstabs, cumulative": Case(
        "crosstabs",
        f'{PEOPLE}.crosstabs(ways=[2], keys=ln.domain.read("keys.toml"), cumulative=["age"], max_rows=1, other=False)'
        f".expect({PRIVATE})",
        "crosstabs people.parquet --unit person --ways 2-2 --keys keys.toml --cumulative age --max-rows 1 --no-other "
        f"{PROMISE}",
        f'keys = "keys.toml"\n{TABLE}\n[ask]\nkind = "crosstabs"\nways = [2]\ncumulative = "age"\nmax_rows = 1\n'
        f"other = false\n{PRIVACY}",
        {"table": UNIT, "question": {"question": "crosstabs", "keys_file": "keys.toml", "ways": "2-2", "other": "none",
                                     "cumulative": "age"},
         "limits": {"max_rows": "1"}, "privacy": PRIVATELY},
    ),
    "crosstabs, ranges": Case(
        "crosstabs",
        f'{PEOPLE}.crosstabs("age", "sex", keys={{"sex": ["F", "M"], "age": range(18, 60)}}, ranges=["age"], '
        f'max_rows=1, nulls="drop").expect({PRIVATE})',
        f"crosstabs people.parquet --unit person --table-by age --table-by sex --keys two.toml --ranges age "
        f"--max-rows 1 --nulls drop {PROMISE}",
        f'{TABLE}\n{SEX_KEYS}\nage = {{ range = [18, 60] }}\n[ask]\nkind = "crosstabs"\ntables = ["age", "sex"]\n'
        f'ranges = ["age"]\nmax_rows = 1\nnulls = "drop"\n{PRIVACY}',
        {"table": UNIT, "question": {"question": "crosstabs", "by": ["sex", "age"], "keys__sex": "F, M",
                                     "keys__age": "18:60", "tables": "age\nsex", "ranges": "age", "nulls": "drop"},
         "limits": {"max_rows": "1"}, "privacy": PRIVATELY},
    ),
    "crosstabs, by a form": Case(
        "crosstabs",
        f'{PEOPLE}.crosstabs(ways=2, keys={{"sex": ["F", "M"], "age": range(18, 60)}}, max_rows=2, '
        f'other="no answer").expect({PRIVATE})',
        f'crosstabs people.parquet --unit person --ways 2 --keys two.toml --max-rows 2 --other-label "no answer" '
        f"{PROMISE}",
        f'{TABLE}\n{SEX_KEYS}\nage = {{ range = [18, 60] }}\n[ask]\nkind = "crosstabs"\nways = 2\nmax_rows = 2\n'
        f'other = "no answer"\n{PRIVACY}',
        {"table": UNIT, "question": {"question": "crosstabs", "by": ["sex", "age"], "ways": "2", "keys__sex": "F, M",
                                     "keys__age": "18 to 59", "other": "lists",
                                     "other_label": "no answer"},
         "limits": {"max_rows": "2"}, "privacy": PRIVATELY},
    ),
    "crosstabs along a tree": Case(
        "crosstabs",
        f'{PEOPLE}.crosstabs("part", "district", keys={{"district": ln.domain.Tree.from_columns("tree.csv", "part", '
        f'"district")}}, max_rows=2).expect({PRIVATE})',
        f"crosstabs people.parquet --unit person --table-by part --table-by district --keys tree.toml --max-rows 2 "
        f"{PROMISE}",
        f'{TABLE}\n[keys]\ndistrict = {{ tree = "tree.csv", levels = ["part", "district"] }}\n[ask]\n'
        f'kind = "crosstabs"\ntables = ["part", "district"]\nmax_rows = 2\n{PRIVACY}',
        {"table": UNIT, "question": {"question": "crosstabs", "keys_file": "tree.toml", "tables": "part\ndistrict"},
         "limits": {"max_rows": "2"}, "privacy": PRIVATELY},
    ),
}  # fmt: skip
