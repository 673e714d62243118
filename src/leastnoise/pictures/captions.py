"""What stands below a picture: the noise, the guarantee, what intervals are, and what is not in the numbers."""

from __future__ import annotations

import numpy as np

from leastnoise._support.text import percent
from leastnoise._support.validation import Floats, Number
from leastnoise.privacy.guarantees import ApproxDP, GaussianDP, PureDP, ReleaseGuarantee
from leastnoise.releases.columns import labelled_facts
from leastnoise.releases.display import TOO_FEW
from leastnoise.releases.left_out import left_out_in_short
from leastnoise.releases.provenance import Promised
from leastnoise.releases.published import Published


def promise(guarantee: ReleaseGuarantee | None, delta: float | None = None) -> str:
    """A guarantee in one clause."""
    if guarantee is None:
        return "guarantee unknown"
    at = approx(guarantee, delta)
    told = f"({at.epsilon:.4g}, {at.delta:g})-DP" if isinstance(at, ApproxDP) else f"{at.epsilon:.4g}-DP"
    return f"{guarantee.mu:.4g}-GDP, that is {told}" if isinstance(guarantee, GaussianDP) else told


def approx(guarantee: ReleaseGuarantee, delta: float | None) -> ApproxDP | PureDP:
    """A guarantee as people know it: an epsilon, and a delta where it has one."""
    return guarantee.to_approx(delta=delta or 1e-6) if isinstance(guarantee, GaussianDP) else guarantee


def noise_and_promise(release: Published) -> str:
    """The noise of a release and its guarantee."""
    words = release.mechanism_in_words
    noise = f"{words[0].upper()}{words[1:]}, {release.spread_in_words(4)}"
    told = f"{noise}; {promise(release.guarantee, release.delta)}.{weak(release)}{seeded(release)}{left_out(release)}"
    return f"{told} {release._others_in_words()}".strip()


def left_out(release: Published) -> str:
    """Which rows are not in the numbers; nothing where all are."""
    short = left_out_in_short(labelled_facts(release.left_out, release.provenance.labels), release.provenance.whom)
    return f" {short}" if short else ""


def intervals(of: Promised, confidence: Number, marks: str = "Lines") -> str:
    """What the lines or bands of a picture are, and what they do not cover."""
    told = f"{marks} are {100 * float(confidence):g}% intervals."
    return f"{told} {of.provenance.covered_in_words('They')}" if of.left_out else told


def weak(of: Published) -> str:
    """The word for a weak guarantee; nothing of others."""
    return "" if of.strength is None or not of.strength.is_weak else f" This promise {of.strength.verb_and_band}."


def too_few(values: Floats) -> str:
    """What is said of means that cannot be told."""
    return f" Bins without a mark are {TOO_FEW}." if np.isnan(values).any() else ""


def seeded(release: Published) -> str:
    """The warning where the noise came from a test's seed."""
    return " SEEDED: hides nothing." if release.seeded else ""


def in_percent(share: float, digits: int = 4) -> str:
    """A part of a budget, as pages and pictures write it.

    >>> in_percent(0.0475)
    '4.75%'
    """
    return percent(share, digits).replace(" %", "%")
