"""The ways to add noise to a set of tables, side by side: `ln.compare(query, ...)`."""

from __future__ import annotations

from leastnoise._support import validation
from leastnoise._support.validation import Number
from leastnoise.privacy.comparison import Comparison, Row
from leastnoise.privacy.guarantee import PureDP
from leastnoise.privacy.neighbours import Neighbours
from leastnoise.workload.noise_options import Method, NoiseOption, noise_options
from leastnoise.workload.plain_cost import plain_cost
from leastnoise.workload.strategy import Weights
from leastnoise.workload.tables import Workload

NOTES: dict[Method, str] = {
    "gaussian": "noise on the blocks of all tables, divided as is best",
    "laplace": "noise on whole tables, epsilon divided as is best",
}


def compare_tables(
    workload: Workload,
    *,
    epsilon: Number,
    delta: Number,
    weights: Weights,
    row_size: int,
    step: float,
    neighbours: Neighbours,
) -> Comparison:
    """Every way to keep (epsilon, delta) for these tables, the one of least error first.

    workload: the tables. epsilon, delta: the promise that all keep. weights: which error is to be least.
    row_size: the most that the rows of one unit add up to, in whole steps. step: what one of these is worth.
    neighbours: "add-remove" or "replace".

    `std` is the error that the weights ask for: the root of a weighted mean of variances, or the largest.
    """
    options = noise_options(
        workload, epsilon=epsilon, delta=delta, weights=weights, parts=row_size, neighbours=neighbours
    )
    rows = tuple(_row(option, options[0].error, step, row_size, neighbours) for option in options)
    others = [f"{each.error / options[0].error:.4g} times that with {NOTES[each.method]}" for each in options[1:]]
    verdict = f"Least error: {NOTES[options[0].method]} ({options[0].method})."
    verdict += f" The error is {'; '.join(others)}." if others else ""
    promise = validation.number("epsilon", epsilon), float(delta)
    return Comparison(rows, verdict, *promise, workload.cells)


def _row(option: NoiseOption, least: float, step: float, row_size: int, neighbours: Neighbours) -> Row:
    errors, workload = option.errors, option.errors.workload
    worst = workload.tables[max(range(len(workload.tables)), key=errors.table_variances.__getitem__)]
    one, every = (step * errors.cell_half_width(worst, confidence=0.95, bins=bins) for bins in (1, workload.cells))
    if option.method == "gaussian":
        cost = workload.squared_cost(option.scales, parts=row_size, neighbours=neighbours)
    else:  # the mu^2 of the Gaussian curve below its epsilon
        spent = plain_cost(option.scales, workload.sizes, mechanism="laplace", parts=row_size, neighbours=neighbours)
        cost = PureDP(spent, neighbours).to_gaussian().mu ** 2
    return Row(
        mechanism=option.method,
        std=step * option.error,
        half_width=one,
        half_width_all=every,
        variance_ratio=(option.error / least) ** 2,
        budget_cost=cost,
        note=NOTES[option.method],
    )
