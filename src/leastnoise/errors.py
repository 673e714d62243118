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
│   ├── GridTooFine                    noise of more than 2^52 grid steps
│   ├── TooManySurvivors               a threshold so low that too many empty bins would pass it
│   ├── OutsideTheorem                 a published formula used where its theorem does not hold
│   ├── NeighboursDiffer               add-remove and replace guarantees mixed
│   └── NoConversion                   a guarantee that does not imply the one asked for
├── OutOfRange (OverflowError)         the true answer is no double
├── EntropyFailure (OSError)           the operating system gave no randomness
└── NotProved (ArithmeticError)        rigorous arithmetic could not decide within its cap
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


class OutsideTheorem(InvalidParameter):
    """A published formula used where its theorem does not hold."""


class NeighboursDiffer(InvalidParameter):
    """Guarantees about different neighbours mixed."""


class NoConversion(InvalidParameter):
    """A guarantee that does not imply the one asked for."""


class OutOfRange(LeastnoiseError, OverflowError):
    """The true answer is larger than the largest double."""


class EntropyFailure(LeastnoiseError, OSError):
    """The operating system gave no randomness, or less than was asked for, so nothing is drawn."""


class NotProved(LeastnoiseError, ArithmeticError):
    """Rigorous arithmetic could not decide within its precision cap, so nothing is returned."""
