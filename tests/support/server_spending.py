"""Processes that spend from one budget until nothing is left, through whatever happens to them and to the server."""

from __future__ import annotations

import os
import time
from pathlib import Path

import leastnoise as ln
from leastnoise import errors
from ledger_faults import FORK
from spending import spend


class Team:
    """One process for each address; each notes the id of a release *after* it was returned."""

    def __init__(self, urls: list[str], folder: Path, share: str) -> None:
        self.notes = [folder / f"returned{number}" for number in range(len(urls))]
        for note in self.notes:
            note.touch()
        self.processes = [
            FORK.Process(target=self._spend, args=(url, share, note))
            for url, note in zip(urls, self.notes, strict=True)
        ]
        for process in self.processes:
            process.start()

    @staticmethod
    def _spend(url: str, share: str, note: Path) -> None:
        budget: ln.Budget | None = None
        with note.open("a", buffering=1) as log:
            while True:
                try:
                    budget = budget or ln.Budget.open(url)
                    made = spend(budget, share=share)
                except ln.BudgetExhausted:
                    os._exit(0)
                except (errors.LedgerUnreachable, errors.LedgerBusy):
                    time.sleep(0.05)  # the server is away, or the wire was cut: what was paid stays paid
                    continue
                log.write(made.id + "\n")

    def returned(self) -> list[str]:
        return [line for note in self.notes for line in note.read_text().split("\n") if line]

    def wait_for(self, returned: int) -> None:
        while len(self.returned()) < returned and any(process.is_alive() for process in self.processes):
            time.sleep(0.01)

    def finish(self) -> list[int | None]:
        for process in self.processes:
            process.join(300)
        return [process.exitcode for process in self.processes]
