"""Pictures, compared with the ones in tests/plot/images.

They are drawn with matplotlib's own DejaVu fonts and default style, from seeded noise. After a change that is meant,
draw them anew and LOOK at every one before it is committed:

    LEASTNOISE_DRAW=1 python -m pytest tests/plot/test_plot.py

A test that fails leaves what it drew and the difference in tests/plot/images/failed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.testing.compare import compare_images

import leastnoise as ln
import pages
import table_pages
from leastnoise import datasets, errors, plot
from leastnoise.domain import Domain, Lattice, product
from leastnoise.graphs import Graph
from leastnoise.pictures.maps import Ground
from leastnoise.pictures.palette import LIGHT
from leastnoise.pictures.picture import shades_for
from leastnoise.testing import seeded
from table_pages import denoised

IMAGES = Path(__file__).parent / "images"
SEVERAL: Any = {
    "Gaussian, 0.5": ln.GaussianDP(0.5),
    "Gaussian, 1": ln.GaussianDP(1.0),
    "Laplace": ln.PureDP(1.0),
    "(1, 0.01)": ln.ApproxDP(1.0, 0.01),
}
TOLERANCE = 2.0  # root mean square over 256 levels; moving one label by a pixel is more


def path() -> Any:
    penalties = np.logspace(-1, 3, 30)
    sure = (np.log(penalties) - 2) ** 2 + 3
    return plot.path(SimpleNamespace(penalties=penalties, sure=sure, degrees_of_freedom=3800 / (1 + penalties)))


def small_budget() -> Any:
    """A year of releases; every third with Laplace noise, and what an allocation did not use."""
    spent = [(Fraction(0), Fraction(1, 4)) if i % 3 == 0 else (Fraction(1, 12), Fraction(0)) for i in range(9)]
    spent.append((-Fraction(1, 12), Fraction(0)))
    entries = [
        SimpleNamespace(
            created_at=datetime(2026, 1 + i, 3, tzinfo=UTC),
            number=i + 1,
            note="city map" if i == 1 else "",
            kind="release",
            allocation="",
            gaussian=g,
            pure=p,
            threshold=Fraction(0),
        )
        for i, (g, p) in enumerate(spent)
    ]
    terms = SimpleNamespace(epsilon=3, delta=1e-6, unit="taxi", neighbours="add-remove")
    return SimpleNamespace(terms=terms, history=lambda: entries)


def village() -> Any:
    """A map in three panels: streets ten by fourteen, one square busy."""
    across, along = np.meshgrid(np.arange(10), np.arange(14), indexing="ij")
    places = np.stack([8 + 0.002 * across.ravel() + 0.0005 * along.ravel(), 54 + 0.001 * along.ravel()], axis=1)
    graph = Graph.from_edges(140, Graph.grid((10, 14)).edges, coordinates=places)
    truth = np.rint(300 * np.exp(-((across - 3) ** 2 + (along - 9) ** 2) / 6)).astype(np.int64).ravel()
    with seeded(3):
        release = ln.release(truth, sensitivity=1, epsilon=0.5, delta=1e-6)
    return plot.map(graph, raw=release, estimate=release.denoise(nonnegative=True), truth=truth)[0]


def heat_maps() -> Any:
    """A table of two columns as published, denoised and in truth."""
    release = table_pages.people()
    columns = ("district", "income")
    people = datasets.people(2_000)
    district, income = (people[name].to_pylist() for name in ("district", "income"))
    truth = np.zeros(release[columns].shape)
    for row, column in zip(district, income, strict=True):
        truth[release.axes["district"].index(row), release.axes["income"].index(column)] += 1
    return release[columns].plot(estimate=denoised("people")[columns], truth=truth)[0]


def towns(name: str) -> Any:
    """A release by town, its towns in letters that DejaVu has."""
    return replace(pages.kind(name), domain=product(["town"], ["Aš", "Berlin $1$", "Cork", "d", "Ōtsu", "new\nline"]))


def mixture() -> Any:
    shares = {"empirical_bayes": 0.71, "james_stein": 0.2, "raw": 0.09}
    made = pages.kind("many").denoise()
    return plot.weights(
        SimpleNamespace(
            parameters={"weights": shares},
            bins=200,
            rmse_in_words=lambda: "about 2.5, at most 5.1 (95 %)",
            std=made.std,
        )
    )  # type: ignore[arg-type]


PICTURES: dict[str, Callable[[], Any]] = {
    "profile": lambda: plot.profile(ln.GaussianDP(0.5)),
    "tradeoff": lambda: plot.tradeoff(ln.GaussianDP(0.5)),
    "tradeoff_pure": lambda: plot.tradeoff(ln.PureDP(1.0)),
    "tradeoff_several": lambda: plot.tradeoff(SEVERAL, colours={"Laplace": "#000000"}),
    "profile_several": lambda: plot.profile(SEVERAL),
    "comparison": lambda: ln.plot.comparison(
        ln.compare(sensitivity=5**0.5, l1_sensitivity=5, epsilon=0.5, delta=1e-6, bins=4000)
    ),
    "bars": lambda: towns("few").plot(estimate=pages.kind("estimate")),
    "steps": lambda: pages.kind("many").plot(estimate=pages.kind("many").denoise()),
    "image": lambda: pages.kind("lattice").plot(),
    "found_cells": lambda: pages.kind("found_cells").plot(),
    "zones": lambda: pages.kind("zones").plot(zones=pages.ZONES),
    "means": lambda: towns("means").plot(),
    "estimate": lambda: pages.kind("many").denoise().plot(),
    "map": village,
    "table": heat_maps,
    "slices": lambda: table_pages.hostile()["age", "sex", "__proto__"].plot()[0],
    "path": path,
    "weights": mixture,
    "budget": lambda: plot.budget(small_budget()),
}


@cache
def picture(name: str) -> Any:
    """Drawn once, for whoever only looks at it."""
    return PICTURES[name]()


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_as_they_were(name: str) -> None:
    with mpl.rc_context():
        mpl.rcdefaults()
        figure = picture(name).figure
        drawn = IMAGES / "failed" / f"{name}.png"
        drawn.parent.mkdir(exist_ok=True)
        figure.savefig(drawn, dpi=50, metadata={"Software": None})
    if os.environ.get("LEASTNOISE_DRAW"):
        drawn.replace(IMAGES / f"{name}.png")
        pytest.skip("drawn anew: look at it")
    difference = compare_images(str(IMAGES / f"{name}.png"), str(drawn), TOLERANCE)
    assert difference is None, difference
    drawn.unlink()


def test_pictures_are_small() -> None:
    assert {file.stem for file in IMAGES.glob("*.png")} == set(PICTURES)
    assert max(file.stat().st_size for file in IMAGES.glob("*.png")) < 60_000


def test_an_axes_that_is_given_is_the_one_that_is_drawn_on() -> None:
    from matplotlib.figure import Figure

    figure = Figure()
    axes = figure.subplots(1, 2)
    assert plot.profile(ln.PureDP(1.0), ax=axes[0]) is axes[0]
    assert pages.kind("few").plot(ax=axes[1]) is axes[1]


def test_where_zones_overlap_the_first_shows() -> None:
    """As a point is the first zone's that holds it; what has no value is grey, and no part of what lies below."""
    with seeded(7):
        release = pages.overlapping()
    drawn = release.plot(zones=pages.OVERLAPPING)
    painted = drawn.collections[0]
    west, south, east, north = pages.OVERLAPPING.box
    ground = Ground(np.array([west, south]), np.array([east, north]), degrees=True)
    for name in list(drawn.texts):
        name.remove()
    canvas = FigureCanvasAgg(drawn.figure)
    canvas.draw()
    pixels = np.asarray(canvas.buffer_rgba())
    values = dict(zip(("city", "isles", "land"), release.values.tolist(), strict=True))
    for name, place in pages.INSIDE.items():
        right, up = drawn.transData.transform(ground.places(np.array(place)))
        seen = pixels[pixels.shape[0] - 1 - round(up), round(right)] / 255
        colour = painted.to_rgba(values[name]) if name in values else mpl.colors.to_rgba(LIGHT["none"])
        np.testing.assert_allclose(seen, colour, atol=0.02, err_msg=name)


def test_every_kind_of_release_draws_itself() -> None:
    for name in (*pages.KINDS, "estimate"):
        assert pages.kind(name).plot().figure is not None


def test_a_set_and_its_estimate_draw_their_tables_of_one_column() -> None:
    for of in (table_pages.people(), denoised("people")):
        drawn = of.plot()
        assert [one.get_title(loc="left") for one in drawn] == ["district", "age", "sex", "job", "income"]


@pytest.mark.parametrize("columns", [(), ("job",), ("age",), ("age", "sex"), ("district", "job")])
def test_every_table_of_a_set_draws_itself(columns: tuple[str, ...]) -> None:
    release = table_pages.people()
    estimate = denoised("people")[columns]
    for options in ({}, {"estimate": estimate}, {"estimate": estimate, "truth": release[columns].values}):
        drawn = release[columns].plot(**options)
        assert len(drawn) == 1 + len(options) if isinstance(drawn, tuple) else drawn.figure is not None
    with pytest.raises(errors.InvalidParameter, match="there are 3 values"):
        release[columns].plot(truth=[1, 2, 3])


def test_a_heat_map_has_names_beside_and_hatches_what_could_be_zero() -> None:
    release = table_pages.people()
    table = release["age", "sex"]
    drawn = table.plot()
    assert [label.get_text() for label in drawn.get_yticklabels()] == ["female", "male", "missing or other"]
    np.testing.assert_array_equal(drawn.images[0].get_array(), table.to_numpy().T)
    low = table.interval(0.95).low.reshape(table.shape)
    marked = {(round(patch.get_y() + 0.5), round(patch.get_x() + 0.5)) for patch in drawn.patches}
    assert marked == {(sex, age) for age, sex in zip(*np.nonzero(low <= 0), strict=True)}
    three = table_pages.hostile()["age", "sex", "__proto__"]
    panels = three.plot(estimate=np.zeros(three.bins))
    assert [panel.get_title(loc="left") for panel in panels] == ["denoised, sex: f", "denoised, sex: m"]
    assert not any(panel.patches for panel in panels)
    with pytest.raises(errors.InvalidParameter, match="2 panels need as many Axes"):
        three.plot(ax=panels[0])


def test_a_budget_draws_itself(tmp_path: Path) -> None:
    budget = ln.Budget.open(tmp_path / "city.ledger", epsilon=1, delta=1e-6)
    assert "No release yet" in _words(budget.plot())
    ln.release(np.array([1, 2]), sensitivity=1, budget=budget, share=0.25)
    assert "25% used by releases" in _words(budget.plot())
    budget._close(budget.history()[0].release, "rows could not be read")
    budget.reopen(reason="mended")
    assert "25% used by releases" in _words(budget.plot())
    budget.allocate("maps", share=0.5)
    assert [bar.get_width() for bar in budget.plot().patches] == pytest.approx([25, 50, 25])


def _words(ax: Any) -> str:
    return " ".join(" ".join(text.get_text() for text in (*ax.texts, *ax.figure.texts)).split())


def test_the_caption_tells_noise_guarantee_and_seed() -> None:
    words = _words(pages.kind("few").plot())
    for told in ("standard deviation 8.063", "(0.5, 1e-06)-DP", "SEEDED", "95% intervals"):
        assert told in words


def test_negative_noise_shares_the_palest_colour_and_negative_truth_does_not() -> None:
    counts = shades_for([np.array([-3.0, 0.0, 50.0])], noise=2.0)
    assert counts.part([-3.0, 0.0]).tolist() == [0.0, 0.0]
    signed = shades_for([np.array([-40.0, 0.0, 50.0])], noise=2.0)
    assert signed.part(0.0) == 0.5
    assert signed.part(-40.0) < 0.5
    high = shades_for([np.array([90.0, 100.0])])
    assert high.part([90.0, 100.0]).tolist() == [0.0, 1.0]


def test_nothing_global_is_touched() -> None:
    import subprocess

    code = (
        "import sys, leastnoise as ln, matplotlib as m\n"
        "style = lambda: {k: m.rcParams[k] for k in m.rcParams if k != 'backend'}  # asking for that imports pyplot\n"
        "before = style(); ln.plot.profile(ln.PureDP(1.0)).figure.savefig('/dev/null', format='png')\n"
        "print('matplotlib.pyplot' in sys.modules, style() == before)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


def test_mistakes_are_sentences() -> None:
    with pytest.raises(errors.MissingParameter, match="no places"):
        plot.map(Graph.path(6), raw=pages.kind("few"))
    with pytest.raises(errors.InvalidParameter, match="6 values"):
        plot.map(pages.city()[0], raw=pages.kind("few"))
    with pytest.raises(errors.MissingParameter, match="needs values"):
        plot.map(pages.city()[0])
    with pytest.raises(errors.InvalidParameter, match="not a mixture"):
        plot.weights(pages.kind("few").denoise("james_stein"))


@pytest.mark.parametrize(
    "draw",
    [
        lambda: pages.kind("few").plot(),
        lambda: plot.map(pages.city()[0], raw=pages.city()[1]),
        lambda: plot.profile(ln.PureDP(1.0)),
    ],
    ids=["release", "map", "profile"],
)
def test_without_matplotlib_a_picture_says_what_to_install(draw: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"] + ["matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(errors.MissingPackage, match=r"pip install 'leastnoise\[plot\]'"):
        draw()


@pytest.mark.parametrize("size", [3, 15, 300])
def test_an_image_of_two_columns_names_its_keys(size: int) -> None:
    kinds, towns = ["small", "large"], [f"a town called {i}" for i in range(size)]
    plane = product(["kind", "town"], {"kind": kinds, "town": towns})
    ax = replace(ln.wrap(np.arange(2.0 * size), sigma=1.0), domain=plane).plot()
    assert [tick.get_text() for tick in ax.get_yticklabels()] == kinds
    names = [tick.get_text() for tick in ax.get_xticklabels()]
    assert names == [towns[int(place)] for place in ax.get_xticks()]
    assert names == towns if size < 20 else 2 <= len(names) < 20
    assert ax.images[0].origin == "upper"  # names are read from the top


def test_a_map_says_what_its_colours_are() -> None:
    with mpl.rc_context():
        figure = village().figure
        assert figure.axes[-1].get_ylabel() == "value"


@pytest.mark.parametrize("name", PICTURES)
def test_no_caption_is_cut_off(name: str) -> None:
    with mpl.rc_context():
        mpl.rcdefaults()
        ax = picture(name)
        figure = ax.figure
        figure.draw_without_rendering()
        captions = [text for text in (*ax.texts, *figure.texts) if text.get_fontsize() == 8]
        for text in captions:
            assert text.get_window_extent().x1 <= figure.bbox.x1, text.get_text()


@pytest.mark.parametrize("letters", [1, 15, 60])
def test_no_caption_is_cut_off_beside_long_names(letters: int) -> None:
    with mpl.rc_context(), seeded(1):
        mpl.rcdefaults()
        names = [f"{i}{'W' * letters}" for i in range(6)]
        ax = replace(pages.kind("few"), domain=product(["town"], names)).plot()
        ax.figure.draw_without_rendering()
        (caption,) = (text for text in ax.figure.texts if text.get_fontsize() == 8)
        assert len(caption.get_text().splitlines()) > 1
        assert caption.get_window_extent().x1 <= ax.figure.bbox.x1


def test_several_guarantees_are_named_and_alike() -> None:
    ax = plot.tradeoff(SEVERAL)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert [label.split(":")[0] for label in labels] == list(SEVERAL)
    lines = ax.get_lines()[1:]  # the first is guessing
    assert len({(line.get_color(), str(line.get_linestyle())) for line in lines}) == len(SEVERAL)
    for line, guarantee in zip(lines, SEVERAL.values(), strict=True):
        most = 100 * (1 - guarantee.tradeoff(np.asarray(line.get_xdata()) / 100))
        assert (line.get_ydata() >= most - 1e-10).all()
        assert np.median(line.get_ydata() - most) < 1e-2
    own = plot.profile({"a": ln.PureDP(1)}, colours={"a": "red"}).get_lines()[0]
    assert own.get_color() == "red"
    first = next(iter(SEVERAL))
    theirs = plot.tradeoff(SEVERAL, colours={first: lines[1].get_color()}).get_lines()[1:]
    assert theirs[0].get_color() == lines[1].get_color()  # the second's, had nobody asked for it
    assert len({line.get_color() for line in theirs}) == len(SEVERAL)
    with pytest.raises(errors.InvalidParameter, match="by name"):
        plot.tradeoff({})
    with pytest.raises(errors.InvalidParameter, match="different neighbours"):
        plot.profile({"a": ln.PureDP(1), "b": ln.PureDP(1, "replace")})
    with pytest.raises(errors.InvalidParameter, match="colours"):
        plot.tradeoff(SEVERAL, colours={"b": "red"})


@pytest.mark.parametrize(
    ("names", "step", "box", "degrees"),
    [
        (("lon", "lat"), 5.0, ((-125, -65), (25, 50)), True),  # whole numbers, and named
        (("pickup_lng", "pickup_Latitude"), 5.0, ((-125, -65), (25, 50)), True),
        (("x", "y"), 0.5, ((0, 12), (40, 45)), True),
        (("x", "y"), 5.0, ((-125, -65), (25, 50)), False),  # of a board, as far as anybody knows
        (("lon", "lat"), 50.0, ((0, 400), (0, 400)), False),
    ],
)
def test_cells_of_degrees_are_as_wide_as_they_are_on_the_ground(
    names: Any, step: float, box: Any, degrees: bool
) -> None:
    cells = Lattice(*names, step).box(x=box[0], y=box[1])
    made = replace(ln.wrap(np.arange(float(cells.size)), sigma=1.0), domain=Domain(("cell",), (cells,)))
    middle = np.radians(sum(box[1]) / 2)
    left, right, bottom, top = made.plot().images[0].get_extent()
    wide, high = (end[1] - end[0] for end in box)
    shown = (right - left) / (top - bottom) * high / wide
    assert shown == pytest.approx(np.cos(middle) if degrees else 1.0, rel=1e-6)
