"""PipelineDP on local Spark (needs a Java 17): a bounded histogram over public bins."""

import os
import sys
import tempfile
from pathlib import Path

import pipeline_dp
from pyspark.sql import SparkSession

os.environ["PYSPARK_PYTHON"] = sys.executable
for java in sorted(Path("/usr/lib/jvm").glob("java-17-*")):
    os.environ.setdefault("JAVA_HOME", str(java))
sys.path.append(str(Path(__file__).parents[2]))

from spark_work import last_job as latest  # noqa: E402 (the folder is named above)
from spark_work import peak_memory, work_since  # noqa: E402


def last_job():
    return lambda: latest(SparkSession.getActiveSession().sparkContext)


def work(since):
    return lambda: work_since(SparkSession.getActiveSession().sparkContext, since)


def memory():
    return lambda: peak_memory(os.getpid())


def one_a_bin(path, bins, kept):
    settings = SparkSession.builder.master("local[2]").config("spark.driver.memory", "4g")
    spark = settings.config("spark.sql.warehouse.dir", tempfile.mkdtemp()).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")

    def work():
        rows = spark.read.parquet(path).select("unit", "bin").rdd.map(tuple)
        accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=1.0, total_delta=1e-6)
        engine = pipeline_dp.DPEngine(accountant, pipeline_dp.SparkRDDBackend(spark.sparkContext))
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
        return len(answer.collect())

    return work
