"""The two-time-scale policy gradient of Tamar, Di Castro and Mannor (2012)."""

from typing import final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, PyTree

from fenchel.ascent.base import AbstractSolver, SolverState, StepInfo
from fenchel.ascent.schedules import AbstractSchedule
from fenchel.errors import require_nonnegative
from fenchel.estimators.base import AbstractEstimator
from fenchel.objectives.base import AbstractObjective, AbstractSurrogate
from fenchel.policies.base import AbstractPolicy


class Moments(AbstractSurrogate):
    """R − penalty (R² − 2 y R): ψ whose policy direction is Tamar's, y being the tracked mean.

    Its derivative in θ at y = J(θ) is ∇J − penalty ∇Var, as ∇Var = ∇M − 2 J ∇J: the 2JR term carries a
    factor R, without which the method would penalise the second moment.
    """

    penalty: Float[Array, ""]

    def surrogate(self, ret: Float[Array, ""], dual: Float[Array, ""]) -> Float[Array, ""]:
        """R − penalty (R² − 2 y R)."""
        return ret - self.penalty * (ret**2 - 2 * dual * ret)

    def best_dual(self, returns: Float[Array, " m"]) -> Float[Array, ""]:
        """The mean, which the solver tracks; no maximiser of the surrogate."""
        return jnp.mean(returns)


@final
class TwoTimeScale(AbstractSolver):
    """J += α (R − J); V += α (R² − J² − V); θ += β (R − λ g′(V − b)(R² − 2JR)) ω, all from the old values.

    Arguments:
        tracker_step_size: α_t of the trackers J and V, the faster scale.
        step_size: β_t of the policy.
        risk_aversion: λ.
        variance_bound: b, with the penalty g(x) = x₊² of a variance constraint; None for the plain
            penalty λ Var(R), where g′ = 1.

    The tracker J is reported as the dual: it estimates what the natural mean-variance dual should be.
    """

    tracker_step_size: AbstractSchedule
    step_size: AbstractSchedule
    risk_aversion: float | Float[Array, ""] = 1.0
    variance_bound: float | Float[Array, ""] | None = None

    def __check_init__(self) -> None:
        for name in ("risk_aversion", "variance_bound"):
            value = getattr(self, name)
            if isinstance(value, int | float):
                require_nonnegative(name, value)

    @property
    def batches(self) -> int:
        """One batch serves trackers and policy."""
        return 1

    def init(
        self, policy: AbstractPolicy, dual: Float[Array, ""], estimator: AbstractEstimator | None = None
    ) -> SolverState:
        """J starts at the dual given, V at zero."""
        return SolverState(policy, dual, jnp.zeros_like(dual))

    def draw(self, key: Key[Array, ""], policy: AbstractPolicy, estimator: AbstractEstimator) -> PyTree:
        """Noise of one batch."""
        return estimator.draw(key, policy)

    def step(
        self,
        noise: PyTree,
        iteration: Int[Array, ""],
        state: SolverState,
        estimator: AbstractEstimator,
        objective: AbstractObjective,
    ) -> tuple[SolverState, StepInfo]:
        """One iteration; the objective passed in does not matter, the method has its own."""
        episodes = estimator.sample(noise, state.policy)
        mean, variance = state.dual, state.memory
        direction = estimator.direction(state.policy, episodes, Moments(self.penalty(variance)), mean)
        policy = self._ascend(state.policy, direction, self.step_size(iteration))
        alpha = self.tracker_step_size(iteration)
        ret, square = jnp.mean(episodes.own_returns), jnp.mean(episodes.own_returns**2)
        tracked = mean + alpha * (ret - mean), variance + alpha * (square - mean**2 - variance)
        return SolverState(policy, *tracked), StepInfo(episodes.own_returns)

    def penalty(self, variance: Float[Array, ""]) -> Float[Array, ""]:
        """λ g′(V − b): λ for the plain penalty, 2λ (V − b)₊ for a variance bound."""
        if self.variance_bound is None:
            return jnp.asarray(self.risk_aversion, variance.dtype)
        return self.risk_aversion * 2 * jnp.maximum(variance - self.variance_bound, 0)

    def step_sizes(self, iteration: Int[Array, ""]) -> Float[Array, " b"]:
        """α_t and β_t."""
        schedules = (self.tracker_step_size, self.step_size)
        return jnp.stack([jnp.asarray(schedule(iteration)) for schedule in schedules])

    def _ascend(self, policy: AbstractPolicy, direction: PyTree, step: Float[Array, ""]) -> AbstractPolicy:
        moved: AbstractPolicy = eqx.apply_updates(policy, jax.tree.map(lambda g: step * g, direction))
        return moved
