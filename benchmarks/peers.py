"""Time to a share of the certified optimum: `bca` beside the paper's MVP, and PPO and A2C."""

import statistics
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from contest import fresh

SCORE = 0.95

LEAST = {"MVP": 20.0, "SB3": 50.0}
"""Times as long as `bca`, compiled, that rivals should need."""

UNITS = {True: "s", False: "s, not there"}

PEERS = ("PPO", "A2C")


def measure(quick: bool, score: float = SCORE) -> Iterator[dict[str, Any]]:
    """Lines of the report; every contestant has a process of its own, one after the other."""
    episodes, seeds, seconds = (1_000_000, 3, 60) if quick else (2_000_000, 5, 300)
    ours = _race(score, "bca", seeds)
    (best, there), (short, there_too) = _median(ours), _median(ours["short"])
    goal = f"bca, default, {score:g} of the certified optimum of the option, λ = 1"
    yield {"what": goal, "value": best, "unit": UNITS[there]}
    yield {"what": "    compiling included", "value": ours["cold"], "unit": "s"}
    yield {
        "what": f"    run of {ours['short']['episodes']:,} episodes",
        "value": short,
        "unit": UNITS[there_too],
    }
    runs = {kind: _race(score, "mvp", kind, episodes, seeds) for kind in ("linear", "tabular")}
    yield from _mvp(best, short if there_too else None, runs)
    if find_spec("stable_baselines3") is None:
        yield {"what": "PPO and A2C of Stable-Baselines3 left out: they need the extra bench", "value": None}
        return
    for name in PEERS:
        found = _race(score, "sb3", name, seconds)
        yield _line(f"{name}, its time over bca's", found, best, LEAST["SB3"])
        yield _line("    over bca's, compiling included", found, ours["cold"])


def _race(score: float, *words: object) -> dict[str, Any]:
    return fresh(str(score), *map(str, words), script="race.py")


def _mvp(best: float, short: float | None, found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The linear policy, the paper's, has a target: beside a run of `bca` that ends when it is there."""
    for kind, one in found.items():
        steps = f"steps {one['policy_step_size']:g} and {one['dual_step_size']:g}"
        yield _line(f"MVP, {kind}, {steps}: its time over bca's", one, best)
        if short is not None:
            least = LEAST["MVP"] if kind == "linear" else None
            yield _line("    over that of bca's shorter run", one, short, least)
        search = (one["search"] + _median(one)[0]) / best
        yield {"what": "    the search for these steps included", "value": search}


def _median(found: dict[str, Any]) -> tuple[float, bool]:
    """The median of the runs, and whether it is one that got there; otherwise it is a lower bound."""
    seconds = statistics.median(seconds for seconds, _ in found["runs"])
    return seconds, 2 * sum(reached for _, reached in found["runs"]) > len(found["runs"])


def _line(what: str, found: dict[str, Any], best: float, least: float | None = None) -> dict[str, Any]:
    seconds, reached = _median(found)
    told = f"{what}, {'' if reached else '> '}{seconds:.3g} s"
    line = {"what": told, "value": seconds / best, "unit": "" if reached else "or more"}
    return line if least is None else {**line, "target": f"≥ {least:g}", "met": seconds / best >= least}
