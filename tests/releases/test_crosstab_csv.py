"""A set of tables as a folder of CSV files: every number, what was promised, and nothing that a spreadsheet runs."""

from __future__ import annotations

import csv
import datetime
import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import leastnoise as ln
from leastnoise import errors, testing
from leastnoise.export.csv_files import file_names

DAY = datetime.date(2026, 1, 1)
KEYS: dict[str, Any] = {
    "city": ["C#", '=HYPERLINK("x")', "a,b", 'say "hi"', "two\nlines"],
    "age": ln.domain.Edges((0.0, 18.0, 67.5)),
    "day": ln.domain.Days(DAY, DAY + datetime.timedelta(2)),
    "=n": [-1, 2],
}


def released(seed: int = 3, **options: Any) -> ln.CrosstabsRelease:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "who": np.arange(400),
            "city": rng.choice(KEYS["city"], 400),
            "age": rng.uniform(0, 60, 400),
            "day": [DAY] * 400,
            "=n": rng.choice([-1, 2], 400),
        }
    ).convert_dtypes()
    table = ln.table(frame, unit="who", types={"day": "date"})
    query = table.crosstabs(**{"ways": 2, "keys": KEYS, "max_rows": 1, "other": False, **options})
    with testing.seeded(seed):
        made = query.release(epsilon=1, delta=1e-6)
    assert isinstance(made, ln.CrosstabsRelease)
    return made


@pytest.fixture(scope="module")
def release() -> ln.CrosstabsRelease:
    return released()


def read(path: Path) -> tuple[list[str], list[list[str]]]:
    """The comments, and the lines after them."""
    lines = path.read_text(encoding="utf-8").splitlines()
    comments = [line for line in lines if line.startswith("#")]
    assert lines[: len(comments)] == comments
    return comments, list(csv.reader(io.StringIO("\n".join(lines[len(comments) :]))))


def test_every_table_is_a_file_with_its_numbers_and_intervals(release: ln.CrosstabsRelease, tmp_path: Path) -> None:
    folder = release.to_csv(tmp_path / "set", allow_seeded=True)
    names = file_names(release.tables)
    assert {path.name for path in folder.iterdir()} == set(names.values())
    for table, name in names.items():
        comments, (header, *rows) = read(folder / name)
        low, high = release[table].interval(0.95)
        found = np.array([[float(cell) for cell in row[-3:]] for row in rows])
        np.testing.assert_allclose(found, np.stack([release[table].values, low, high], axis=1), atol=6e-7)
        assert header[-3:] == ["value", "low", "high"]
        assert any("95%" in line for line in comments)
        assert any("add-remove" in line for line in comments)
        assert any("hides nothing" in line for line in comments)
    assert read(folder / "total.csv")[1][0] == ["value", "low", "high"]


def test_keys_are_as_people_wrote_them(release: ln.CrosstabsRelease, tmp_path: Path) -> None:
    folder = release.to_csv(tmp_path / "set", allow_seeded=True)
    assert [row[0] for row in read(folder / "city.csv")[1]] == [
        "city", "C#", "'=HYPERLINK(\"x\")", "a,b", 'say "hi"', "two lines",
    ]  # fmt: skip
    assert [row[:2] for row in read(folder / "age.csv")[1]] == [
        ["age_low", "age_high"], ["0", "18"], ["18", "67.5"],
    ]  # fmt: skip
    assert [row[0] for row in read(folder / "day.csv")[1]] == ["day", "2026-01-01", "2026-01-02"]
    assert [row[0] for row in read(folder / "n.csv")[1]] == ["'=n", "-1", "2"]
    frame = pd.read_csv(folder / "city.csv", comment="#")  # a "#" within quotes is no comment
    assert frame["city"][0] == "C#"
    np.testing.assert_allclose(frame["value"], release["city"].values, atol=6e-7)


def test_a_step_that_is_none_writes_nothing(release: ln.CrosstabsRelease, tmp_path: Path) -> None:
    for wrong in (0, -5, float("nan"), "5", True):
        with pytest.raises(errors.LeastnoiseError, match="round_to"):
            release.to_csv(tmp_path / "none", round_to=wrong, allow_seeded=True)  # type: ignore[arg-type]
    assert not (tmp_path / "none").exists()


def test_denoised_tables_stand_beside_what_was_released(release: ln.CrosstabsRelease, tmp_path: Path) -> None:
    estimate = release.denoise()
    folder = estimate.to_csv(tmp_path / "set", allow_seeded=True)
    comments, (header, *rows) = read(folder / "city-age.csv")
    assert header == ["city", "age_low", "age_high", "value", "denoised_error", "noisy"]
    found = np.array([[float(cell) for cell in row[-3:]] for row in rows])
    one, table = estimate["city", "age"], release["city", "age"]
    error = np.full(one.values.size, one.rmse)
    np.testing.assert_allclose(found, np.stack([one.values, error, one.noisy], axis=1), atol=6e-7)
    assert any(one.errors_in_words() in line for line in comments)
    rounded = read(estimate.to_csv(tmp_path / "set", round_to=3, allow_seeded=True) / "city-age.csv")[1]
    assert {float(cell) % 3 for row in rounded[1:] for cell in (row[-3], row[-1])} == {0.0}
    folder = release.to_csv(tmp_path / "set", estimate=estimate, confidence=0.8, allow_seeded=True)
    comments, (header, *rows) = read(folder / "city-age.csv")
    assert header[-5:] == ["value", "low", "high", "denoised", "denoised_error"]
    expected = np.stack([table.values, *table.interval(0.8), one.values, error], axis=1)
    np.testing.assert_allclose(np.array([[float(cell) for cell in row[-5:]] for row in rows]), expected, atol=6e-7)
    assert any("80% intervals" in line for line in comments)
    assert any("denoised_error" in line for line in comments)
    frame = table.to_pandas(confidence=0.8, estimate=one)
    np.testing.assert_array_equal(frame[header[-5:]].to_numpy(), expected)


def test_an_estimate_of_other_numbers_does_not_stand_beside(release: ln.CrosstabsRelease, tmp_path: Path) -> None:
    other = released(seed=4).denoise()
    with pytest.raises(errors.InvalidParameter, match="another table or release"):
        release.to_csv(tmp_path / "set", estimate=other, allow_seeded=True)
    with pytest.raises(errors.InvalidParameter, match="another table or release"):
        release["city"].to_pandas(estimate=release.denoise()["age"])
    with pytest.raises(errors.WrongType, match="denoise"):
        release["city"].to_pandas(estimate=release.denoise())
    assert list((tmp_path / "set").iterdir()) == []


def test_earlier_tables_are_replaced_and_nothing_else_is(release: ln.CrosstabsRelease, tmp_path: Path) -> None:
    folder = tmp_path / "set"
    folder.mkdir()
    release.to_csv(folder, allow_seeded=True)
    fewer = released(ways=1)
    fewer.to_csv(folder, allow_seeded=True)
    assert {path.name for path in folder.iterdir()} == set(file_names(fewer.tables).values())
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for name, text in (("notes.csv", "person,age\n"), ("age.csv", "person,age\n"), (".hidden", "x"), ("sub", None)):
        path = folder / name
        kept = path.read_bytes() if path.exists() else None
        path.mkdir() if text is None else path.write_text(text)
        with pytest.raises(errors.BadOutput, match="did not write"):
            release.to_csv(folder, allow_seeded=True)
        assert path.is_dir() or path.read_text() == text
        path.rmdir() if text is None else path.unlink()
        if kept is not None:
            path.write_bytes(kept)
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_what_a_killed_process_left_is_no_obstacle(release: ln.CrosstabsRelease, tmp_path: Path) -> None:
    (tmp_path / ".age.csv.0123456789ab.unfinished").write_text("half")
    release.to_csv(tmp_path, allow_seeded=True)
    assert (tmp_path / "age.csv").exists()


def test_a_table_that_fails_leaves_the_earlier_ones(
    release: ln.CrosstabsRelease, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release.to_csv(tmp_path, allow_seeded=True)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    written: list[Path] = []

    def full(path: Path) -> None:
        written.append(path)
        if len(written) == 4:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("leastnoise._support.files.sync", full)
    with pytest.raises(errors.FileProblem, match="No space left"):
        release.to_csv(tmp_path, round_to=5, allow_seeded=True)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("place", ["", "-", "file", "none/set"])
def test_a_place_that_is_no_folder_is_refused(release: ln.CrosstabsRelease, tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(errors.BadOutput):
        release.to_csv(tmp_path / place if place not in ("", "-") else place, allow_seeded=True)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_table_as_text_is_no_release_and_takes_no_release(release: ln.CrosstabsRelease, tmp_path: Path) -> None:
    path = release.to_csv(tmp_path, allow_seeded=True) / "age.csv"
    with pytest.raises(errors.NotOurs, match="numbers of a release as text"):
        ln.load(path)
    with pytest.raises(errors.BadOutput, match="a table that leastnoise wrote"):
        release.save(path, allow_seeded=True)


def test_names_of_files_are_safe_and_distinct() -> None:
    tables = [
        (),
        ("total",),
        ("a", "b"),
        ("a-b",),
        ("A", "B"),
        ("../etc",),
        ("nul",),
        ("日" * 200,),
        ("日" * 201,),
        ("/",),
    ]
    names = list(file_names(tables).values())
    assert len({name.casefold() for name in names}) == len(tables)
    assert all(re.fullmatch(r"[\w-]+\.csv", name) and len(name.encode()) <= 200 for name in names)
    assert names[:2] == ["total.csv", "total-2.csv"]
    assert "nul.csv" not in names
