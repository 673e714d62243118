"""What readers call columns. Data, files and the ledger keep the columns' own names; only words take labels.

A label stands for one column: it is neither the label nor the name of another, so that words stay unambiguous.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from leastnoise._support.text import key_words
from leastnoise.domain import Domain
from leastnoise.errors import InvalidParameter, WrongType
from leastnoise.releases.left_out import LeftOut, left_out_in_words

MAX_CHARACTERS = 80
D = TypeVar("D", bound=Domain | None)


def checked_labels(labels: object, columns: Sequence[str]) -> dict[str, str]:
    """Labels by column, or an error. columns: those that the table has; that each label names one is checked there."""
    if not isinstance(labels, Mapping):
        raise WrongType(
            f"labels are words by column. Got {type(labels).__name__} instead.",
            parameter="labels",
            value=labels,
            example={"labels": {"edu": "education"}},
        )
    for column, label in labels.items():
        if not isinstance(label, str) or not label.strip() or len(label) > MAX_CHARACTERS or not label.isprintable():
            raise InvalidParameter(
                f'the label of "{column}" must be one line of 1 to {MAX_CHARACTERS} characters. Got {label!r} instead.',
                parameter="labels",
                value=label,
                example={"labels": {column: "education"}},
            )
    taken = [name for name in columns if name not in labels]
    for column, label in labels.items():
        if label in taken:
            raise InvalidParameter(
                f'"{label}" would stand for the column "{column}" and for another. Give each column words of its own.',
                parameter="labels",
                value=label,
            )
        taken.append(label)
    return dict(labels)


def column_words(column: str, labels: Mapping[str, str]) -> str:
    """What readers call a column: its label, or its name."""
    return labels.get(column) or key_words(column)


def unit_words(unit: Iterable[str], labels: Mapping[str, str]) -> str:
    """What readers call the unit.

    >>> unit_words(["company", "who"], {"who": "person"})
    'company + person'
    """
    return " + ".join(column_words(column, labels) for column in unit)


def labelled_domain(domain: D, labels: Mapping[str, str]) -> D:
    """The domain under the names that readers see, for titles and axes."""
    if domain is None or not labels:
        return domain
    return replace(domain, names=tuple(column_words(name, labels) for name in domain.names))


def labelled_in_words(facts: Iterable[LeftOut], unit: str | None, labels: Mapping[str, str]) -> str:
    """Which rows are not in the numbers, with the unit and the columns as readers call them."""
    return left_out_in_words(labelled_facts(facts, labels), reader_unit(unit, labels))


def reader_unit(unit: str | None, labels: Mapping[str, str]) -> str | None:
    """What readers call a unit of these columns, which stand with " + " between them."""
    return unit and unit_words(unit.split(" + "), labels)


def labelled_facts(facts: Iterable[LeftOut], labels: Mapping[str, str]) -> tuple[LeftOut, ...]:
    """What is left out, with the columns as readers call them."""
    return tuple(
        replace(fact, columns=tuple(column_words(column, labels) for column in fact.columns)) for fact in facts
    )
