"""A release of the studio that fails for a reason nobody foresaw."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from leastnoise.studio.releasing import Progress, _do


def test_the_words_of_an_unforeseen_failure_are_shown_nowhere(tmp_path: Path) -> None:
    """They may quote a row, and what leaves a thread is printed."""

    def job() -> Any:
        raise RuntimeError("secret424242")

    progress, draft = Progress(state="running"), SimpleNamespace(path=tmp_path / "job.toml", job=job)
    _do(draft, progress, False)  # type: ignore[arg-type]
    assert progress.state == "failed"
    assert "secret" not in progress.message
