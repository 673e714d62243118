"""results.md: every claim of the paper beside what was measured, and the figures."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import trials
from claims import HEAD, Claim
from places import NOTE

PARTS = (  # modules, in the order of the paper
    "privacy_theorems",
    "calibration",
    "denoising_theorems",
    "errata",
    "mean_estimation",
    "histograms",
    "histogram_bound",
    "taxi_data",
    "taxi_maps",
    "taxi_risk",
    "left_on_the_table",
    "real_histograms",
)
INTRODUCTION = """\
# The paper, reproduced

Balle & Wang, *Improving the Gaussian Mechanism for Differential Privacy: Analytical Calibration and Optimal Denoising*
(ICML 2018), measured again with the public interface of leastnoise. `make paper` writes this page, the figures and
their numbers (`figures/*.csv`); theorem, section and figure numbers are the paper's. Where each of its statements is
proved, computed and tested: [the index](../docs/research/paper-index.md).
"""
STANDARD = """\
## The standard

Counted is every statement that the paper makes of its own and that mathematics or a measurement can decide. Not
counted: what it reports of other work, how its code was run, what a picture shows to the eye, and questions it leaves
open. A sentence is counted once, where it is said first or most exactly.

- A **mathematical** statement (a theorem, a formula, or a sentence with "for all", "for any", "always") agrees if it is
  true as printed, in its whole range; in part if it says several things, or one thing for several cases, and a whole
  one of them is true as printed; and not otherwise: one counter-example is enough.
- A **measured** statement agrees if it holds in every setting within its range, in part if in more than half of them,
  and not otherwise. Numbers from data that are not public agree in part if order and size do.
"""
SECTIONS = (
    *("abstract", "§2", "§2.1", "§2.2", "§2.3", "§3", "§4", "§5.1", "§5.2", "§5.3", "§6"),
    *("appendix A", "appendix B.1", "appendix B.2"),
)


SECTION_4 = (
    *("§4", "Theorem 10", "after Theorem 10", "equation (7)", "minimax risk for p ≥ 2", "example of equation (7)"),
    *("sparse histograms", "Theorem 11", "after Theorem 11", "Theorem 12", "after Theorem 12", "histogram bound"),
)


def in_order(claim: Claim) -> tuple[int, int]:
    """Where the claim stands in the paper: its section, and within the longest one its place there."""
    section, *names = claim.place.split(", ")
    return SECTIONS.index(section), SECTION_4.index(names[0] if names else section) if section == "§4" else 0


def write(folder: Path, path: Path) -> None:
    """The page, from the CSV files."""
    found = {name: import_module(name) for name in PARTS}
    rows = {name: trials.read(folder / f"{name}.csv") for name in PARTS}
    claims = [claim for name, figure in found.items() for claim in figure.claims(rows[name])]
    theirs = sorted((claim for claim in claims if claim.place), key=in_order)
    count = {verdict: sum(claim.agrees == verdict for claim in theirs) for verdict in ("yes", "in part", "no")}
    lines = [
        INTRODUCTION,
        f"{len(theirs)} claims: {count['yes']} agree, {count['in part']} in part, {count['no']} do not.",
        *([f"\n**{NOTE}**"] if NOTE else []),
        "",
        STANDARD,
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
        if not hasattr(figure, "draw"):
            continue
        caption = (figure.__doc__ or "").strip()
        lines += [f"### {name.replace('_', ' ').capitalize()}", "", caption, "", *_repeated(rows[name])]
        if hasattr(figure, "beside"):
            lines += [figure.beside(rows[name]), ""]
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
