"""What every fuzzer shares: how many cases, how the command line is run, and what no message may hold.

LEASTNOISE_FUZZ_MINUTES says how long the whole of tests/fuzz may search; without it a few seconds each.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import os
import random
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

import command_line
from leastnoise import errors

MINUTES = float(os.environ.get("LEASTNOISE_FUZZ_MINUTES", "0"))
PARTS = 31  # what the targets take together, and one more: the last to begin is alone
SECONDS = 60 * MINUTES * int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")) / PARTS  # for each part
CANARY = "Zebra7c4n4ry"  # stands in private rows, and nowhere else
CANARY_NUMBER = 7340192845

ran: dict[str, tuple[int, float]] = {}  # how many cases of each target, and the seconds they took; shown at the end


def add(name: str, count: int, seconds: float = 0.0) -> None:
    """Cases that were run."""
    before = ran.get(name, (0, 0.0))
    ran[name] = before[0] + count, before[1] + seconds


def cases(name: str, few: int) -> Callable[[Any], Any]:
    """A target: `few` cases, always the same; or, with minutes, new ones until its part of them is over."""

    def decorate(test: Any) -> Any:
        inner = test.hypothesis.inner_test

        @functools.wraps(inner)
        def counted(*arguments: Any, **named: Any) -> None:
            add(name, 1)
            inner(*arguments, **named)

        test.hypothesis.inner_test = counted
        search = settings(
            max_examples=50 if MINUTES else few,
            deadline=None,
            derandomize=not MINUTES,
            database=None,
            suppress_health_check=list(HealthCheck),
        )(test)

        @functools.wraps(search)
        def until_over(**fixtures: Any) -> None:
            begun = time.monotonic()
            while True:
                search(**fixtures)
                if time.monotonic() - begun >= SECONDS:
                    break
            add(name, 0, time.monotonic() - begun)

        vars(until_over).clear()  # pytest calls it as any other test, with the fixtures that `given` leaves to it
        until_over.__signature__ = inspect.signature(search)  # type: ignore[attr-defined]
        return until_over

    return decorate


def seeds(few: int, *, parts: int = 1) -> Iterator[int]:
    """Of a target without Hypothesis: 0, 1, ... below `few`; or, with minutes, new ones until its parts are over."""
    begun, first = time.monotonic(), random.SystemRandom().getrandbits(40) if MINUTES else 0
    for place in itertools.count():
        if time.monotonic() - begun >= SECONDS * parts if MINUTES else place >= few:
            return
        yield first + place


def run(*arguments: str) -> tuple[int, str, str]:
    """The command line in this process: exit code, standard output, standard error."""
    done = command_line.run(*arguments, columns=None)
    return done.returncode, done.stdout, done.stderr


def told(*arguments: str) -> int:
    """The exit code, after the laws of every command: a documented code, no traceback, nothing private, one channel."""
    code, out, err = run(*arguments)
    assert code in (0, 1, 2), (code, arguments, err)
    assert "Traceback" not in out + err
    assert (not err) == (code == 0) or "Note:" in err, (code, arguments, err)
    quiet(out + err)
    return code


def quiet(text: str) -> None:
    """Refuse text that quotes a private value."""
    assert CANARY not in text, text
    assert str(CANARY_NUMBER) not in text, text


def survives(work: Callable[[], Any]) -> Any:
    """`work()`; only our own errors may come out, and nothing they carry quotes a private value."""
    try:
        return work()
    except errors.LeastnoiseError as error:
        quiet("".join(traceback.format_exception(error)))
        seen: BaseException | None = error
        while seen is not None:
            quiet(repr(seen))
            seen = seen.__cause__ or seen.__context__
        return error


SEED = st.integers(0, 2**63)  # for `damaged`: files are lazily imported libraries' business, and stay out of Hypothesis
PIECES = [b"\xff" * 8, b"\0" * 64, b"\x7f" + b"\xff" * 7, b"-1", b"1e999", b"\n", b'"', b"\xed\xa0\x80"]


def damaged(content: bytes, chance: random.Random) -> bytes:
    """The content flipped, cut, overwritten, or something else altogether."""
    a, b = sorted(chance.randrange(len(content) + 1) for _ in range(2))
    piece = chance.choice([*PIECES, chance.randbytes(chance.randrange(16))])
    flipped = bytearray(content)
    for _ in range(chance.choice([1, 1, 2, 8])):
        flipped[chance.randrange(len(flipped))] ^= 1 << chance.randrange(8)
    choices = [bytes(flipped)] * 4 + [content[:a], content[b:], content[:a] + content[b:]]
    return chance.choice([*choices, content[:a] + piece + content[a + len(piece) :], chance.randbytes(64)])


def only(folder: Path, *names: str) -> None:
    """Refuse files that nobody asked for."""
    assert sorted(path.name for path in folder.iterdir()) == sorted(names)


WORDS = [
    "", " ", "-", "--", "nan", "inf", "-inf", "1e999", "-0", "0", "1_0", "0x10", "١٢", "1e-400", "9" * 400, "1/3",
    "[/]", "[bold]", "a\u202eb", "é", "e\u0301", "👩\u200d👧", "\ufeff", "../..", "/dev/null", "~", "*", "\n", "%s",
]  # fmt: skip
ODD = st.one_of(
    st.text(max_size=20),
    st.text(st.characters(categories=["Cc", "Cf", "Mn", "So", "Co", "Zl", "Zp", "Nd"]), max_size=12),
    st.sampled_from(WORDS),
)
NUMBER = st.one_of(
    ODD,
    st.floats().map(repr),
    st.integers().map(str),
    st.sampled_from(["1", "0.5", "1e-6", "1e-300", "1e300", "5e-324", "1.7976931348623157e308"]),
)
