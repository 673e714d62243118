"""One HTML page about a release, for people: nothing to install, nothing to fetch, nothing private.

    contents    what the page shows, gathered from a release or an estimate of any kind
    sentences   its sentences: the headline, the promise, the noise, how to cite and to check
    charts      its pictures, as Vega-Lite
    document    all of it in one file, every value escaped

    tables_page       the same for a set of tables: the promise, and every table to choose from
    tables_contents tables_sentences tables_data    what it shows, its sentences, its cells
    summary_page summary_picture                    the page of a summary: every statistic drawn, and a table
    limits_page limits_picture                      the page of proposed limits
    promise_sentences markup                        what all pages share

It reads published values only, so it can hurt nobody.
"""

from leastnoise._support.calls import explain_public
from leastnoise.report.document import page, write
from leastnoise.report.limits_page import page as page_of_limits
from leastnoise.report.limits_page import write as write_limits
from leastnoise.report.summary_page import page as page_of_summary
from leastnoise.report.summary_page import write as write_summary
from leastnoise.report.tables_page import page as page_of_tables
from leastnoise.report.tables_page import write as write_tables

__all__ = [
    "page",
    "page_of_limits",
    "page_of_summary",
    "page_of_tables",
    "write",
    "write_limits",
    "write_summary",
    "write_tables",
]


explain_public(globals(), __all__)
