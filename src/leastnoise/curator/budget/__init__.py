"""The durable ledger of what was spent.

terms.py            the arithmetic: caps, costs, what composes adaptively, what it promises, what is left; shares
state.py            what a ledger says: a fold over its entries
ledger.py           reading a ledger, and adding an entry, wherever it is kept: sqlite_store.py, postgres_store.py
opening.py          the terms that are asked for, and those of the ledger
budget.py           Budget, the whole or an allocation of it (allocations.py): what it says, and what is written to it
history.py          the entries as people read them, and print(budget)
deciding.py         which noise a request gets, and what it costs
charge.py           what a release costs, and the one way by which it is paid
kinds.py            the two kinds of budget, and which has less noise
moving.py           from a file to a server
"""

from leastnoise._support.calls import explain_public
from leastnoise.curator.budget.budget import Budget
from leastnoise.curator.budget.history import Entry
from leastnoise.curator.budget.state import Allocation
from leastnoise.curator.budget.terms import Remaining

__all__ = ["Allocation", "Budget", "Entry", "Remaining"]


explain_public(globals(), __all__)
