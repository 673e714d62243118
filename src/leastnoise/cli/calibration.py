"""`leastnoise sigma | epsilon | delta | plan | compare`: what noise guarantees, from numbers alone."""

from __future__ import annotations

import warnings
from typing import Any

import typer
from rich.console import Console
from rich.panel import Panel
from rich.table import Table

import leastnoise as ln
from leastnoise.cli.output import Answer, printed


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    for command in (sigma, epsilon, delta, plan, compare):
        app.command(rich_help_panel="Calculate")(printed(command))


def sigma(*, epsilon: float, delta: float, sensitivity: float = 1.0, steps: int = 1, sampling: str = "1") -> Answer:
    """The least noise that keeps the guarantee: sigma, proved and rounded up.

    Example: [bold]leastnoise sigma --epsilon 1 --delta 1e-6 --sensitivity 5[/bold]
    """
    rate = _rate(sampling)
    with warnings.catch_warnings(record=True) as doubts:
        warnings.simplefilter("always", ln.errors.Wasteful)
        answer = ln.sigma(epsilon=epsilon, delta=delta, sensitivity=sensitivity, steps=steps, sampling=rate)
    close = "1e-12 less is not" if rate == 1 else "4e-4 less is proved not to be"
    close = "how much less would do could not be proved in reasonable time" if doubts else close
    return _answer(
        {"sigma": answer, "epsilon": epsilon, "delta": delta, "sensitivity": sensitivity, **_steps(steps, rate)},
        f"Gaussian noise of this standard deviation is ({epsilon:g}, {delta:g})-DP; {close}.{_note(rate)}",
    )


def epsilon(*, sigma: float, delta: float, sensitivity: float = 1.0, steps: int = 1, sampling: str = "1") -> Answer:
    """What noise of this sigma guarantees: the least epsilon at a delta, proved and rounded up.

    Example: [bold]leastnoise epsilon --sigma 21.2 --delta 1e-6 --sensitivity 5[/bold]
    """
    rate = _rate(sampling)
    facts = {"sigma": sigma, "delta": delta, "sensitivity": sensitivity, **_steps(steps, rate)}
    if rate != 1:
        step = ln.SampledGaussianDP.of(sigma=sigma, sensitivity=sensitivity, sampling=rate)
        total = (step * steps).to_approx(delta=delta)
        return _answer({"epsilon": total.epsilon, "lower": total.lower, **facts}, total.explain())  # type: ignore[attr-defined]
    answer = ln.epsilon(sigma=sigma, delta=delta, sensitivity=sensitivity, steps=steps)
    whole = ln.compose(ln.GaussianDP.of(sigma=sigma, sensitivity=sensitivity) * steps)
    return _answer({"epsilon": answer, **facts}, ln.GaussianDP.explain(whole, delta=delta))  # type: ignore[arg-type]


def delta(*, sigma: float, epsilon: float, sensitivity: float = 1.0, steps: int = 1, sampling: str = "1") -> Answer:
    """What noise of this sigma guarantees: the least delta at an epsilon, proved and rounded up.

    Example: [bold]leastnoise delta --sigma 21.2 --epsilon 1 --sensitivity 5[/bold]
    """
    rate = _rate(sampling)
    answer = ln.delta(sigma=sigma, epsilon=epsilon, sensitivity=sensitivity, steps=steps, sampling=rate)
    meaning = f"An attacker's hit rate is at most e^{epsilon:g} times the false-alarm rate plus delta.{_note(rate)}"
    if rate == 1:
        whole: Any = ln.compose(ln.GaussianDP.of(sigma=sigma, sensitivity=sensitivity) * steps)
        chance = whole.loss_at_least(epsilon)
        meaning += f" (The privacy loss itself passes {epsilon:g} with probability {chance:.2g}.)"
    facts = {"delta": answer, "sigma": sigma, "epsilon": epsilon, "sensitivity": sensitivity}
    return _answer(facts | _steps(steps, rate), meaning)


def _rate(text: str) -> float:
    """A number, or a fraction as Python computes it; ways to make batches that are none are refused by name."""
    from leastnoise.privacy.calibration import check_sampling

    above, slash, below = text.partition("/")
    try:
        return check_sampling(float(above) / float(below) if slash else float(text))
    except (ValueError, ArithmeticError) as problem:
        if isinstance(problem, ln.errors.LeastnoiseError):
            raise
        return check_sampling(text)


def _steps(steps: int, sampling: float) -> dict[str, Any]:
    """As facts, where they differ from one release of all people."""
    return {} if steps == 1 == sampling else {"steps": steps, "sampling": sampling}


def _note(sampling: float) -> str:
    from leastnoise.privacy.guarantees import SAMPLING_NOTE

    return "" if sampling == 1 else f" {SAMPLING_NOTE}"


def plan(
    *,
    error: float,
    delta: float,
    confidence: float = 0.95,
    bins: int = 1,
    sensitivity: float = 1.0,
    l1_sensitivity: float | None = None,
    mechanism: str = "auto",
    grid: float = 0.0,
    repeats: int = 1,
) -> Answer:
    """From the error you can accept to the least epsilon that allows it.

    Example: [bold]leastnoise plan --error 10 --bins 100 --delta 1e-6 --grid 1[/bold]
    """
    made = ln.plan(
        error=error,
        confidence=confidence,
        bins=bins,
        delta=delta,
        sensitivity=sensitivity,
        l1_sensitivity=l1_sensitivity,
        mechanism=mechanism,  # type: ignore[arg-type]
        grid=grid,
        repeats=repeats,
    )
    facts = {name: getattr(made, name) for name in made.__slots__}
    return _answer(facts, made.explain())


def compare(
    *, epsilon: float, delta: float, sensitivity: float = 1.0, l1_sensitivity: float | None = None, bins: int = 1
) -> Answer:
    """Every mechanism side by side, and which one to use.

    Example: [bold]leastnoise compare --epsilon 0.5 --delta 1e-6 --sensitivity 2.24 --l1-sensitivity 5[/bold]
    """
    made = ln.compare(sensitivity=sensitivity, l1_sensitivity=l1_sensitivity, epsilon=epsilon, delta=delta, bins=bins)
    title = f"Mechanisms at epsilon = {epsilon:g}, delta = {delta:g}"
    table = _table(made, title, wide=Console().width >= 110)
    return Answer({"rows": made.to_dicts(), "verdict": made.verdict}, [table, made.verdict])


def _table(made: ln.Comparison, title: str, *, wide: bool) -> Table:
    table = Table(title=title)
    table.add_column("mechanism", style="bold")
    for heading in ("std", "95 % of one bin", "95 % of all bins", "variance", "budget mu²"):
        table.add_column(heading, justify="right")
    if wide:
        table.add_column("what it is")
    for row in made.rows:
        table.add_row(
            row.mechanism,
            f"{row.std:.5g}",
            f"± {row.half_width:.5g}",
            f"± {row.half_width_all:.5g}",
            f"{row.variance_ratio:.3g} x",
            f"{row.budget_cost:.4g}",
            *([row.note] if wide else []),
        )
    return table


def _answer(facts: dict[str, Any], sentence: str) -> Answer:
    """The first fact is the answer; the rest is what it was asked about."""
    (name, value), *given = facts.items()
    table = Table(show_header=False, box=None, padding=(0, 2))
    table.add_row(f"[bold]{name}[/bold]", f"[bold green]{value!r}[/bold green]")
    for key, number in given:
        if number is not None:
            table.add_row(key, f"{number:g}" if isinstance(number, float) else str(number))
    return Answer(facts, [table, Panel.fit(sentence, border_style="dim")])
