"""What MkDocs does not know of our pages: doctests are sessions, notebooks and files beside docs/ are pages too."""

from __future__ import annotations

import base64
import re
import textwrap
from pathlib import Path
from typing import Any

import nbformat
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
OUTSIDE = {
    "benchmarks/results.md": "benchmarks.md",
    "CHANGELOG.md": "changes.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "AUDIT.md": "audit-trail.md",
}  # on the site these lie beside the pages, in the repository above them


def on_files(files: Any, config: Any) -> Any:
    for source, page in OUTSIDE.items():
        if (ROOT / source).exists():
            files.append(File.generated(config, page, content=_from_outside((ROOT / source).read_text())))
    for path in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        text, pictures = as_page(path)
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=text))
        for name, content in pictures.items():
            files.append(File.generated(config, f"notebooks/{name}", content=content))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    up = "../" * page.file.src_uri.count("/")
    for source, target in OUTSIDE.items():
        markdown = re.sub(rf"\]\((?:\.\./)+{re.escape(source)}", f"]({up}{target}", markdown)
    if not page.file.src_uri.startswith("notebooks/"):
        markdown = markdown.replace(".ipynb)", ".md)")  # the page that shows the notebook
    return as_sessions(markdown)


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    """Sentences in an output may wrap, tables may not."""
    return re.sub(r'<span class="(go|gr|ne)">(?=[^<]{92})', r'<span class="\1 long">', html)


def as_sessions(markdown: str) -> str:
    """A block that begins with >>> is a session; the blank line that ends a doctest is not shown."""
    return re.sub(r"```python\n(>>> .*?)\n*```", r"```pycon\n\1\n```", markdown, flags=re.DOTALL)


def as_page(path: Path) -> tuple[str, dict[str, bytes]]:
    """A notebook as Markdown, with the outputs that are stored in it."""
    parts, pictures = [], {}
    for number, cell in enumerate(nbformat.read(path, as_version=4).cells):
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        for output in cell.outputs:
            data = output.get("data", {})
            if "image/png" in data:
                name = f"{path.stem}-{number}.png"
                pictures[name] = base64.b64decode(data["image/png"])
                parts.append(f"![The picture that this cell draws]({name})")
            elif text := output.get("text") or data.get("text/plain"):
                parts.append(f"```text\n{_wrapped(text)}\n```")
    parts.append(f"[The notebook itself]({path.name})")
    return "\n\n".join(parts), pictures


def _wrapped(text: str) -> str:
    return "\n".join(
        "\n".join(textwrap.wrap(line, 96)) if len(line) > 100 else line for line in text.rstrip().splitlines()
    )


def _from_outside(text: str) -> str:
    """Links of a file above docs/, seen from the site's root."""
    return re.sub(r"\]\(docs/", "](", text)
