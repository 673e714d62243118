"""A release that was paid for and never published, because whatever made it was stopped in between.

The record beside the release was on disk before the debit (`jobs.record`), so a studio that starts anew knows: the
ledger has the debit, and there is no release. Nobody has seen what was drawn, and what was paid stays paid.
"""

from __future__ import annotations

from dataclasses import dataclass

from leastnoise.jobs.running import Run


@dataclass(frozen=True, slots=True)
class Lost:
    """The debit of a release that was not published: its id in the ledger, the entry, and when it began."""

    release: str
    number: int
    when: str
    share: float
    budget: str


def lost_debit(run: Run) -> Lost | None:
    """What an earlier run of this job paid for and lost; None where none did. No row is read."""
    record, budget = run.known(), run.request.budget
    if record is None or record.release is not None or budget is None:
        return None
    release = record.debit(budget)
    entry = next((each for each in budget.history() if each.release == release), None)
    if release is None or entry is None:
        return None
    return Lost(release, entry.number, f"{entry.created_at:%Y-%m-%d %H:%M} UTC", float(entry.share), budget.name)
