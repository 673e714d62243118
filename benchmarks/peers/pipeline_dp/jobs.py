"""PipelineDP on its local backend: a bounded histogram over public bins, and quantiles."""

import pipeline_dp
import pyarrow.parquet as pq


def histogram(path, bins, kept):
    def work():
        table = pq.read_table(path)
        rows = list(zip(table["unit"].to_pylist(), table["bin"].to_pylist(), strict=True))
        accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=1.0, total_delta=1e-6)
        engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
        limits = pipeline_dp.AggregateParams(
            noise_kind=pipeline_dp.NoiseKind.GAUSSIAN,
            metrics=[pipeline_dp.Metrics.COUNT],
            max_partitions_contributed=kept,
            max_contributions_per_partition=1,
        )
        columns = pipeline_dp.DataExtractors(
            privacy_id_extractor=lambda row: row[0],
            partition_extractor=lambda row: row[1],
            value_extractor=lambda row: 0,
        )
        answer = engine.aggregate(rows, limits, columns, public_partitions=list(range(bins)))
        accountant.compute_budgets()
        return len(list(answer))

    return work


def quantile(values, clip, levels, epsilon, draws):
    """Its tree of noisy counts, one for all levels, one row a person; all of (epsilon, 1e-6)."""
    rows = list(enumerate(values))

    def once():
        accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=epsilon, total_delta=1e-6)
        engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
        limits = pipeline_dp.AggregateParams(
            noise_kind=pipeline_dp.NoiseKind.LAPLACE,
            metrics=[pipeline_dp.Metrics.PERCENTILE(100 * level) for level in levels],
            max_partitions_contributed=1,
            max_contributions_per_partition=1,
            min_value=clip[0],
            max_value=clip[1],
        )
        columns = pipeline_dp.DataExtractors(
            privacy_id_extractor=lambda row: row[0],
            partition_extractor=lambda row: 0,
            value_extractor=lambda row: row[1],
        )
        answer = engine.aggregate(rows, limits, columns, public_partitions=[0])
        accountant.compute_budgets()
        return sorted(float(number) for number in next(iter(answer))[1])

    return lambda: [once() for _ in range(draws)]


def unknown(path, each, epsilon, delta):
    """Counts of keys that nobody listed: Google's truncated geometric selection, then noise; the two share the budget.

    each: keys of one unit. With one, Laplace noise is the less; with several, Gaussian.
    """
    table = pq.read_table(path)
    rows = list(zip(table["unit"].to_pylist(), table["key"].to_pylist(), strict=True))
    noise = pipeline_dp.NoiseKind.LAPLACE if each == 1 else pipeline_dp.NoiseKind.GAUSSIAN
    columns = pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda row: row[0],
        partition_extractor=lambda row: row[1],
        value_extractor=lambda row: 0,
    )

    def work():
        accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=epsilon, total_delta=delta)
        engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
        limits = pipeline_dp.AggregateParams(
            noise_kind=noise,
            metrics=[pipeline_dp.Metrics.COUNT],
            max_partitions_contributed=each,
            max_contributions_per_partition=1,
            partition_selection_strategy=pipeline_dp.PartitionSelectionStrategy.TRUNCATED_GEOMETRIC,
        )
        answer = engine.aggregate(rows, limits, columns)
        accountant.compute_budgets()
        return [(key, float(numbers.count)) for key, numbers in answer]

    return work


def suggested(path, bins, epsilon, later_epsilon, later_delta, draws):
    """Its private max_partitions_contributed (epsilon-DP) for a count with Gaussian noise at the later promise."""
    table = pq.read_table(path)
    rows = list(zip(table["unit"].to_pylist(), table["bin"].to_pylist(), strict=True))
    asked = pipeline_dp.CalculatePrivateContributionBoundsParams(
        aggregation_noise_kind=pipeline_dp.NoiseKind.GAUSSIAN,
        aggregation_eps=later_epsilon,
        aggregation_delta=later_delta,
        calculation_eps=epsilon,
        max_partitions_contributed_upper_bound=bins,
    )
    columns = pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda row: row[0],
        partition_extractor=lambda row: row[1],
        value_extractor=lambda row: 0,
    )

    def once():
        accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=1.0, total_delta=1e-6)  # asked for, and not used
        engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
        found = engine.calculate_private_contribution_bounds(rows, asked, columns, list(range(bins)))
        return int(next(iter(found)).max_partitions_contributed)

    return lambda: [once() for _ in range(draws)]
