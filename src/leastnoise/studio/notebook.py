"""The job as a Jupyter notebook: the cells of the script, with a sentence before each.

The sentences are ours alone. Whatever the job's file says stands in the code, as a value.
"""

from __future__ import annotations

import json
from typing import Any

from leastnoise.studio import script
from leastnoise.studio.draft import Draft

SENTENCES = {
    script.TABLE: "Which rows, and whom they protect. The table is opened, and nothing of it is read.",
    script.QUESTION: "What is asked, of which public keys, and how much of one person may count.",
    script.PRIVACY: "How private, and how exact that will be. Asking is free, and reads no row.",
    script.RELEASE: "Debits the budget, then reads rows and draws noise. **Every run of this cell pays again.**",
    script.FILES: "All of this is made from the release alone, for free.",
}


def notebook_name(draft: Draft) -> str:
    """Of the file."""
    return f"{draft.name}-job.ipynb"


def notebook(draft: Draft) -> str:
    """The notebook, to be run in the folder of the job; an error where the draft is no job."""
    cells: list[dict[str, Any]] = []
    for cell in script.cells(draft):
        cells.append(
            {"cell_type": "markdown", "metadata": {}, "source": _lines(f"## {cell.title}\n{SENTENCES[cell.title]}")}
        )
        source = _lines("\n".join(cell.lines))
        cells.append({"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": source})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 4}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)
