"""`leastnoise sigma | epsilon | delta | plan | compare`, run as a person or a program runs them."""

from __future__ import annotations

import json

import pytest

import leastnoise as ln
from command_line import run


@pytest.mark.parametrize(
    ("arguments", "key", "value"),
    [
        (["sigma", "--epsilon", "1", "--delta", "1e-6"], "sigma", ln.sigma(epsilon=1, delta=1e-6)),
        (["epsilon", "--sigma", "4", "--delta", "1e-6"], "epsilon", ln.epsilon(sigma=4, delta=1e-6)),
        (["delta", "--sigma", "4", "--epsilon", "1"], "delta", ln.delta(sigma=4, epsilon=1)),
        (["plan", "--error", "10", "--delta", "1e-6"], "epsilon", ln.plan(error=10, delta=1e-6).epsilon),
        (["plan", "--error", "10", "--delta", "0"], "mechanism", "laplace"),
    ],
)
def test_json_is_exact(arguments: list[str], key: str, value: object) -> None:
    done = run(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[key] == value


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["sigma", "--epsilon", "1", "--delta", "0"], "Laplace"),
        (["sigma", "--epsilon", "-1", "--delta", "1e-6"], "InvalidParameter"),
        (["sigma", "--epsilon", "nan", "--delta", "1e-6"], "finite"),
        (["sigma", "--epsilon", "one", "--delta", "1e-6"], "--epsilon"),
        (["sigma", "--epsilon", "1"], "--delta"),
        (["sigm", "--epsilon", "1"], "sigma"),
        (["plan", "--error", "10", "--delta", "1e-6", "--mechanism", "gausian"], "Did you mean"),
        (["compare", "--epsilon", "1", "--delta", "1e-6", "--bins", "0"], "bins"),
    ],
)
def test_a_mistake_is_a_sentence_and_exit_code_2(arguments: list[str], words: str) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_an_answer_that_is_no_double_is_exit_code_1() -> None:
    done = run("sigma", "--epsilon", "0", "--delta", "1e-300", "--sensitivity", "1e150")
    assert done.returncode == 1
    assert "largest double" in done.stderr


def test_steps_with_sampling() -> None:
    done = run("epsilon", "--sigma", "1.1", "--delta", "1e-5", "--steps", "100", "--sampling", "0.01", "--json")
    found = json.loads(done.stdout)
    assert found["epsilon"] == ln.epsilon(sigma=1.1, delta=1e-5, steps=100, sampling=0.01)
    assert found["epsilon"] * (1 - 1e-3) <= found["lower"] <= found["epsilon"]
    said = run("delta", "--sigma", "1.1", "--epsilon", "1", "--steps", "20", "--sampling", "0.01").stdout
    assert "Poisson sampling, add-remove, sums divided by the expected batch." in " ".join(
        said.replace("│", " ").split()
    )
    done = run("sigma", "--epsilon", "1", "--delta", "1e-6", "--steps", "4", "--json")
    assert json.loads(done.stdout)["sigma"] == ln.sigma(epsilon=1, delta=1e-6, steps=4)
    assert run("epsilon", "--sigma", "1", "--delta", "1e-5", "--sampling", "1.5").returncode == 2
    assert run("epsilon", "--sigma", "9", "--delta", "0.1", "--sampling", "256/60000").returncode == 0
    refused = run("epsilon", "--sigma", "1", "--delta", "1e-5", "--sampling", "shuffled")
    assert refused.returncode == 2
    assert "Shuffled batches are another" in refused.stderr
