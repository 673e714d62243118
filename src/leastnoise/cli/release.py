"""`leastnoise release`: a vector in a file, published with the least noise that keeps the guarantee."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import typer

import leastnoise as ln
from leastnoise import errors
from leastnoise.cli.ask import PRIVACY, Typed, expected, typed_by
from leastnoise.cli.output import Answer, printed, showing, written
from leastnoise.cli.shown import in_brief, promise_facts
from leastnoise.jobs.file import typed_job
from leastnoise.jobs.running import Done

if TYPE_CHECKING:
    from leastnoise.curator.expectation import Expectation

_ABOUT_REALS = "How many real numbers there are changes this by less than 0.01 %."


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("release", rich_help_panel="Publish")(printed(typed_by(release, {"privacy": PRIVACY})))


def release(
    typed: Typed,
    values: str,
    *,
    sensitivity: float,
    column: str | None = None,
    type: str | None = None,  # noqa: A002
    l1_sensitivity: float | None = None,
    neighbours: str = "add-remove",
) -> Answer:
    """Publish a vector: read it, add the least noise that keeps the guarantee, write one Parquet file.

    Example: [bold]leastnoise release counts.csv --column n --type int --sensitivity 1 --epsilon 1 --delta 1e-6
    -o out.parquet[/bold]
    """
    from leastnoise._support import validation
    from leastnoise.curator.column_files import check_there

    if type is not None:
        validation.word("--type", type, ("int", "float"))
    public = {"sensitivity": sensitivity, "l1_sensitivity": l1_sensitivity, "neighbours": neighbours}
    found = typed.run(typed_job(typed.sections, ()), _Vector(values, column, type, public, typed.expect))
    if not isinstance(found, Done):
        check_there(values, column)
        return expected(found)
    made: Any = found.release
    with showing(typed.path):
        facts = {"output": typed.path, "bins": made.bins, "sigma": made.sigma, "mechanism": made.mechanism}
        return Answer(facts | promise_facts(made), [*in_brief(made), written(typed.path)], typed.path)


@dataclass(frozen=True, slots=True)
class _Vector:
    """The vector of a file, as a run asks for it.

    public: its sensitivity, and between which tables that holds. rehearsed: only what to expect is asked.
    """

    path: str
    column: str | None
    kind: str | None
    public: Mapping[str, Any]
    rehearsed: bool
    mechanisms: tuple[str, ...] = ("auto", "gaussian", "laplace")
    domain: None = None

    @property
    def files(self) -> list[str]:
        """What is read."""
        return [self.path]

    def release(self, **privacy: Any) -> ln.Release:
        """Read, pay and draw."""
        from leastnoise.curator.column_files import check_there, read_column

        check_there(self.path, self.column)
        private = read_column(self.path, column=self.column, kind=self.kind)  # type: ignore[arg-type]
        return ln.release(private, **self.public, **privacy)

    def expect(self, **privacy: Any) -> Expectation:
        """What to expect of every value. The file is not opened, so what it alone says must be given."""
        from leastnoise.curator import expectation
        from leastnoise.curator.budget.deciding import decide
        from leastnoise.curator.request import PrivacyRequest
        from leastnoise.privacy.vector_noise import VectorPlanner

        request = PrivacyRequest(**privacy)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.Wasteful)  # the release itself says it
            decided = decide(request, VectorPlanner.of(bins=2, integers=self.kind != "float", **self.public))
        chosen, l1_given = decided.plan, self.public["l1_sensitivity"] is not None
        if request.share is not None or chosen.mechanism == "gaussian" or l1_given:
            decided.check(query="a vector", note=request.note)  # with more values it costs as much, or hardly more
        if self.rehearsed:
            _check_known(self.kind, chosen.mechanism == "laplace" and not l1_given)
        told = (chosen.note, "" if self.kind == "int" else _ABOUT_REALS, request.caution)
        note = " ".join(filter(None, told))
        return replace(expectation.of_vector(decided, size=None, limits=None), note=note)


def _check_known(kind: str | None, depends_on_bins: bool) -> None:
    """Refuse to say what to expect of a vector where its file alone would tell."""
    if kind is None:
        raise errors.MissingParameter(
            "Nothing is read to say what to expect, and the noise on whole numbers is another than on real ones.",
            parameter="type",
            example=[{"type": "int"}, {"type": "float"}],
        )
    if depends_on_bins:
        raise errors.MissingParameter(
            "Nothing is read to say what to expect, and without an L1 sensitivity Laplace noise depends on how many "
            "values there are.",
            parameter="l1_sensitivity",
            example={"l1_sensitivity": 1},
        )
