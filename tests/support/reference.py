"""Bounding once more, in pandas and NumPy, written from its description and sharing no code with the
library."""

from __future__ import annotations

import hashlib

import numpy as np
import pandas as pd

U = np.uint64
MASK = U(0xFFFFFFFF)


def unit_word(values: pd.Series) -> np.ndarray:
    """Text: bytes 8 to 11 of the MD5. Integers: upper half times a constant, xor lower half."""
    if pd.api.types.is_string_dtype(values.dtype):
        return np.array([int.from_bytes(hashlib.md5(v.encode()).digest()[8:12], "little") for v in values], U)
    signed = values.to_numpy(np.int64)
    upper = ((signed >> 32) * np.int64(0x7FEB352D)).view(U) & MASK
    return upper ^ (signed.view(U) & MASK)


def mixed(word: np.ndarray) -> np.ndarray:
    word = ((word ^ (word >> U(16))) * U(0x45D9F3B3)) & MASK
    word = ((word ^ (word >> U(15))) * U(0x2C1B3C6D)) & MASK
    return word ^ (word >> U(16))


def folded(integers: np.ndarray) -> np.ndarray:
    signed = integers.astype(np.int64)
    return (((signed >> 32) * np.int64(0x7FEB352D)).view(U) & MASK) ^ (signed.view(U) & MASK)


def content(integers: list[np.ndarray]) -> np.ndarray:
    """32 bits of the integers that are read of each row, the bin first."""
    held = folded(integers[0])
    for each in integers[1:]:
        held = (held * U(0x45D9F3B3) + folded(each)) & MASK
    return held


def row_hash(unit: np.ndarray, key: int, read: list[np.ndarray], copy: np.ndarray | None = None) -> np.ndarray:
    word = unit ^ U(key)
    word = ((word ^ (word >> U(16))) * U(0x7FEB352D)) & MASK
    word = mixed(word ^ content(read))
    return (word if copy is None else mixed(word ^ copy.astype(U))) >> U(1)


def units_word(rows: pd.DataFrame, units: tuple[str, ...]) -> np.ndarray:
    """Of several columns: what the others give is mixed before the next one is added."""
    word = unit_word(rows[units[0]])
    for name in units[1:]:
        word = mixed(word) ^ unit_word(rows[name])
    return word


def key_of(description: str) -> int:
    return int.from_bytes(hashlib.blake2b(description.encode(), digest_size=4).digest(), "little")


def keep(
    rows: pd.DataFrame,
    *,
    limits: tuple[int, int, int],
    description: str,
    codes: tuple[str, ...] = (),
    units: tuple[str, ...] = ("unit",),
) -> pd.DataFrame:
    """The kept rows of a frame with the columns of the unit, `bin` and the codes of values; limits are (max_rows,
    max_per_bin, max_bins)."""
    most, per_bin, bins = limits
    key, read, unit = key_of(description), ["bin", *codes], list(units)
    rows = rows.assign(word=units_word(rows, units))
    if per_bin < most:  # as many rows of a bin as of the unit are no limit of their own
        rows = drawn(rows, unit, read, ["bin"], per_bin, key ^ 0x45D9F3B3)
    rows = rows.assign(hb=row_hash(rows["word"].to_numpy(), key ^ 0x2C1B3C6D, [rows["bin"].to_numpy()]))
    chosen = rows[[*unit, "bin", "hb"]].drop_duplicates().sort_values([*unit, "hb", "bin"])
    if bins < most:  # with as many bins as rows the limit on rows implies the one on bins
        chosen = chosen[chosen.groupby(unit).cumcount() < bins]
    return drawn(rows.merge(chosen[[*unit, "bin"]], on=[*unit, "bin"]), unit, read, [], most, key)


def drawn(
    rows: pd.DataFrame, unit: list[str], read: list[str], within: list[str], count: int, key: int
) -> pd.DataFrame:
    """Up to `count` rows of each unit, or of each of its bins: those of one content are alike, and are numbered."""
    copy = rows.groupby([*unit, *read]).cumcount().to_numpy()
    rows = rows.assign(h=row_hash(rows["word"].to_numpy(), key, [rows[name].to_numpy() for name in read], copy))
    rows = rows.sort_values([*unit, *within, "h", *read])
    return rows[rows.groupby([*unit, *within]).cumcount() < count]
