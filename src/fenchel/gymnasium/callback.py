"""The dual between the iterations of Stable-Baselines3."""

from collections import deque

import jax.numpy as jnp
from stable_baselines3.common.callbacks import BaseCallback

from fenchel.errors import require, require_count
from fenchel.gymnasium.risk import RISK
from fenchel.objectives import AbstractObjective, make_objective


class RiskCallback(BaseCallback):
    """Sets y of every `RiskWrapper` to the best one of the latest returns, after each rollout.

    With a trainer that improves the policy at fixed y in between, that is block coordinate ascent.

    Arguments:
        objective: that of the wrappers, or its name.
        window: how many of the latest episodes the best dual is of.
        verbose: as Stable-Baselines3 has it.
    """

    def __init__(self, objective: AbstractObjective | str, *, window: int = 128, verbose: int = 0):
        super().__init__(verbose)
        require_count("window", window)
        self.objective = make_objective(objective) if isinstance(objective, str) else objective
        self.returns: deque[float] = deque(maxlen=window)
        self.dual: float | None = None

    def _on_training_start(self) -> None:
        wrapped = self.training_env.has_attr("set_dual")
        remedy = "must be made of environments in a RiskWrapper, for there is no dual to set otherwise"
        require(wrapped, "env", type(self.training_env).__name__, remedy)

    def _on_step(self) -> bool:
        told = [info[RISK] for info in self.locals["infos"] if RISK in info]
        self.returns.extend(one["return"] for one in told)
        return True

    def _on_rollout_end(self) -> None:
        if not self.returns:
            return
        returns = jnp.asarray(self.returns, float)
        self.dual = float(self.objective.best_dual(returns))
        self.training_env.env_method("set_dual", self.dual)
        values = {"dual": self.dual, "value": float(self.objective.natural().value(returns))}
        values |= {"mean": float(jnp.mean(returns)), "std": float(jnp.std(returns))}
        for name, value in values.items():
            self.logger.record(f"{RISK}/{name}", value)
