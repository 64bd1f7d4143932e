"""What the paper reports: its table of means and standard deviations (`tb:meanvartb`)."""

from typing import NamedTuple


class Entry(NamedTuple):
    """Mean and "Std" of an algorithm on a domain."""

    mean: float
    std: float


AVERAGED = 1000
"""Episodes whose average the paper's Std fits best as the standard error of, on the option."""

TABLE: dict[str, dict[str, Entry]] = {
    "portfolio": {
        "mvp": Entry(29.754, 0.325),
        "pg": Entry(29.170, 1.177),
        "tamar": Entry(28.575, 0.857),
        "sga": Entry(29.679, 0.658),
        "rcpg": Entry(29.340, 0.789),
    },
    "option": {
        "mvp": Entry(0.2478, 0.00482),
        "pg": Entry(0.2477, 0.00922),
        "tamar": Entry(0.2240, 0.00694),
        "sga": Entry(0.2470, 0.00679),
        "rcpg": Entry(0.2447, 0.00819),
    },
    "stopping": {
        "mvp": Entry(-1.4767, 0.00456),
        "pg": Entry(-1.4769, 0.00754),
        "tamar": Entry(-2.8553, 0.00415),
        "sga": Entry(-1.4805, 0.00583),
        "rcpg": Entry(-1.4872, 0.00721),
    },
}
