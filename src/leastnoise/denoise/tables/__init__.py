"""Estimates of a set of tables from noisy residual blocks: non-negative, consistent, with their own error."""

from leastnoise.denoise.tables.denoise_tables import EstimatedTables, denoise_tables

__all__ = ["EstimatedTables", "denoise_tables"]
