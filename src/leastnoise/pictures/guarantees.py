"""What a guarantee leaves an attacker, and its privacy profile: of one, or of several by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from leastnoise import errors
from leastnoise._support.text import percent_at_most
from leastnoise._support.validation import Floats
from leastnoise.pictures import captions, palette
from leastnoise.pictures.picture import Axis, Band, Line, Mark, Picture, Points, Words
from leastnoise.privacy.guarantees import ReleaseGuarantee
from leastnoise.privacy.strength import attack_curve

MIN_DELTA_SHOWN = 1e-12  # deltas below this say no more
DASHES = ("", "dashed", "dotted", "dashdot")  # each colour has its own, which a grey print keeps
STYLES = ("main", "second", "third", "quiet", "#8e4b8b", "#7a6a00")
MostFound = Callable[[ArrayLike], Floats]
Guarantees = ReleaseGuarantee | Mapping[str, ReleaseGuarantee]


def attack(most_found: MostFound) -> Picture:
    """What part of those present an attack finds at most against its false alarms; dashed is guessing."""
    at = percent_at_most(float(most_found(0.05)))
    curve = attack_curve(most_found)
    return Picture(
        marks=(
            Band(100 * curve.false_alarms, 100 * curve.found, np.full(len(curve.found), 100.0), "none"),
            _guessing(),
            Line(100 * curve.false_alarms, 100 * curve.found),
        ),
        x=Axis("false alarms, %", 0.0, 100.0),
        y=Axis("found of those present, %", 0.0, 100.0),
        alt=f"The most that any attack can find, against its false alarms: {at}% at 5% false alarms.",
        size=(4.0, 3.3),
    )


def _guessing() -> Line:
    return Line(np.array([0.0, 100.0]), np.array([0.0, 100.0]), "quiet", "dashed", width=1.2)


def tradeoff(
    guarantee: ReleaseGuarantee | Mapping[str, ReleaseGuarantee], colours: Mapping[str, str] | None
) -> Picture:
    """The same of one guarantee, or of several by name. No line is drawn below what it stands for."""
    several = _several(guarantee)
    marks: list[Mark] = [_guessing()]
    for curve in _curves(several, colours):
        most = partial(_found, curve.guarantee)
        rates, found = (100 * part for part in attack_curve(most))
        at = percent_at_most(float(most(0.05)))
        name = f"{curve.name}: {at}% found at 5%" if curve.name else ""
        if not curve.name:
            marks.append(Band(rates, found, np.full(len(found), 100.0), "none"))
            marks.append(Points(np.array([5.0]), np.array([100 * float(most(0.05))]), "second", 9.0))
            words = ["5% false alarms:", f"at most {at}% found"]
            marks.append(Words(np.array([52.0, 52.0]), np.array([24.0, 18.0]), words))
        marks.append(Line(rates, found, curve.style, curve.dashes, name))  # type: ignore[arg-type]
    return Picture(
        marks=marks,
        x=Axis("false alarms of an attack, %", 0.0, 100.0),
        y=Axis("found of those present, %", 0.0, 100.0),
        title="No attack gets above the line" if "" in several else "No attack gets above its line",
        caption=_caption(several, "Grey: impossible. Dashed: guessing." if "" in several else "Dashed: guessing."),
        alt="What part of those present an attack finds at most, against its false alarms.",
        size=(4.6, 4.6),
        aspect=1.0,
    )


def _found(guarantee: ReleaseGuarantee, false_alarms: ArrayLike) -> Floats:
    return 1 - guarantee.tradeoff(false_alarms)


def profile(guarantee: Guarantees, delta: float | None, colours: Mapping[str, str] | None) -> Picture:
    """delta as a function of epsilon: every (epsilon, delta) on or above the line is promised, none below."""
    several = _several(guarantee)
    crossings = {name: None if delta is None else _epsilon_at(one, delta) for name, one in several.items()}
    most = max(
        max(1.35 * (crossings[name] or 0.0), _epsilon_at(one, 1e-9) or 1.0) for name, one in several.items()
    )  # fmt: skip
    epsilon, least = np.linspace(0.0, most, 400), 1.0
    marks: list[Mark] = []
    for curve in _curves(several, colours):
        values = np.asarray(curve.guarantee.profile(epsilon))
        shown = np.where(values >= MIN_DELTA_SHOWN, values, np.nan)
        least = min(least, float(np.nanmin(shown)))
        at = crossings[curve.name]
        if not curve.name:
            marks.append(Band(epsilon, np.fmax(shown, MIN_DELTA_SHOWN), np.ones(epsilon.size)))
        name = f"{curve.name}: epsilon {at:.3g}" if curve.name and at is not None else curve.name
        marks.append(Line(epsilon, shown, curve.style, curve.dashes, name))  # type: ignore[arg-type]
    low = max(MIN_DELTA_SHOWN, least / 3)
    for name, at in crossings.items():
        if at is not None and delta is not None:
            marks += _read_off(at, delta, low, "" if name else f"epsilon {at:.3g} at delta {delta:g}")
    return Picture(
        marks=marks,
        x=Axis("epsilon", 0.0, most),
        y=Axis("delta", low, 1.0, log=True),
        title="What is promised, at every epsilon",
        caption=_caption(several, "Shaded: promised." if "" in several else "Above a line: promised.", delta),
        alt="delta as a function of epsilon.",
    )


def _read_off(at: float, delta: float, low: float, words: str) -> list[Mark]:
    """Where a line crosses delta."""
    made: list[Mark] = [
        Line(np.array([0.0, at, at]), np.array([delta, delta, low]), "quiet", "dashed", width=0.8),
        Points(np.array([at]), np.array([delta]), "second" if words else "ink", 9.0 if words else 6.0),
    ]
    return [*made, Words(np.array([at]), np.array([delta]), [words], shift=(10.0, 8.0))] if words else made


class _Curve(NamedTuple):
    """One line of a picture; without a name it is the only one."""

    name: str
    guarantee: ReleaseGuarantee
    style: str
    dashes: str


def _several(guarantee: Guarantees) -> Mapping[str, ReleaseGuarantee]:
    """By name; one alone has none."""
    if not isinstance(guarantee, Mapping):
        return {"": guarantee}
    if not guarantee or not all(isinstance(name, str) and name for name in guarantee):
        raise errors.InvalidParameter(
            'Several guarantees are given by name: {"Gaussian": GaussianDP(0.5), "Laplace": PureDP(1)}.'
        )
    if len({one.neighbours for one in guarantee.values()}) > 1:
        raise errors.InvalidParameter(
            "These guarantees are about different neighbours, add-remove and replace, and cannot be compared in one "
            "picture. Draw those of one kind."
        )
    return guarantee


def _curves(several: Mapping[str, ReleaseGuarantee], colours: Mapping[str, str] | None) -> Iterator[_Curve]:
    chosen = dict(colours or {})
    if unknown := sorted(set(chosen) - set(several)):
        raise errors.InvalidParameter.among("colours", unknown[0], several)
    taken = {_known(colour) for colour in chosen.values()}
    free = [style for style in STYLES if _known(style) not in taken] or list(STYLES)
    for i, (name, guarantee) in enumerate(several.items()):
        style = chosen.get(name, free[i % len(free)])
        yield _Curve(name, guarantee, style, DASHES[i % len(DASHES)])


def _known(style: str) -> str:
    return palette.LIGHT.get(style, style).lower()


def _caption(several: Mapping[str, ReleaseGuarantee], note: str, delta: float | None = None) -> str:
    neighbours = next(iter(several.values())).neighbours
    if "" in several:
        return f"{captions.promise(several[''], delta)}; neighbours: {neighbours}. {note}".strip()
    each = "; ".join(f"{name}: {captions.promise(one, delta)}" for name, one in several.items())
    return f"{each}. Neighbours: {neighbours}. {note}".strip()


def _epsilon_at(guarantee: ReleaseGuarantee, delta: float) -> float | None:
    """Where the profile falls to delta; None where it never does."""
    low, high = 0.0, 1.0
    while float(guarantee.profile(high)) > delta:
        high *= 2
        if high > 1e4:
            return None
    if float(guarantee.profile(low)) <= delta:
        return 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if float(guarantee.profile(middle)) > delta else (low, middle)
    return high
