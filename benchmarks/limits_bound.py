"""Where no look at a table can promise good limits: too few bins for what it costs.

Take k units, each with N rows in one bin, their bins evenly over D; and a question with Gaussian noise of standard
deviation s for one row. With a limit of c N rows the squared error of a bin is (k N (1 - c) / D)^2 + (s c N)^2 up to
c = 1, and (s c N)^2 beyond. Let a = k / (D s). The least error is s N a / sqrt(1 + a^2), and, with q = sqrt((1 + r)^2 -
1) and a >= max(q, 1 / q), a regret of at most r needs

    a (a - q) / (1 + a^2) <= c <= (1 + r) a / sqrt(1 + a^2)

So a limit is good for numbers N within a factor of b = (1 + r) sqrt(1 + a^2) / (a - q), and of the tables with N = 1,
b, b^2 ... no two share a good limit. Say there are M of them, up to the most rows that a unit may have. Let the look
satisfy mu-GDP, whatever it counts and however limits follow from it. Of the M sets of good limits some has a chance of
at most 1/M on the empty table. Its own table is k units away, so by group privacy its chance there is at most
Phi(Phi^-1(1/M) + k mu). Where k mu <= Phi^-1(1 - 1/M) that is at most one half: the median regret on that table is r
or more. Such a k, up to rounding to a multiple of D, is there where D s mu <= max over a of Phi^-1(1 - 1/M) / a.

Of a budget s mu is sqrt(share / (1 - share)), at any epsilon.

A few heavy units decide, too, with any number of bins. Take two tables that differ in k units, and that share no limit
of the wanted regret. Call a the chance that the look proposes limits that are bad for the first, and b the same for the
second. "The limits are good for the first" is a test between the two; it errs with chances a and at most b, and by
group privacy, k mu-GDP, its errors satisfy b >= Phi(Phi^-1(1 - a) - k mu). So one of a and b is at least
Phi(-k mu / 2), whatever the look counts.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from leastnoise.domain.size_classes import MOST_ROWS


def least_share(bins: int, regret: float = 0.5) -> float:
    """The share of a budget below which no look can promise a median regret of less than this for every table."""
    reach = (hidden(regret) / bins) ** 2
    return reach / (1 + reach)


def hidden(regret: float) -> float:
    """The largest D s mu for which some table has a median regret of at least this."""
    q = math.sqrt((1 + regret) ** 2 - 1)
    a = max(q, 1 / q) * np.geomspace(1.001, 100.0, 20_000)
    tables = 1 + np.floor(math.log(MOST_ROWS) / np.log(apart(a, regret)))
    return float((ndtri(1 - 1 / tables) / a).max())


def apart(a: Any, regret: float) -> Any:
    """The factor between numbers of rows that share no limit of this regret."""
    return (1 + regret) * np.sqrt(1 + a**2) / (a - math.sqrt((1 + regret) ** 2 - 1))


def least_chance(units: float, mu: float) -> float:
    """Of two tables that differ in so many units and share no good limit: on one of them a look that satisfies mu-GDP
    proposes a bad one with at least this chance."""
    return float(ndtr(-units * mu / 2))
