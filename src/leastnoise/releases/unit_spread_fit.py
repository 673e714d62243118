"""How the rows of a unit share bins, from counts with noise: shapes, and where the counts differ from them.

Of a unit with N rows one is drawn, and n of them are in its bin, itself among them. Given N, n - 1 is taken to be
binomial: each of the other N - 1 rows is in that bin with chance x. What x is differs from unit to unit and from bin to
bin: log x is normal, about what makes few rows meet or all of them; or a unit has rows at home, with some chance, and
elsewhere. Two kinds of tables are apart from these. In one no two rows of a unit share a bin, as where a bin is a year
and a row is what somebody was in that year: then a unit has no more rows than there are bins. In the other a unit's
rows are spread as evenly as can be: n is N / bins, rounded up. Else x is 1 / bins or more where N is more than that.

The counts are read as those of sizes are (`unit_size_fit`), by the octave of N and the class of n.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from leastnoise._support.validation import Floats
from leastnoise.domain.size_classes import OCTAVES, ROW_STARTS, last_of_each, octave_of_rows
from leastnoise.releases.unit_size_fit import Fit, Seen, posterior, rough, sample

SPREADS_KEPT, SPREADS_DRAWN = 40, 24  # a sample of the plausible ones, and tables that may be
ALONE, EVEN, AT_HOME = 0.05, 0.03, 0.2  # how likely these kinds are beforehand
_WIDTHS = (0.4, 0.7, 1.0, 1.4)  # standard deviations of log x
_HOMES = (0.15, 0.3, 0.5, 0.7, 0.85)  # chances that a row is at home
_SHARES = np.exp(-0.23 * np.arange(70))  # x
Part = tuple[Floats, float]  # counts, and the standard deviation of their noise


def of_spread(pairs: Part, depths: Part, shared: Part, *, units: Floats, bins: int) -> Fit:
    """The chance that a row of a unit in octave i has n in class j, as matrices (i, j) laid out flat.

    pairs: units by the octaves of N and of n; depths: by the latter alone; shared: by the class of n. units: how many
    there are in each octave of N, about.
    """
    octaves, classes, deep = len(OCTAVES), len(ROW_STARTS), octave_of_rows()
    occupied = np.flatnonzero(units > 0.5)
    top = max(2, int(occupied[-1]) if occupied.size else 0)
    wide, fine = np.nonzero(deep[None, :] <= np.where(np.arange(octaves) <= top, np.arange(octaves), -1)[:, None])
    shapes, believed = _spreads(bins)
    parts = []
    for (noisy, std), places in ((pairs, wide * (wide + 1) // 2 + deep[fine]), (depths, deep[fine]), (shared, fine)):
        known = np.unique(places)
        parts.append((noisy[known], std, (places == known[:, None]).astype(np.float64)))
    seen, expected = Seen.of(*parts), shapes[:, wide, fine] * units[wide]
    away = np.hypot(*(np.subtract.outer(at, at) for at in (wide, np.log2(ROW_STARTS)[fine])))
    places, logs = sample(believed - rough(seen, expected @ seen.total.T) / 2, SPREADS_KEPT)
    fit = posterior(seen, expected[places], away, believed[places] + logs, SPREADS_DRAWN)
    found = np.zeros((SPREADS_DRAWN, octaves, classes))
    found[:, wide, fine] = fit.counts
    of_octave = found.sum(axis=2, keepdims=True)
    usual = np.tensordot(np.exp(believed), shapes, axes=1)
    spread = np.where(of_octave > 1e-6, found / np.maximum(of_octave, 1e-300), usual)
    spread[~found[:, :, 1:].any(axis=(1, 2))] = _alone()
    return Fit(spread.reshape(SPREADS_DRAWN, -1), fit.weights)


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
    chances = (
        np.full(len(mixed), (1 - ALONE - EVEN - AT_HOME) / len(mixed)),
        np.full(homes.size, AT_HOME / homes.size),
        (ALONE, EVEN),
    )
    return np.concatenate([binomial, [_alone(), _evenly(bins)]]), np.log(np.concatenate(chances))


def _alone() -> Floats:
    """No two rows share a bin."""
    found = np.zeros((len(OCTAVES), len(ROW_STARTS)))
    found[:, 0] = 1.0
    return found


def _evenly(bins: int) -> Floats:
    """As few rows share a bin as can be."""
    found = np.zeros((len(OCTAVES), len(ROW_STARTS)))
    for octave, sizes in enumerate(_sizes()):
        places = np.searchsorted(ROW_STARTS, np.ceil(sizes / bins), side="right") - 1
        np.add.at(found[octave], places, 1 / sizes.size)
    return found


def _at_each_share(bins: int) -> Floats:
    """The distribution of the class of n for each x and each octave of N."""
    from scipy.special import betainc

    found = np.zeros((_SHARES.size, len(OCTAVES), len(ROW_STARTS)))
    starts = np.array(ROW_STARTS[1:], dtype=np.float64)
    for octave, sizes in enumerate(_sizes()):
        for rows in sizes:
            share = np.maximum(_SHARES, 1 / bins) if rows > bins else _SHARES
            reached = np.zeros((_SHARES.size, starts.size + 2))
            reached[:, 0] = 1.0
            least = starts[starts <= rows]  # n is k or more with the chance that a binomial number is k - 1 or more
            reached[:, 1 : least.size + 1] = betainc(least - 1, rows - least + 1, share[:, None])
            found[:, octave] -= np.diff(reached, axis=1) / sizes.size
    return found


def _sizes() -> list[Floats]:
    """Some numbers of rows in each octave."""
    ends = zip(OCTAVES, last_of_each(OCTAVES), strict=True)
    return [np.unique(np.geomspace(first, last, 4).round()) for first, last in ends]
