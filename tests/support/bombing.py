"""Every bomb at everything that opens files, each in a process of its own whose memory is measured.

python tests/support/bombing.py FOLDER      prints one JSON object a case
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb  # noqa: F401 (what the children need is imported before they are forked, and not counted as theirs)
import ibis  # noqa: F401
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

import bombs
import leastnoise as ln
from leastnoise import errors
from leastnoise.curator import column_files
from leastnoise.domain import public_files
from leastnoise.graphs import Graph
from leastnoise.testing import aggregate

ADDRESSES = 12 * 2**30  # bytes; should all else fail, the machine survives
SECONDS = 60  # of processor time; a table of many rows takes its time, and is not among these


def count(path: str) -> Any:
    rows = ln.table(path, unit="who", memory_limit="256MB")
    return aggregate(rows.count(max_rows=2)).values.tolist()


def open_ledger(path: str) -> Any:
    opened = ln.Budget.open(path)
    opened.verify()
    ln.release(np.array([1]), sensitivity=1, budget=opened, share=0.5)
    return len(opened.history())


Opener = Callable[[str], Any]
COLUMN: dict[str, Opener] = {
    "numbers": lambda path: len(column_files.read_column(path, column="n", kind="int")),
    "words": lambda path: len(column_files.read_column(path, column="who", kind="int")),
}
PLACES: dict[str, Opener] = {
    "nodes by number": lambda path: Graph.from_parquet(path, "edges", node="n").size,
    "nodes by name": lambda path: Graph.from_parquet(path, "edges", node="who").size,
    "edges": lambda path: Graph.from_parquet("nodes", path, ends=("n", "n")).size,
    "public table": lambda path: len(public_files.read_public_table(path, ["who"])["who"]),
    "keys": lambda path: len(public_files.read_public_column(path, "who")),
    "load": lambda path: type(ln.load(path)).__name__,
}


def cases(folder: Path) -> Iterator[tuple[str, str, bytes, Opener]]:
    """What is in the file, the file's name, its bytes, and who opens it."""
    for name, content in bombs.columns().items():
        for opener, ask in {**COLUMN, **PLACES}.items():
            yield f"{opener}: {name}", "bomb.parquet", content, ask
        if name != "many rows":
            yield f"rows: {name}", "bomb.parquet", content, count
    for name, content in bombs.vectors().items():
        yield f"vector: {name}", "bomb.npy", content, COLUMN["numbers"]
    for name, content in bombs.packed_lines().items():
        yield f"lines: {name}", "bomb.csv.gz", content, count
        yield f"numbers: {name}", "bomb.csv.gz", content, COLUMN["numbers"]
    for name, content in bombs.releases(folder).items():
        yield f"load: {name}", "bomb.parquet", content, PLACES["load"]
    for name, content in bombs.ledgers(folder).items():
        yield f"ledger: {name}", "bomb.ledger", content, open_ledger


def measured(work: Callable[[], Any]) -> dict[str, Any]:
    """How it ended in a child, its peak memory beyond what was there before (MiB), and the seconds it took."""
    receive, send = os.pipe()
    begun, child = time.monotonic(), os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            told = {"answer": work()}
        except errors.LeastnoiseError as error:
            told = {"error": type(error).__name__, "text": str(error), "context": error.__context__ is not None}
        except BaseException:
            told = {"broken": traceback.format_exc()[-2000:]}
        told["peak"] = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10
        with os.fdopen(send, "w") as out:
            json.dump(told, out)
        os._exit(0)
    os.close(send)
    with os.fdopen(receive) as out:
        text = out.read()
    _, status = os.waitpid(child, 0)
    told = json.loads(text) if text else {"broken": f"the process ended with {status}"}
    return told | {"seconds": round(time.monotonic() - begun, 2)}


def main(folder: Path) -> None:
    tempfile.tempdir = str(folder / "tmp")
    work = folder / "work"
    for place in (folder / "tmp", work):
        place.mkdir()
    os.chdir(folder)
    pq.write_table(pa.table({"u": [7], "v": [7]}), "edges")
    pq.write_table(pa.table({"id": [7]}), "nodes")
    for case, name, content, ask in cases(folder):
        path = work / name
        path.write_bytes(content)
        told = measured(lambda ask=ask, path=path: ask(str(path)))
        path.unlink()
        left = sorted(found.name for found in work.iterdir())
        print(json.dumps({"case": case, "size": len(content), "left": left, **told}), flush=True)
        for found in work.iterdir():
            found.unlink()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
