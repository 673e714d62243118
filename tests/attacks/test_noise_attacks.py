"""What an attacker, a fork or a careless thread could do to the noise."""

from __future__ import annotations

import inspect
import multiprocessing
import threading
import time

import numpy as np
from flint import ctx

from leastnoise.curator.noise import entropy, gaussian, inverse_cdf, laplace


def draws_of_a_child(queue):
    queue.put(gaussian.rounded_gaussian(2.0**40, 50).tolist())


def test_forked_processes_never_share_noise():
    """At sigma 2^40 a shared entropy state would repeat draws; honest ones collide with probability below
    1e-7."""
    gaussian.rounded_gaussian(2.0**40, 50)  # whatever could be kept, is kept before the fork
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    children = [context.Process(target=draws_of_a_child, args=(queue,)) for _ in range(2)]
    for child in children:
        child.start()
    draws = [*queue.get(timeout=60), *queue.get(timeout=60), *gaussian.rounded_gaussian(2.0**40, 50).tolist()]
    for child in children:
        child.join()
    assert len(set(map(abs, draws))) == len(draws)


def test_the_samplers_take_no_data():
    assert list(inspect.signature(gaussian.rounded_gaussian).parameters) == ["sigma", "size"]
    assert list(inspect.signature(gaussian.tail_gaussian).parameters) == ["sigma", "at_least", "size"]
    assert list(inspect.signature(laplace.two_sided_geometric).parameters) == ["scale", "size"]
    assert list(inspect.signature(entropy.words).parameters) == ["n"]


def test_noise_is_integers_so_no_low_bit_and_no_sign_of_zero_exists():
    for draws in (gaussian.rounded_gaussian(0.4, 100), laplace.two_sided_geometric(0.4, 100)):
        assert draws.dtype == np.int64


def fixed():
    """Fixed prefixes, and the same extension for all of them: a draw then depends on its own prefix alone."""
    prefixes = np.random.Generator(np.random.Philox(31)).bytes
    return entropy.source(lambda n: bytes(range(1, 9)) if n == 8 else prefixes(n))


def draws_from_scratch():
    inverse_cdf._table.cache_clear()
    inverse_cdf._Enclosures.of.cache_clear()
    with fixed():
        return np.concatenate([f(2.0**46, 2000) for f in (gaussian.rounded_gaussian, laplace.two_sided_geometric)])


def test_another_thread_that_lowers_the_precision_of_balls_cannot_change_a_draw():
    """python-flint's precision is one variable for all threads: too little of it may cost time, never
    truth."""
    expected = draws_from_scratch()
    before, stop = ctx.prec, threading.Event()

    def vandal():
        while not stop.is_set():
            ctx.prec = 20
            time.sleep(1e-5)

    thread = threading.Thread(target=vandal)
    thread.start()
    try:
        got = draws_from_scratch()
    finally:
        stop.set()
        thread.join()
        ctx.prec = before
    assert (got == expected).all()
