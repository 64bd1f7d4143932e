"""`--figure`: refused before training if it cannot be drawn, saved whole or not at all after it."""

import io
import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from fenchel.errors import require

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg", ".pdf")
DOTS_PER_INCH = 150


def require_figure(path: Path) -> None:
    """Raise unless a figure can be drawn and put there."""
    field, value = "figure", str(path)
    require(path.suffix.lower() in FORMATS, field, value, f"must end in {', '.join(FORMATS[:-1])} or .pdf")
    require(not path.is_dir(), field, value, "is a directory; name a file")
    folder = path.parent
    require(folder.is_dir(), field, value, f"needs the directory {str(folder)!r}, which does not exist")
    require(os.access(folder, os.W_OK | os.X_OK), field, value, f"the directory {str(folder)!r} is read-only")
    require(find_spec("matplotlib") is not None, field, value, "needs matplotlib: pip install matplotlib")


def save(figure: "Figure", path: Path) -> None:
    """Write a figure; a file of that name is replaced when the new one is complete."""
    import matplotlib.pyplot as plt

    from fenchel.training.atomic import write_atomic

    buffer = io.BytesIO()
    figure.savefig(buffer, format=path.suffix[1:].lower(), dpi=DOTS_PER_INCH)
    plt.close(figure)
    write_atomic(path, buffer.getvalue())
