"""Every mistake has its own exception, and every message says what is wrong, why it matters, what to type.

LeastnoiseError
├── InvalidParameter (ValueError)      something public that you typed cannot be used
│   ├── WrongType (also TypeError)     a string, a boolean, an object where a number belongs
│   ├── NotFinite                      NaN or infinity
│   ├── EmptyArray                     an array with nothing in it
│   ├── ShapesDisagree                 arrays that do not broadcast together
│   ├── NegativeEpsilon                epsilon < 0
│   ├── DeltaIsZero                    delta = 0: no Gaussian noise is enough
│   ├── DeltaNotProbability            delta < 0 or delta >= 1
│   ├── NotPositive                    sigma, sensitivity, error, mu ... <= 0
│   ├── NotConfidence                  a confidence outside (0, 1)
│   ├── UnknownWord                    a word that is not one of the choices
│   ├── MissingParameter               a needed number was not given
│   ├── ContributionUnbounded          nothing limits what one unit adds
│   ├── BadDomain                      keys, edges or ranges that are no set of bins
│   │   └── DomainTooLarge             more bins than an index can name
│   ├── BadClip                        clip bounds that are no interval
│   ├── UnknownSource                  a table that cannot be opened: no such file, kind or engine
│   │   └── MixedSchemas               files of one table that disagree about their columns
│   ├── UnknownColumn (also KeyError)  a column that is not in the table
│   ├── WrongColumnType                a column of a type that the query cannot use
│   ├── NotRowWise                     an expression that is more than a fixed function of one row
│   ├── BadFilter                      a where= text that is not comparisons joined by and, or, not
│   ├── GridTooFine                    noise of more than 2^52 grid steps
│   ├── TooManySurvivors               a threshold so low that too many empty bins would pass it
│   ├── TooFewBins                     fewer values than an estimator needs to help
│   ├── DependentSums                  known totals that repeat or contradict one another
│   ├── NoInterval                     an interval asked of an estimate that has no honest one
│   ├── OutsideTheorem                 a published formula used where its theorem does not hold
│   ├── BudgetMismatch                 a book with other limits, unit, table or neighbours
│   ├── NoReserve                      a book that set nothing aside for this kind of release
│   ├── NeighboursDiffer               add-remove and replace guarantees mixed
│   └── NoConversion                   a guarantee that does not imply the one asked for
├── OutOfRange (OverflowError)         the true answer is no double
├── BudgetExhausted (RuntimeError)     less is left in the book than this release costs
├── BudgetClosed (RuntimeError)        rows could not be read; nothing is released until the curator reopens it
├── SeededRelease (ValueError)         noise from a test's seed, about to be published
├── FileProblem (OSError)              a file of ours that cannot be read or written
│   ├── NoSuchFile                     a path with nothing at it
│   ├── BadOutput                      a path that no result may take: what is there is not ours
│   ├── UnpacksTooLarge                a small file that would fill the memory
│   ├── LedgerBroken                   a ledger that was edited, damaged or set back
│   ├── LedgerBusy (also TimeoutError) other processes kept the ledger locked
│   ├── NotOurs                        not a file that leastnoise wrote, or a damaged one
│   └── NewerFormat                    written by a newer leastnoise than this one
├── MissingPackage (ImportError)       an optional package that this needs
├── EngineUnavailable (RuntimeError)   DuckDB, Spark or Java is not there to be used
├── ReadingFailed (RuntimeError)       the rows could not be read; says nothing about them
├── TableChanged (RuntimeError)        the files of a table are not those that were opened
├── EntropyFailure (OSError)           the operating system gave no randomness
├── NotConverged (ArithmeticError)     a numerical answer that is not accurate enough to be called one
└── NotProved (ArithmeticError)        rigorous arithmetic could not decide within its cap

Wasteful (UserWarning) is a warning: valid, but with more noise than is needed.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class LeastnoiseError(Exception):
    """The root of everything leastnoise raises on purpose."""


class InvalidParameter(LeastnoiseError, ValueError):
    """Something public that the caller typed cannot be used."""


class WrongType(InvalidParameter, TypeError):
    """A string, a boolean or an object where a number belongs."""


class NotFinite(InvalidParameter):
    """NaN or infinity."""


class EmptyArray(InvalidParameter):
    """An array with nothing in it."""


class ShapesDisagree(InvalidParameter):
    """Arrays that do not broadcast together."""


class NegativeEpsilon(InvalidParameter):
    """epsilon < 0."""


class DeltaIsZero(InvalidParameter):
    """delta = 0, where no Gaussian noise is enough."""


class DeltaNotProbability(InvalidParameter):
    """delta < 0 or delta >= 1."""


class NotPositive(InvalidParameter):
    """A scale, a sensitivity or an error that is not above zero."""


class NotConfidence(InvalidParameter):
    """A confidence outside (0, 1)."""


class UnknownWord(InvalidParameter):
    """A word that is not one of the choices."""

    @classmethod
    def among(cls, name: str, word: object, choices: Iterable[str]) -> UnknownWord:
        """The error for `name=word`, with the nearest of the choices when one is near."""
        choices = list(choices)
        near = get_close_matches(str(word), choices, n=1)
        hint = f' Did you mean "{near[0]}"?' if near else ""
        listing = ", ".join(f'"{choice}"' for choice in choices)
        return cls(f"{name} must be one of {listing}. Got {word!r} instead.{hint}")


class MissingParameter(InvalidParameter):
    """A number that is needed was not given."""


class GridTooFine(InvalidParameter):
    """Noise of more than 2^52 grid steps, whose draws might not fit 64-bit integers."""


class TooManySurvivors(InvalidParameter):
    """A threshold so low that too many empty bins of a huge domain would pass it."""


class TooFewBins(InvalidParameter):
    """Fewer values than an estimator needs to help."""


class DependentSums(InvalidParameter):
    """Known totals that repeat or contradict one another."""


class NoInterval(InvalidParameter):
    """An interval asked of an estimate that has no honest one."""


class OutsideTheorem(InvalidParameter):
    """A published formula used where its theorem does not hold."""


class BudgetMismatch(InvalidParameter):
    """A book with other limits, another unit, another table or other neighbours than were asked for."""


class NoReserve(InvalidParameter):
    """A book that set nothing aside for this kind of release."""


class NeighboursDiffer(InvalidParameter):
    """Guarantees about different neighbours mixed."""


class NoConversion(InvalidParameter):
    """A guarantee that does not imply the one asked for."""


class OutOfRange(LeastnoiseError, OverflowError):
    """The true answer is larger than the largest double."""


class EntropyFailure(LeastnoiseError, OSError):
    """The operating system gave no randomness, or less than was asked for, so nothing is drawn."""


class NotConverged(LeastnoiseError, ArithmeticError):
    """A numerical answer that is not accurate enough to be called one, so none is returned."""


class NotProved(LeastnoiseError, ArithmeticError):
    """Rigorous arithmetic could not decide within its precision cap, so nothing is returned."""


class ContributionUnbounded(InvalidParameter):
    """Nothing limits what one unit adds, so no finite noise hides it."""


class BadClip(InvalidParameter):
    """Clip bounds that are no interval."""


class UnknownSource(InvalidParameter):
    """A table that cannot be opened."""


class MixedSchemas(UnknownSource):
    """Files of one table that disagree about their columns."""


class UnknownColumn(InvalidParameter, KeyError):
    """A column that is not in the table."""

    __str__ = Exception.__str__  # KeyError would print the repr of the message
    column: str = ""

    @classmethod
    def among(cls, column: object, columns: Iterable[str]) -> UnknownColumn:
        """The error for `column`, with the nearest of the table's columns when one is near."""
        columns = list(columns)
        near = get_close_matches(str(column), columns, n=1)
        hint = f' Did you mean "{near[0]}"?' if near else ""
        error = cls(f'there is no column "{column}".{hint} The columns are {", ".join(columns)}.')
        error.column = str(column)
        return error

    @classmethod
    def in_header(cls, column: object, file: str) -> UnknownColumn:
        """The error for a CSV. Its first line is not shown: where the header was forgotten, it is somebody's row."""
        return cls(
            f'the first line of "{file}" names no column "{column}". (What it says is not shown: without a header it '
            "would be a person's row.) Look at the line yourself; it must name the columns, separated by commas."
        )


class WrongColumnType(InvalidParameter):
    """A column of a type that the query cannot use."""


class NotRowWise(InvalidParameter):
    """An expression that is more than a fixed function of one row."""


class BadFilter(InvalidParameter):
    """A where= text that is not comparisons joined by and, or, not."""


class EngineUnavailable(LeastnoiseError, RuntimeError):
    """An engine, or what it needs, is not there to be used."""


class ReadingFailed(LeastnoiseError, RuntimeError):
    """The rows could not be read. Engines quote values in their messages, so this one says nothing about
    them."""


class TableChanged(LeastnoiseError, RuntimeError):
    """The files of a table are not, or not any more, those that were opened. A fact about files, not about rows."""


class BadDomain(InvalidParameter):
    """Keys, edges or ranges that are no set of bins."""


class DomainTooLarge(BadDomain):
    """More bins than an index can name."""


class BudgetExhausted(LeastnoiseError, RuntimeError):
    """Less is left in the book than this release costs. `largest_share` is the most that would fit."""

    largest_share: float = 0.0


class BudgetClosed(LeastnoiseError, RuntimeError):
    """Rows could not be read for an earlier release, so nothing is released until the curator reopens the budget."""


class SeededRelease(LeastnoiseError, ValueError):
    """A release whose noise came from a test's seed, about to be published."""


class FileProblem(LeastnoiseError, OSError):
    """A file of ours that cannot be read or written."""


class NoSuchFile(FileProblem, FileNotFoundError):
    """A path with nothing at it."""


class BadOutput(FileProblem):
    """A path that no result may take: its name says another kind of file, or something that is not ours is there."""


class UnpacksTooLarge(FileProblem):
    """A small file that would fill the memory."""


class LedgerBroken(FileProblem):
    """A ledger that was edited, damaged or set back."""


class LedgerBusy(FileProblem, TimeoutError):
    """Other processes kept the ledger locked for longer than we wait."""


class NotOurs(FileProblem):
    """Not a file that leastnoise wrote, or a damaged one."""


class NewerFormat(FileProblem):
    """Written by a newer leastnoise than this one."""


class MissingPackage(LeastnoiseError, ImportError):
    """An optional package that this needs."""

    @classmethod
    def named(cls, package: str, purpose: str, *, extra: str | None = None) -> MissingPackage:
        """The error for a package, and what to type: the package itself, or the extra of ours that brings it."""
        cure = package if extra is None else f"'leastnoise[{extra}]'"
        return cls(f"{purpose} needs the package {package}, which is not installed. Type: pip install {cure}")


class Wasteful(UserWarning):
    """Valid, but with more noise than is needed."""
