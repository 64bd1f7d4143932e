"""Imports go one way, and files and functions stay short."""

import ast
from pathlib import Path

import pytest

import fenchel

SRC = Path(fenchel.__file__).parent
FILES = {str(path.relative_to(SRC)): path for path in sorted(SRC.rglob("*.py"))}
BASE = {"errors", "noise", "intervals"}
CORE = {"objectives", "envs", "policies"}
LAYERS = {
    "errors": set(),
    "noise": set(),
    "intervals": set(),
    "settings": {"errors"},
    "data": {"errors"},
    **dict.fromkeys(CORE, BASE),
    "estimators": BASE | CORE,
    "ascent": BASE | CORE | {"estimators"},
    "exact": BASE | CORE,
    "training": BASE | CORE | {"estimators", "ascent", "exact", "settings"},
    "theory": BASE | CORE | {"estimators", "ascent", "exact", "training", "settings"},
    "studies": BASE | CORE | {"estimators", "ascent", "exact", "training", "theory", "settings", "data"},
    "gymnasium": BASE | CORE | {"estimators", "ascent", "exact", "training", "settings"},
    "report": BASE | CORE | {"estimators", "ascent", "exact", "training", "theory", "studies", "settings"},
    "cli": BASE
    | CORE
    | {"estimators", "ascent", "exact", "training", "theory", "studies", "report", "settings", "data"},
}
"""What each room may import, besides itself."""
LONGEST_FILE, SHORT_FILE, LONGEST_FUNCTION = 500, 150, 60


def tree(name):
    return ast.parse(FILES[name].read_text(), name)


def room_of(name):
    return name.split("/")[0].removesuffix(".py")


def imported(name):
    """Rooms of fenchel that a file imports, wherever in it; "fenchel" itself where it names no room."""
    package = ["fenchel", *name.split("/")[:-1]]
    for node in ast.walk(tree(name)):
        if isinstance(node, ast.Import):
            yield from (_room(alias.name) for alias in node.names if alias.name.split(".")[0] == "fenchel")
        elif isinstance(node, ast.ImportFrom):
            home = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*home, *([node.module] if node.module else [])])
            if module == "fenchel":
                yield from (alias.name for alias in node.names)
            elif module.split(".")[0] == "fenchel":
                yield _room(module)


def _room(module):
    return module.split(".")[1] if "." in module else module


def functions(name):
    """Every function of a file, with its length; nested ones count by themselves and within the outer one."""
    for node in ast.walk(tree(name)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node.end_lineno - node.lineno + 1


def test_every_room_has_its_place():
    assert {room_of(name) for name in FILES} - {"__init__", "__main__"} <= LAYERS.keys()


@pytest.mark.parametrize("room", sorted(LAYERS))
def test_imports_go_one_way(room):
    names = [name for name in FILES if room_of(name) == room]
    allowed = LAYERS[room] | {room}
    if room in ("report", "cli"):
        allowed = allowed | {"__version__", *fenchel.__all__}
    wrong = {(name, other) for name in names for other in imported(name) if other not in allowed}
    assert not wrong


def test_a_forbidden_import_would_be_seen(tmp_path, monkeypatch):
    source = tmp_path / "bad.py"
    source.write_text(
        "import fenchel.training.loop\nfrom fenchel import cli\nfrom ..ascent import x\nimport fenchel\n"
        "from fenchel.envs.option import y\nfrom . import z\ndef f():\n    from fenchel.report import w\n"
    )
    monkeypatch.setitem(FILES, "policies/bad.py", source)
    assert set(imported("policies/bad.py")) == {
        *("training", "cli", "ascent", "fenchel", "envs", "policies", "report")
    }


def test_files_are_short():
    lengths = {name: len(path.read_text().splitlines()) for name, path in FILES.items()}
    assert {name: length for name, length in lengths.items() if length > LONGEST_FILE} == {}
    assert sum(length < SHORT_FILE for length in lengths.values()) >= 0.8 * len(lengths)


def test_functions_are_short():
    found = {(name, *function) for name in FILES for function in functions(name)}
    assert {one for one in found if one[2] > LONGEST_FUNCTION} == set()
