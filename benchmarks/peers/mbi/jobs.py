"""Private-PGM: the graphical model of largest entropy for noisy tables, by mirror descent over its marginals."""

import jax

jax.config.update("jax_enable_x64", True)

import mbi  # noqa: E402
import numpy as np  # noqa: E402


def tables(sizes, columns, noisy, std, iterations):
    """The model's own tables over these lists of columns, from noisy ones of equal standard deviation."""
    domain = mbi.Domain(list(sizes), list(sizes.values()))
    measured = [
        mbi.LinearMeasurement(np.array(values, dtype=float).ravel(), tuple(table), std)
        for table, values in zip(columns, noisy, strict=True)
        if table
    ]

    def work():
        model = mbi.estimation.MirrorDescent().estimate(domain, measured, iters=iterations)
        found = []
        for table in columns:
            if table:
                found.append(np.asarray(model.project(tuple(table)).datavector(flatten=False)).tolist())
            else:
                found.append(float(np.asarray(model.project(tuple(columns[1])).datavector()).sum()))
        return found

    return work
