"""results.md: every claim of the paper beside what was measured, and the figures."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import trials
from claims import HEAD
from places import NOTE

INTRODUCTION = """\
# The paper, reproduced

Balle & Wang, *Improving the Gaussian Mechanism for Differential Privacy: Analytical Calibration and Optimal Denoising*
(ICML 2018), measured again with the public interface of leastnoise. `make paper` writes this page, the figures and
their numbers (`figures/*.csv`); theorem and section numbers are the paper's.
"""


def write(folder: Path, names: tuple[str, ...], path: Path) -> None:
    """The page, from the CSV files alone."""
    found = {name: import_module(name) for name in names}
    rows = {name: trials.read(folder / f"{name}.csv") for name in names}
    claims = [claim for name, figure in found.items() for claim in figure.claims(rows[name])]
    theirs = [claim for claim in claims if claim.place]
    count = {verdict: sum(claim.agrees == verdict for claim in theirs) for verdict in ("yes", "in part", "no")}
    lines = [
        INTRODUCTION,
        f"{len(theirs)} claims: {count['yes']} agree, {count['in part']} in part, {count['no']} do not.",
        *([f"\n**{NOTE}**"] if NOTE else []),
        "",
        "## Every claim of the paper",
        "",
        HEAD,
        *(claim.line() for claim in theirs),
        "",
        "## What we add",
        "",
        "| we say | we measure (± one standard error) | holds | where not |",
        "|---|---|---|---|",
        *(claim.line() for claim in claims if not claim.place),
        "",
        "## The figures",
        "",
    ]
    beside = folder.relative_to(path.parent) if folder != path.parent else Path()
    for name, figure in found.items():
        caption = (figure.__doc__ or "").strip()
        lines += [f"### {name.replace('_', ' ').capitalize()}", "", caption, "", *_repeated(rows[name])]
        lines += [f"![{name.replace('_', ' ')}]({(beside / name).as_posix()}.png)", ""]
    path.write_text("\n".join(lines))
    print(f"written: {path.name}")


def _repeated(rows: list[trials.Row]) -> list[str]:
    """How many draws each number is the mean of."""
    counts = sorted({row["repetitions"] for row in rows if row.get("repetitions") not in (None, "")})
    return (
        [f"Means of {' to '.join(f'{c:,}' for c in dict.fromkeys((counts[0], counts[-1])))} draws.", ""]
        if counts
        else []
    )
