"""A task in a process of its own: `fresh.py start`, `memory EPISODES` or `frontier HORIZON`; prints JSON."""

import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

BEGUN = time.perf_counter()


def start() -> dict[str, Any]:
    """Seconds from the start of the interpreter's first line to a learner that is about to learn."""
    from workloads import DUAL_STEP, POLICY_STEP, linear_policy

    import fenchel

    env = fenchel.make("option")
    policy = linear_policy(env)
    ready = time.perf_counter() - BEGUN
    steps = {"policy_step_size": POLICY_STEP, "dual_step_size": DUAL_STEP}
    result = fenchel.train(env, policy=policy, episodes=1000, records=1, **steps)
    return {"imports": ready, "compile": result.compile_seconds}


def memory(episodes: int) -> dict[str, Any]:
    """Peak memory of a sweep over 1,024 seeds."""
    from workloads import DUAL_STEP, LEARNERS, POLICY_STEP, linear_policy

    import fenchel

    env = fenchel.make("option")
    steps = {"policy_step_size": POLICY_STEP, "dual_step_size": DUAL_STEP}
    result = fenchel.sweep(env, policy=linear_policy(env), seed=range(LEARNERS), episodes=episodes, **steps)
    return {"bytes": peak_bytes(), "episodes": result.episodes, "seconds": result.seconds}


def frontier(horizon: int) -> dict[str, Any]:
    """The whole exact frontier of the option: seconds from the end of the imports, states, extreme points."""
    from fenchel import exact, make

    begun = time.perf_counter()
    problem = exact.enumerate_environment(make("option", horizon=horizon))
    enumerated = time.perf_counter()
    found = exact.frontier(problem)
    walked = time.perf_counter()
    size = {"states": problem.size, "vertices": len(found), "bytes": peak_bytes()}
    return {"seconds": walked - begun, "walk": walked - enumerated, **size}


def peak_bytes() -> int:
    """Largest resident set so far; Linux's `ru_maxrss` would include that of the parent process."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


if __name__ == "__main__":
    tasks = {"start": start, "memory": memory, "frontier": frontier}
    print(json.dumps(tasks[sys.argv[1]](*map(int, sys.argv[2:]))))
