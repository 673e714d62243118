"""The durable ledger of what was spent.

privacy_filter.py  the arithmetic: caps, shares, costs, and what composes adaptively
promise.py         what all releases together promise
ledger.py          the file: SQLite, durability, the chain of hashes
opening.py         the terms that are asked for, and those of the ledger
history.py         the entries, and which may follow which
remaining.py       what is left
debit.py           the debit of one release, and the refusal of what would overspend
budget.py          Budget: open, remaining, history, verify, expect
purchase.py        which noise a budget pays for
charge.py          decide, pay, and only then draw: how releases reach a budget
statement.py       print(budget)
"""

from leastnoise.curator.budget.budget import Budget
from leastnoise.curator.budget.history import Entry
from leastnoise.curator.budget.remaining import Remaining

__all__ = ["Budget", "Entry", "Remaining"]
