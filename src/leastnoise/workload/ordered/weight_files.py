"""Weights on keys that were found once, kept in a folder of this user's: by the kind of questions and their size.

A file cannot harm anybody. It holds n positive numbers and nothing else, is read without pickle and only where its
length is that of n numbers; whatever they are, the strategy made of them has its sensitivity computed from its own
whole numbers, and its gap computed anew: wrong ones are found anew, and overwritten. They depend on no data.

The folder is that of the system for caches, or the one named by LEASTNOISE_CACHE; "off" there keeps nothing.
"""

from __future__ import annotations

import os
import secrets
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np

from leastnoise.workload.ordered.questions import Floats, OrderedQuestions

VARIABLE = "LEASTNOISE_CACHE"
_HEADER = 1024  # more bytes than the header of one array takes


def folder() -> Path | None:
    """Where weights are kept; None: nowhere."""
    named = os.environ.get(VARIABLE, "")
    if named.lower() == "off":
        return None
    if named:
        return Path(named) / "strategies"
    try:
        return _system_folder() / "leastnoise" / "strategies"
    except RuntimeError:  # nobody's home
        return None


def _system_folder() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def load(questions: OrderedQuestions) -> Floats | None:
    """The weights that were kept for these questions; None where there are none that could be any."""
    path = _path(questions)
    if path is None:
        return None
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size > 8 * questions.size + _HEADER:
                return None
            found = np.load(file, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    if not isinstance(found, np.ndarray) or found.dtype != np.float64 or found.shape != (questions.size,):
        return None
    if not (np.isfinite(found).all() and found.min() > 0 and found.max() < 1e6 * found.min()):
        return None
    return np.asarray(found / found.sum())


def store(questions: OrderedQuestions, weights: Floats) -> None:
    """Keep these weights, whole or not at all; a folder that cannot be written keeps none."""
    path = _path(questions)
    if path is None:
        return
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f".{path.name}.{secrets.token_hex(6)}.unfinished")
        try:
            with unfinished.open("wb") as file:
                np.save(file, weights, allow_pickle=False)
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)


def _path(questions: OrderedQuestions) -> Path | None:
    kept = folder()
    emphasis = f"-{questions.emphasis:g}" if questions.emphasis else ""
    return None if kept is None else kept / f"{questions.kind}-{questions.size}{emphasis}.npy"
