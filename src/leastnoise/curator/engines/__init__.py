"""DuckDB and Spark: where tables are opened and expressions run."""
