"""The durable ledger of what was spent.

privacy_filter.py   the arithmetic: caps, shares, costs, and what composes adaptively
promise.py          what a budget promises, all releases together
shares.py           shares as people write them
ledger.py           the chain of hashes over everything written (entry_row.py: one entry)
store.py            what keeps a ledger: a file (sqlite_store.py), a server (postgres_store.py)
opening.py          the terms that are asked for, and those of the ledger
account.py          the budget itself, or an allocation of it (allocation.py, allocating.py)
history.py          the entries, and which may follow which
remaining.py        what is left
debit.py            the debit of one release, and the refusal of what would overspend
budget.py           Budget: open, remaining, history, verify, expect, allocate
charge.py           decide, pay, and only then draw: how releases reach a budget
purchase.py         which noise a budget buys, and in which of its two ways
moving.py           from a file to a server; reconciliation.py: files of allocations that come back
statement.py        print(budget)
"""

from leastnoise._support.calls import explain_public
from leastnoise.curator.budget.allocation import Allocation
from leastnoise.curator.budget.budget import Budget
from leastnoise.curator.budget.history import Entry
from leastnoise.curator.budget.remaining import Remaining

__all__ = ["Allocation", "Budget", "Entry", "Remaining"]


explain_public(globals(), __all__)
