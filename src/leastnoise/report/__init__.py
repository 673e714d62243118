"""One HTML page about a release, for people: nothing to install, nothing to fetch, nothing private.

    contents    what the page shows, gathered from a release or an estimate of any kind
    sentences   its sentences: the headline, the promise, the noise, how to cite and to check
    charts      its pictures, as Vega-Lite
    document    all of it in one file, every value escaped

It reads published values only, so it can hurt nobody.
"""

from leastnoise.report.document import page, write

__all__ = ["page", "write"]
