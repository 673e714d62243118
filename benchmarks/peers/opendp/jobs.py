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
