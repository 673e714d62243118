"""Estimates of a set of tables from noisy residual blocks: non-negative, consistent, with their own error."""

from leastnoise.denoise.tables.denoise_tables import denoise_tables
from leastnoise.denoise.tables.risk import EstimatedTables

__all__ = ["EstimatedTables", "denoise_tables"]
