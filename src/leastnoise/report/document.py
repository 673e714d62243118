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
from leastnoise._support.text import rounded
from leastnoise._support.version import VERSION
from leastnoise.domain import Zones
from leastnoise.graphs import Graph
from leastnoise.pictures import choices, guarantees, palette, svg
from leastnoise.pictures.picture import Picture
from leastnoise.releases.limit_suggestion import LimitSuggestion
from leastnoise.releases.provenance import Promised
from leastnoise.report import check, data, limits, sentences
from leastnoise.report.check import Unsaved, saved_file
from leastnoise.report.shown import shown
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
    first = found.tables[0]
    denoised_first = of is found.estimate or (first.better and first.layout not in ("bars", "one"))
    return render(
        "page.html",
        script,
        of=of,
        shown=found,
        title=heading,
        warnings=sentences.warnings(of, seeded=seeded),
        lead=sentences.lead(found),
        first="denoised" if denoised_first else "published",
        choosable=any(table.denoised is not None and table.better is not False for table in found.tables),
        narrow=found.map is not None and found.map.size[0] < MAX_NARROW,
        only=first.cells == 1 and len(found.tables) == 1,
        tree=tree(of, estimate),
        steps=check.check(found, file),
        data=Markup(data.json_text(data.data(found, name, file))),
    )


def limits_page(of: LimitSuggestion, *, title: str | None = None, file: str = Unsaved("limits.parquet")) -> str:
    """The page of proposed limits: what is proposed and why, what it cost, and how to use it."""
    return render(
        "limits.html",
        of=of,
        title=title or limits.title(of),
        warnings=[*sentences.warnings(of, seeded=of.seeded), *limits.risky(of)],
        found=limits.found(of),
        facts=limits.facts(of),
        use=limits.use(of, file),
        steps=limits.check_steps(of, file),
    )


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
    """The templates, with the sentences that they ask for; each value is escaped where it enters, and a name that
    nobody gave is an error."""
    made = Environment(
        loader=PackageLoader("leastnoise.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    made.filters |= {"drawn": lambda picture: Markup(svg.svg(picture)), "rounded": rounded}
    made.globals |= {"sentences": sentences, "cite": check.cite, "attack": _attack, "limits_picture": choices.limits}
    return made


def _attack(of: Promised) -> Picture:
    return guarantees.attack(partial(sentences.most_found, of))


def policy(script: str) -> str:
    """What the page may do: run this script, and nothing else."""
    if not script:
        return "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    allowed = b64encode(sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; script-src 'sha256-{allowed}'; style-src 'unsafe-inline'; img-src data: blob:"
