"""The ledgers of the folder: which there are, what is left, and a new one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leastnoise import errors
from leastnoise.curator.budget import Budget
from leastnoise.studio.folder import Folder

END = ".ledger"


@dataclass(frozen=True, slots=True)
class Gauge:
    """A budget as a bar: the part that is spent, the part that this release takes, and what it is about."""

    name: str
    promise: str
    spent: float
    asked: float
    left: float  # before this release
    closed: bool
    releases: int

    @property
    def fits(self) -> bool:
        """Whether there is enough."""
        return self.asked <= self.left


def ledgers(folder: Folder) -> list[str]:
    """The names of the ledgers in the folder."""
    return folder.names(END)


def open_ledger(folder: Folder, name: str) -> Budget:
    """A ledger of the folder."""
    return Budget.open(folder.path(name))


def gauge(folder: Folder, name: str, share: float = 0.0) -> Gauge:
    """How full a budget is, and would be after a release of this share."""
    budget = open_ledger(folder, name)
    left = float(budget.remaining.share)
    promise = str(budget).splitlines()[0].partition(": ")[2]
    return Gauge(name, promise, 1 - left, share, left, budget.closed, len(budget.history()))


def create(folder: Folder, fields: Any, unit: str | None, table: str | None) -> str:
    """A new ledger with the limits of the form; its name."""
    stem = str(fields.get("ledger", "")).strip().removesuffix(END)
    if not stem:
        raise errors.MissingParameter("Give the new budget a name.", parameter="ledger")
    path: Path = folder.path(stem + END)
    if path.exists():
        raise errors.BadOutput(f"{path.name!r} is there already. Choose it in the list, or give another name.")
    numbers: dict[str, Any] = {}
    for name in ("epsilon", "delta"):
        try:
            numbers[name] = float(str(fields.get(f"new:{name}", "")).strip())
        except ValueError:
            raise errors.InvalidParameter(f"The {name} of a budget is a number.", parameter=name) from None
    Budget.open(path, **numbers, unit=unit, table=table)
    return path.name
