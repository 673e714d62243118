"""Limits from counts of units: predictions that hold where the noise is small, and proposals that stay sane."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import leastnoise as ln
from leastnoise import errors
from leastnoise.domain.size_classes import BIN_STARTS, OCTAVES, ROW_STARTS, WIDE
from leastnoise.privacy.sensitivity import ChosenLimit, Limits
from leastnoise.releases.limit_errors import AskedNoise, predict
from leastnoise.releases.limit_suggestion import PAIRS, Layout
from leastnoise.releases.unit_size_fit import Fit
from looked_tables import NOISE, light, suggestion, true_error


def test_predicted_errors_are_true_where_the_noise_is_small() -> None:
    unit, place, bins = light()
    found = suggestion(unit, place, bins, sigma=0.5)
    for rows in (3, 6, 9, 13, 19):
        (at,) = np.flatnonzero((found.errors.max_rows == rows) & (found.errors.max_per_bin == rows))
        truth = true_error(unit, place, bins, Limits(rows, rows, min(rows, bins)))
        assert found.errors.error[at] == pytest.approx(truth, rel=0.15)
    np.testing.assert_allclose(np.hypot(found.errors.bias, found.errors.noise), found.errors.error)


def test_the_proposal_is_nearly_as_good_as_the_best_in_hindsight() -> None:
    unit, place, bins = light()
    found = suggestion(unit, place, bins, sigma=30.0)
    errors_of = {m: true_error(unit, place, bins, Limits(m, m, min(m, bins))) for m in range(1, 40)}
    assert true_error(unit, place, bins, found._limits) <= 1.15 * min(errors_of.values())


def test_units_that_stay_in_one_bin_keep_their_rows_there() -> None:
    """Of units with 8 to 15 rows, most with 15, a fifth have all of them in one bin: a limit of 13 there cuts these."""
    chance = np.random.default_rng(3)
    rows = np.where(chance.random(3000) < 0.6, 15, chance.integers(8, 16, 3000))
    unit = np.repeat(np.arange(3000), rows)
    stays = chance.random(3000) < 0.2
    place = np.where(stays[unit], unit % 12, chance.integers(0, 12, unit.size))
    noise = AskedNoise(2.0, None)
    found = suggestion(unit, place, 12, sigma=60.0, noise=noise)
    tried = [Limits(15, p, 12) for p in range(8, 16)]
    best = min(true_error(unit, place, 12, limits, noise) for limits in tried)
    assert true_error(unit, place, 12, found._limits, noise) <= 1.2 * best


def test_one_heavy_unit_is_not_followed() -> None:
    unit, place, bins = light()
    heavy = np.full(100_000, unit.max() + 1)
    more = np.concatenate([unit, heavy]), np.concatenate([place, np.zeros(heavy.size, dtype=np.int64)])
    assert suggestion(*more, bins, sigma=30.0).limits["max_rows"] < 40


def test_units_of_one_row_each_need_a_limit_of_one() -> None:
    unit = np.arange(5000)
    found = suggestion(unit, unit % 30, 30, sigma=10.0)
    assert found.limits == {"max_rows": 1}
    assert found.kept == pytest.approx(1, abs=1e-3)


def test_where_nothing_can_be_seen_the_limit_is_small() -> None:
    unit, place, bins = light(units=5)
    assert suggestion(unit, place, bins, sigma=1000.0, noise=AskedNoise(1e3, None)).limits["max_rows"] <= 100


def test_noisier_questions_get_smaller_limits() -> None:
    chance = np.random.default_rng(2)
    unit = np.repeat(np.arange(5000), np.minimum(chance.pareto(1.2, 5000) + 1, 1e4).astype(int))
    place = chance.integers(0, 50, unit.size)
    chosen = [
        suggestion(unit, place, 50, sigma=10.0, noise=AskedNoise(scale * 4.2, None)).limits["max_rows"]
        for scale in (0.1, 1, 10, 100)
    ]
    assert chosen == sorted(chosen, reverse=True)
    assert chosen[0] > chosen[-1]


def test_many_bins_a_unit_get_a_limit_in_a_bin() -> None:
    """Units with 60 rows in 60 of 200 bins: Gaussian noise with few rows in a bin is far less."""
    unit, place = np.repeat(np.arange(4000), 60), np.tile(np.arange(240_000) % 200, 1)
    found = suggestion(unit, place, 200, sigma=20.0, noise=AskedNoise(4.2, None))
    assert found.limits["max_per_bin"] <= 4
    assert 40 <= found.limits["max_rows"] <= 100


def test_a_row_a_bin_needs_no_more_in_a_bin() -> None:
    """Units with a row in most of eight years: none has two in one, and noise of 100 units hides what is not there."""
    chance = np.random.default_rng(4)
    unit, place = np.nonzero(chance.random((6000, 8)) < 0.85)
    found = suggestion(unit, place, 8, sigma=100.0, noise=AskedNoise(4.2, None))
    assert found.limits == {"max_rows": 8, "max_per_bin": 1}


def test_a_month_has_room_for_so_many_days() -> None:
    """Most trains run in one month, some in several and some all year, each on nearly every day: small ones have all of
    their rows in one bin and large ones a twelfth, and none has more than 31 in any."""
    chance, units = np.random.default_rng(0), 3000
    all_year = np.where(chance.random(units) < 0.5, chance.integers(2, 12, units), 12)
    months = np.where(chance.random(units) < 0.8, 1, all_year)
    first, train = chance.integers(0, 12, units), np.repeat(np.arange(units), months)
    month = (first[train] + np.arange(train.size)) % 12
    days = np.where(months[train] > 1, chance.integers(26, 32, train.size), chance.integers(1, 32, train.size))
    found = suggestion(np.repeat(train, days), np.repeat(month, days), 12, sigma=60.0)
    assert found.limits["max_per_bin"] <= 39


def test_a_file_with_other_counts_is_refused(tmp_path: Path) -> None:
    unit, place, bins = light()
    path = tmp_path / "limits.parquet"
    suggestion(unit, place, bins, sigma=20.0).save(path, allow_seeded=True)
    table = pq.read_table(path)
    pq.write_table(table.slice(1).replace_schema_metadata(table.schema.metadata), path)
    with pytest.raises(errors.NotOurs):
        ln.load(path)


def test_it_explains_draws_and_lists_itself() -> None:
    unit, place, bins = light()
    found = suggestion(unit, place, bins, sigma=20.0)
    assert "Proposed: max_rows" in found.explain()
    assert "predictions" in found.explain()
    columns, ends = found.to_arrow().column_names, ["error", "error_low", "error_high"]
    assert columns == ["max_rows", "max_per_bin", "kept", "kept_low", "kept_high", "bias", "noise", *ends]
    listed = found.to_arrow()["max_rows"].to_pylist()
    assert listed == sorted(set(listed))
    pytest.importorskip("matplotlib")
    drawn = found.plot()
    assert str(found.limits["max_rows"]) in drawn.get_title(loc="left")
    assert found.units.values.sum() == pytest.approx(4000, rel=0.1)


@pytest.mark.parametrize("bins", [2, 20, 80])
def test_the_limits_that_are_shown_are_the_best_of_several(bins: int) -> None:
    """p times as many rows as bins, with p in a bin, is weighed without its neighbours: beside the others it would look
    like a wall. The best is shown whatever it is."""
    found = suggestion(*light(bins=bins, rows=90), sigma=30.0)
    errors, chosen = found.errors, found.errors.best_for_each()
    assert errors.best in chosen
    ends = {start - 1 for start in ROW_STARTS}
    assert {int(m) for m in errors.max_rows[chosen]} - ends <= {int(errors.max_rows[errors.best])}
    assert set(errors.max_rows.tolist()) - ends  # there are such, of which none but the best is shown
    for at in chosen:
        assert errors.regret[at] == errors.regret[errors.max_rows == errors.max_rows[at]].min()


def test_it_says_when_the_counts_do_not_decide() -> None:
    """The same table looked at twice: with little noise the regret is small and nobody is warned."""
    unit, place, bins = light(bins=3)
    clear = suggestion(unit, place, bins, sigma=5.0)
    assert 0 <= clear.regret < 0.1
    assert clear.risk < 0.05
    assert "leaves open" not in clear.explain()
    drowned = suggestion(unit, place, bins, sigma=20_000.0)
    assert drowned.regret > 0.5
    assert 0.2 <= drowned.risk <= 1
    assert "leaves open which limits are good" in drowned.explain()
    for found in (clear, drowned):
        assert f"{100 * found.regret:.0f}% above" in found.explain()
    assert "a chance below 1%" in clear.explain()
    assert f"a chance of {100 * drowned.risk:.0f}%" in drowned.explain()


def test_regret_is_the_mean_over_what_is_plausible() -> None:
    """Two tables equally likely, of units with one row and with nine: by hand from the errors of each alone."""
    light_units, heavy_units = (np.where(np.array(ROW_STARTS) == rows, 500.0, 0.0) for rows in (1, 9))
    both = Fit(counts=np.stack([light_units, heavy_units]), weights=np.array([0.5, 0.5]))
    alone = [Fit(counts=counts[None], weights=np.ones(1)) for counts in both.counts]
    found = predict(both, None, concentrations=np.ones(2), bins=1, noise=NOISE)
    errors_of = [predict(fit, None, concentrations=np.ones(1), bins=1, noise=NOISE) for fit in alone]
    tried = [dict(zip(errors.max_rows.tolist(), errors.error.tolist(), strict=True)) for errors in errors_of]
    for rows, regret, risk in zip(found.max_rows.tolist(), found.regret.tolist(), found.risk.tolist(), strict=True):
        if all(rows in errors for errors in tried):
            ratios = np.array([errors[rows] / min(errors.values()) for errors in tried])
            assert regret == pytest.approx(ratios.mean() - 1, rel=1e-9)
            assert risk == pytest.approx((ratios > 1.5).mean())


def test_limits_cannot_be_changed_and_know_their_release() -> None:
    unit, place, bins = light()
    found = suggestion(unit, place, bins, sigma=20.0)
    with pytest.raises(TypeError):
        found.limits["max_rows"] = 1  # type: ignore[index]
    limit = pickle.loads(pickle.dumps(found.limits["max_rows"]))
    assert isinstance(limit, ChosenLimit)
    assert limit.chosen_with == found.id
    assert Limits.of(max_rows=limit, bins=3).chosen == (("max_rows", found.id),)
    assert Limits.of(max_rows=5, bins=3).chosen == ()


def test_the_layout_has_every_number_once() -> None:
    layout = Layout(7)
    starts = [layout.start(kind) for kind in ("rows", "octaves", "wide", "spread", "depths", "shared", "bins")]
    sizes = [len(ROW_STARTS), len(OCTAVES), len(WIDE), PAIRS, len(OCTAVES), len(BIN_STARTS), 7]
    assert starts == np.cumsum([0, *sizes[:-1]]).tolist()
    assert layout.size == sum(sizes)
    assert Layout(1).size == len(ROW_STARTS) + len(OCTAVES) + len(WIDE)


def test_a_table_that_looks_empty_has_finite_errors() -> None:
    """Where noise is large a likely shape has nobody in it; the logarithm of nothing is no warning to the user."""
    counts = np.stack([np.zeros(len(ROW_STARTS)), np.full(len(ROW_STARTS), 9.0)])
    fit = Fit(counts=counts, weights=np.array([0.5, 0.5]))
    assert np.isfinite(predict(fit, None, concentrations=np.ones(2), bins=1, noise=NOISE).error).all()
