"""What remembering directions is worth: episodes to a score, with and without, each at its best step size."""

from collections.abc import Iterator
from typing import Any

import numpy as np

import fenchel
from fenchel.objectives import MeanVariance
from fenchel.studies.oracle import FiniteOracle, oracle_of

SCORE = 0.95
BATCH = 16
STEPS = (0.05, 0.15, 0.5, 1.5, 5.0)
MOMENTA = (0.05, 0.2)
LENGTHS = tuple(1000 * 2**k for k in range(1, 10))
SEEDS = range(8)


def measure() -> Iterator[dict[str, Any]]:
    """Episodes until the median seed has the score, on the option at λ = 1 with a table and plain steps."""
    env = fenchel.make("option", observe="index")
    oracle = oracle_of(env)
    assert isinstance(oracle, FiniteOracle)
    plain = _episodes(env, oracle, {})
    storm = min(_episodes(env, oracle, {"estimator": "storm", "momentum": a}) for a in MOMENTA)
    about = f"episodes to {SCORE:g} of the optimum, batches of {BATCH}"
    yield {"what": f"score function: {about}", "value": plain}
    yield {"what": f"storm: {about}", "value": storm}
    yield {"what": "    score function over storm", "value": plain / storm}


def _episodes(env: Any, oracle: FiniteOracle, how: dict[str, Any]) -> float:
    scale = oracle.scale(MeanVariance(1.0))
    for episodes in LENGTHS:
        found = fenchel.sweep(
            env,
            "mvp",
            policy="tabular",
            batch_size=BATCH,
            control_variate="batch",
            policy_step_size=list(STEPS),
            dual_step_size=0.02,
            seed=list(SEEDS),
            episodes=episodes,
            records=1,
            **how,
        )
        worth = oracle.worth([row.policy for row in found.rows])
        scores = scale.share(worth.mean - worth.std**2).reshape(len(STEPS), -1)
        if float(np.max(np.median(scores, axis=1))) >= SCORE:
            return float(episodes)
    return float("inf")


if __name__ == "__main__":
    for line in measure():
        print(line["what"], line["value"])
