"""Numbers for spreadsheets: CSV and Excel files that say what was promised, and what may be believed."""

from leastnoise.export.csv_files import write_csv
from leastnoise.export.workbook import write_workbook

__all__ = ["write_csv", "write_workbook"]
