"""A CSV that ends inside a quoted cell, told from one that does not as DuckDB tells it."""

from __future__ import annotations

import gzip
from itertools import product
from pathlib import Path

import duckdb
import pytest

from leastnoise.curator.engines import files
from leastnoise.curator.engines.files import CsvLayout

CELLS = ["a", "", " ", '5"', 'a "b"', '"a"', '""', '"a,b"', '"x\ny"', '"q""q"', '"""q"', ' "s"', '"t" ']
OPEN = ['"', '"a', ' "a,b', '"a""', '"a\n1,2\n', '"a""b\n1,""2']
READ = """SELECT * FROM read_csv('{file}', auto_detect = false, header = true, delim = '{by}', quote = '"',
escape = '"', columns = {{'one': 'VARCHAR', 'two': 'VARCHAR'}})"""


def ends_open(file: Path, by: str) -> bool:
    """For us, and for DuckDB."""
    try:
        files.verify([str(file)], CsvLayout(by))
    except ValueError:
        with pytest.raises(duckdb.InvalidInputException, match="unterminated quote"):
            duckdb.sql(READ.format(file=file, by=by)).fetchall()
        return True
    duckdb.sql(READ.format(file=file, by=by)).fetchall()
    return False


@pytest.mark.parametrize("by", [",", ";", "|", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_an_open_quote_is_what_duckdb_says_is_one(end: str, by: str, tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    for first, second in product(CELLS, CELLS):
        text = f"one,two{end}{first},{second}{end}{second},z{end}"
        file.write_text(text.replace(",", by), newline="")
        assert not ends_open(file, by), (first, second)
    for before, last in product(CELLS, OPEN):
        text = f"one,two{end}{before},{before}{end}x,{last}"
        file.write_text(text.replace(",", by), newline="")
        assert ends_open(file, by), (before, last)


def test_chunks_compiled_loops_marks_and_archives_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, packed = tmp_path / "rows.csv", tmp_path / "rows.csv.gz"
    for text, is_open in (('\ufeff"one",two\n' + '1,"a""\n,"\n' * 9, False), ('one,two\n"",2\n1,"a""', True)):
        plain.write_text(text)
        packed.write_bytes(gzip.compress(text.encode()))
        for chunk, few in ((2**22, 2**17), (4, 2**17), (5, 0)):
            monkeypatch.setattr(files, "CHUNK_BYTES", chunk)
            monkeypatch.setattr(files, "FEW_BYTES", few)
            for file in (plain, packed):
                assert (files._last_state(str(file)) == files.QUOTED) == is_open


def test_tabs_part_the_cells_of_a_tsv(tmp_path: Path) -> None:
    for text, is_open in (('one\ttwo\na,"b\tc\n', False), ('one\ttwo\na\t"b,c\n', True)):
        (tmp_path / "rows.tsv").write_text(text)
        assert (files._last_state(str(tmp_path / "rows.tsv")) == files.QUOTED) == is_open
