"""`leastnoise demo`: one count, a whole city and a register's tables, with numbers computed as it goes.

Its files are in ./leastnoise-demo, or in a folder with a number where that is there already.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from rich.panel import Panel
from rich.table import Table

import leastnoise as ln
from leastnoise import datasets
from leastnoise.cli.output import Line, show
from leastnoise.privacy import baselines
from leastnoise.privacy.distributions import Gaussian
from leastnoise.testing import aggregate

EPSILON, DELTA = 0.5, 1e-6
TRIPS, HOUR = 400_000, 20


def run_demo() -> None:
    """The least noise for one count; a table of taxis, from rows to a release that is paid for; a register's tables."""
    folder = next(path for path in map(Path, _names()) if not path.exists())  # nothing that is there is replaced
    folder.mkdir()
    _one_count()
    _city(folder)
    page = _register(folder)
    _heading("Next", f"cd {folder}; leastnoise studio people.parquet")
    show("The studio asks the same questions in the browser. No row is read before you release. Open this page:")
    show(Line(page.resolve().as_uri()))


def _names() -> Iterator[str]:
    yield "leastnoise-demo"
    yield from (f"leastnoise-demo-{number}" for number in count(2))


def _heading(bold: str, text: str) -> None:
    show(Panel.fit(f"[bold]{bold}[/bold]: {text}", border_style="green"))


def _one_count() -> None:
    classical, exact = baselines.classical_sigma(epsilon=EPSILON, delta=DELTA), ln.sigma(epsilon=EPSILON, delta=DELTA)
    _heading("leastnoise", "the same guarantee, less noise")
    show(
        "A hospital wants to publish how many patients had the flu this week: a count of 1,204. Nobody may learn "
        f"whether any one patient is in it. The guarantee: (epsilon, delta) = ({EPSILON}, {DELTA:g}).\n"
    )
    table = Table("formula", *_numbers("sigma", "95% of releases lie within", "variance"))
    for name, sigma in (("classical (textbook)", classical), ("leastnoise (exact, proved)", exact)):
        width = Gaussian(sigma, grid=1).half_width(0.95)
        table.add_row(name, f"{sigma:.4f}", f"1,204 ± {width:.0f}", f"{sigma**2:.1f}")
    show(table)
    weeks = ln.compose(*[ln.GaussianDP.of(sigma=exact)] * 52).to_approx(delta=DELTA)
    show(
        f"The exact sigma has {100 * (1 - (exact / classical) ** 2):.0f}% less variance, and 1e-12 less would not keep "
        f"the guarantee. A year of weekly counts adds up to epsilon = {weeks.epsilon:.2f} (adding the epsilons would "
        f"claim {52 * EPSILON:g}). Epsilon is hard to choose, an error is not: for one of 20, 95% of the time, "
        f"{ln.plan(error=20, delta=DELTA, grid=1).explain()}\n"
    )


def _numbers(*headings: str) -> list[Any]:
    from rich.table import Column

    return [Column(heading, justify="right") for heading in headings]


def _city(folder: Path) -> None:
    _heading("A whole city", "from rows to a release that is paid for")
    town = datasets.city()
    trips = ln.table(datasets.draw_trips(TRIPS), unit="taxi")
    question = trips.where(f"hour = {HOUR}").histogram("pickup", keys=range(town.junctions), max_rows=5, max_per_bin=1)
    budget = ln.Budget.open(folder / "city.ledger", epsilon=1, delta=DELTA, unit="taxi")
    show(
        f"{TRIPS:,} taxi trips in a made-up city of {town.junctions:,} junctions: how many pick-ups at each at {HOUR}h,"
        " protecting every taxi, of which at most five trips count, one per junction? What a quarter of a budget buys, "
        f"without reading a row:\n{question.expect(budget=budget, share=0.25)}\n"
    )
    made: Any = question.release(budget=budget, share=0.25)
    show(f"Paid from the budget, on disk before any noise was drawn:\n{budget}\n")
    exact = aggregate(question).values
    busiest = Table(*_numbers("junction", "published", "95%, all junctions at once", "truth (made up)"))
    low, high = made.interval(0.95, simultaneous=True)  # the busiest were picked for their noise too
    for junction in np.argsort(-made.values)[:5].tolist():
        interval = f"{low[junction]} … {high[junction]}"
        busiest.add_row(str(junction), str(made.values[junction]), interval, str(exact[junction]))
    show(busiest)
    cleaner = made.denoise(graph=town.graph)
    before, after = (float(np.sqrt(np.mean((values - exact) ** 2))) for values in (made.values, cleaner.values))
    show(
        f"Denoising costs no privacy: with the street map the typical error over all junctions falls from {before:.1f} "
        f"to {after:.1f}. (Not knowing the truth, leastnoise put it at {cleaner.rmse_in_words()}.)\n"
    )
    title = f"Taxi pick-ups at {HOUR}h in a made-up city"
    _page(folder / "city.html", made, graph=town.graph, estimate=cleaner, title=title)


def _register(folder: Path) -> Path:
    """The page of its tables."""
    import pyarrow.parquet as pq

    _heading("A register", "many tables about the same people")
    rows, keys = datasets.people(), datasets.people_keys()
    pq.write_table(rows, folder / "people.parquet")
    ln.domain.write(folder / "keys.toml", keys)
    question = ln.table(rows, unit="person").crosstabs(ways=2, keys=keys, max_rows=1)
    show(f"{rows.num_rows:,} made-up people, every table of at most two of their columns, released together.")
    show(f"{question.expect(epsilon=1, delta=DELTA)}\n")
    made: Any = question.release(epsilon=1, delta=DELTA)
    young = made["age", "sex"].ratio({"age": range(18, 30), "sex": "female"}, over={"age": range(18, 30)})
    cleaner = made.denoise()
    show(
        f"Of those aged 18 to 29 {100 * young.value:.1f}% are women (with 95% confidence between {100 * young.low:.1f} "
        f"and {100 * young.high:.1f}%). {cleaner.errors_in_words()}\n"
    )
    return _page(folder / "tables.html", made, estimate=cleaner, title="A made-up register")


def _page(page: Path, made: Any, **drawn_on: Any) -> Path:
    """A page for people."""
    made.report(page, **drawn_on)
    return page
