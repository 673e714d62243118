"""The benchmarks, in the order of results.md."""

BENCHMARKS = (
    "calibration",
    "draws",
    "low_bits",
    "histogram",
    "crosstabs_accuracy",
    "composition",
    "accuracy",
    "spark_cost",
)
