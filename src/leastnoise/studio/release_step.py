"""The last two steps: what will be paid, the release itself, and what is taken away."""

from __future__ import annotations

import shlex
from datetime import date
from importlib.util import find_spec
from typing import Any, Literal

from leastnoise import errors
from leastnoise.jobs.fields import WRITTEN
from leastnoise.jobs.file import on_day
from leastnoise.jobs.running import Run
from leastnoise.releases.left_out import left_out_in_words
from leastnoise.studio import budgets, map_picture
from leastnoise.studio.draft import Draft
from leastnoise.studio.interruption import Lost, lost_debit
from leastnoise.studio.session import Fields, Studio

CONFIRMATION = "release"
State = Literal["open", "released", "lost"]


def state(studio: Studio, draft: Draft) -> State:
    """Whether the job was released, or is being: from then on it stays as it is. Lost: it was paid for, and stopped."""
    if studio.releases.of(draft.name).state == "running":
        return "released"
    release = draft.section("output").get("release", "")
    if not studio.folder.path(f"{release}.run").exists():
        return "open"
    known = draft.run().known()
    if known is None:
        return "open"
    return "lost" if known.release is None else "released"


def show(studio: Studio, draft: Draft, fields: Fields) -> dict[str, Any]:
    """What the page before a release shows, and the one while it is made."""
    privacy, output = draft.section("privacy"), draft.section("output")
    run, gauge = draft.run(), None
    if "budget" in privacy:
        share = float(privacy.get("share", 0))
        gauge = budgets.gauge(studio, privacy["budget"], share, privacy.get("allocation", ""))
    expected, progress = run.preview(), studio.releases.of(draft.name)
    return {
        "progress": progress,
        "lost": None if progress.state == "running" else lost_debit(run),
        "gauge": gauge,
        "query": run.query.describe(),
        "strength": "" if expected.strength is None else expected.strength.in_words(),
        "privacy": privacy,
        "confirmation": CONFIRMATION,
        "shown": draft.fingerprint,
        "output": output,
        "left_out": left_out_in_words(expected.left_out, expected.unit),
        "expected": [line for line in str(expected).splitlines() if line and not line.startswith("  ")][:1],
        "denoises": run.job.question.denoises(run.query),
        "exists": studio.folder.path(output["release"]).exists(),
        "whole": _made(studio, draft) == [output[word] for word in WRITTEN if word in output],
        "title": fields.get("title", output.get("title", "")),
        "picture": map_picture.of(draft),
    }


def save(studio: Studio, draft: Draft, fields: Fields) -> Draft:
    """Begin the release that was confirmed; with `finish`, make of a release that is there what is made of it."""
    if fields.get("go") == "finish" and state(studio, draft) == "released":
        studio.releases.begin(draft)
        return draft
    if str(fields.get("confirm", "")).strip().lower() != CONFIRMATION:
        raise errors.InvalidParameter(
            f'Type "{CONFIRMATION}" to confirm: a release cannot be taken back.', parameter="confirm"
        )
    if studio.releases.of(draft.name).state in ("running", "done"):  # a second click
        return draft
    if fields.get("shown") != draft.fingerprint:
        raise errors.InvalidParameter(
            "The job was changed in another window since this page was shown. Look at it again, then confirm.",
            parameter="confirm",
        )
    _check_places(studio, draft)
    run = draft.run()
    again = _pays_again(lost_debit(run), fields)
    changed = draft.with_section("output", _outputs(run, draft) | {"title": str(fields.get("title", "")).strip()})
    changed.write()
    studio.releases.begin(changed, again=again)
    return changed


def _check_places(studio: Studio, draft: Draft) -> None:
    """Nothing outside the folder is written or paid from, also where the job's file was written by hand."""
    budget, output = draft.section("privacy").get("budget"), draft.section("output")
    if budget is not None:
        budgets.open_budget(studio, str(budget))
    for name in (*WRITTEN, "graph", "nodes"):
        if name in output:
            studio.folder.path(on_day(str(output[name]), date.today()))


def _pays_again(lost: Lost | None, fields: Fields) -> bool:
    """Whether to pay for a new release in place of the one that was lost.

    The form names the debit that it was shown. So a form that is sent a second time, by an impatient hand or by a
    browser that reloads, pays once: the debit that is lost then is another.
    """
    if lost is None:
        return False
    if fields.get("again") != "yes":
        raise errors.InvalidParameter(
            "This job was paid for and not published. Nothing was paid now. To pay once more, tick the box.",
            parameter="again",
        )
    if fields.get("lost") != lost.release:
        raise errors.InvalidParameter(
            "Another release of this job was paid for and lost since this page was shown. Nothing was paid now. Look "
            "at it again, then confirm.",
            parameter="again",
        )
    return True


def _outputs(run: Run, draft: Draft) -> dict[str, Any]:
    """The files that the release makes."""
    output = draft.section("output")
    if run.job.question.denoises(run.query):
        output["estimate"] = f"{draft.name}-denoised.parquet"
    if draft.section("ask").get("kind") != "crosstabs":
        output["csv"] = f"{draft.name}-release.csv"  # the table itself may be called like the job
    if find_spec("xlsxwriter") is not None:
        output["excel"] = f"{draft.name}-release.xlsx"
    return output


def _made(studio: Studio, draft: Draft) -> list[str]:
    """The files of the job that are there."""
    output = draft.section("output")
    return [output[word] for word in WRITTEN if word in output and studio.folder.path(output[word]).exists()]


def show_results(studio: Studio, draft: Draft, fields: Fields) -> dict[str, Any]:
    """What can be taken away."""
    output = draft.section("output")
    made = _made(studio, draft)
    return {
        "release": output["release"] if output["release"] in made else "",
        "page": output["page"] if output["page"] in made else "",
        "files": made,
        "generated": [draft.path.name, draft.script_name],
        "python": draft.python,
        "commands": _command_lines(draft),
        "toml": draft.text,
        "progress": studio.releases.of(draft.name),
    }


def _command_lines(draft: Draft) -> str:
    """What to type in the folder of the job."""
    name = shlex.quote(draft.path.name)
    return f"leastnoise run {name} --expect   # what it would be like: free\nleastnoise run {name}"
