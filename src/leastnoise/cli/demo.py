"""`leastnoise demo`: one count, a whole city, and a register's tables, with numbers computed as it goes."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.panel import Panel
from rich.prompt import Confirm
from rich.table import Table

import leastnoise as ln
from leastnoise import datasets, errors
from leastnoise.privacy import baselines
from leastnoise.privacy.distributions import Gaussian
from leastnoise.testing import aggregate

EPSILON, DELTA = 0.5, 1e-6
TRIPS, HOUR = 400_000, 20


def run_demo(console: Console) -> None:
    """The least noise for one count; a table of taxis, from rows to a release that is paid for; a register's tables."""
    _one_count(console)
    _choose_epsilon(console)
    _city(console)
    _register(console)
    console.print(
        "Next: [bold]leastnoise compare --epsilon 0.5 --delta 1e-6[/bold], [bold]leastnoise --help[/bold], README.md\n",
        highlight=False,
    )
    _offer_studio(console)


def _offer_studio(console: Console) -> None:
    """The register once more, in the browser: the command, and on a terminal the question whether to start it."""
    import pyarrow.parquet as pq

    folder = Path(tempfile.mkdtemp(prefix="leastnoise-"))
    pq.write_table(datasets.people(), folder / "people.parquet")
    ln.domain.write(folder / "keys.toml", datasets.people_keys())
    _print_paragraph(
        console,
        "[bold]The whole job in the browser[/bold], on this machine only: the register is in a folder of its own, with "
        "its public keys. No row is read before you release. Type:",
    )
    console.print(f"cd {folder}\nleastnoise studio people.parquet", soft_wrap=True, markup=False, highlight=False)
    missing = [name for name in ("starlette", "uvicorn", "jinja2") if find_spec(name) is None]
    if missing:
        console.print("(It needs the extra: pip install 'leastnoise\\[studio]')", highlight=False)
    elif console.is_terminal and sys.stdin.isatty() and Confirm.ask("Open it now?", console=console, default=False):
        from leastnoise.studio.server import serve

        os.chdir(folder)
        serve("people.parquet", announce=partial(console.print, markup=False, highlight=False, soft_wrap=True))


def _print_paragraph(console: Console, text: str) -> None:
    console.print(text + "\n", highlight=False)


def _one_count(console: Console) -> None:
    classical = baselines.classical_sigma(epsilon=EPSILON, delta=DELTA)
    exact = ln.sigma(epsilon=EPSILON, delta=DELTA)
    console.print(Panel.fit("[bold]leastnoise[/bold]: the same promise, less noise", border_style="green"))
    _print_paragraph(
        console,
        "A hospital wants to publish how many patients had the flu this week: a count of 1,204. Nobody may learn "
        f"whether any one patient is in it. The promise: (epsilon, delta) = ({EPSILON}, {DELTA:g}).",
    )
    table = Table(title="Gaussian noise for one count with that promise")
    for heading in ("formula", "sigma", "95 % of releases lie within", "variance"):
        table.add_column(heading, justify="left" if heading == "formula" else "right")
    for name, sigma in (("classical (textbook)", classical), ("leastnoise (exact, proved)", exact)):
        width = Gaussian(sigma, grid=1).half_width(0.95)
        table.add_row(name, f"{sigma:.4f}", f"1,204 ± {width:.0f}", f"{sigma**2:.1f}")
    console.print(table)
    _print_paragraph(
        console,
        f"The exact sigma has {100 * (1 - (exact / classical) ** 2):.0f} % less variance, and it is proved: rigorous "
        f"arithmetic shows that {exact!r} keeps the promise and that 1e-12 less would not.",
    )
    weeks = ln.compose(*[ln.GaussianDP.of(sigma=exact)] * 52).to_approx(delta=DELTA)
    _print_paragraph(
        console,
        f"A year of weekly counts about the same patients adds up to epsilon = {weeks.epsilon:.2f} at delta {DELTA:g}: "
        f"Gaussian releases compose exactly (adding the epsilons would claim {52 * EPSILON:g}).",
    )


def _choose_epsilon(console: Console) -> None:
    made = ln.plan(error=20, delta=DELTA, grid=1)
    _print_paragraph(
        console,
        "[bold]Epsilon is hard to choose, an error is not.[/bold] If the count may be off by 20, 95 % of the time: "
        f"{made.explain()}",
    )


def _city(console: Console) -> None:
    console.print(Panel.fit("[bold]A whole city[/bold]: from rows to a release that is paid for", border_style="green"))
    town = datasets.city()
    trips = ln.table(datasets.draw_trips(TRIPS), unit="taxi")
    _print_paragraph(
        console,
        f"{TRIPS:,} taxi trips in a made-up city of {town.junctions:,} junctions. Question: how many pick-ups at each "
        f"junction at {HOUR}h, protecting every taxi, of which at most five trips count, one a junction?",
    )
    question = trips.where(f"hour = {HOUR}").histogram("pickup", keys=range(town.junctions), max_rows=5, max_per_bin=1)
    with tempfile.TemporaryDirectory() as folder:
        budget = ln.Budget.open(Path(folder) / "city.ledger", epsilon=1, delta=DELTA, unit="taxi")
        expected = question.expect(budget=budget, share=0.25)
        _print_paragraph(
            console, f"[bold]What a quarter of the budget buys[/bold] (asking is free: no row is read)\n{expected}"
        )
        made = question.release(budget=budget, share=0.25)
        exact = aggregate(question).values
        _print_paragraph(console, f"[bold]Paid from a budget[/bold], on disk before any noise was drawn\n{budget}")
    if not isinstance(made, ln.Release):
        raise TypeError("a histogram with keys is a Release")
    busiest = Table(title=f"The five busiest junctions at {HOUR}h, as published")
    for heading in ("junction", "published", "95 %, all junctions at once", "truth (the city is made up)"):
        busiest.add_column(heading, justify="right")
    low, high = made.interval(0.95, simultaneous=True)  # the busiest were picked for their noise too
    for junction in np.argsort(-made.values)[:5].tolist():
        busiest.add_row(
            str(junction), str(made.values[junction]), f"{low[junction]} … {high[junction]}", str(exact[junction])
        )
    console.print(busiest)
    streets = town.graph
    alone, cleaner = made.denoise(along=None), made.denoise(graph=streets)
    before, plain, after = (
        float(np.sqrt(np.mean((e - exact) ** 2))) for e in (made.values, alone.values, cleaner.values)
    )
    _print_paragraph(
        console,
        f"[bold]Taking the noise back out[/bold] costs no privacy: the typical error over all junctions falls from "
        f"{before:.1f} to {plain:.1f}, and to {after:.1f} with the street map, which says what is near what. "
        f"(Not knowing the truth, leastnoise put it at {cleaner.rmse_in_words()}.)",
    )
    title = f"Taxi pick-ups at {HOUR}h in a made-up city"
    _page(console, "city.html", lambda page: made.report(page, graph=streets, estimate=cleaner, title=title))


def _register(console: Console) -> None:
    console.print(Panel.fit("[bold]A register[/bold]: many tables about the same people", border_style="green"))
    rows = datasets.people()
    question = ln.table(rows, unit="person").crosstabs(ways=2, keys=datasets.people_keys(), max_rows=1)
    _print_paragraph(
        console,
        f"{rows.num_rows:,} made-up people: district, age, sex, job, income. Every table of at most two of these "
        f"columns, released together.\n{question.expect(epsilon=1, delta=DELTA)}",
    )
    made = question.release(epsilon=1, delta=DELTA)
    if not isinstance(made, ln.CrosstabsRelease):
        raise TypeError("a set of tables is a CrosstabsRelease")
    young = made["age", "sex"].ratio({"age": range(18, 30), "sex": "female"}, over={"age": range(18, 30)})
    cleaner = made.denoise()
    _print_paragraph(
        console,
        f"Of those aged 18 to 29 {100 * young.value:.1f} % are women (with 95 % confidence between "
        f"{100 * young.low:.1f} and {100 * young.high:.1f} %). {cleaner.errors_in_words()}",
    )
    _page(console, "tables.html", lambda page: made.report(page, estimate=cleaner, title="A made-up register"))


def _page(console: Console, name: str, write: Callable[[Path], Path]) -> None:
    page = Path(tempfile.mkdtemp(prefix="leastnoise-")) / name
    try:
        write(page)
    except errors.MissingPackage as missing:
        _print_paragraph(
            console, f"[bold]A page for people[/bold] would come next. {missing}".replace("[report]", r"\[report]")
        )
        return
    _print_paragraph(
        console, "[bold]A page for people[/bold], in one file: the promise, a picture, every number. Open it:"
    )
    console.print(str(page), soft_wrap=True, markup=False, highlight=False)
    console.print()
