"""The ways to add noise to a set of tables, side by side: `ln.compare(query, ...)`.

Gaussian noise on residual blocks is optimal among Gaussian mechanisms under add-remove, and its error grows with the
root of the number of tables; but its constant is large. Laplace noise on plain tables pays for every table in full,
with a small constant, and needs no delta. So for a handful of tables Laplace noise has the lesser error, all the more
where one larger table is released and summed up. Both are computed, and compared by the error that the caller asked
for.
"""

from __future__ import annotations

from leastnoise import errors
from leastnoise._support import validation
from leastnoise._support.validation import Number
from leastnoise.privacy.calibration import proof
from leastnoise.privacy.comparison import Comparison, Row
from leastnoise.privacy.guarantees import PureDP
from leastnoise.privacy.neighbours import Neighbours
from leastnoise.privacy.noise_plan import Mechanism
from leastnoise.workload.strategy import Weights
from leastnoise.workload.tables import Workload
from leastnoise.workload.tables_noise import TablesNoise, gaussian_noise, laplace_noise

MOST_PLAIN = 1000  # tables: beyond, noise on each of them alone has several times the error, and is not computed
NOTES: dict[Mechanism, str] = {
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
    options = _options(workload, epsilon, delta, weights, row_size, neighbours)
    rows = tuple(_row(option, options[0].error, step) for option in options)
    others = [f"{each.error / options[0].error:.4g} times that with {NOTES[each.mechanism]}" for each in options[1:]]
    verdict = f"Least error: {NOTES[options[0].mechanism]} ({options[0].mechanism})."
    verdict += f" The error is {'; '.join(others)}." if others else ""
    promise = validation.number("epsilon", epsilon), float(delta)
    return Comparison(rows, verdict, *promise, workload.cells)


def _options(
    workload: Workload, epsilon: Number, delta: Number, weights: Weights, row_size: int, neighbours: Neighbours
) -> list[TablesNoise]:
    """Every noise that keeps (epsilon, delta), the one of least error first."""
    spend, pure, found = validation.number("epsilon", epsilon), validation.is_zero(delta), list[TablesNoise]()
    if not pure:
        allowed = proof.mu(spend, validation.number("delta", delta)) ** 2
        normal = gaussian_noise(workload, weights, mu_squared=allowed, row_size=row_size, neighbours=neighbours)
        found.append(normal)
    if spend > 0 and (pure or len(workload.tables) <= MOST_PLAIN):
        found.append(laplace_noise(workload, weights, epsilon=spend, row_size=row_size, neighbours=neighbours))
    if not found:
        raise errors.InvalidParameter(
            "No noise gives epsilon = 0 and delta = 0.", parameter="epsilon", value=epsilon, example={"epsilon": 1}
        )
    return sorted(found, key=lambda option: option.error)


def _row(option: TablesNoise, least: float, step: float) -> Row:
    workload = option.workload
    gaussian = option.mechanism == "gaussian"
    made = workload.with_noise(option.scales) if gaussian else workload.with_laplace(option.scales)
    worst = workload.tables[max(range(len(workload.tables)), key=made.table_variances.__getitem__)]
    one, every = (step * made.cell_half_width(worst, confidence=0.95, bins=bins) for bins in (1, workload.cells))
    # of Laplace noise the mu^2 of the Gaussian curve below its epsilon
    squared = option.guarantee.to_gaussian().mu ** 2 if isinstance(option.guarantee, PureDP) else float(option.cost)
    return Row(
        mechanism=option.mechanism,
        std=step * option.error,
        half_width=one,
        half_width_all=every,
        variance_ratio=(option.error / least) ** 2,
        budget_cost=squared,
        note=NOTES[option.mechanism],
    )
