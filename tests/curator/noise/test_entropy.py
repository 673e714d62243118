"""Entropy is the operating system's, is never kept, and its absence is an error."""

from __future__ import annotations

import asyncio
import threading

import numpy as np
import pytest

from leastnoise import errors
from leastnoise.curator.noise import entropy, gaussian


def test_words_are_unsigned_64_bit_and_never_repeat():
    words = np.concatenate([entropy.words(1000) for _ in range(20)])
    assert words.dtype == np.uint64
    assert np.unique(words).size == words.size  # false alarm: 20,000^2 / 2^65 < 1e-10
    assert entropy.words(0).size == 0


def test_words_are_little_endian_bytes_of_the_source():
    with entropy.source(lambda n: bytes(range(n))):
        assert entropy.words(1)[0] == 0x0706050403020100


def failing(error):
    def read(n):
        raise error

    return read


@pytest.mark.parametrize("error", [OSError(38, "Function not implemented"), NotImplementedError("no source")])
def test_a_failing_source_is_an_entropy_failure(error):
    with entropy.source(failing(error)), pytest.raises(errors.EntropyFailure, match="getrandom") as caught:
        gaussian.rounded_gaussian(1.0, 5)
    assert isinstance(caught.value, OSError)


@pytest.mark.parametrize("change", [-1, 1])
def test_a_read_of_the_wrong_length_is_refused(change):
    with entropy.source(lambda n: bytes(n + change)), pytest.raises(errors.EntropyFailure, match="Asked for"):
        entropy.words(3)


def test_the_operating_system_is_the_default_and_comes_back_after_an_error():
    assert not entropy.is_seeded()
    with entropy.source(bytes):
        assert entropy.is_seeded()
    with pytest.raises(errors.NotProved), entropy.source(bytes):
        gaussian.rounded_gaussian(1.0, 1)
    assert not entropy.is_seeded()
    assert entropy.words(4).any()


def zeros_and_flag():
    return not entropy.words(4).any(), entropy.is_seeded()


def test_a_plain_thread_is_outside_a_source_and_says_so():
    seen = []
    with entropy.source(bytes):
        thread = threading.Thread(target=lambda: seen.append(zeros_and_flag()))
        thread.start()
        thread.join()
        assert zeros_and_flag() == (True, True)
    assert seen[0][0] == seen[0][1]  # whichever it is, the flag tells the truth


def test_a_copied_context_stays_inside_a_source_and_says_so():
    async def main():
        with entropy.source(bytes):
            return await asyncio.to_thread(zeros_and_flag)

    assert asyncio.run(main()) == (True, True)
