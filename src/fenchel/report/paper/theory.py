from collections.abc import Iterator
from typing import Any


def theory_section(findings: Any, folder: str) -> str:
    return ""


def theory_figures(findings: Any) -> Iterator[Any]:
    yield from ()
