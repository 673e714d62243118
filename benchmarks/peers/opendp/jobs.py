"""OpenDP: calibration through zCDP, vector Gaussian noise, and a bounded histogram in Polars."""

import opendp.prelude as dp
import polars as pl

dp.enable_features("contrib", "honest-but-curious")
FLOATS = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l2_distance(T=float)
ONE = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)


def sigma(points):
    """For each (epsilon, delta) the least scale its own search finds."""

    def measured(delta):
        return lambda scale: dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*ONE, scale)), delta)

    def search(epsilon, delta):
        return dp.binary_search_param(measured(delta), d_in=1.0, d_out=(epsilon, delta), T=float)

    return lambda: [search(epsilon, delta) for epsilon, delta in points]


def draws(scale, size):
    mechanism = dp.m.make_gaussian(*FLOATS, scale=scale)
    zeros = [0.0] * size
    return lambda: len(mechanism(zeros))


def outputs(value, scale, size):
    mechanism = dp.m.make_gaussian(*FLOATS, scale=scale)
    return lambda: list(mechanism([value] * size))


def histogram(path, bins, kept):
    keys = pl.LazyFrame({"bin": range(bins)}, schema={"bin": pl.Int32})

    def work():
        context = dp.Context.compositor(
            data=pl.scan_parquet(path),
            privacy_unit=dp.unit_of(contributions=1, identifier=pl.col("unit")),
            privacy_loss=dp.loss_of(rho=0.1),
            split_evenly_over=1,
        )
        query = context.query().truncate_per_group(kept).group_by("bin").agg(dp.len(signed=True)).with_keys(keys)
        return query.release().collect().height

    return work


def quantile(values, clip, levels, epsilon, draws):
    """The exponential mechanism over 1,001 candidates, epsilon-DP for one row more or less; levels share epsilon."""
    low, high = clip
    candidates = [low + (high - low) * place / 1000 for place in range(1001)]
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False))

    def measured(level):
        return lambda scale: dp.m.make_private_quantile(
            domain, dp.symmetric_distance(), dp.max_divergence(), candidates=candidates, alpha=level, scale=scale
        )

    each = epsilon / len(levels)
    mechanisms = [measured(q)(dp.binary_search_param(measured(q), d_in=1, d_out=each, T=float)) for q in levels]
    return lambda: [sorted(mechanism(values) for mechanism in mechanisms) for _ in range(draws)]


def unknown(path, each, epsilon, delta):
    """Counts of keys that nobody listed, above its threshold. That a unit is in `each` keys, once in each, is a fact of
    the file: its own truncation by key fails in this version (a duplicate field)."""
    from opendp.extras.polars import Bound

    bounds = [Bound(by=["key"], per_group=1), Bound(by=["key"], num_groups=each)]

    def work():
        context = dp.Context.compositor(
            data=pl.scan_parquet(path),
            privacy_unit=dp.unit_of(contributions=bounds),
            privacy_loss=dp.loss_of(epsilon=epsilon, delta=delta),
            split_evenly_over=1,
        )
        shown = context.query().group_by("key").agg(dp.len(signed=True)).release().collect()
        return list(zip(shown["key"].to_list(), shown["len"].to_list(), strict=True))

    return work
