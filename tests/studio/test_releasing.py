"""A release of the studio that fails for a reason nobody foresaw, and one of which not all could be made."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from leastnoise import errors
from leastnoise.releases.release import Release
from leastnoise.studio.releasing import Progress, _do
from studio_visitor import Visitor, paid, ready, revisited


def test_the_words_of_an_unforeseen_failure_are_shown_nowhere(tmp_path: Path) -> None:
    """They may quote a row, and what leaves a thread is printed."""

    def job() -> Any:
        raise RuntimeError("secret424242")

    progress, draft = Progress(state="running"), SimpleNamespace(path=tmp_path / "job.toml", job=job)
    _do(draft, progress, False)  # type: ignore[arg-type]
    assert progress.state == "failed"
    assert "secret" not in progress.message


@pytest.mark.parametrize(
    ("failing", "problem", "words"),
    [
        ("report", ZeroDivisionError("secret424242"), "a mistake of leastnoise itself (ZeroDivisionError)"),
        ("report", OSError("secret424242"), "Look for a full disk"),
        ("denoise", errors.OutOfRange("too large"), "too large"),
        ("to_csv", MemoryError(), "not enough memory"),
    ],
    ids=["page", "disk", "estimate", "csv"],
)
def test_a_release_whose_page_cannot_be_drawn_is_released(
    desk: Visitor, monkeypatch: pytest.MonkeyPatch, failing: str, problem: Exception, words: str
) -> None:
    """Paid, saved, and not drawn: the page says all three, and a click draws it without paying."""
    ready(desk)

    def fail(*given: Any, **named: Any) -> None:
        raise problem

    with monkeypatch.context() as broken:
        broken.setattr(Release, failing, fail)
        desk.send("/job/people/release", confirm="release")
        assert desk.released() == "unfinished"
    page = desk.client.get("/job/people/release").text
    assert "Released, and not all of its files were made" in page
    assert "not released" not in page
    assert words in page
    assert "secret" not in page
    assert 'href="/file/people/people-release.parquet"' in page
    assert str(desk.folder) not in page
    assert desk.client.get("/file/people/people-release.parquet").status_code == 200
    if failing != "to_csv":
        results = desk.client.get("/job/people/results").text
        assert "Nothing was released" not in results
        assert "is saved as people-release.parquet" in results
    anew = revisited(desk)  # a studio that is started again knows as much
    assert "costs nothing" in anew.client.get("/job/people/release").text
    for each in (anew, desk):
        each.send("/job/people/release", go="finish")
        assert (each.released(), paid()) == ("done", 1)
    assert "Nothing was released" not in desk.client.get("/job/people/results").text
    assert {"people.html", "people-release.csv"} <= {path.name for path in desk.folder.iterdir()}
