"""`leastnoise release`: a vector in a file, published with the least noise that keeps the promise."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import leastnoise as ln
from leastnoise import errors
from leastnoise.cli import options
from leastnoise.cli.json_output import print_json
from leastnoise.cli.option_groups import grouped
from leastnoise.cli.options import OutputOptions, PrivacyOptions
from leastnoise.cli.publishing import check_output, notes, promise_facts, show_expected, show_written, showing
from leastnoise.jobs.running import arguments, recorded, refuse_weak

if TYPE_CHECKING:
    from leastnoise.curator.budget.charge import Charge
    from leastnoise.curator.preview import Expectation
    from leastnoise.curator.request import PrivacyRequest
    from leastnoise.privacy.noise_choice import NoiseChoice

_ABOUT_REALS = "How many real numbers there are changes this by less than 0.01 %."


@grouped
def release(
    values: options.Values,
    sensitivity: options.Sensitivity,
    privacy: PrivacyOptions,
    output: OutputOptions,
    column: options.ValuesColumn = None,
    type: options.ValuesType = None,  # noqa: A002
    l1_sensitivity: options.L1Sensitivity = None,
    neighbours: options.Neighbours = "add-remove",
) -> None:
    """Publish a vector: read it, add the least noise that keeps the promise, write one Parquet file.

    Example: [bold]leastnoise release counts.csv --column n --type int --sensitivity 1 --epsilon 1 --delta 1e-6
    -o out.parquet[/bold]
    """
    from leastnoise._support import validation
    from leastnoise.curator import column_files
    from leastnoise.curator.budget import charge

    if type is not None:
        validation.word("--type", type, ("int", "float"))
    request = privacy.request()
    facts: dict[str, Any] = {"sensitivity": sensitivity, "l1_sensitivity": l1_sensitivity, "neighbours": neighbours}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.Wasteful)  # it is shown once, below
        decided = charge.decide(request, bins=2, integers=type != "float", **facts)
    # Public mistakes first, before anything private is read.
    refuse_weak(decided.strength, privacy.force)
    if request.share is not None or decided.noise.mechanism == "gaussian" or l1_sensitivity is not None:
        decided.check(query="a vector", note=request.note)  # with more values it costs as much, or hardly more
    check_output(output, sources=[values])
    column_files.check_there(values, column)
    if output.expect:
        show_expected(_expect(request, decided, type, l1_given=l1_sensitivity is not None), output)
        return
    recorded(request, output.path)
    with notes():
        private = column_files.read_column(values, column=column, kind=type)  # type: ignore[arg-type]
        made = ln.release(private, **facts, **arguments(request))
    made.save(output.path)
    if not output.quiet:
        with showing(output.path):
            _show(made, output)


def _show(made: ln.Release, output: OutputOptions) -> None:
    if output.json:
        made_facts = {"output": output.path, "bins": made.bins, "sigma": made.sigma, "mechanism": made.mechanism}
        print_json(made_facts | promise_facts(made))
        return
    show_written(made.explain(), output.path)


def _expect(request: PrivacyRequest, decided: Charge[NoiseChoice], kind: str | None, *, l1_given: bool) -> Expectation:
    """What to expect of every value. The file is not opened, so what it alone says must be given."""
    from leastnoise.curator.preview import Expectation

    if kind is None:
        raise errors.MissingParameter(
            "Nothing is read to say what to expect, and the noise on whole numbers is another than on real ones.",
            parameter="type",
            example=[{"type": "int"}, {"type": "float"}],
        )
    chosen = decided.noise
    if chosen.mechanism == "laplace" and not l1_given:
        raise errors.MissingParameter(
            "Nothing is read to say what to expect, and without an L1 sensitivity Laplace noise depends on how many "
            "values there are.",
            parameter="l1_sensitivity",
            example={"l1_sensitivity": 1},
        )
    return Expectation(
        mechanism=chosen.mechanism,
        sigma=chosen.scale if chosen.mechanism == "gaussian" else chosen.scale * 2**0.5,
        std=chosen.distribution.std,
        half_width=chosen.distribution.half_width(0.95),
        half_width_all=None,
        threshold=None,
        limits={},
        bins=None,
        guarantee=chosen.guarantee,
        strength=decided.strength,
        note=" ".join(filter(None, (chosen.note, "" if kind == "int" else _ABOUT_REALS, request.caution))),
    )
