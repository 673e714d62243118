"""The documentation: the site builds without a warning, nothing in it is stale, and nothing comes from elsewhere."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import nbformat
import pytest
from typer.testing import CliRunner

import leastnoise as ln
from leastnoise import denoise
from leastnoise.cli import output
from leastnoise.cli.app import app

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
LINK = re.compile(r"\]\(([^)\s]+)\)")


def tool(name: str) -> Any:
    """A module of docs/theme, which is no package."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", ROOT / "docs" / "theme" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def slug(heading: str) -> str:
    """As Python-Markdown and GitHub name a heading, where the two agree."""
    return re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", heading.lower()).strip())


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages, built strictly: a warning is an error."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)
    assert (done.returncode, (done.stdout + done.stderr).strip()) == (0, "")
    return folder


@pytest.mark.slow
def test_the_site_fetches_nothing(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 30
    for page in pages:
        tags = re.findall(r"<(?:script|link|img|iframe|source)\b[^>]*>", page.read_text())
        assert [tag for tag in tags if re.search(r"(?:src|href)=\"(?:https?:)?//", tag)] == [], page.name
    for style in site.rglob("*.css"):
        assert not re.search(r"@import|url\(\s*['\"]?(?:https?:)?//", style.read_text()), style.name


@pytest.mark.slow
def test_the_search_finds_guides_and_not_measurements(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text())["docs"]
    found = {entry["location"].partition("#")[0] for entry in index}
    assert {"howto/quantiles.html", "howto/budget.html", "howto/limits.html", "reference/glossary.html"} <= found
    research = {"benchmarks", "measurements", "guard", "denoisers", "paper", "audit-trail", "research/theory"}
    assert not {f"{page}.html" for page in research} & found


@pytest.mark.slow
def test_the_api_pages_show_every_public_name(site: Path) -> None:
    pages = "".join(page.read_text() for page in (site / "api").glob("*.html"))
    shown = {name for path in re.findall(r'id="(leastnoise[\w.]+)"', pages) for name in path.split(".")}
    assert {*ln.__all__, *denoise.__all__, *ln.plot.__all__} - shown == {"METHODS"}


def links(page: Path) -> list[str]:
    """Where a page links to within the project."""
    prose = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    return [target for target in LINK.findall(prose) if not re.match(r"[a-z]+:", target)]


def leads_somewhere(page: Path, target: str) -> bool:
    """Whether the file of a link is there, and its heading."""
    path, _, anchor = target.partition("#")
    there = (page.parent / path).resolve() if path else page
    if not there.exists() or not anchor or there.suffix != ".md":
        return there.exists()
    return anchor in {slug(heading) for heading in re.findall(r"^#+ (.*)$", there.read_text(), flags=re.MULTILINE)}


def test_every_relative_link_leads_somewhere() -> None:
    found = [(page, target) for page in PAGES for target in links(page)]
    assert len(found) > 300
    wrong = [f"{page.relative_to(ROOT)}: {target}" for page, target in found if not leads_somewhere(page, target)]
    assert not wrong, "\n".join(wrong)


def test_the_api_pages_tell_every_field_of_releases_and_estimates() -> None:
    told = set(re.findall(r"`(\w+)`", (ROOT / "docs" / "api" / "releases.md").read_text()))
    assert {field.name for made in (ln.Release, ln.Estimate) for field in fields(made)} - told == set()


def test_the_reference_of_the_command_line_is_that_of_the_commands() -> None:
    commands = tool("commands")
    page = commands.PAGE.read_text()
    assert commands.renewed(page) == page, "Renew it: python docs/theme/commands.py"


def test_the_help_of_a_command_shows_what_the_page_says() -> None:
    page = (ROOT / "docs" / "reference" / "command-line.md").read_text()
    sections = re.findall(r"^## leastnoise ([a-z ]+)\n(.*?)(?=^## |\Z)", page, flags=re.DOTALL | re.MULTILINE)
    assert len(sections) >= 13
    for name, section in sections:
        told = CliRunner().invoke(app, [*name.split(), "--help"], env={"COLUMNS": "1000", "TERM": "dumb"}).output
        for option in re.findall(r"`(--[a-z0-9-]+)", section):
            assert option in told, f"{name} {option}"
        shown = " ".join(told.split())
        for words in re.findall(r"^\| `.*?` \|[^|]*\| (.*) \|$", section, flags=re.MULTILINE):
            assert re.sub(r"\\([|[])", r"\1", words) in shown, f"{name}: {words}"  # also what stands in brackets
        for words in (section.split("\n")[1], *re.findall(r"^    (.*)$", section, re.MULTILINE)):
            assert re.sub(r"\\([|[])", r"\1", words) in shown, f"{name}: {words}"


def test_the_page_of_the_command_line_tells_every_exit_code() -> None:
    page = (ROOT / "docs" / "reference" / "command-line.md").read_text()
    codes = re.findall(r"^    (\d+)  ", output.__doc__ or "", flags=re.MULTILINE)
    assert len(codes) >= 4
    assert re.findall(r"^\| (\d+) \|", page, flags=re.MULTILINE) == codes


def test_the_glossary_knows_every_denoiser_and_mechanism() -> None:
    glossary = (ROOT / "docs" / "reference" / "glossary.md").read_text()
    mechanisms = [row.mechanism for row in ln.compare(sensitivity=1, epsilon=0.5, delta=1e-6).rows]
    for word in [*denoise.METHODS, *mechanisms]:
        assert re.search(rf"(\*\*|`){word}(\*\*|`)", glossary), word


def agree(one: str, other: str) -> bool:
    """The same word; or numbers within 3 %: estimates may move by that without making a page wrong."""
    try:
        return float(one.strip(",;:>")) == pytest.approx(float(other.strip(",;:>")), rel=0.03, abs=1)
    except ValueError:
        return one == other


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_says_what_is_stored_in_it(path: Path) -> None:
    notebooks = tool("notebooks")
    assert path.stat().st_size < 700_000
    stored = nbformat.read(path, as_version=4)
    now, then = (" ".join(notebooks.texts(made)).split() for made in (notebooks.run(path), stored))
    assert len(now) == len(then), "Renew it: python docs/theme/notebooks.py"
    assert [pair for pair in zip(now, then, strict=True) if not agree(*pair)] == []


def test_every_path_in_the_architecture_exists() -> None:
    """And no folder at the top of the package is left out."""
    package, text = ROOT / "src" / "leastnoise", (ROOT / "docs" / "reference" / "architecture.md").read_text()
    named = set(re.findall(r"`([\w./]+(?:/|\.py|\.toml))(?:::\w+)?`", text))
    places = [package, package.parent, ROOT]
    assert {name for name in named if not any((place / name).exists() for place in places)} == set()
    folders = {f"{path.name}/" for path in package.iterdir() if (path / "__init__.py").is_file()}
    assert folders <= named


def test_the_line_that_installs_brings_what_the_first_pages_call() -> None:
    called = {"plot": ".plot(", "excel": ".to_excel(", "frames": ".to_pandas("}
    called["studio"] = "leastnoise studio"
    pages = [(ROOT / name).read_text() for name in ("README.md", "docs/index.md", "docs/tutorials/first-release.md")]
    needed = {extra for extra, call in called.items() if any(call in page for page in pages)}
    assert needed == set(called)
    for page in pages[:2]:
        installed = re.search(r"pip install '\.\[([a-z,]+)\]'", page)
        assert installed is not None
        assert needed <= set(installed[1].split(","))
