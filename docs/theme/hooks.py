"""What MkDocs does not know of our pages: doctests are sessions, notebooks and files beside docs/ are pages too."""

from __future__ import annotations

import base64
import json
import re
import textwrap
from pathlib import Path
from typing import Any

import nbformat
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
RESEARCH = "Research notes"  # a section of its own, which the search leaves out
OUTSIDE = {  # files above docs/: their page on the site, its title, and the section that lists it
    "benchmarks/results.md": ("benchmarks.md", "Benchmarks", RESEARCH),
    "benchmarks/measured.md": ("measurements.md", "Measurements", RESEARCH),
    "benchmarks/guard.md": ("guard.md", "Guarded figures", RESEARCH),
    "benchmarks/denoisers.md": ("denoisers.md", "How the denoisers were settled", RESEARCH),
    "paper/results.md": ("paper.md", "The paper's figures", RESEARCH),
    "AUDIT.md": ("audit-trail.md", "Audit", RESEARCH),
    "SECURITY.md": ("security.md", "Security", "Reference"),
    "CHANGELOG.md": ("changes.md", "Changes", "Reference"),
    "CONTRIBUTING.md": ("contributing.md", "Contributing", "Reference"),
}


def on_config(config: Any) -> Any:
    """Pages from above docs/ come last in their section."""
    sections = {name: pages for section in config.nav for name, pages in section.items()}
    for source, (page, title, section) in OUTSIDE.items():
        if (ROOT / source).exists():
            sections[section].append({title: page})
    return config


def on_post_build(config: Any) -> None:
    """The search finds guides and reference, not the measurements behind them."""
    [research] = [section[RESEARCH] for section in config.nav if RESEARCH in section]
    pages = {Path(page).with_suffix(".html").as_posix() for entry in research for page in entry.values()}
    path = Path(config.site_dir) / "search" / "search_index.json"
    index = json.loads(path.read_text())
    index["docs"] = [entry for entry in index["docs"] if entry["location"].partition("#")[0] not in pages]
    for entry in index["docs"]:
        if entry["location"].startswith("api/") and "#leastnoise." in entry["location"]:
            _after_the_guides(entry)
    path.write_text(json.dumps(index))
    worker = path.with_name("worker.js")
    worker.write_text(worker.read_text().replace("this.field('title')", "this.field('title', { boost: 20 })"))


def _after_the_guides(entry: dict[str, str]) -> None:
    """A name of the interface is titled Class.name: it is found by its text, and a guide with that word comes first."""
    *_, owner, name = entry["location"].partition("#")[2].split(".")
    entry["title"], entry["text"] = f"{owner}.{name}", f"{name} {entry['text']}"


def on_files(files: Any, config: Any) -> Any:
    for source, (page, *_) in OUTSIDE.items():
        if (ROOT / source).exists():
            text = (ROOT / source).read_text()
            files.append(File.generated(config, page, content=_from_outside(text, (ROOT / source).parent)))
            for picture in re.findall(r"!\[[^]]*\]\(([^):]+)\)", text):
                if (drawn := (ROOT / source).parent / picture).exists():
                    files.append(File.generated(config, picture, content=drawn.read_bytes()))
    for path in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        text, pictures = as_page(path)
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=text))
        for name, content in pictures.items():
            files.append(File.generated(config, f"notebooks/{name}", content=content))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    up = "../" * page.file.src_uri.count("/")
    for source, (target, *_) in OUTSIDE.items():
        markdown = re.sub(rf"\]\((?:\.\./)+{re.escape(source)}", f"]({up}{target}", markdown)
    if not page.file.src_uri.startswith("notebooks/"):
        markdown = markdown.replace(".ipynb)", ".md)")  # the page that shows the notebook
    return as_sessions(markdown)


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    """Sentences in an output may wrap, tables may not."""
    return re.sub(r'<span class="(go|gr|ne)">(?=[^<]{92})', r'<span class="\1 long">', html)


def as_sessions(markdown: str) -> str:
    """A block that begins with >>> is a session; the blank line that ends a doctest is not shown."""
    markdown = re.sub(r"^leastnoise\.errors\..{92,}$", lambda line: _wrapped(line[0]), markdown, flags=re.MULTILINE)
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


def _from_outside(text: str, folder: Path) -> str:
    """Links of a file above docs/, seen from the site's root; what is no page there is named without a link."""
    pages = {ROOT / source: page for source, (page, *_) in OUTSIDE.items()}

    def seen(link: re.Match[str]) -> str:
        picture, words, target = link.groups()
        path, mark, anchor = target.partition("#")
        there = (folder / path).resolve()
        if picture and not there.exists():
            return ""  # not drawn yet
        if picture or ":" in target or not path:
            return link[0]
        if there in pages:
            return f"[{words}]({pages[there]}{mark}{anchor})"
        if there.is_relative_to(ROOT / "docs"):
            return f"[{words}]({there.relative_to(ROOT / 'docs')}{mark}{anchor})"
        return words

    return re.sub(r"(!?)\[([^]]*)\]\(([^)\s]+)\)", seen, text)
