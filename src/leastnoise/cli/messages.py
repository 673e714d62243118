"""How the command line speaks: options instead of Python, and nothing that a terminal would obey.

Exit codes, the same for every command:

    0     answered
    1     asked rightly, but it could not be done: a damaged file, a full disk, an empty or closed budget
    2     what was typed cannot be used: an option, a number, a word, a column, a path with nothing at it, an
          output where another file is
    3     a mistake of leastnoise itself; please report it
    130   stopped by Ctrl-C
"""

from __future__ import annotations

import re
from typing import Any

from leastnoise import errors

OPTIONS = [
    "bins", "budget", "by", "clip", "column", "confidence", "delta", "engine", "epsilon", "error", "grid", "keys",
    "l1_sensitivity", "max_bins", "max_per_bin", "max_rows", "mechanism", "memory_limit", "neighbours",
    "pure_epsilon", "q", "sensitivity", "share", "sigma", "table", "threshold_delta", "types", "unit", "where",
]  # fmt: skip
_VALUE = r"""(?P<value>"[^"]*"|'[^']*'|\[[^\]]*\]|[-+\w.]*[\w])?"""
_TYPED = re.compile(rf"(?<![\w-])(?P<name>{'|'.join(OPTIONS)})=(?!=){_VALUE}")
_PYTHON = re.compile(r"(ln\.[\w.]+\([^()]*\))")  # a call that no option stands for
_FIRST = (
    (re.compile(r"budget=ln\.Budget\.open\(\"([^\"]*)\"\)"), r"--budget \1"),
    (re.compile(r"ln\.table\(\.\.\., name=(\".*?\")\)"), r"--table \1"),
    (re.compile(r"table\(\.\.\., types=\{\"([^\"]*)\": \"(\w+)\"\}\)"), r"--types \1=\2"),
    (re.compile(r"\bl1_sensitivity\b(?!=)"), "--l1-sensitivity"),
    (
        re.compile(r"by giving its limits: epsilon=(\S+), delta=(\S+)\."),
        r"with leastnoise budget create FILE --epsilon \1 --delta \2.",
    ),
    (re.compile(r"keys=range\((\d+)\)"), r"--keys 0:\1"),
)


def in_options(text: str) -> str:
    """share=0.25 as --share 0.25.

    >>> in_options('Say share=0.25, or epsilon= and delta=, or mechanism="laplace".')
    'Say --share 0.25, or --epsilon and --delta, or --mechanism laplace.'
    >>> in_options("Noisy numbers come in by ln.wrap(y, sigma=2).")
    'Noisy numbers come in by ln.wrap(y, sigma=2).'
    """
    for pattern, typed in _FIRST:
        text = pattern.sub(typed, text)
    return "".join(part if _PYTHON.fullmatch(part) else _TYPED.sub(_option, part) for part in _PYTHON.split(text))


def _option(found: re.Match[str]) -> str:
    name, value = found["name"].replace("_", "-"), found["value"]
    value = re.sub(r"[]\[' ]", "", value) if value and name == "keys" else value
    return f"--{name}" if not value else f"--{name} {value.strip(chr(34))}"


def shown(text: Any) -> str:
    r"""Text without characters that move the cursor, turn the writing round or cannot be written at all.

    >>> print(shown("a\x1b[2Jb\u202e"))
    a\x1b[2Jb\u202e
    """
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in str(text))


def exit_code(problem: BaseException) -> int:
    """What the process ends with."""
    if isinstance(problem, (errors.InvalidParameter, errors.NoSuchFile, errors.BadOutput)):
        return 2
    return 1 if isinstance(problem, (errors.LeastnoiseError, MemoryError, OSError)) else 3


def sentence(problem: BaseException) -> str:
    """What is told. Only our own messages are known to quote nothing private."""
    if isinstance(problem, errors.LeastnoiseError):
        return in_options(str(problem))
    if isinstance(problem, MemoryError):
        return "there is not enough memory for this. Nothing was written. Ask for fewer bins, or use a larger machine."
    if isinstance(problem, OSError):
        return "the system refused to read or write. Look for a full disk, or a pipe that was closed."
    place = problem.__traceback__
    while place is not None and place.tb_next is not None and "leastnoise" in place.tb_next.tb_frame.f_code.co_filename:
        place = place.tb_next
    where = f" at {place.tb_frame.f_code.co_name}, line {place.tb_lineno}" if place is not None else ""
    return (
        f"leastnoise made a mistake{where}, for which we are sorry; nothing was written. Its message is withheld "
        "because it may quote private values; LEASTNOISE_DEBUG=1 shows it to you. Please report this."
    )
