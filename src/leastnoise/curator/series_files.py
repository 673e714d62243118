"""The files of a series: its terms, and integers by block. `series` says which are public, and how they follow."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from leastnoise import errors
from leastnoise._support import files
from leastnoise.curator.rows.totals import saturate
from leastnoise.workload.series import SeriesStrategy

Integers = NDArray[np.int64]
FORMAT = 1
TERMS, NUMBERS, RELEASES, PRIVATE = "series.json", "numbers", "releases", "private"


@dataclass(frozen=True, slots=True, kw_only=True)
class Paid:
    """What the first period fixed for all: the question, its noise, and the debit.

    mu_squared: what one unit may cost in one period, exactly. scales: of one period's noise, by block. guarantee: mu of
    all periods. ledger: the name of the one that was debited; None: no budget paid.
    """

    query: str
    unit: str
    table: str
    mu_squared: str
    scales: list[list[Any]]
    guarantee: float
    ledger: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What is public about a series, as `series.json` holds it."""

    id: str
    sums: list[str]
    max_periods: int
    bits: int
    matrix: list[list[int]]  # the rows of C, up to the diagonal
    paid: Paid | None = None

    def write(self, folder: Path) -> None:
        """Keep them in the folder; on disk when this returns."""
        files.rewrite(folder / TERMS, json.dumps({"leastnoise series": FORMAT, **asdict(self)}) + "\n")

    @property
    def strategy(self) -> SeriesStrategy:
        """C and what it is for."""
        matrix = np.zeros((len(self.matrix),) * 2, dtype=np.int64)
        for number, row in enumerate(self.matrix):
            matrix[number, : number + 1] = row
        return SeriesStrategy(matrix, self.bits, tuple(self.sums), self.max_periods)


def make_folder(folder: Path) -> None:
    """The folder of a new series; what is private in it can be read by its owner alone."""
    try:
        folder.mkdir()
        for name in (NUMBERS, RELEASES):
            (folder / name).mkdir()
        (folder / PRIVATE).mkdir(mode=0o700)
    except OSError as problem:
        raise errors.FileProblem(f"Cannot make the folder {str(folder)!r}: {problem.strerror}.") from None


def read_terms(folder: Path) -> Terms:
    path = folder / TERMS
    if not path.is_file():
        raise errors.NoSuchFile(f"There is no series at {str(folder)!r}. To begin one, say how many periods it has.")
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        known = found.pop("leastnoise series") == FORMAT
        paid = found.pop("paid")
        terms = Terms(**found, paid=None if paid is None else Paid(**paid))
        rows = [len(row) for row in terms.matrix]
        fits = known and rows == list(range(1, len(rows) + 1)) and all(row[-1] > 0 for row in terms.matrix)
        fits = fits and {type(one) for row in terms.matrix for one in row} == {int}
    except (OSError, ValueError, KeyError, AttributeError, TypeError, RecursionError):
        fits = False
    if not fits:
        raise errors.NotOurs(f"{str(path)!r} holds no terms of a series that this version can read.")
    return terms


def stored(name: Any) -> Any:
    """The name of a block as JSON holds it."""
    return list(name) if isinstance(name, tuple) else name


def write_integers(path: Path, blocks: Mapping[Any, Integers], *, label: str = "") -> None:
    """Integers by block, and their shapes, in one file: it appears whole, and is on disk when this returns."""
    rows = [(json.dumps(stored(name)), list(values.shape), values.ravel()) for name, values in blocks.items()]
    table = pa.table(
        {
            "block": [name for name, _, _ in rows],
            "shape": [shape for _, shape, _ in rows],
            "integers": pa.array([values for _, _, values in rows], pa.list_(pa.int64())),
        }
    )
    unfinished = path.with_name(f".{path.name}.unfinished")
    pq.write_table(table.replace_schema_metadata({"period": label}), unfinished)
    files.sync(unfinished)
    unfinished.replace(path)
    files.sync(path.parent)


def read_integers(path: Path, names: Iterable[Any]) -> dict[Any, Integers]:
    """What `_write_integers` wrote, of the blocks with these names."""
    table = pq.read_table(path)
    found = {
        name: np.asarray(integers.values, dtype=np.int64).reshape(shape.as_py())
        for name, shape, integers in zip(table["block"].to_pylist(), table["shape"], table["integers"], strict=True)
    }
    return {name: found[json.dumps(stored(name))] for name in names}


def combined(weights: list[int], blocks: list[Integers], *, bits: int = 0) -> Integers:
    """The weighted sum over 2^bits, rounded to the nearest integer: exact, and stopped at the ends of 64 bits."""
    most = sum(abs(weight) * int(np.abs(block).max(initial=0)) for weight, block in zip(weights, blocks, strict=True))
    kind: Any = np.int64 if most < 2**62 else object
    total: NDArray[Any] = sum(
        block.ravel().astype(kind) * weight for weight, block in zip(weights, blocks, strict=True)
    )  # type: ignore[assignment]
    if bits:
        total = (total + (1 << (bits - 1))) >> bits
    return saturate(np.asarray(total)).reshape(blocks[0].shape)
