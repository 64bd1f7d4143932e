"""Problems small enough to know everything about: values, gradients, laws, the best there is."""

from dataclasses import dataclass
from functools import cached_property

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from fenchel.envs import AbstractEnvironment
from fenchel.errors import require, require_positive
from fenchel.exact import FiniteProblem, enumerate_environment, frontier
from fenchel.objectives import FenchelMeanVariance
from fenchel.policies import Tabular
from fenchel.theory.assumptions import Array
from fenchel.theory.paths import Paths, Play


@dataclass(frozen=True)
class Instance:
    """A finite problem with two actions, a softmax table over its states, and a risk aversion.

    f̂(θ, y) = 2y (J(θ) + 1/(2λ)) − y² − M(θ) is `eq:max-alt`.

    Arguments:
        name: what to call it.
        env: shows the number of its state (`observe="index"`), each at most once in an episode.
        risk_aversion: λ.
    """

    name: str
    env: AbstractEnvironment
    risk_aversion: float = 1.0

    def __post_init__(self) -> None:
        require_positive("risk_aversion", self.risk_aversion)
        layers = self.problem.layers
        shown = [number for layer in layers for number in np.unique(layer.observations)]
        fits = self.problem.actions == 2 and all(layer.observations.ndim == 1 for layer in layers)
        remedy = "needs two actions and states shown by number, none of them in two steps of an episode"
        require(fits and len(set(shown)) == len(shown), "env", type(self.env).__name__, remedy)

    @cached_property
    def problem(self) -> FiniteProblem:
        """All states and outcomes."""
        return enumerate_environment(self.env)

    @property
    def states(self) -> int:
        """How many logits θ has."""
        return 1 + max(int(np.max(layer.observations)) for layer in self.problem.layers)

    @cached_property
    def paths(self) -> Paths:
        """Everything that can happen."""
        return Paths.of(self.problem, self.states)

    @property
    def returns(self) -> Float[Array, " E"]:
        """All returns of an episode, in rising order."""
        return self.problem.returns

    @property
    def objective(self) -> FenchelMeanVariance:
        """ψ in the paper's scale."""
        return FenchelMeanVariance(self.risk_aversion)

    @property
    def policy(self) -> Tabular:
        """θ₁ = 0: both actions equally likely in every state."""
        return Tabular(jnp.zeros((self.states, 1)))

    @property
    def shift(self) -> float:
        """1/(2λ), by which the best dual exceeds the mean return."""
        return 1 / (2 * self.risk_aversion)

    @property
    def dual_range(self) -> tuple[float, float]:
        """[R_min, R_max] + 1/(2λ), which y does not leave while β^y ≤ ½."""
        return float(self.returns[0]) + self.shift, float(self.returns[-1]) + self.shift

    @property
    def first_dual(self) -> float:
        """y₁: the best dual for a return of zero, or the nearest one in the range."""
        return float(np.clip(self.shift, *self.dual_range))

    @cached_property
    def best(self) -> float:
        """f̂* = max_{θ, y} f̂(θ, y), certified: J_λ*/λ + 1/(4λ²)."""
        best = frontier(self.problem).best(self.risk_aversion)
        return float(best.upper / self.risk_aversion + self.shift**2)

    @cached_property
    def gap(self) -> float:
        """f̂* − f̂(x₁)."""
        first = self.paths.play(np.zeros(self.states))
        return self.best - float(first.mean(self.surrogate(np.array(self.first_dual))))

    def surrogate(self, dual: Float[Array, "..."]) -> Float[Array, "... P"]:
        """2y (R + 1/(2λ)) − y² − R² of every path."""
        y = np.asarray(dual)[..., None]
        ret = self.paths.returns
        return np.asarray(2 * y * (ret + self.shift) - y**2 - ret**2)

    def gradients(
        self, theta: Float[Array, "... S"], dual: Float[Array, "..."]
    ) -> tuple[Float[Array, "... S"], Float[Array, "..."]]:
        """∇_θ f̂ and ∂_y f̂, exact, at one point or at many."""
        play = self.paths.play(theta)
        return play.slope(self.surrogate(dual)), self.dual_gradient(play, dual)

    def dual_gradient(self, play: Play, dual: Float[Array, "..."]) -> Float[Array, "..."]:
        """∂_y f̂ = 2J + 1/λ − 2y."""
        return 2 * (play.mean_return + self.shift - dual)

    def squared_norms(self, theta: Float[Array, "... S"], dual: Float[Array, "..."]) -> Float[Array, "..."]:
        """‖∇f̂‖²."""
        policy, slope = self.gradients(theta, dual)
        return np.asarray(np.sum(policy**2, axis=-1) + slope**2)
