"""An engine's error is withheld: ours takes its place, and says nothing about rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from leastnoise._support import library_warnings
from leastnoise.errors import LeastnoiseError, ReadingFailed

T = TypeVar("T")


def redact_errors(work: Callable[[], T], files: Sequence[str] = ()) -> T:
    """`work()`; whatever an engine raises becomes one sentence that is the same for every failure with these files.

    An engine's message may quote a private value, and the kind of failure may tell of one. Our error is
    raised after the handler has ended, so that neither __cause__ nor __context__ keeps the original.
    """
    try:
        # A warning may quote a value as well; and a caller's numpy.seterr must not make an error of one.
        with library_warnings.withheld(), np.errstate(all="ignore"):
            return work()
    except LeastnoiseError:
        raise
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as problem:  # what Polars raises in a panic is no Exception
        # What DuckDB makes of Ctrl-C; what a row causes is one of its own errors.
        interrupted = type(problem) is RuntimeError and str(problem) == "Query interrupted"
        failed: BaseException = KeyboardInterrupt() if interrupted else ReadingFailed(_unreadable(files))
    raise failed


def _unreadable(files: Sequence[str]) -> str:
    """What the names of the files, which are public, let one say."""
    more = f" and {len(files) - 1} more" if len(files) > 1 else ""
    rows = f'the rows of "{Path(files[0]).name}"{more}' if files else "the rows"
    sentence = (
        f"{rows} could not be read. Nothing was released. The engine's own message is withheld because it may quote "
        "private values. "
    )
    if not files or files[0].lower().endswith(".parquet"):
        return sentence + "See that the files are whole, and that memory and the temporary disk have room."
    return sentence + (
        "Look for a row with more or fewer fields than the header, a quote that is not closed, another encoding than "
        "UTF-8, and for room on the temporary disk. For your own eyes, pyarrow.csv.read_csv(...) shows the row."
    )
