"""How fast fenchel is, as ratios measured side by side on this machine.

    python benchmarks/run.py            everything, under three minutes on two idle cores
    python benchmarks/run.py --quick    shorter, noisier, under one minute
    python benchmarks/run.py --layout   what the decisions about the layout are worth, instead
    python benchmarks/run.py --json     one JSON object instead of the table

A ratio below its target is reported, not an error: machines differ and are busy. The exit code is 1 when
fenchel and the C loop do not reach the same parameters from the same random numbers.
"""

import argparse
import json
import os
import sys
import tempfile
from contextlib import ExitStack
from typing import Any

import layout
from contest import Worker, fresh, ratios, turns
from reference import REPLAYED, TOLERANCE, Reference, difference
from workloads import BATCH, LEARNERS

TARGETS = {"one": 0.15, "many": 0.8, "tabular": 2.0}
NAMES = {
    "one": "one learner, updates/s over the C loop's",
    "many": f"{LEARNERS:,} learners, updates/s over the C loop's",
    "tabular": f"tabular, batches of {BATCH:,}: episodes/s over the C loop's updates/s",
}
MOST_BYTES = 2 * 2**30
MOST_GROWTH = 1.05
"""Peak memory of a long run over that of a short one: room for the allocator, none for a history."""


def main() -> int:
    """Measure, print, and say by the exit code whether fenchel and the C loop agree."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer repetitions and episodes")
    parser.add_argument("--layout", action="store_true", help="measure the decisions about the layout instead")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    wanted = parser.parse_args()
    repetitions, seconds = (3, 0.5) if wanted.quick else (7, 1.0)
    if wanted.layout:
        report = _report(True, layout.lines(repetitions, seconds))
    else:
        report = measure(wanted.quick, repetitions, seconds)
    print(json.dumps(report) if wanted.json else _table(report))
    return 0 if report["verified"] else 1


def measure(quick: bool, repetitions: int, seconds: float) -> dict[str, Any]:
    """All lines of the report; none but the first if the two loops disagree."""
    reference = Reference()
    apart = difference(reference)
    lines = [
        {
            "what": f"largest difference from the C loop after {REPLAYED:,} updates on the same random numbers",
            "value": apart,
            "unit": "",
            "target": f"≤ {TOLERANCE:g}",
            "met": apart <= TOLERANCE,
        }
    ]
    if apart <= TOLERANCE:
        lines += _rates(reference, repetitions, seconds)
        lines += _starts()
        lines += _memory((500, 2_000) if quick else (5_000, 100_000))
    return _report(apart <= TOLERANCE, lines)


def _report(verified: bool, lines: list[dict[str, Any]]) -> dict[str, Any]:
    return {"cores": os.cpu_count(), "verified": verified, "lines": lines}


def _rates(reference: Reference, repetitions: int, seconds: float) -> list[dict[str, Any]]:
    with ExitStack() as stack:
        workers = [stack.enter_context(Worker(name)) for name in NAMES]
        base, *others = turns([reference, *workers], repetitions, seconds)
    lines = []
    for (name, what), rates in zip(NAMES.items(), others, strict=True):
        found = ratios(rates, base)
        met = found["median"] >= TARGETS[name]
        lines.append({"what": what, "ratio": found, "target": f"≥ {TARGETS[name]:g}", "met": met})
    return lines


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
    growth = long["bytes"] / short["bytes"]
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
            "what": f"the same over that with {few} episodes",
            "value": growth,
            "unit": "",
            "target": f"≤ {MOST_GROWTH:g}",
            "met": growth <= MOST_GROWTH,
        },
    ]


def _table(report: dict[str, Any]) -> str:
    rows = [("", "measured", "least … greatest", "target", "")]
    for line in report["lines"]:
        ratio = line.get("ratio")
        value = ratio["median"] if ratio else line["value"]
        spread = f"{ratio['least']:.2f} … {ratio['greatest']:.2f}" if ratio else ""
        unit = f" {line['unit']}" if line.get("unit") else ""
        verdict = "" if "met" not in line else "met" if line["met"] else "MISSED"
        shown = f"{value:.2g}" if value < 0.01 else f"{value:.2f}"
        rows.append((line["what"], shown + unit, spread, line.get("target", ""), verdict))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    body = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    verified = "" if report["verified"] else "\nfenchel and the C loop DISAGREE: nothing else was measured"
    return "\n".join([f"{report['cores']} cores", *(line.rstrip() for line in body)]) + verified


if __name__ == "__main__":
    sys.exit(main())
