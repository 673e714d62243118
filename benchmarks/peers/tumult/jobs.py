"""Tumult Analytics on local Spark (needs a Java 17): a bounded histogram over known bins, and its float noise."""

import os
import sys
import tempfile
from pathlib import Path

import numpy as np
from pyspark.sql import SparkSession
from tmlt.analytics import (
    AddRowsWithID,
    KeySet,
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


def local_spark():
    settings = SparkSession.builder.master("local[2]").config("spark.driver.memory", "4g")
    spark = settings.config("spark.sql.warehouse.dir", tempfile.mkdtemp()).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def histogram(path, bins, kept):
    spark = local_spark()
    keys = KeySet.from_dict({"bin": list(range(bins))})
    query = QueryBuilder("rows").enforce(MaxRowsPerID(kept)).groupby(keys).count()

    def work():
        session = Session.from_dataframe(
            privacy_budget=RhoZCDPBudget(0.1),
            source_id="rows",
            dataframe=spark.read.parquet(path),
            protected_change=AddRowsWithID("unit"),
        )
        return len(session.evaluate(query, RhoZCDPBudget(0.1)).collect())

    return work


def outputs(value, scale, size):
    mechanism = AddGaussianNoise(input_domain=NumpyFloatDomain(), sigma_squared=str(scale**2))
    return lambda: [float(mechanism(np.float64(value))) for _ in range(size)]
