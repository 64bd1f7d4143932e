"""Time to 0.95 of the certified optimum: `bca` beside the paper's MVP, and PPO and A2C."""

import statistics
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from contest import fresh

LEAST = {"MVP": 20.0, "SB3": 50.0}
"""Times as long as `bca`, compiled, that rivals should need."""

PEERS = ("PPO", "A2C")


def measure(quick: bool) -> Iterator[dict[str, Any]]:
    """Lines of the report; every contestant has a process of its own, one after the other."""
    episodes, seeds, seconds = (1_000_000, 3, 60) if quick else (2_000_000, 5, 300)
    ours = fresh("bca", str(seeds), script="race.py")
    best, short = _median(ours)[0], _median(ours["short"])[0]
    goal = "bca, default, 0.95 of the certified optimum of the option, λ = 1"
    yield {"what": goal, "value": best, "unit": "s"}
    yield {"what": "    compiling included", "value": ours["cold"], "unit": "s"}
    yield {"what": f"    run of {ours['short']['episodes']:,} episodes", "value": short, "unit": "s"}
    yield from _mvp(best, short, episodes, seeds)
    if find_spec("stable_baselines3") is None:
        yield {"what": "PPO and A2C of Stable-Baselines3 left out: they need the extra bench", "value": None}
        return
    for name in PEERS:
        found = fresh("sb3", name, str(seconds), script="race.py")
        yield _line(f"{name}, its time over bca's", found, best, LEAST["SB3"])
        yield _line("    over bca's, compiling included", found, ours["cold"])


def _mvp(best: float, short: float, episodes: int, seeds: int) -> Iterator[dict[str, Any]]:
    """Both kinds of policy; the faster one has to be slow enough."""
    found = {
        kind: fresh("mvp", kind, str(episodes), str(seeds), script="race.py")
        for kind in ("linear", "tabular")
    }
    faster = min(found, key=lambda kind: _median(found[kind]))
    for kind, one in found.items():
        steps = f"steps {one['policy_step_size']:g} and {one['dual_step_size']:g}"
        least = LEAST["MVP"] if kind == faster else None
        yield _line(f"MVP, {kind}, {steps}: its time over bca's", one, best, least)
        yield _line("    over that of bca's shorter run", one, short)
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
