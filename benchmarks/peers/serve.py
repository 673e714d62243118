"""Run by a peer's own Python: `python -P serve.py jobs.py`. A JSON line in, a JSON line out.

jobs.py has one function a job. It prepares, and returns the work to be timed; what was prepared for the same arguments
is kept, so that only the work is repeated. Anything the peer prints goes to its log.
"""

import importlib.util
import json
import os
import re
import sys
import time
from importlib import metadata
from pathlib import Path


def load(path):
    spec = importlib.util.spec_from_file_location("jobs", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def versions(path):
    text = (Path(path).parent / "requirements.txt").read_text()
    wanted = [line.split("==")[0].split("[")[0].strip() for line in text.splitlines() if line and line[0] != "#"]
    return {name: metadata.version(name) for name in wanted}


def processor():
    """Seconds of processor of this process and of those it started: Spark works in a JVM."""
    total, tick = time.process_time(), os.sysconf("SC_CLK_TCK")
    waiting = [os.getpid()]
    while waiting:
        for tasks in Path(f"/proc/{waiting.pop()}/task").glob("*/children"):
            for child in tasks.read_text().split():
                try:
                    fields = Path(f"/proc/{child}/stat").read_text().rsplit(")", 1)[1].split()
                except OSError:  # it has ended since, and its time is among its parent's
                    continue
                total += sum(map(int, fields[11:15])) / tick
                waiting.append(child)
    return total


def answer(path, jobs, prepared, line):
    asked = json.loads(line)
    if asked["job"] == "versions":
        load(path)
        return {"seconds": 0.0, "processor": 0.0, "result": versions(path)}
    if not jobs:
        jobs.append(load(path))
    key = json.dumps(asked, sort_keys=True)
    if key not in prepared:
        prepared[key] = getattr(jobs[0], asked["job"])(**asked["arguments"])
    wall, busy = time.perf_counter(), processor()
    result = prepared[key]()
    return {"seconds": time.perf_counter() - wall, "processor": processor() - busy, "result": result}


def main(path):
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    jobs, prepared = [], {}
    for line in sys.stdin:
        try:
            reply = json.dumps(answer(path, jobs, prepared, line))
        except BaseException as error:  # Rust's panics are not Exceptions
            said = re.sub(r" ?\(/[^)]*\)", "", f"{type(error).__name__}: {error}".splitlines()[0])  # no paths
            reply = json.dumps({"error": said[:300]})
        out.write(reply + "\n")
        out.flush()


main(sys.argv[1])
