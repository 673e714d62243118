"""The benchmarks, in the order of results.md."""

BENCHMARKS = (
    "calibration",
    "draws",
    "low_bits",
    "histogram",
    "crosstabs",
    "vectors",
    "large",
    "composition",
    "prior",
    "graph_solvers",
    "graphs",
    "ledger",
    "demo",
    "growth",
    "instructions",
    "denoising",
    "accuracy",
    "heavy_noise",
    "error_limits",
)
