"""`leastnoise demo`: the story of one count, told with numbers computed as it goes."""

from __future__ import annotations

from rich.console import Console
from rich.panel import Panel
from rich.table import Table

import leastnoise as ln
from leastnoise import baselines
from leastnoise.law import Gaussian

EPSILON, DELTA = 0.5, 1e-6


def tell(console: Console) -> None:
    """A hospital publishes how many patients had the flu; one patient adds at most one to the count."""
    classical = baselines.classical_sigma(epsilon=EPSILON, delta=DELTA)
    exact = ln.sigma(epsilon=EPSILON, delta=DELTA)
    saved = 1 - (exact / classical) ** 2

    console.print(Panel.fit("[bold]leastnoise[/bold]: the same promise, less noise", border_style="green"))
    console.print(
        "A hospital wants to publish how many patients had the flu this week: a count of 1,204. Nobody may learn "
        f"whether any one patient is in it. The promise: (epsilon, delta) = ({EPSILON}, {DELTA:g}).\n",
        highlight=False,
    )
    table = Table(title="Noise for one count with that promise")
    for heading in ("formula", "sigma", "95 % of releases lie within", "variance"):
        table.add_column(heading, justify="left" if heading == "formula" else "right")
    for name, sigma in (("classical (textbook)", classical), ("leastnoise (exact, proved)", exact)):
        width = Gaussian(sigma, grid=1).half_width(0.95)
        table.add_row(name, f"{sigma:.4f}", f"1,204 ± {width:.0f}", f"{sigma**2:.1f}")
    console.print(table)
    console.print(
        f"The exact sigma has {100 * saved:.0f} % less variance, and it is proved: rigorous arithmetic shows that "
        f"{exact!r} keeps the promise and that 1e-12 less would not.\n",
        highlight=False,
    )
    console.print(ln.GaussianDP.of(sigma=exact).explain(delta=DELTA) + "\n", highlight=False)
    _choose_epsilon(console)
    _several_releases(console, exact)
    console.print(
        "Next: [bold]leastnoise compare --epsilon 0.5 --delta 1e-6[/bold], [bold]leastnoise --help[/bold], README.md",
        highlight=False,
    )


def _choose_epsilon(console: Console) -> None:
    made = ln.plan(error=20, delta=DELTA, grid=1)
    console.print(
        "[bold]Epsilon is hard to choose, an error is not.[/bold] If the count may be off by 20 (95 % of the time): "
        f"{made.explain()}\n",
        highlight=False,
    )


def _several_releases(console: Console, sigma: float) -> None:
    weeks = ln.compose(*[ln.GaussianDP.of(sigma=sigma)] * 52).to_approx(delta=DELTA)
    console.print(
        f"[bold]A year of weekly counts[/bold] about the same patients adds up to epsilon = {weeks.epsilon:.2f} "
        f"at delta = {DELTA:g}: Gaussian releases compose exactly (adding the epsilons would claim {52 * EPSILON:g}, "
        "and 52 times the delta).\n",
        highlight=False,
    )
