"""Every error of the library. A message says what is wrong and why it matters; `example` is what to give instead.

LeastnoiseError
├── InvalidParameter (ValueError)      something public that you typed cannot be used
│   ├── WrongType (also TypeError)     a value or a column of a type that does not belong there
│   ├── MissingParameter (also TypeError)  something that is needed was not given
│   ├── WrongCall (also TypeError)     arguments that a function does not take, or not in that place
│   ├── ContributionUnbounded          nothing limits what one unit adds
│   ├── BadDomain                      keys, edges or ranges that are no set of bins, or too many
│   ├── BadExpression                  where, derive: not a fixed function of one row
│   ├── UnknownSource                  a table that cannot be opened: no such file, kind or engine
│   ├── UnknownColumn (also KeyError)  a column that is not in the table
│   └── BudgetMismatch                 a budget with other limits, unit, table, neighbours or reserve
├── OutOfRange (OverflowError)         a number too large or too fine for a double
├── NotProved (ArithmeticError)        the arithmetic could not establish the answer, so none is returned
├── BudgetExhausted (RuntimeError)     less is left in the budget than this release costs
├── BudgetClosed (RuntimeError)        closed, moved, returned or expired: nothing is released from it
├── SeededRelease (ValueError)         noise from a test's seed, about to be published
├── OutputFailed (RuntimeError)        a release was saved, and what is made of it could not be
├── FileProblem (OSError)              a file of ours that cannot be read or written
│   ├── NoSuchFile                     a path with nothing at it
│   ├── BadOutput                      a path that no result may take: what is there is not ours
│   ├── NotOurs                        not a file that leastnoise wrote, a damaged one, or one of a newer version
│   ├── LedgerBroken                   a ledger that was edited, damaged or set back
│   ├── LedgerBusy (also TimeoutError) other processes kept the ledger locked
│   ├── LedgerUnreachable (ConnectionError)  the server of a ledger cannot be reached, or the connection was lost
│   └── LedgerForbidden (PermissionError)    a role, or a person, that may not do that to a ledger
├── MissingPackage (ImportError)       an optional package that this needs
├── EngineUnavailable (RuntimeError)   DuckDB, Spark or Java is not there to be used
├── ReadingFailed (RuntimeError)       the rows could not be read; says nothing about them
├── TableChanged (RuntimeError)        the files of a table are not those that were opened
└── EntropyFailure (OSError)           the operating system gave no randomness

Wasteful (UserWarning) is a warning: valid, but with more noise than is needed.
WeakPromise (UserWarning) is another: the promise of a release, or of the whole budget that pays, is weak or worse.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Self

from leastnoise._support.text import printable


@dataclass(frozen=True, slots=True)
class Code:
    """A value of an example, or a whole one, that is written as Python code, and differently on the command line."""

    python: str
    option: str


Example = Mapping[str, Any] | Code


class LeastnoiseError(Exception):
    """The root of everything leastnoise raises on purpose.

    `parameter` is the name of the argument that is wrong and `value` what was given, both public. `example` has
    arguments that would do, by name; or several such, of which one is enough: the one argument that all of them name is
    the `parameter`, where no other is. `str` writes them as Python arguments, the command line as options.
    """

    def __init__(
        self,
        message: str = "",
        *,
        parameter: str | None = None,
        value: object = None,
        example: Example | Sequence[Example] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.value = value
        self.examples: tuple[Example, ...] = (example,) if isinstance(example, Mapping | Code) else tuple(example)
        named = {name for each in self.examples if isinstance(each, Mapping) for name in each}
        self.parameter = parameter if parameter is not None or len(named) != 1 else named.pop()

    def __str__(self) -> str:
        return printable(with_examples(self.message, "Say", map(_arguments, self.examples)), lines=True)


def with_examples(message: str, verb: str, written: Iterable[str]) -> str:
    """A message, and after it what would do, as it is typed. Three dots end a sentence by themselves.

    >>> with_examples("No keys.", "Say", ["keys=[1]", "keys=..."])
    'No keys. Say keys=[1], or keys=...'
    """
    listed = ", or ".join(written)
    if not listed:
        return message
    return f"{message} {verb} {listed}" + ("" if listed.endswith("...") else ".")


def _arguments(example: Example) -> str:
    if isinstance(example, Code):
        return example.python
    return ", ".join(map(as_argument, example, example.values()))


def as_argument(name: str, value: object) -> str:
    """An argument as it is typed in Python.

    >>> as_argument("delta", 1e-6), as_argument("unit", "taxi"), as_argument("keys", ...)
    ('delta=1e-6', 'unit="taxi"', 'keys=...')
    """
    return f"{name}={as_code(value)}"


def as_code(value: object) -> str:
    """A value as it is typed in Python."""
    if isinstance(value, Code):
        return value.python
    if isinstance(value, str):
        return repr(value) if '"' in value or "\\" in value else f'"{value}"'
    if value is ...:
        return "..."
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{as_code(key)}: {as_code(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        inner = ", ".join(map(as_code, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner})"
    return repr(value).replace("e-0", "e-") if isinstance(value, float) else repr(value)


def abbreviated(value: object) -> str:
    """A value as it is shown in a message: the beginning of a long one."""
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."


class InvalidParameter(LeastnoiseError, ValueError):
    """Something public that the caller typed cannot be used."""

    @classmethod
    def must(
        cls,
        name: str,
        rule: str,
        value: object,
        more: str = "",
        *,
        parameter: str | None = None,
        example: Example | Sequence[Example] = (),
    ) -> Self:
        """The error for a public value that breaks a rule.

        name: what it is called, and `parameter` where that is something else. more: why, or what to give instead.

        >>> str(WrongType.must("bins", "be a whole number", 2.5, "It counts bins.", example={"bins": 2}))
        'bins must be a whole number. Got 2.5 instead. It counts bins. Say bins=2.'
        """
        message = f"{name} must {rule}. Got {abbreviated(value)} instead. {more}".rstrip()
        return cls(message, parameter=parameter or name, value=value, example=example)

    @classmethod
    def among(cls, parameter: str, word: object, choices: Iterable[str]) -> InvalidParameter:
        """The error for a word that is not one of the choices, with the nearest of them when one is near."""
        choices = list(choices)
        listing = ", ".join(f'"{choice}"' for choice in choices)
        message = f"{parameter} must be one of {listing}. Got {word!r} instead.{_did_you_mean(word, choices)}"
        return cls(message, parameter=parameter, value=word)


def _did_you_mean(word: object, choices: list[str]) -> str:
    near = get_close_matches(str(word), choices, n=1)
    return f' Did you mean "{near[0]}"?' if near else ""


class WrongType(InvalidParameter, TypeError):
    """A value or a column of a type that does not belong there."""


class MissingParameter(InvalidParameter, TypeError):
    """Something that is needed was not given."""


class WrongCall(InvalidParameter, TypeError):
    """Arguments that a function does not take, or not in that place."""


class ContributionUnbounded(InvalidParameter):
    """Nothing limits what one unit adds, so no finite noise hides it."""


class BadDomain(InvalidParameter):
    """Keys, edges or ranges that are no set of bins, or more bins than an index can name."""


class BadExpression(InvalidParameter):
    """A condition or a derived column that is not a fixed function of one row, or cannot be read."""


class UnknownSource(InvalidParameter):
    """A table that cannot be opened, or whose files disagree about their columns."""


class UnknownColumn(InvalidParameter, KeyError):
    """A column that is not in the table; `value` is its name."""

    @classmethod
    def among_columns(cls, column: object, columns: Iterable[str]) -> UnknownColumn:
        """The error for `column`, with the nearest of the table's columns when one is near."""
        columns = list(columns)
        message = (
            f'there is no column "{column}".{_did_you_mean(column, columns)} The columns are {", ".join(columns)}.'
        )
        return cls(message, parameter="column", value=str(column))

    @classmethod
    def in_header(cls, column: object, file: str, separated: str = "") -> UnknownColumn:
        """The error for a CSV. Its first line is not shown: where the header was forgotten, it is somebody's row.

        separated: by what its cells are taken to be, where something else could be declared.
        """
        how, other = f"separated by {separated or 'commas'}", ";" if separated != "semicolons" else ","
        return cls(
            f'the first line of "{file}" names no column "{column}". (What it says is not shown: without a header it '
            f"would be a person's row.) Look at the line yourself; it must name the columns, {how}, and capital "
            "letters count: ID is not id." + (" If another sign separates them, declare it." if separated else ""),
            parameter="column",
            value=str(column),
            example={"delimiter": other} if separated else (),
        )


class BudgetMismatch(InvalidParameter):
    """A budget with other limits, another unit, table, neighbours or reserve than were asked for."""


class OutOfRange(LeastnoiseError, OverflowError):
    """The true answer is larger than the largest double, or noise would take more than 2^52 steps of its grid."""


class NotProved(LeastnoiseError, ArithmeticError):
    """The arithmetic could not establish the answer within its limits, so none is returned."""


class BudgetExhausted(LeastnoiseError, RuntimeError):
    """Less is left in the budget than this release costs. `largest_share` is the most that would fit."""

    largest_share: float = 0.0


class BudgetClosed(LeastnoiseError, RuntimeError):
    """Nothing is released from this budget: rows could not be read, or it was closed, moved, returned or expired."""


class SeededRelease(LeastnoiseError, ValueError):
    """A release whose noise came from a test's seed, about to be published."""


class OutputFailed(LeastnoiseError, RuntimeError):
    """A release is saved and paid for, and something that is made of it for free could not be made."""


class FileProblem(LeastnoiseError, OSError):
    """A file of ours that cannot be read or written."""


class NoSuchFile(FileProblem, FileNotFoundError):
    """A path with nothing at it."""


class BadOutput(FileProblem):
    """A path that no result may take: its name says another kind of file, or something that is not ours is there."""


class NotOurs(FileProblem):
    """Not a file that leastnoise wrote, a damaged one, one that would fill the memory, or one of a newer version."""


class LedgerBroken(FileProblem):
    """A ledger that was edited, damaged or set back."""


class LedgerBusy(FileProblem, TimeoutError):
    """Other processes kept the ledger locked for longer than we wait."""


class LedgerUnreachable(FileProblem, ConnectionError):
    """The server of a ledger cannot be reached, or the connection to it was lost."""


class LedgerForbidden(FileProblem, PermissionError):
    """A role, or a person, that may not do that to a ledger."""


class MissingPackage(LeastnoiseError, ImportError):
    """An optional package that this needs."""

    @classmethod
    def named(cls, package: str, purpose: str, *, extra: str | None = None) -> MissingPackage:
        """The error for a package, and what to type: the package itself, or the extra of ours that brings it."""
        cure = package if extra is None else f"'leastnoise[{extra}]'"
        return cls(f"{purpose} needs the package {package}, which is not installed. Type: pip install {cure}")


class EngineUnavailable(LeastnoiseError, RuntimeError):
    """An engine, or what it needs, is not there to be used."""


class ReadingFailed(LeastnoiseError, RuntimeError):
    """The rows could not be read. Engines quote values in their messages, so this one says nothing about them."""


class TableChanged(LeastnoiseError, RuntimeError):
    """The files of a table are not, or not any more, those that were opened. A fact about files, not about rows."""


class EntropyFailure(LeastnoiseError, OSError):
    """The operating system gave no randomness, or less than was asked for, so nothing is drawn."""


class Wasteful(UserWarning):
    """Valid, but with more noise than is needed."""


class WeakPromise(UserWarning):
    """A release whose promise, or that of the whole budget, leaves an attacker much to find; said before it is made.

    `examples` has arguments that would do, each by name, as those of `LeastnoiseError`.
    """

    def __init__(self, message: str = "", *, examples: Sequence[Example] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.examples = tuple(examples)

    def __str__(self) -> str:
        return printable(with_examples(self.message, "Or say", map(_arguments, self.examples)), lines=True)
