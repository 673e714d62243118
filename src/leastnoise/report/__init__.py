"""One HTML page about a release, for people: nothing to install, nothing to fetch, nothing private.

    contents    what the page shows, gathered from a release or an estimate of any kind
    sentences   its sentences: the headline, the promise, the noise, how to cite and to check
    charts      its pictures, as Vega-Lite
    document    all of it in one file, every value escaped

    tables_page       the same for a set of tables: the promise, and every table to choose from
    tables_contents tables_sentences tables_data    what it shows, its sentences, its cells
    promise_sentences markup                        what both pages share

It reads published values only, so it can hurt nobody.
"""

from leastnoise.report.document import page, write
from leastnoise.report.tables_page import page as page_of_tables
from leastnoise.report.tables_page import write as write_tables

__all__ = ["page", "page_of_tables", "write", "write_tables"]
