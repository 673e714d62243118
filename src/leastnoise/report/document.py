"""A page, all of it in one file: every value escaped, nothing fetched.

Jinja escapes each value where it enters; data goes through JSON whose <, > and & are written as escapes. Scripts run by
their hash only: the policy names ours.
"""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Callable
from functools import lru_cache, partial
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from leastnoise._support import files as output_files
from leastnoise._support.version import VERSION
from leastnoise.domain import Zones
from leastnoise.graphs import Graph
from leastnoise.pictures import choices, guarantees, palette, svg
from leastnoise.releases.limit_suggestion import LimitSuggestion
from leastnoise.releases.provenance import Promised
from leastnoise.report import check, data, limits, sentences
from leastnoise.report.check import Unsaved, saved_file
from leastnoise.report.shown import Shown, shown
from leastnoise.report.tree import tree

MAX_NARROW = 5.0  # inches: a map that leaves room for the cards beside it
SCRIPTS = ("numbers_table.js", "drawings.js", "page.js")


def write(path: str | os.PathLike[str], of: Promised, *, title: str | None = None, **options: Any) -> Path:
    """The page about whatever was released, in a file that appears whole or not at all.

    options: those of `page` but for `name` and `file`.
    """
    otherwise = "limits.parquet" if isinstance(of, LimitSuggestion) else "release.parquet"
    return write_text(
        path,
        lambda: page(of, title=title, name=Path(path).stem, file=saved_file(path, of, otherwise), **options),
    )


def write_text(path: str | os.PathLike[str], make: Callable[[], str]) -> Path:
    """What `make` returns, at `path`; a place that cannot be written is told before anything is made."""
    output_files.check_writable(path, "page")
    made = make()
    with output_files.replacing(path, "page") as unfinished:
        Path(unfinished).write_text(made, encoding="utf-8", errors="xmlcharrefreplace")  # half a surrogate pair
    return Path(path)


def page(
    of: Promised,
    *,
    estimate: Any = None,
    why_no_estimate: str = "",
    graph: Graph | None = None,
    zones: Zones | None = None,
    title: str | None = None,
    name: str = "release",
    file: str = Unsaved("release.parquet"),
) -> str:
    """The page as text. An `estimate` is shown beside a release; without one, `why_no_estimate` says why. A `graph`,
    or `zones` by name, make it a map."""
    if isinstance(of, LimitSuggestion):
        return limits_page(of, title=title, file=file)
    found = shown(of, estimate=estimate, why=why_no_estimate, graph=graph, zones=zones)
    heading = title or sentences.title(of)
    script = _short("".join(map(piece, SCRIPTS)))
    seeded = of.seeded or bool(getattr(estimate, "seeded", False))
    return render(
        "page.html",
        script,
        of=of,
        shown=found,
        title=heading,
        warnings=sentences.warnings(of, seeded=seeded),
        lead=sentences.lead(found),
        caption=sentences.caption(found),
        notes=sentences.notes(found),
        zero=sentences.ZERO if any(table.counts for table in found.tables) else "",
        intervals=sentences.intervals(of),
        map=None if found.map is None else Markup(svg.svg(found.map)),
        first=_first(found),
        choosable=any(table.denoised is not None and table.better is not False for table in found.tables),
        narrow=found.map is not None and found.map.size[0] < MAX_NARROW,
        only=found.tables[0].cells == 1 and len(found.tables) == 1,
        curves=[(name, Markup(svg.svg(picture))) for name, picture in found.curves],
        curves_noise=sentences.curves(of) if found.curves else "",  # type: ignore[arg-type]
        tree=tree(of, estimate),
        noise=sentences.noise(found),
        denoising=sentences.denoising(found),
        estimators=sentences.estimators(found),
        errors=sentences.table_errors(found),
        facts=sentences.facts(found),
        check=check.check(found, file),
        data=Markup(data.json_text(data.data(found, name, file))),
        **_of_every_page(of, heading),
    )


def _of_every_page(of: Promised, heading: str) -> dict[str, Any]:
    """The guarantee, and how to cite the release."""
    guaranteed = of.guarantee is not None
    attack = svg.svg(guarantees.attack(partial(sentences.most_found, of))) if guaranteed else ""
    return {
        "protection": sentences.protection(of),
        "attack": Markup(attack),
        "explained": of.explain().splitlines(),  # type: ignore[attr-defined]
        "origin": sentences.origin(of),
        "created": getattr(of, "created_at", None),
        "cite": check.cite(of, heading),
        "paper": sentences.PAPERS[of.mechanism],  # type: ignore[attr-defined]
    }


def limits_page(of: LimitSuggestion, *, title: str | None = None, file: str = Unsaved("limits.parquet")) -> str:
    """The page of proposed limits: what is proposed and why, what it cost, and how to use it."""
    heading = title or limits.title(of)
    return render(
        "limits.html",
        of=of,
        title=heading,
        warnings=[*sentences.warnings(of, seeded=of.seeded), *limits.risky(of)],
        picture=Markup(svg.svg(choices.limits(of))),
        found=limits.found(of),
        facts=limits.facts(of),
        use=limits.use(of, file),
        check=limits.check_steps(of, file),
        noise=[],
        **_of_every_page(of, heading),
    )


def _first(found: Shown) -> str:
    """Which is shown first: the denoised where there are many numbers and they are known to be better."""
    first = found.tables[0]
    return "denoised" if first.better and first.layout not in ("bars", "one") else "published"


@lru_cache(maxsize=8)
def piece(name: str) -> str:
    """A file of this package: a style, a script."""
    return files("leastnoise.report").joinpath(name).read_text(encoding="utf-8")


def _short(script: str) -> str:
    """Without the comments and the indentation, which only its source needs."""
    lines = (line.strip() for line in script.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))


def render(template: str, script: str = "", **values: Any) -> str:
    """A template as a page that may run this script alone."""
    made = environment().get_template(template)
    return made.render(
        policy=policy(script),
        style=Markup(look() + piece("style.css")),
        script=Markup(script),
        version=VERSION,
        **values,
    )


def look() -> str:
    """The colours and the pictures of every page, and of the studio."""
    return palette.css() + piece("pictures.css")


@lru_cache(maxsize=1)
def environment() -> Environment:
    """The templates; each value is escaped where it enters, and a name that nobody gave is an error."""
    return Environment(
        loader=PackageLoader("leastnoise.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip


def policy(script: str) -> str:
    """What the page may do: run this script, and nothing else."""
    if not script:
        return "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    allowed = b64encode(sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; script-src 'sha256-{allowed}'; style-src 'unsafe-inline'; img-src data: blob:"
