"""The benchmarks, in the order of results.md."""

BENCHMARKS = (
    "calibration",
    "draws",
    "low_bits",
    "histogram",
    "vectors",
    "composition",
    "prior",
    "ledger",
    "demo",
    "growth",
    "instructions",
    "denoising",
)
