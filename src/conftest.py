"""Examples in docstrings are run where the functions stand; these two packages hand them on under their own names."""

collect_ignore = ["leastnoise/denoise/__init__.py", "leastnoise/workload/__init__.py"]
