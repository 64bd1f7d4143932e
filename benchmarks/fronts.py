"""The frontier of the option, 7 risk aversions and 16 seeds, in a process of its own; prints JSON."""

import json
import statistics
import time

import fenchel

SEEDS = 16


def main() -> None:
    """Seconds from the call to the answer, compiling included, and the exact scores of all seeds."""
    begun = time.perf_counter()
    found = fenchel.frontier("option", seeds=SEEDS)
    seconds = time.perf_counter() - begun
    scores: dict[float, list[float]] = {}
    for point in found.every:
        scores.setdefault(point.risk_aversion, []).append(point.score or 0.0)
    median = min(statistics.median(each) for each in scores.values())
    print(json.dumps({"seconds": seconds, "median": median, "worst": min(map(min, scores.values()))}))


if __name__ == "__main__":
    main()
