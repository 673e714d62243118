"""The durable ledger of what was spent.

privacy_filter.py  the arithmetic: caps, shares, costs, and what composes adaptively
ledger.py          the file: SQLite, durability, the chain of hashes
budget.py          Budget: open, remaining, history, verify, preview
charge.py          decide, pay, and only then draw: how releases reach a budget
statement.py       print(budget)
"""

from leastnoise.curator.budget.budget import Budget, Entry, Remaining

__all__ = ["Budget", "Entry", "Remaining"]
