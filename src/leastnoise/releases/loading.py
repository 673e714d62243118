"""`load`: what the `save` of a release or an estimate wrote."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from leastnoise import errors
from leastnoise.releases import (
    clip_suggestion,
    crosstab_estimate_files,
    crosstab_files,
    estimate_files,
    file_format,
    limit_files,
    mean,
    quantile,
    release,
    sparse,
    summary_files,
)
from leastnoise.releases.facts import Facts
from leastnoise.releases.promised import Promised

if TYPE_CHECKING:
    import pyarrow as pa

_READERS: dict[str, Callable[[pa.Table, Facts], Promised]] = {
    "release": release.from_table,
    "sparse release": sparse.from_table,
    "mean release": mean.from_table,
    "quantile release": quantile.from_table,
    "tables release": crosstab_files.from_table,
    "tables estimate": crosstab_estimate_files.from_table,
    "summary release": summary_files.from_table,
    "estimate": estimate_files.from_table,
    "limit suggestion": limit_files.from_table,
    "clip suggestion": clip_suggestion.from_table,
}


def load(path: str | os.PathLike[str]) -> Any:
    """What `save` wrote to `path`: a Release, a SparseRelease, a MeanRelease, a QuantileRelease, a
    CrosstabsRelease, a SummaryRelease, an Estimate, a CrosstabsEstimate, a LimitSuggestion or a
    ClipSuggestion."""
    table, what, facts = file_format.read(path)
    if what not in _READERS:
        raise errors.NotOurs(f"{os.fspath(path)!r} holds a {what}, which this version does not know. Upgrade.")
    try:
        return _READERS[what](table, Facts(facts, path))
    except errors.NotOurs:
        raise
    except Exception:  # columns and bins that do not belong together: the file is a stranger's, whatever they raise
        raise errors.NotOurs(f"{os.fspath(path)!r} was edited or damaged: its facts do not fit together.") from None
