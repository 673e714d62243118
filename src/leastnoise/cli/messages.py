"""How the command line speaks: options instead of Python, and nothing that a terminal would obey.

Exit codes, the same for every command:

    0     answered
    1     asked rightly, but it could not be done: a damaged file, a full disk, an empty or closed budget
    2     what was typed cannot be used: an option, a number, a word, a column, a path with nothing at it, an
          output where another file is
    3     a mistake of leastnoise itself; please report it
    4     answered, and the answer is PRIVATE: of `private-check` alone
    130   stopped by Ctrl-C
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Mapping
from typing import Any

from leastnoise import errors
from leastnoise._support import plain_text

# The arguments of Python that are options here, by the same name with "-" for "_".
OPTIONS = {
    "after", "again", "allocation", "along", "bins", "budget", "by", "clip", "clip_within", "column", "confidence",
    "config", "cumulative", "decimal", "delimiter", "delta", "derive", "engine", "epsilon", "error", "expect",
    "expected_rows", "expires", "for_delta", "for_epsilon", "for_share", "force", "graph", "grid", "having",
    "intervals", "join", "keys", "l1_sensitivity", "label", "lattice", "levels", "limits", "loss", "max_bins",
    "max_per_bin", "max_rows", "mechanism", "memory_limit", "method", "missing", "most_share", "neighbours", "nodes",
    "note", "other", "other_label", "others", "output", "people", "per_unit", "public_units", "pure_epsilon", "ranges",
    "reason", "releases", "round_to", "row_weight", "sampling", "sensitivity", "share", "sigma", "stat", "steps",
    "table", "threshold_delta", "title", "type", "types", "unit", "units", "ways", "weight", "weight_clip", "weights",
    "where", "within", "zones",
}  # fmt: skip
PRIVATE = 4  # the exit code of what must not be published
_ALIASES = {"name": "table", "labels": "label"}  # ln.table(..., name="trips") is --table trips


def phrase(problem: errors.LeastnoiseError) -> str:
    """The message, and its examples as options.

    >>> given = [{"epsilon": 1, "delta": 1e-6}, {"sigma": 3}]
    >>> phrase(errors.MissingParameter("How private should this be?", example=given))
    'How private should this be? Say --epsilon 1 --delta 1e-6, or --sigma 3.'
    """
    return errors.with_examples(problem.message, "Say", map(_alternative, problem.examples))


def note(warning: Warning | str) -> str:
    """A warning, with its examples as options."""
    if not isinstance(warning, errors.WeakPromise):
        return str(warning)
    return errors.with_examples(warning.message, "Or say", map(_alternative, warning.examples))


def _alternative(example: errors.Example) -> str:
    """One example: its options with spaces between them, then what only Python takes."""
    if isinstance(example, errors.Code):
        return example.option
    named = {_ALIASES.get(name, name): value for name, value in example.items()}
    if isinstance(named.get("other"), str):
        named["other_label"] = named.pop("other")
    typed = " ".join(as_option(name, value) for name, value in named.items() if name in OPTIONS)
    python = [errors.as_argument(name, value) for name, value in named.items() if name not in OPTIONS]
    return ", ".join([typed, *python] if typed else python)


def as_option(name: str, value: object) -> str:
    """An argument as it is typed in a shell.

    >>> as_option("keys", range(24)), as_option("max_rows", 5), as_option("types", {"hour": "int"})
    ('--keys 0:24', '--max-rows 5', '--types hour=int')
    >>> as_option("other", False)
    '--no-other'
    """
    if value is False:
        return f"--no-{name.replace('_', '-')}"
    option = f"--{name.replace('_', '-')}"
    return option if value is True else f"{option} {_quoted(_word(value))}"


def _word(value: object) -> str:
    """A value in one word: a range with a colon, a list with commas, a mapping with =."""
    if isinstance(value, errors.Code):
        return value.option
    if isinstance(value, range):
        return f"{value.start}:{value.stop}"
    if isinstance(value, Mapping):
        return ",".join(f"{_word(key)}={_word(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ",".join(map(_word, value))
    return value if isinstance(value, str) else errors.as_code(value)


def _quoted(word: str) -> str:
    """In quotes where a shell would split or change it."""
    return word if re.fullmatch(r"[\w./:,=+@%-]+", word) else '"' + re.sub(r'(["\\$`])', r"\\\1", word) + '"'


def printable(text: Any) -> str:
    """What is printed, line by line: no character of it moves the cursor or turns the writing round."""
    return plain_text.printable(text, lines=True)


def exit_code(problem: BaseException) -> int:
    """What the process ends with."""
    if isinstance(problem, errors.OutputFailed) and problem.__cause__ is not None:
        return 3 if exit_code(problem.__cause__) == 3 else 1
    if isinstance(problem, (errors.InvalidParameter, errors.NoSuchFile, errors.BadOutput)):
        return 2
    return 1 if isinstance(problem, (errors.LeastnoiseError, MemoryError, OSError)) else 3


def explain(problem: BaseException) -> str:
    """What is printed about a failure. Only our own messages are known to quote nothing private."""
    if isinstance(problem, errors.LeastnoiseError):
        return phrase(problem)
    if isinstance(problem, MemoryError):
        return "there is not enough memory for this. Nothing was written. Ask for fewer bins, or use a larger machine."
    if isinstance(problem, OSError):
        return "the system refused to read or write. Look for a full disk, or a pipe that was closed."
    where = ""
    for frame, line in traceback.walk_tb(problem.__traceback__):  # the last of ours: typer's lie between main and it
        module = str(frame.f_globals.get("__name__"))
        if module.partition(".")[0] == "leastnoise":
            where = f" at {module}, line {line}"
    return (
        f"leastnoise made a mistake{where}, for which we are sorry; nothing was written. Its message is withheld "
        "because it may quote private values; LEASTNOISE_DEBUG=1 shows it to you. Please report this."
    )
