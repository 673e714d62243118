"""Errors of a run, phrased as what to write into the job's file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from leastnoise import errors
from leastnoise.jobs.file import NAMES


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
    return errors.with_examples(problem.message, "Write", map(_alternative, problem.examples))


def _alternative(example: errors.Example) -> str:
    if isinstance(example, errors.Code):
        return example.option
    return " and ".join(_lines(example))


def _lines(example: Mapping[str, Any]) -> Iterator[str]:
    for section, names in NAMES.items():
        lines = [f"{name} = {_value(value)}" for name, value in example.items() if name in names]
        if lines:
            yield f"{' and '.join(lines)} in [{section}]"
    for name, value in example.items():
        if not any(name in names for names in NAMES.values()):
            yield "public keys in [keys]" if name == "keys" else errors.as_argument(name, value)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | errors.Code):
        return json.dumps(value if isinstance(value, str) else value.option)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{name} = {_value(item)}" for name, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return errors.as_code(value)
