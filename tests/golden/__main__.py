"""Write the golden files anew: `make golden`. The diff is reviewed in the commit that makes it."""

from __future__ import annotations

import os
import sys
import tempfile
import time
import warnings
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as in the tests: sums are added in one order
sys.path.append(str(Path(__file__).resolve().parents[1] / "support"))

import golden_files
from golden_cases import FILES


def main() -> None:
    asked = sys.argv[1:] or list(FILES)
    for name in asked:
        began, facts = time.process_time(), {}
        for case in FILES[name].names:
            with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                facts[case] = FILES[name].of(case, Path(folder))
        golden_files.write(name, facts)
        print(f"{name}.json: {len(facts)} cases, {time.process_time() - began:.1f} s of processor time")


if __name__ == "__main__":
    main()
