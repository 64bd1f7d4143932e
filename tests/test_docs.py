"""Every Python block of the documentation runs as it stands."""

import re
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCKS = [
    pytest.param(block, id=f"{page.relative_to(ROOT)}-{number}")
    for page in PAGES
    for number, block in enumerate(re.findall(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S))
]


@pytest.mark.parametrize("block", BLOCKS)
def test_block_runs(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "block", "exec"), {"__name__": "block"})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_files_that_the_design_names_are_there():
    named = re.findall(r"`([a-z_/]+\.(?:py|md))`", (ROOT / "docs" / "design.md").read_text())
    places = (ROOT, ROOT / "src" / "fenchel", ROOT / "src" / "fenchel" / "training")
    assert [name for name in named if not any((place / name).exists() for place in places)] == []
    assert "src/fenchel/settings.py" in named


def test_what_the_project_file_includes_is_there():
    built = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]
    assert [name for name in built["sdist"]["include"] if not (ROOT / name).exists()] == []


def test_what_the_demo_makes_is_not_tracked():
    made = re.findall(r"--figure (\S+)", (ROOT / "Makefile").read_text())
    assert set(made) <= set((ROOT / ".gitignore").read_text().splitlines())


def test_every_part_has_a_skeleton():
    pages = {page.stem for page in (ROOT / "docs" / "adding").glob("*.md")}
    assert pages == {"objective", "environment", "policy", "algorithm"}
