"""`leastnoise export`: a saved release in, files for spreadsheets out."""

from pathlib import Path

import openpyxl
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import leastnoise as ln
from leastnoise import errors
from leastnoise.cli.app import app

PEOPLE = pa.table({"who": range(60), "zone": ["a", "b", "c"] * 20, "sex": ["f", "m"] * 30})


@pytest.fixture
def one(tmp_path: Path) -> Path:
    release = ln.table(PEOPLE, unit="who").histogram("zone", keys=["a", "b", "c"], max_rows=1)
    release.release(epsilon=1, delta=1e-6).save(tmp_path / "one.parquet")
    return tmp_path / "one.parquet"


@pytest.fixture
def many(tmp_path: Path) -> Path:
    keys = {"zone": ["a", "b", "c"], "sex": ["f", "m"]}
    ln.table(PEOPLE, unit="who").crosstabs(ways=2, keys=keys, max_rows=1).release(epsilon=1, delta=1e-6).save(
        tmp_path / "many.parquet"
    )
    return tmp_path / "many.parquet"


def run(*words: object) -> object:
    result = CliRunner().invoke(app, ["export", *map(str, words)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_a_release_becomes_a_csv_file_or_a_workbook(one: Path) -> None:
    for name in ("n.csv", "n.xlsx"):
        run(one, "-o", one.with_name(name), "--denoised", "--round-to", 5)
    assert '"zone","value","low","high","denoised"' in one.with_name("n.csv").read_text()
    assert openpyxl.load_workbook(one.with_name("n.xlsx")).sheetnames == ["About", "Numbers"]
    with pytest.raises(errors.NotOurs, match="Give the Parquet file of the release itself"):
        ln.load(one.with_name("n.csv"))


def test_a_set_becomes_a_folder_or_a_workbook(many: Path) -> None:
    run(many, "-o", many.with_name("tables"))
    assert sorted(p.name for p in many.with_name("tables").iterdir()) == [
        "sex.csv",
        "total.csv",
        "zone-sex.csv",
        "zone.csv",
    ]
    run(many, "-o", many.with_name("tables.xlsx"), "--denoised")
    assert len(openpyxl.load_workbook(many.with_name("tables.xlsx")).sheetnames) == 5
    with pytest.raises(errors.BadOutput, match="folder"):
        run(many, "-o", many.with_name("tables.csv"))


def test_a_job_writes_them_too(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(PEOPLE, tmp_path / "people.parquet")
    for kind, csv in (("histogram", "n.csv"), ("crosstabs", "tables")):
        by = 'by = "zone"' if kind == "histogram" else "ways = 1"
        (tmp_path / "job.toml").write_text(f"""
            [table]
            source = "people.parquet"
            unit = "who"
            [keys]
            zone = ["a", "b", "c"]
            [ask]
            kind = "{kind}"
            {by}
            max_rows = 1
            [privacy]
            epsilon = 1
            delta = 1e-6
            [output]
            release = "{kind}.parquet"
            csv = "{csv}"
            excel = "{kind}.xlsx"
            """)
        result = CliRunner().invoke(app, ["run", str(tmp_path / "job.toml"), "--quiet"])
        assert result.exit_code == 0, result.output + repr(result.exception)
        assert (tmp_path / csv).exists()
        assert (tmp_path / f"{kind}.xlsx").exists()


def test_proposed_limits_are_a_table_too(tmp_path: Path) -> None:
    found = ln.table(PEOPLE, unit="who").suggest_limits("zone", keys=["a", "b", "c"], epsilon=1, delta=1e-6)
    found.save(tmp_path / "limits.parquet")
    for name in ("limits.csv", "limits.xlsx"):
        run(tmp_path / "limits.parquet", "-o", tmp_path / name)
    assert '"max_rows","max_per_bin","kept"' in (tmp_path / "limits.csv").read_text()
    with pytest.raises(errors.InvalidParameter, match="denoised"):
        run(tmp_path / "limits.parquet", "-o", tmp_path / "limits.csv", "--denoised")
    with pytest.raises(errors.InvalidParameter, match="Nothing is denoised"):
        found.to_pandas(estimate=found)  # type: ignore[arg-type]


def test_a_file_of_denoised_tables_is_a_folder_of_csv_files(many: Path) -> None:
    ln.load(many).denoise().save(many.with_name("better.parquet"))
    run(many.with_name("better.parquet"), "-o", many.with_name("better"))
    assert len(list(many.with_name("better").iterdir())) == 4
    with pytest.raises(errors.BadOutput, match="--denoised"):
        run(many.with_name("better.parquet"), "-o", many.with_name("better.xlsx"))
