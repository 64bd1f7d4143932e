"""How fast fenchel is, as ratios measured side by side on this machine.

    python benchmarks/run.py            everything, some fifteen minutes on two idle cores
    python benchmarks/run.py --quick    shorter, noisier, some five minutes
    python benchmarks/run.py --layout   what the decisions about the layout are worth, instead
    python benchmarks/run.py --peers    the race against MVP, PPO and A2C only; --score 0.99 moves its end
    python benchmarks/run.py --json     one JSON object instead of the table

A ratio below its target is reported, not an error: machines differ and are busy. The exit code is 1 when
fenchel and the C loop do not reach the same parameters from the same random numbers.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import Any

import exported
import host
import layout
import momentum
import peers
from contest import Worker, fresh, ratios, turns
from reference import REPLAYED, TOLERANCE, Reference, difference
from workloads import BATCH, LEARNERS

TARGETS = {"one": 0.15, "many": 0.8, "tabular": 2.0}
NAMES = {
    "one": "one learner, updates/s over the C loop's",
    "many": f"{LEARNERS:,} learners, updates/s over the C loop's",
    "tabular": f"tabular, batches of {BATCH:,}: episodes/s over the C loop's updates/s",
}
FRONTIERS = {20: 1.0, 500: 60.0}
"""Seconds that an exact frontier may take, imports apart, by the horizon."""

MOST_BYTES = 2 * 2**30
RETURN_BYTES = 4
"""What a history would need for each further episode, at the very least: its return in single precision."""


def main() -> int:
    """Measure, print, and say by the exit code whether fenchel and the C loop agree."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer repetitions and episodes")
    parser.add_argument(
        "--layout", action="store_true", help="measure the decisions about the layout instead"
    )
    parser.add_argument("--peers", action="store_true", help="measure the race against others only")
    parser.add_argument("--score", type=float, default=peers.SCORE, help="where the race ends")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    wanted = parser.parse_args()
    repetitions, seconds = (3, 0.3) if wanted.quick else (5, 1.0)
    if wanted.layout:
        found = layout.measure(repetitions, seconds)
    elif wanted.peers:
        found = peers.measure(wanted.quick, wanted.score)
    else:
        found = measure(wanted.quick, repetitions, seconds)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if wanted.json:
        lines = list(found)
        print(json.dumps({"cores": cores, "lines": lines}))
    else:
        lines = _printed(cores, wanted.quick, found)
    return 0 if wanted.layout or wanted.peers or lines[0]["met"] else 1


def measure(quick: bool, repetitions: int, seconds: float) -> Iterator[dict[str, Any]]:
    """The lines of the report; nothing is timed if the two loops disagree."""
    reference = Reference()
    apart = difference(reference)
    yield {
        "what": f"largest difference from the C loop, {REPLAYED:,} updates on the same numbers",
        "value": apart,
        "target": f"≤ {TOLERANCE:g}",
        "met": apart <= TOLERANCE,
    }
    if apart <= TOLERANCE:
        yield from _rates(reference, repetitions, seconds)
        yield from exported.measure(repetitions, seconds)
        yield from host.measure(repetitions, seconds)
        yield from _starts()
        yield from _memory((5_000, 40_000) if quick else (5_000, 100_000))
        yield from _frontiers((20, 100, 200) if quick else (20, 125, 250, 500))
        yield from _learned()
        yield from momentum.measure()
        yield from peers.measure(quick)


def _rates(reference: Reference, repetitions: int, seconds: float) -> Iterator[dict[str, Any]]:
    with ExitStack() as stack:
        workers = [stack.enter_context(Worker(name)) for name in NAMES]
        base, *others = turns([reference, *workers], repetitions, seconds)
    for (name, what), rates in zip(NAMES.items(), others, strict=True):
        found = ratios(rates, base)
        met = found["median"] >= TARGETS[name]
        yield {"what": what, "ratio": found, "target": f"≥ {TARGETS[name]:g}", "met": met}
    yield {"what": "transitions per episode of the C loop, of 20 at most", "value": reference.steps}


def _learned() -> Iterator[dict[str, Any]]:
    """A frontier that is learned: how long it takes, and how good its worst risk aversion is."""
    found = fresh(script="fronts.py")
    seconds = found["seconds"]
    what = "frontier of the option, 7 risk aversions × 16 seeds, compiling included"
    yield {"what": what, "value": seconds, "unit": "s", "target": "< 60", "met": seconds < 60}
    for name, least in (("median", 0.995), ("worst", 0.98)):
        what = f"    {name} score over the seeds, of the risk aversion where it is least"
        yield {"what": what, "value": found[name], "target": f"≥ {least}", "met": found[name] >= least}


def _starts() -> list[dict[str, Any]]:
    """Two processes, one after the other, that share a compilation cache."""
    with tempfile.TemporaryDirectory() as cache:
        kept = {
            "JAX_COMPILATION_CACHE_DIR": cache,
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        }
        cold, again = fresh("start", **kept), fresh("start", **kept)
    return [
        {"what": "imports and set-up, cold", "value": cold["imports"], "unit": "s"},
        {"what": "tracing and compiling, cold", "value": cold["compile"], "unit": "s"},
        {"what": "tracing and compiling, from the cache", "value": again["compile"], "unit": "s"},
    ]


def _memory(lengths: tuple[int, int]) -> list[dict[str, Any]]:
    short, long = (fresh("memory", str(episodes)) for episodes in lengths)
    growth = (long["bytes"] - short["bytes"]) / (long["episodes"] - short["episodes"])
    few, many = (f"{length:,}" for length in lengths)
    return [
        {
            "what": f"peak memory, {LEARNERS:,} learners × {many} episodes",
            "value": long["bytes"] / 2**30,
            "unit": "GiB",
            "target": f"< {MOST_BYTES / 2**30:g}",
            "met": long["bytes"] < MOST_BYTES,
        },
        {
            "what": f"growth per further episode, from {few} to {many} of each",
            "value": growth,
            "unit": "B",
            "target": f"< {RETURN_BYTES}",
            "met": growth < RETURN_BYTES,
        },
    ]


def _frontiers(horizons: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    """The exact frontier of longer and longer options: the work is that of states × extreme points."""
    for horizon in horizons:
        found = fresh("frontier", str(horizon))
        size = f"{found['states']:,} states, {found['vertices']:,} extreme points"
        goal = FRONTIERS.get(horizon)
        yield {
            "what": f"exact frontier of the option, T = {horizon}: {size}",
            **{"value": found["seconds"], "unit": "s"},
            **({} if goal is None else {"target": f"< {goal:g}", "met": found["seconds"] < goal}),
        }
        share = found["walk"] / found["states"] / found["vertices"] * 1e9
        yield {"what": "    of it the walk, per state and extreme point", "value": share, "unit": "ns"}
    yield {
        "what": f"    peak memory at T = {horizons[-1]}",
        **{"value": found["bytes"] / 2**30, "unit": "GiB", "target": f"< {MOST_BYTES / 2**30:g}"},
        "met": found["bytes"] < MOST_BYTES,
    }


def _printed(cores: int | None, quick: bool, found: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    print(f"{cores} cores{', short runs: noisier, and less memory can show' if quick else ''}")
    print(_row("", "measured", "least … greatest", "target", ""))
    lines = []
    for line in found:
        lines.append(line)
        print(
            _row(line["what"], _measured(line), _spread(line), line.get("target", ""), _verdict(line)),
            flush=True,
        )
    return lines


def _row(what: str, *cells: str) -> str:
    return f"{what:72}" + "".join(f"{cell:18}" for cell in cells).rstrip()


def _measured(line: dict[str, Any]) -> str:
    value = line["ratio"]["median"] if "ratio" in line else line["value"]
    if value is None:
        return ""
    return f"{value:.3g} {line.get('unit', '')}"


def _spread(line: dict[str, Any]) -> str:
    return f"{line['ratio']['least']:.3g} … {line['ratio']['greatest']:.3g}" if "ratio" in line else ""


def _verdict(line: dict[str, Any]) -> str:
    if "met" not in line:
        return ""
    return "met" if line["met"] else "MISSED"


if __name__ == "__main__":
    sys.exit(main())
