"""The notebooks, run: `python docs/theme/notebooks.py` runs each and stores what it shows, for the pages to show."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from PIL import Image

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"


def run(path: Path) -> Any:
    """The notebook with the outputs of this moment."""
    notebook = nbformat.read(path, as_version=4)
    return NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": FOLDER}}
    ).execute()


def texts(notebook: Any) -> list[str]:
    """What its cells say, pictures left out."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    data = [(output, output.get("data", {})) for output in outputs]
    return [output.get("text") or shown.get("text/plain", "") for output, shown in data if "image/png" not in shown]


def store(path: Path) -> None:
    """Run it, and keep text and pictures, the first also in docs/img: no times, no machine, no kernel's version."""
    notebook = run(path)
    notebook.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    for cell in notebook.cells:
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.execution_count = None
            for output in cell.outputs:
                output.pop("execution_count", None)
                output.get("data", {}).pop("text/html", None)
                if picture := output.get("data", {}).get("image/png"):
                    output["data"]["image/png"] = smaller(picture)
                if output.output_type == "execute_result":
                    output["execution_count"] = None
    nbformat.write(notebook, path)
    pictures = [
        o["data"]["image/png"] for c in notebook.cells for o in c.get("outputs", []) if "image/png" in o.get("data", {})
    ]
    (FOLDER.parent / "img" / f"{path.stem}.png").write_bytes(base64.b64decode(pictures[0]))


def smaller(picture: str) -> str:
    """A PNG in 64 colours: a quarter of the size, and no difference to see."""
    drawn = Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB").quantize(64)
    out = io.BytesIO()
    drawn.save(out, "PNG", optimize=True)
    return base64.b64encode(out.getvalue()).decode()


if __name__ == "__main__":
    for path in sorted(FOLDER.glob("*.ipynb")):
        store(path)
