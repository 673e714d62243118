"""Why a release has the noise it has: a fact, and its sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ReasonCode = Literal[
    "requested",
    "sigma given",
    "delta is zero",
    "epsilon is zero",
    "no L1 sensitivity",
    "smaller",
    "stronger",
    "budget share",
    "budget of Laplace noise",
    "budget with a delta",
    "added elsewhere",
    "rank error",
]
_SENTENCES: dict[ReasonCode, str] = {
    "requested": "{} noise: asked for.",
    "sigma given": "{} noise: its sigma was given.",
    "delta is zero": "{} noise: delta = 0 has no Gaussian.",
    "epsilon is zero": "{} noise: at epsilon = 0 delta alone is the guarantee, and there is no {} noise.",
    "no L1 sensitivity": "{} noise: without the L1 sensitivity Laplace noise cannot compete.",
    "smaller": "{} noise: less than {} noise.",
    "stronger": "{} noise: {} noise would protect nobody in practice.",
    "budget share": "{} noise: a share of a budget.",
    "budget of Laplace noise": "{} noise: this budget is for no other.",
    "budget with a delta": "{} noise: a budget with a delta counts in it, and it adds up exactly.",
    "added elsewhere": "The noise was added elsewhere.",
    "rank error": "{}: the least error in ranks.",
}
REASON_CODES = tuple(_SENTENCES)


@dataclass(frozen=True, slots=True)
class NoiseReason:
    """Why this noise was chosen; `other_std` is the standard deviation of the noise that lost, where two were compared.

    >>> NoiseReason("smaller", 7.5).in_words("laplace", 5.25)
    'Laplace noise: its standard deviation 5.25 is less than the 7.5 of Gaussian noise for the same epsilon and delta.'
    """

    code: ReasonCode
    other_std: float | None = None

    def in_words(self, mechanism: str, std: float) -> str:
        """The sentence about noise of this mechanism and standard deviation."""
        if mechanism == "exponential" or self.code == "rank error":
            return self._of_ranks(mechanism)
        name, other = mechanism.capitalize(), "Gaussian" if mechanism == "laplace" else "Laplace"
        if self.other_std is None:
            return _SENTENCES[self.code].format(name, other)
        if self.code == "stronger":
            return (
                f"{name} noise: its standard deviation {std:.4g} is more than the {self.other_std:.4g} of {other} "
                "noise, which for the same epsilon and delta protects nobody in practice."
            )
        return (
            f"{name} noise: its standard deviation {std:.4g} is less than the {self.other_std:.4g} of {other} noise "
            f"for the same epsilon and delta."
        )

    def _of_ranks(self, mechanism: str) -> str:
        """Of quantiles, which are drawn by rank or read off a noisy histogram: `other_std` is in rows."""
        drawn = mechanism == "exponential"
        name = "The exponential mechanism on ranks" if drawn else f"{mechanism.capitalize()} noise on a histogram"
        if self.other_std is None:
            return f"{name}: {'a share of a budget' if self.code == 'budget share' else 'asked for'}."
        other = "read off a noisy histogram" if drawn else "drawn by rank"
        return f"{name}: {other}, ranks would typically be off by {self.other_std:.4g} rows."


def compared_in_words(ratio: float, other: str) -> str:
    """Its error over that of the other noise. More than one: the other was not taken, since it protects nobody.

    >>> compared_in_words(0.886, "Laplace")
    ' Its error is 0.886 of that of Laplace noise for the same epsilon and delta.'
    """
    if ratio > 1:
        return (
            f" Its error is {ratio:.3g} times that of {other} noise, which for the same epsilon and delta protects "
            "nobody in practice."
        )
    return f" Its error is {ratio:.3g} of that of {other} noise for the same epsilon and delta."
