"""`release.denoise` knows from the domain which bins are alike."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import leastnoise as ln
from leastnoise import errors
from leastnoise.denoise import of_release
from leastnoise.domain import Domain, IntegerRange, Keys
from leastnoise.graphs import Graph
from leastnoise.releases.noise import Noise
from leastnoise.releases.release import Release

CARRIERS = tuple("ABCDEFGHIJKLMNOP")
TABLE = Domain(("carrier", "month"), (Keys(CARRIERS), IntegerRange(1, 13)))
SIZES = np.geomspace(3, 4500, 16)  # as unequal as airlines are
SEASON = 1 + 0.08 * np.sin(np.arange(12) * math.tau / 12)


def released(truth: Any, domain: Domain | None, seed: int, sigma: float = 218.5) -> Release:
    noisy = np.round(np.ravel(truth) + sigma * np.random.default_rng(seed).standard_normal(np.size(truth)))
    return Release.of(noisy.astype(np.int64), Noise.of("gaussian", sigma=sigma), domain=domain, kind="count")


def rmse(values: Any, truth: Any) -> float:
    return math.sqrt(np.mean((values - np.ravel(truth)) ** 2))


def test_months_within_a_carrier_help_by_default() -> None:
    """A made-up table like that of airlines by month: at most 0.75 of the error without its axes, over 8 draws."""
    truth = SIZES[:, None] * SEASON
    known, unknown = 0.0, 0.0
    for seed in range(8):
        made = released(truth, TABLE, seed)
        known += rmse(made.denoise().values, truth)
        unknown += rmse(made.denoise(along=None).values, truth)
    assert known < 0.75 * unknown


def test_the_default_is_all_ordered_axes_and_the_table() -> None:
    made = released(SIZES[:, None] * SEASON, TABLE, 0)
    e = made.denoise()
    assert e.parameters["along"] == ["month"]
    assert {"additive", "fused_lasso"} <= set(e.parameters["errors"])
    by_hand = made.denoise(along="month")
    assert (by_hand.values == e.values).all()
    chains = Graph.from_edges(192, [(k, k + 1) for k in range(191) if k % 12 != 11])
    same = ln.denoise.auto(made.values, made.std, graph=chains, shape=(16, 12), nonnegative=True)
    assert (same.values == e.values).all()


def test_none_is_what_the_values_alone_say() -> None:
    made = released(SIZES[:, None] * SEASON, TABLE, 0)
    alone = ln.denoise.auto(made.values, made.std, nonnegative=True)
    for off in (None, False):
        e = made.denoise(along=off)
        assert (e.values == alone.values).all()
        assert "along" not in e.parameters


def test_a_graph_takes_the_place_of_the_axes() -> None:
    made = released(SIZES[:, None] * SEASON, TABLE, 0)
    e = made.denoise(graph=Graph.path(192))
    assert "additive" not in e.parameters["errors"]
    assert "along" not in e.parameters
    with pytest.raises(errors.InvalidParameter, match="one of the two"):
        made.denoise(graph=Graph.path(192), along="month")


def test_names_are_chained_only_by_hand() -> None:
    domain = Domain(("carrier",), (Keys(CARRIERS),))
    made = released(SIZES, domain, 0)
    alone = ln.denoise.auto(made.values, made.std, nonnegative=True)
    assert (made.denoise().values == alone.values).all()
    assert "fused_lasso" not in made.denoise().parameters["errors"]
    assert "fused_lasso" in made.denoise(along="carrier").parameters["errors"]


def test_two_lists_have_effects_and_no_graph() -> None:
    domain = Domain(("carrier", "origin"), (Keys(CARRIERS), Keys(tuple("xyzw"))))
    e = released(SIZES[:, None] * np.ones(4), domain, 0).denoise()
    assert "additive" in e.parameters["errors"]
    assert "fused_lasso" not in e.parameters["errors"]


def test_large_domains_have_no_graph_unless_an_axis_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_release, "MAX_BINS_BY_DEFAULT", 191)
    made = released(SIZES[:, None] * SEASON, TABLE, 0)
    assert "along" not in made.denoise().parameters
    assert "additive" in made.denoise().parameters["errors"]
    assert made.denoise(along=["month"]).parameters["along"] == ["month"]


def test_other_methods_get_a_graph_from_named_axes() -> None:
    made = released(SIZES[:, None] * SEASON, TABLE, 0)
    assert made.denoise("fused_lasso", along="month").parameters["along"] == ["month"]
    with pytest.raises(errors.MissingParameter, match="needs graph"):
        made.denoise("fused_lasso")
    assert made.denoise("james_stein").method == "james_stein"
    with pytest.raises(errors.InvalidParameter, match="does not ask"):
        made.denoise("james_stein", along="month")


def test_mistakes_are_explained() -> None:
    made = released(SIZES[:, None] * SEASON, TABLE, 0)
    with pytest.raises(errors.InvalidParameter, match='Did you mean "month"'):
        made.denoise(along="mont")
    for wrong in (3, 2.5, ["month", 3], {"month": 1}):
        with pytest.raises(errors.WrongType, match="along is True, None, or names of axes: carrier, month"):
            made.denoise(along=wrong)  # type: ignore[arg-type]
    with pytest.raises(errors.InvalidParameter, match="names 'month' twice"):
        made.denoise(along=["month", "month"])
    with pytest.raises(errors.MissingParameter, match="no axes"):
        released(SIZES, None, 0).denoise(along="month")
    with pytest.raises(errors.InvalidParameter, match="takes no loss"):
        made.denoise("james_stein", loss="absolute")
    with pytest.raises(errors.InvalidParameter, match="takes no graph"):
        made.denoise("james_stein", graph=Graph.path(192))


def test_absolute_loss_reaches_the_release() -> None:
    rng = np.random.default_rng(3)
    truth = np.where(rng.random(500) < 0.2, rng.exponential(600, 500), 0.0)  # a tail that no threshold describes
    made = released(truth, None, 0)
    e = made.denoise(loss="absolute")
    assert e.parameters["loss"] == "absolute"
    assert e.parameters["integers"]  # counts are
    assert e.risk is None
    assert (e.values == 0).mean() > 0.5 > (made.denoise().values == 0).mean()
    assert np.abs(e.values - truth).mean() < np.abs(made.denoise().values - truth).mean()
