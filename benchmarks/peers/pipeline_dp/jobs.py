"""PipelineDP on its local backend: a bounded histogram over public bins."""

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
