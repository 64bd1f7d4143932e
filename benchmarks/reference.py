"""The C loop: compiled here, timed, and replayed against fenchel on the same random numbers."""

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from workloads import DUAL_STEP, POLICY_STEP, RISK_AVERSION, problems

from fenchel.training.keys import streams
from fenchel.training.parts import Parts
from fenchel.training.problem import Problem

HERE = Path(__file__).parent
FLAGS = ("-O3", "-march=native", "-std=c11", "-D_POSIX_C_SOURCE=199309L")

REPLAYED = 2000
"""Updates replayed: some 30,000 transitions, in which the policy moves far from uniform."""

TOLERANCE = 1e-4
"""Largest difference accepted in θ and y, relative to max(1, |value|): single precision has 1.2e-7 and the
rounding of each update is carried through all later ones. A wrong update differs by more than 0.01."""


class Reference:
    """The compiled loop; a contestant like a `Worker`."""

    def __init__(self) -> None:
        self.program = HERE / "build" / "reference_loop"
        self.program.parent.mkdir(exist_ok=True)
        source = HERE / "reference_loop.c"
        subprocess.run(["cc", *FLAGS, "-o", self.program, source, "-lm"], check=True)
        self.pace = 100_000.0
        self.steps = 0.0

    def rate(self, seconds: float) -> float:
        """Updates per second over about so many seconds."""
        updates = max(1, int(self.pace * seconds))
        found = self._call("run", updates, "1")
        self.pace = updates / found["seconds"]
        self.steps = found["steps"] / updates
        return self.pace

    def replay(self, numbers: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], float]:
        """θ and y after an update per row of `numbers`."""
        with tempfile.NamedTemporaryFile() as file:
            file.write(np.ascontiguousarray(numbers, np.float32).tobytes())
            file.flush()
            found = self._call("replay", len(numbers), file.name)
        return np.asarray(found["theta"]), found["dual"]

    def _call(self, mode: str, updates: int, what: str) -> dict[str, Any]:
        command = [self.program, mode, updates, what, POLICY_STEP, DUAL_STEP, RISK_AVERSION]
        done = subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True)
        found: dict[str, Any] = json.loads(done.stdout)
        return found


def difference(reference: Reference) -> float:
    """Largest relative difference of θ and y between the two after `REPLAYED` updates."""
    problem = problems("one")[0]
    theta, dual = reference.replay(_numbers(problem, REPLAYED))
    parts = Parts([problem])
    parts.advance(0, REPLAYED)
    reached = parts.iterates()
    ours = np.append(np.ravel(reached.policy.weights), reached.dual)
    theirs = np.append(theta, dual)
    return float(np.max(np.abs(ours - theirs) / np.maximum(1, np.abs(theirs))))


def _numbers(problem: Problem, updates: int) -> np.ndarray[Any, Any]:
    """The uniforms of each update: (updates, steps, 2), first the price's, then the action's."""
    key = streams(problem.seed).training

    @jax.jit
    def draw(iteration: jax.Array) -> jax.Array:
        at = jax.random.fold_in(key, iteration)
        (noise,), _ = problem.solver.draw(at, problem.policy, problem.estimator)
        return jnp.stack([noise.step[:, 0, 0], noise.action[:, 0]], axis=-1)

    return np.asarray(jax.vmap(draw)(jnp.arange(updates)))
