"""Tumult Analytics on local Spark (needs a Java 17): a bounded histogram over known bins, and its float noise."""

import os
import sys
import tempfile
from pathlib import Path

import numpy as np
from pyspark.sql import SparkSession
from tmlt.analytics import (
    AddRowsWithID,
    ApproxDPBudget,
    KeySet,
    MaxGroupsPerID,
    MaxRowsPerGroupPerID,
    MaxRowsPerID,
    QueryBuilder,
    RhoZCDPBudget,
    Session,
)
from tmlt.core.domains.numpy_domains import NumpyFloatDomain
from tmlt.core.measurements.noise_mechanisms import AddGaussianNoise

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


def local_spark():
    settings = SparkSession.builder.master("local[2]").config("spark.driver.memory", "4g")
    spark = settings.config("spark.sql.warehouse.dir", tempfile.mkdtemp()).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def histogram(path, bins, kept):
    return counted(path, bins, QueryBuilder("rows").enforce(MaxRowsPerID(kept)))


def one_a_bin(path, bins, kept):
    limited = QueryBuilder("rows").enforce(MaxGroupsPerID("bin", kept)).enforce(MaxRowsPerGroupPerID("bin", 1))
    return counted(path, bins, limited)


def counted(path, bins, limited):
    spark = local_spark()
    keys = KeySet.from_dict({"bin": list(range(bins))})

    def work():
        session = Session.from_dataframe(
            privacy_budget=RhoZCDPBudget(0.1),
            source_id="rows",
            dataframe=spark.read.parquet(path),
            protected_change=AddRowsWithID("unit"),
        )
        return len(session.evaluate(limited.groupby(keys).count(), RhoZCDPBudget(0.1)).collect())

    return work


def outputs(value, scale, size):
    mechanism = AddGaussianNoise(input_domain=NumpyFloatDomain(), sigma_squared=str(scale**2))
    return lambda: [float(mechanism(np.float64(value))) for _ in range(size)]


def unknown(path, each, epsilon, delta):
    """Counts of keys that nobody listed: half of epsilon, and delta, find the keys, and the other half counts."""
    spark = local_spark()

    def bounded():
        return QueryBuilder("rows").enforce(MaxGroupsPerID("key", each)).enforce(MaxRowsPerGroupPerID("key", 1))

    def work():
        session = Session.from_dataframe(
            privacy_budget=ApproxDPBudget(epsilon, delta),
            source_id="rows",
            dataframe=spark.read.parquet(path),
            protected_change=AddRowsWithID("unit"),
        )
        found = session.evaluate(bounded().get_groups(["key"]), ApproxDPBudget(epsilon / 2, delta))
        if not found.head(1):
            return []
        counted = bounded().groupby(KeySet.from_dataframe(found)).count()
        answer = session.evaluate(counted, ApproxDPBudget(epsilon / 2, 0))
        return [(row["key"], row["count"]) for row in answer.collect()]

    return work
