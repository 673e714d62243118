"""One HTML page about what was released, for people: nothing to install, nothing to fetch, nothing private.

    shown           what the page shows: one table or many, beside an estimate or on a map
    sentences       its sentences: the guarantee, the noise, what is left out
    check           how to cite it, what to type to check it, and in which file it is
    data            the numbers, as the page's script reads them
    document        all of it in one file, every value escaped
    tree            tables along a tree, as a list that opens
    limits          the page of proposed limits
    budget_page     the page of a budget

It reads published values only, so it can hurt nobody.
"""

from leastnoise._support.calls import explain_public
from leastnoise.report.document import page, write

__all__ = ["page", "write"]


explain_public(globals(), __all__)
