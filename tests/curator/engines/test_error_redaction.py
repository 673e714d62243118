"""Whatever an engine raises, what is raised instead says the same, and keeps nothing of it."""

from __future__ import annotations

import threading
import warnings
from typing import Any

import numpy as np
import pytest

from leastnoise._support import library_warnings
from leastnoise.curator.engines.engine import redact_errors
from leastnoise.errors import BadDomain, LeastnoiseError, ReadingFailed, WeakPromise


class Panic(BaseException):
    """As Polars raises them."""


def failing(problem: BaseException) -> Any:
    raise problem


def test_every_failure_is_the_same_sentence() -> None:
    said = set()
    for problem in (ValueError("secret424242"), MemoryError(), Panic("secret424242"), LookupError(424242)):
        with pytest.raises(ReadingFailed) as caught:
            redact_errors(lambda problem=problem: failing(problem), ["/a/trips.csv", "/a/more.csv"])
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None
        said.add(str(caught.value))
    (sentence,) = said
    assert "424242" not in sentence
    assert '"trips.csv" and 1 more' in sentence


def test_errors_of_ours_and_interruptions_pass() -> None:
    ours: LeastnoiseError = BadDomain("no bins")
    with pytest.raises(BadDomain) as caught:
        redact_errors(lambda: failing(ours))
    assert caught.value is ours
    for problem in (KeyboardInterrupt(), RuntimeError("Query interrupted")):
        with pytest.raises(KeyboardInterrupt):
            redact_errors(lambda problem=problem: failing(problem))


def test_a_warning_is_withheld_as_well() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        redact_errors(lambda: warnings.warn("secret424242", stacklevel=1))


def warned(category: type[Warning]) -> bool:
    """Whether somebody sees such a warning now."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.warn("once more", category, stacklevel=1)
    return bool(seen)


def test_of_two_threads_that_read_neither_ends_nor_keeps_the_silence_of_the_other() -> None:
    both, other_ended, ours_alone = threading.Event(), threading.Event(), []

    def first() -> None:
        redact_errors(lambda: both.wait(10))
        other_ended.set()

    def second() -> None:
        both.set()
        other_ended.wait(10)
        ours_alone.append((warned(UserWarning), warned(WeakPromise)))

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        thread = threading.Thread(target=first)
        thread.start()
        redact_errors(second)
        thread.join()
        assert ours_alone == [(False, True)]
        assert warned(UserWarning)
        assert warned(WeakPromise)


def test_what_is_weighed_and_not_drawn_warns_nobody_and_silences_no_other_thread() -> None:
    seen: list[bool] = []
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        with library_warnings.none_at_all():
            assert not warned(WeakPromise)
            other = threading.Thread(target=lambda: seen.append(warned(WeakPromise)))
            other.start()
            other.join()
        assert seen == [True]
        assert warned(WeakPromise)


def test_no_setting_of_numpy_makes_an_error_of_a_value() -> None:
    with np.errstate(all="raise"):
        assert redact_errors(lambda: float(np.exp(np.array([-730.0]))[0] * np.float64(1e-300))) == 0
