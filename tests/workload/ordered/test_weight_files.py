"""Weights on disk: kept by kind and size, whole or not at all, and harmless whatever is in the files."""

from __future__ import annotations

import io

import numpy as np
import pytest

from leastnoise.workload.ordered import key_weights, weight_files
from leastnoise.workload.ordered.key_weights import GAP, optimal_weights
from leastnoise.workload.ordered.questions import OrderedQuestions

QUESTIONS = OrderedQuestions("ranges", 300)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("LEASTNOISE_CACHE", str(tmp_path))
    optimal_weights.cache_clear()
    yield tmp_path / "strategies"
    optimal_weights.cache_clear()


def test_weights_are_found_once(folder, monkeypatch):
    found = optimal_weights(QUESTIONS)
    assert [path.name for path in folder.iterdir()] == ["ranges-300.npy"]
    optimal_weights.cache_clear()
    monkeypatch.setattr(key_weights, "_found", lambda _: pytest.fail("searched again"))
    assert np.allclose(optimal_weights(QUESTIONS).weights, found.weights, rtol=1e-14)
    other = OrderedQuestions("ranges", 300, emphasis=3.0)
    assert weight_files._path(other) != weight_files._path(QUESTIONS)


def _npy(array):
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def _npz():
    file = io.BytesIO()
    np.savez(file, a=np.ones(3))
    return file.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no array",
        _npy(np.ones(300))[:-7],
        _npy(np.ones(299)),
        _npy(-np.ones(300)),
        _npy(np.full(300, np.nan)),
        _npy(np.geomspace(1e-9, 1, 300)),
        _npy(np.ones(300)),  # weights, but bad ones
        _npy(np.ones(300, dtype=np.float32)),
        _npy(np.array([print] * 300, dtype=object)),
        _npy(np.ones(10**5)),
        _npz(),
    ],
)
def test_a_file_that_is_none_of_ours_is_replaced(folder, content):
    folder.mkdir()
    path = folder / "ranges-300.npy"
    path.write_bytes(content)
    assert optimal_weights(QUESTIONS).gap <= GAP
    assert path.read_bytes() != content
    assert [each.name for each in folder.iterdir()] == ["ranges-300.npy"]


def test_nothing_is_kept_where_it_is_turned_off_or_cannot_be(tmp_path, monkeypatch):
    monkeypatch.setenv("LEASTNOISE_CACHE", "off")
    assert weight_files.folder() is None
    weight_files.store(QUESTIONS, np.ones(300))
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("LEASTNOISE_CACHE", str(tmp_path / "file"))
    weight_files.store(QUESTIONS, np.ones(300))
    assert weight_files.load(QUESTIONS) is None
    monkeypatch.setenv("LEASTNOISE_CACHE", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    if weight_files.sys.platform == "linux":
        assert weight_files.folder() == tmp_path / "leastnoise" / "strategies"
