"""The notebooks, run: `python docs/theme/notebooks.py` runs each and stores what it shows, so that pages can show it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"


def run(path: Path) -> Any:
    """The notebook with the outputs of this moment."""
    notebook = nbformat.read(path, as_version=4)
    return NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": FOLDER}}).execute()


def texts(notebook: Any) -> list[str]:
    """What its cells say, pictures left out."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    data = [(output, output.get("data", {})) for output in outputs]
    return [output.get("text") or told.get("text/plain", "") for output, told in data if "image/png" not in told]


def store(path: Path) -> None:
    """Run it, and keep text and pictures: no times, no machine, no kernel's version."""
    notebook = run(path)
    notebook.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    for cell in notebook.cells:
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.execution_count = None
            for output in cell.outputs:
                output.pop("execution_count", None)
                output.get("data", {}).pop("text/html", None)
                if output.output_type == "execute_result":
                    output["execution_count"] = None
    nbformat.write(notebook, path)


if __name__ == "__main__":
    for path in sorted(FOLDER.glob("*.ipynb")):
        store(path)
