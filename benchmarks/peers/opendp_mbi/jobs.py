"""OpenDP's own tables over several columns: noisy marginals of a fixed list, and the model that it fits to them."""

import mbi
import numpy as np
import opendp.prelude as dp
import polars as pl

dp.enable_features("contrib", "honest-but-curious")
ONE = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)


def rho(epsilon, delta):
    """What its own conversion from zCDP allows for (epsilon, delta)."""

    def measured(scale):
        return dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*ONE, scale)), delta)

    return 1 / (2 * dp.binary_search_param(measured, d_in=1.0, d_out=(epsilon, delta), T=float) ** 2)


def tables(path, sizes, columns, epsilon, delta):
    """Marginals over these lists of columns: as published, and of the model."""
    asked = [tuple(table) for table in columns if table]
    budget = rho(epsilon, delta)

    def work():
        published = {}

        def estimator(domain, measured, *, potentials=None):
            for one in measured:
                shape = [sizes[c] + 1 for c in one.clique]  # it gives every column one more key, for nulls
                inner = tuple(slice(sizes[c]) for c in one.clique)
                published[tuple(one.clique)] = np.array(one.noisy_measurement).reshape(shape)[inner]
            return mbi.estimation.mirror_descent(domain, measured, potentials=potentials)  # as it does by itself

        context = dp.Context.compositor(
            data=pl.scan_parquet(path).select(pl.col(c).cast(pl.Int32) for c in sizes),
            privacy_unit=dp.unit_of(contributions=1),
            privacy_loss=dp.loss_of(rho=budget),
            split_evenly_over=1,
        )
        fixed = dp.mbi.Fixed(queries=[dp.mbi.Count(by=table) for table in asked], estimator=estimator)
        made = context.query().contingency_table(keys={c: list(range(n)) for c, n in sizes.items()}, algorithm=fixed)
        model = made.release()
        inner = [tuple(slice(sizes[c]) for c in table) for table in asked]
        return {
            "published": [published[table].tolist() for table in asked],
            "model": [np.asarray(model.project(t))[i].tolist() for t, i in zip(asked, inner, strict=True)],
        }

    return work
