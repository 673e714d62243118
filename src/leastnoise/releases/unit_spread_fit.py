"""How the rows of a unit share bins, from counts with noise: shapes, and where the counts differ from them.

Of a unit with N rows one is drawn, and n of them are in its bin, itself among them. Given N, n - 1 is taken to be
binomial: each of the other N - 1 rows is in that bin with chance x. What x is differs from unit to unit and from bin to
bin: log x is normal, about what makes few rows meet or all of them; or a unit has rows at home, with some chance, and
elsewhere. Some kinds of tables are apart from these. In one no two rows of a unit share a bin, as where a bin is a year
and a row is what somebody was in that year: then a unit has no more rows than there are bins. In another all rows of a
unit are in one bin, as where a bin is a sex or a birthplace, or those of a part of the units are. In a third a unit's
rows are spread as evenly as can be: n is N / bins, rounded up. In a fourth a bin has room for so many, as a month has
for the days of a daily train: log n is normal about that number, or about log N where that is less, and units of more
rows are in more bins. Else x is 1 / bins or more where N is more than that.

The counts are read as those of sizes are (`unit_size_fit`), by the octave of N and the class of n; n = N is a class by
itself.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from leastnoise._support.validation import Floats
from leastnoise.domain.size_classes import BIN_STARTS, OCTAVES, ROW_STARTS, last_of_each, octaves_of
from leastnoise.releases.unit_size_fit import Fit, Seen, posterior, rough, sample

SPREADS_KEPT, SPREADS_DRAWN = 40, 24  # a sample of the plausible ones, and tables that may be
# How likely these kinds are beforehand.
ALONE, EVEN, AT_HOME, TOGETHER, SOME_TOGETHER, FILLED = 0.15, 0.03, 0.17, 0.05, 0.1, 0.1
_WIDTHS = (0.4, 0.7, 1.0, 1.4)  # standard deviations of log x
_HOMES = (0.15, 0.3, 0.5, 0.7, 0.85)  # chances that a row is at home
_STAYING = (0.1, 0.25, 0.5, 0.75)  # parts of the units whose rows are all in one bin
_ROOMS, _ROOM_WIDTHS = 2.0 ** np.arange(1, 11, 0.5), (0.2, 0.5)  # rows that a bin has room for; of their logarithm
_SHARES = np.exp(-0.23 * np.arange(70))  # x
CLASSES = len(BIN_STARTS)
Part = tuple[Floats, float]  # counts, and the standard deviation of their noise


def of_spread(pairs: Part, depths: Part, shared: Part, *, rows: Fit, bins: int) -> Fit:
    """The chance that a row of a unit in octave i has n in class j of BIN_STARTS, or n = N in the column after these,
    as matrices (i, j) laid out flat.

    pairs: units by the octaves of N and of n; depths: by the latter alone; shared: by the class of n. rows: how many
    there may be in each class of N.
    """
    units = rows.mean
    octaves, deep = len(OCTAVES), np.append(octaves_of(BIN_STARTS), -1)
    of_size = _added(units, octaves_of(ROW_STARTS), octaves)
    occupied = np.flatnonzero(of_size > 0.5)
    top = max(2, int(occupied[-1]) if occupied.size else 0)
    wide, fine = np.nonzero(deep[None, :] <= np.where(np.arange(octaves) <= top, np.arange(octaves), -2)[:, None])
    shapes, believed = _spreads(bins)
    believed = believed + np.where(np.arange(believed.size) == believed.size - 1, np.log(_none_beyond(rows, bins)), 0.0)
    reached = np.where(deep[fine] < 0, wide, deep[fine])  # the octave of n
    parts = [(*pairs, _places(wide * (wide + 1) // 2 + reached, pairs[0].size)), (*depths, _places(reached, octaves))]
    parts += [(*shared, _in_classes(wide, fine, units))]
    known = [np.flatnonzero(part[2].any(axis=1)) for part in parts]
    seen = Seen.of(*((noisy[some], std, total[some]) for some, (noisy, std, total) in zip(known, parts, strict=True)))
    expected = shapes[:, wide, fine] * of_size[wide]
    away = np.hypot(*(np.subtract.outer(at, at) for at in (wide, np.append(np.log2(BIN_STARTS), 30.0)[fine])))
    places, logs = sample(believed - rough(seen, expected @ seen.total.T) / 2, SPREADS_KEPT)
    smooth = ((1.0, np.zeros((fine.size, fine.size))),)
    fit = posterior(seen, expected[places], away, believed[places] + logs, smooth, np.arange(fine.size), SPREADS_DRAWN)
    found = np.zeros((SPREADS_DRAWN, octaves, CLASSES + 1))
    found[:, wide, fine] = fit.counts
    of_octave = found.sum(axis=2, keepdims=True)
    usual = np.tensordot(np.exp(believed), shapes, axes=1)
    spread = np.where(of_octave > 1e-6, found / np.maximum(of_octave, 1e-300), usual)
    spread[~found[:, :, 1:].any(axis=(1, 2))] = _alone()
    return Fit(spread.reshape(SPREADS_DRAWN, -1), fit.weights)


def _none_beyond(rows: Fit, bins: int) -> float:
    """The chance that few units seem to have more rows than there are bins: else some rows of a unit share one."""
    beyond = rows.counts[:, np.array(ROW_STARTS) > 1.25 * bins].sum(axis=1) > 0.1 * rows.counts.sum(axis=1)
    return max(1e-3, float(rows.weights @ ~beyond))


def _added(units: Floats, places: NDArray[np.int64], number: int) -> Floats:
    """How many there are in each of so many places."""
    return np.asarray(np.bincount(places, weights=units, minlength=number), dtype=np.float64)


def _places(places: NDArray[np.int64], number: int) -> Floats:
    """Which of the columns count in each of so many numbers: a matrix of ones and zeros."""
    found: Floats = (places == np.arange(number)[:, None]).astype(np.float64)
    return found


def _in_classes(wide: NDArray[np.int64], fine: NDArray[np.int64], units: Floats) -> Floats:
    """The same of the classes of n; where n = N, by how many units have each N in its octave."""
    found = _places(fine, CLASSES)
    into = np.searchsorted(BIN_STARTS, ROW_STARTS, side="right") - 1
    for column in np.flatnonzero(fine == CLASSES):
        inside = np.where(octaves_of(ROW_STARTS) == wide[column], np.maximum(units, 1e-9), 0.0)
        found[:, column] = _added(inside / inside.sum(), into, CLASSES)
    return found


@lru_cache(maxsize=8)
def _spreads(bins: int) -> tuple[Floats, Floats]:
    """Distributions of the class of n for each octave of N: shape, octave, class; and how likely each is beforehand, as
    a logarithm."""

    def around(middle: Floats, width: Floats) -> Floats:
        found = np.exp(-(((np.log(_SHARES) - middle[:, None]) / width[:, None]) ** 2) / 2)
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    middles, widths = np.meshgrid(np.linspace(0, -np.log(bins) - 1.5, 24), _WIDTHS, indexing="ij")
    mixed, homes = around(middles.ravel(), widths.ravel()), np.array(_HOMES)
    elsewhere = around(np.full(homes.size, -np.log(bins)), np.full(homes.size, 0.5))
    at_home = homes[:, None] * around(np.log(homes), np.full(homes.size, 0.1)) + (1 - homes[:, None]) * elsewhere
    binomial = np.tensordot(np.concatenate([mixed, at_home]), _at_each_share(bins), axes=1)
    others = np.tensordot(around(np.log([1 / bins, min(1.0, 3 / bins)]), np.full(2, 0.7)), _at_each_share(bins), axes=1)
    staying = np.array([part * _together() + (1 - part) * other for part in _STAYING for other in others])
    filled = np.array([_filled(room, width, bins) for room in _ROOMS for width in _ROOM_WIDTHS])
    chances = (
        np.full(len(mixed), (1 - ALONE - EVEN - AT_HOME - TOGETHER - SOME_TOGETHER - FILLED) / len(mixed)),
        np.full(homes.size, AT_HOME / homes.size),
        np.full(len(staying), SOME_TOGETHER / len(staying)),
        np.full(len(filled), FILLED / len(filled)),
        (EVEN, TOGETHER, ALONE),
    )
    kinds = np.concatenate([binomial, staying, filled, [_evenly(bins), _together(), _alone()]])
    return kinds, np.log(np.concatenate(chances))


def _alone() -> Floats:
    """No two rows share a bin."""
    found = np.zeros((len(OCTAVES), CLASSES + 1))
    found[:, 0] = 1.0
    return found


def _together() -> Floats:
    """All rows of a unit are in one bin. Where there is one row, that is n = 1."""
    found = np.zeros((len(OCTAVES), CLASSES + 1))
    found[0, 0] = found[1:, -1] = 1.0
    return found


def _evenly(bins: int) -> Floats:
    """As few rows share a bin as can be."""
    found = np.zeros((len(OCTAVES), CLASSES + 1))
    for octave, sizes in enumerate(_sizes()):
        places = np.searchsorted(BIN_STARTS, np.ceil(sizes / bins), side="right") - 1
        np.add.at(found[octave], places, 1 / sizes.size)
    return found


def _filled(room: float, width: float, bins: int) -> Floats:
    """So many rows of a unit share a bin, about, or all that it has, if these are fewer."""
    from scipy.special import ndtri

    found, chances = np.zeros((len(OCTAVES), CLASSES + 1)), (np.arange(50) + 0.5) / 50
    for octave, sizes in enumerate(_sizes()):
        for rows in sizes:
            n = np.clip(np.exp(np.log(min(room, rows)) + width * ndtri(chances)), np.ceil(rows / bins), rows)
            places = np.searchsorted(BIN_STARTS, np.round(n), side="right") - 1
            np.add.at(found[octave], places, 1 / (sizes.size * n.size))
    return found


def _at_each_share(bins: int) -> Floats:
    """The distribution of the class of n for each x and each octave of N."""
    from scipy.special import betainc

    found = np.zeros((_SHARES.size, len(OCTAVES), CLASSES + 1))
    starts = np.array(BIN_STARTS[1:], dtype=np.float64)
    for octave, sizes in enumerate(_sizes()):
        for rows in sizes:
            share = np.maximum(_SHARES, 1 / bins) if rows > bins else _SHARES
            reached = np.zeros((_SHARES.size, starts.size + 2))
            reached[:, 0] = 1.0
            least = starts[starts <= rows]  # n is k or more with the chance that a binomial number is k - 1 or more
            reached[:, 1 : least.size + 1] = betainc(least - 1, rows - least + 1, share[:, None])
            found[:, octave, :-1] -= np.diff(reached, axis=1) / sizes.size
    return found


def _sizes() -> list[Floats]:
    """Some numbers of rows in each octave."""
    ends = zip(OCTAVES, last_of_each(OCTAVES), strict=True)
    return [np.unique(np.geomspace(first, last, 4).round()) for first, last in ends]
