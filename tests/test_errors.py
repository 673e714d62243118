"""What an error carries: a message, the parameter, the value, and examples that are phrased where it is read."""

from __future__ import annotations

import pickle

import pytest

from error_messages import SOURCE, modules, spelt_arguments
from leastnoise import errors
from leastnoise.cli.output import explain
from leastnoise.jobs.wording import in_job


def test_an_example_is_written_as_python_arguments() -> None:
    given = [{"epsilon": 1, "delta": 1e-6}, {"sigma": 3.0}]
    problem = errors.InvalidParameter("Too much was given.", parameter="sigma", value=2, example=given)
    assert str(problem) == "Too much was given. Say epsilon=1, delta=1e-6, or sigma=3.0."
    assert (problem.parameter, problem.value, problem.examples) == ("sigma", 2, tuple(given))


def test_examples_write_every_kind_of_value() -> None:
    code = errors.Code('ln.Budget.open("city.ledger")', "city.ledger")
    values = {"types": {"hour": "int"}, "clip": (0, 100), "unit": ["a", "b"], "keys": range(5), "budget": code}
    assert str(errors.LeastnoiseError("No.", example=values)) == (
        'No. Say types={"hour": "int"}, clip=(0, 100), unit=["a", "b"], keys=range(0, 5), '
        'budget=ln.Budget.open("city.ledger").'
    )


def test_three_dots_end_a_sentence_by_themselves() -> None:
    problem = errors.MissingParameter("Where are they?", example=[{"samples": [1]}, {"coordinates": ...}])
    assert str(problem) == explain(problem) == "Where are they? Say samples=[1], or coordinates=..."
    assert in_job(problem).endswith("coordinates=...")
    keys = errors.BudgetMismatch("Which keys?", example={"keys": ...})
    assert str(keys) == "Which keys? Say keys=..."


@pytest.mark.parametrize(
    "kind",
    [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.LeastnoiseError)],
)
def test_every_error_survives_a_process_boundary(kind: type[errors.LeastnoiseError]) -> None:
    problem = kind("What and why.", parameter="keys", value=[1], example={"keys": [2]})
    again = pickle.loads(pickle.dumps(problem))
    assert type(again) is kind
    assert str(again) == "What and why. Say keys=[2]."
    assert (again.parameter, again.value, again.examples) == ("keys", [1], ({"keys": [2]},))


def test_no_message_spells_out_an_argument() -> None:
    """`example` has what to type, and is written as Python or as options where it is read."""
    wrong = [f"{module}: {text}" for module in modules() for text in spelt_arguments((SOURCE / module).read_text())]
    assert not wrong, "\n".join(wrong)


def test_a_message_that_spells_out_an_argument_is_found_however_it_is_written() -> None:
    found = [
        'raise errors.InvalidParameter(f"Not {x}. " "Say sigma=3.")',
        'raise errors.InvalidParameter.among("Say sigma=.", x, y)',
        'raise BadOutput(f"Say {name}=1.")',
        'CURE = "Say sigma=3."\nraise errors.NotProved(f"No. {CURE}")',
        'CURES = {"a": "Say sigma=3."}\nraise errors.NotProved(CURES[name])',
        'warnings.warn("Say sigma=3.", errors.Wasteful)',
    ]
    assert [source for source in found if not spelt_arguments(source)] == []
    left = [
        'raise errors.InvalidParameter("delta = 0 has no Gaussian: sigma == 0.")',
        'raise errors.InvalidParameter("No.", example=errors.Code("epsilon=3", "--epsilon 3"))',
        'raise errors.InvalidParameter("Say allow_seeded=True.")',
        'print("sigma=3")',
    ]
    assert [source for source in left if spelt_arguments(source)] == []


def test_an_example_may_be_code_as_a_whole() -> None:
    code = errors.Code("epsilon=3, delta=1e-6", "leastnoise budget create FILE --epsilon 3 --delta 1e-6")
    assert str(errors.NoSuchFile("No ledger.", example=code)) == "No ledger. Say epsilon=3, delta=1e-6."
    assert str(errors.NoSuchFile("No.", example=[code, {"budget": 1}])) == "No. Say epsilon=3, delta=1e-6, or budget=1."


def test_a_text_with_quotes_is_code_that_can_be_typed() -> None:
    for text in ("plain", 'od"d', "it's", "back\\slash", """both ' and \\" """):
        assert eval(errors.as_code(text)) == text
