"""An error in the words of whoever reads it: as options, or as lines of a job's file. (`errors` says it in Python.)"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from leastnoise import errors
from leastnoise._support import toml
from leastnoise.jobs.fields import SECTIONS


@contextmanager
def phrased() -> Iterator[None]:
    """Within it an error of ours gives its examples as lines of a job, and not as options."""
    try:
        yield
    except errors.LeastnoiseError as problem:
        problem.message = in_job(problem)
        problem.examples = ()
        raise


def in_job(problem: errors.LeastnoiseError) -> str:
    """The message, and its examples as lines of a job.

    >>> given = [{"epsilon": 1, "delta": 1e-6}, {"sigma": 3}]
    >>> in_job(errors.MissingParameter("How private should this be?", example=given))
    'How private should this be? Write epsilon = 1 and delta = 1e-6 in [privacy], or sigma = 3 in [privacy].'
    """
    written = (
        each.option if isinstance(each, errors.Code) else " and ".join(_lines(each)) for each in problem.examples
    )
    return errors.with_examples(problem.message, "Write", written)


def _lines(example: Mapping[str, Any]) -> Iterator[str]:
    for section, fields in SECTIONS.items():
        lines = [f"{name} = {_value(value)}" for name, value in example.items() if name in fields]
        if lines:
            yield f"{' and '.join(lines)} in [{section}]"
    for name, value in example.items():
        if not any(name in fields for fields in SECTIONS.values()):
            yield "public keys in [keys]" if name == "keys" else errors.as_argument(name, value)


def _value(value: Any) -> str:
    if isinstance(value, float):
        return errors.as_code(value)
    return toml.value(value.option if isinstance(value, errors.Code) else value)


def in_options(
    problem: errors.LeastnoiseError | errors.WeakPromise, flags: Mapping[str, str], verb: str = "Say"
) -> str:
    """The message, and its examples as options. flags: how arguments of Python are typed; others stay Python.

    >>> given = [{"epsilon": 1, "delta": 1e-6}, {"max_rows": 5}]
    >>> in_options(errors.MissingParameter("Too many.", example=given), {"epsilon": "--epsilon", "delta": "--delta"})
    'Too many. Say --epsilon 1 --delta 1e-6, or max_rows=5.'
    """
    return errors.with_examples(problem.message, verb, (_alternative(each, flags) for each in problem.examples))


def _alternative(example: errors.Example, flags: Mapping[str, str]) -> str:
    """One example: its options with spaces between them, then what only Python takes."""
    if isinstance(example, errors.Code):
        return example.option
    typed = " ".join(as_option(flags[name], value) for name, value in example.items() if name in flags)
    python = [errors.as_argument(name, value) for name, value in example.items() if name not in flags]
    return ", ".join([typed, *python] if typed else python)


def as_option(flag: str, value: object) -> str:
    """An argument as it is typed in a shell.

    >>> as_option("--keys", range(24)), as_option("--max-rows", 5), as_option("--types", {"hour": "int"})
    ('--keys 0:24', '--max-rows 5', '--types hour=int')
    >>> as_option("--other", False)
    '--no-other'
    """
    if value is False:
        return f"--no-{flag.removeprefix('--')}"
    if flag == "--other" and isinstance(value, str):
        flag = "--other-label"
    return flag if value is True else f"{flag} {_quoted(_word(value))}"


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
