"""What every page is put together from. Every value is escaped where it enters, and a page may request nothing.

Text goes through `html.escape`; data through JSON whose <, > and & are written as escapes, so that no key, not even
one that reads </script>, ends the element it is in. Scripts run by their hash only: the policy names ours.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from hashlib import sha256
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from leastnoise._support.version import VERSION
from leastnoise.releases.promised import Promised
from leastnoise.report import promise_sentences
from leastnoise.report.promise_sentences import Headline, Step, most_found
from leastnoise.report.tradeoff_picture import tradeoff


@lru_cache(maxsize=16)
def piece(name: str) -> str:
    """A file of this package: a template, a style, a script."""
    return files("leastnoise.report").joinpath(name).read_text(encoding="utf-8")


def page(middle: str, *, scripts: Sequence[str], **parts: str) -> str:
    """The whole page: the top and the end that all pages have, around the file `middle`.

    scripts: run in this order, and no others. parts: what the three files call by name, each made safe already.
    """
    frame = Template("".join(map(piece, ("page_top.html", middle, "page_end.html"))))
    elements = "\n".join(f"<script>{script}</script>" for script in scripts)
    return frame.substitute(
        policy=policy(*scripts),
        scripts=elements,
        version=escape(VERSION),
        **parts,
    )


def page_of(
    of: Promised,
    middle: str,
    *,
    styles: Sequence[str],
    title: str,
    lead: str,
    headline: Headline,
    facts: Iterable[tuple[str, str]],
    explained: str,
    check: Iterable[Step],
    mechanism: str,
    found_from: str = "",
    also_warned: str = "",
    **parts: Any,
) -> str:
    """The page about something that several numbers were released in: promise, facts and checks around `middle`.

    found_from: what an attack looks at, where that is not the whole page. also_warned: one more warning. parts: what
    this kind of page has of its own, made safe already.
    """
    return page(
        middle,
        css="".join(map(piece, ("page.css", "tables.css", *styles))),
        title=escape(title),
        warning=warnings(of, seeded=of.seeded) + paragraph("warning", also_warned),
        lead=escape(lead),
        number=escape(headline.number),
        label=escape(headline.label),
        left_out=paragraph("left-out", promise_sentences.left_out(of)),
        made=origin(of),
        promise=escape(promise_sentences.promise(of)),
        facts=definitions(facts),
        tradeoff=_tradeoff(of, found_from),
        explained=in_full(explained),
        cite=escape(promise_sentences.cite(of, title)),
        paper=escape(promise_sentences.PAPERS[mechanism]),
        check=steps(check),
        **parts,
    )


def _tradeoff(of: Promised, found_from: str) -> str:
    if of.guarantee is None:
        return ""
    caption = f"What any attack can find at most{found_from}, against guessing (dashed)."
    return f"<figure>{tradeoff(partial(most_found, of))}<figcaption>{caption}</figcaption></figure>"


def policy(*scripts: str) -> str:
    """What the page may do: run these scripts, and nothing else."""
    if not scripts:
        return "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    allowed = " ".join(f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in scripts)
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:"


def json_text(data: Any) -> str:
    """JSON that is safe inside a script element."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


SORT = '<span class="screen">Sort by a column\'s heading.</span>'


def intervals(of: Promised) -> str:
    """What low and high of a table are, and where a narrow screen has them; on paper they are always columns."""
    narrow = '<span class="screen"> (on a narrow screen, below the value)</span>'
    return escape(promise_sentences.intervals(of)).replace("Low and high", f"Low and high{narrow}", 1)


def paragraph(name: str, text: str) -> str:
    """A paragraph of this class; nothing where there is no text."""
    return f'<p class="{name}">{escape(text)}</p>' if text else ""


def definitions(facts: Iterable[tuple[str, str]]) -> str:
    """The entries of a list of terms."""
    return "".join(f"<dt>{escape(key)}</dt><dd>{escape(value)}</dd>" for key, value in facts)


def warnings(of: Promised, *, seeded: bool) -> str:
    """What must not be overlooked: noise from a seed, a promise that protects nobody."""
    hides = "The noise came from a test's seed, so it hides nothing. Never publish this." if seeded else ""
    loud = [text for text in (hides, promise_sentences.too_weak(of)) if text]
    return "".join(f'<p class="warning" role="alert">{escape(text)}</p>' for text in loud)


def origin(of: Promised) -> str:
    """The question, when it was answered, and the release's id."""
    query = f"{escape(of.query)}. " if of.query else ""
    day = f"{of.created_at:%Y-%m-%d}"
    return f'{query}Made <time datetime="{day}">{day}</time>, release {escape(of.id)}.'


def in_full(explanation: str) -> str:
    """The whole explanation, folded away."""
    text = escape(explanation).replace("\n", "</p><p>")
    return f"<details><summary>In full</summary><p>{text}</p></details>"


def steps(to_check: Iterable[Step]) -> str:
    """What to type to check the page."""
    return "".join(f"<p>{escape(why)}</p><pre tabindex=0><code>{escape(code)}</code></pre>" for why, code in to_check)
