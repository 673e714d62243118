"""The durable ledger of what was spent.

terms.py            the arithmetic: caps, costs, what composes adaptively, what it promises, what is left
shares.py           shares as people write them
state.py            what a ledger says: a fold over its entries (entry_row.py: one entry, and the chain of hashes)
ledger.py           reading a ledger, and adding an entry, wherever it is kept: sqlite_store.py, postgres_store.py
opening.py          the terms that are asked for, and those of the ledger
account.py          the budget itself, or an allocation of it (allocations.py)
history.py          the entries as people read them, and print(budget)
debit.py            the debit of one release, and the refusal of what would overspend
budget.py           Budget: open, remaining, history, verify, expect, allocate
charge.py           decide, pay, and only then draw: how releases reach a budget
kinds.py            the two kinds of budget, and which has less noise
purchase.py         which noise a budget buys
moving.py           from a file to a server
"""

from leastnoise._support.calls import explain_public
from leastnoise.curator.budget.budget import Budget
from leastnoise.curator.budget.history import Entry
from leastnoise.curator.budget.state import Allocation
from leastnoise.curator.budget.terms import Remaining

__all__ = ["Allocation", "Budget", "Entry", "Remaining"]


explain_public(globals(), __all__)
