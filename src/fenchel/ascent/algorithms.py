"""The paper's algorithms by name. Each is data: an order, blocks, step sizes."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypedDict, Unpack

import equinox as eqx
import optax
from jaxtyping import Array, Float

from fenchel.ascent.base import AbstractSolver
from fenchel.ascent.blocks import PLAIN, Block, BlockAscent
from fenchel.ascent.mirror import AbstractMirror, Entropic, Euclidean
from fenchel.ascent.prox import AbstractProx, Box
from fenchel.ascent.schedules import AbstractSchedule, Constant
from fenchel.ascent.tamar import TwoTimeScale
from fenchel.errors import require_nonnegative

StepSize = float | AbstractSchedule

ADAM = optax.adam(1.0, b2=0.95)
"""With a short memory: gradients fade by orders of magnitude, and a heavy tail must not be remembered."""

PAPER: dict[str, Any] = {
    **{"batch_size": 1, "control_variate": "none", "schedule": "constant"},
    **{"explore": 0.0, "entropy": 0.0, "phase_in": 0.0},
}
"""Settings of the paper's algorithms."""

MINI_BATCH: dict[str, Any] = {
    **{"batch_size": 1024, "control_variate": "critic", "schedule": "cosine"},
    **{"explore": 0.5, "entropy": 0.05, "phase_in": 0.5},
}
"""Settings of `bca`: found on some instances of option and stopping, and good on others."""


PATHWISE: dict[str, Any] = {**PAPER, "batch_size": 1024, "schedule": "cosine"}
"""Settings of `bca` with derivatives through the environment: they scatter little enough."""

NEWTON: dict[str, Any] = {**PATHWISE, "schedule": "averaging", "optimizer": "newton"}
"""The same where returns are affine in each action, and Gauss-Newton steps are Newton's."""


class BlockOptions(TypedDict, total=False):
    """What every member of the family may be given for its blocks."""

    policy_optimizer: optax.GradientTransformation
    policy_prox: AbstractProx | None
    policy_mirror: AbstractMirror
    dual_prox: AbstractProx | None
    multiplier_step_size: StepSize | None
    """Of the multiplier that a constraint of the objective brings; None without one."""


def mvp(
    policy_step_size: StepSize = 0.01,
    dual_step_size: StepSize = 0.01,
    *,
    fresh_batch: bool = False,
    **options: Unpack[BlockOptions],
) -> BlockAscent:
    """Mean-variance policy gradient (`alg:mvp`): the dual first, then the policy at the new dual.

    >>> mvp(policy_step_size=0.1).order
    'cyclic'
    """
    return bsg(policy_step_size, dual_step_size, fresh_batch=fresh_batch, **options)


def sga(
    policy_step_size: StepSize = 0.01,
    dual_step_size: StepSize = 0.01,
    *,
    fresh_batch: bool = False,
    **options: Unpack[BlockOptions],
) -> BlockAscent:
    """Stochastic gradient ascent (`alg:sgapg`): dual and policy both at the old iterate."""
    return bsg(policy_step_size, dual_step_size, order="simultaneous", fresh_batch=fresh_batch, **options)


def rcpg(
    policy_step_size: StepSize = 0.01, dual_step_size: StepSize = 0.01, **options: Unpack[BlockOptions]
) -> BlockAscent:
    """Randomised coordinate policy gradient (`alg:sbmdpg`): dual or policy, by a fair coin."""
    return bsg(policy_step_size, dual_step_size, order="random", **options)


def sbmd(
    policy_step_size: StepSize = 0.01, dual_step_size: StepSize = 0.01, **options: Unpack[BlockOptions]
) -> BlockAscent:
    """Stochastic block mirror descent: `rcpg` with a mirror map, by default the entropic one.

    That one is for parameters on the simplex (`DirectTabular`); with the Euclidean mirror this is `rcpg`.
    """
    options.setdefault("policy_mirror", Entropic())
    return rcpg(policy_step_size, dual_step_size, **options)


def bsg(
    policy_step_size: StepSize = 0.01,
    dual_step_size: StepSize = 0.01,
    *,
    policy_blocks: tuple[tuple[str, ...], ...] = (("policy",),),
    order: str = "cyclic",
    fresh_batch: bool = False,
    **options: Unpack[BlockOptions],
) -> BlockAscent:
    """Block stochastic gradient (`alg:c_sbcd`): the dual, then any blocks of the policy, in any order.

    With a shared batch, a later policy block scores episodes that were played before the earlier ones moved;
    `fresh_batch` gives each block its own.
    """
    dual_step = _schedule("dual_step_size", dual_step_size)
    policy_step = _schedule("policy_step_size", policy_step_size)
    dual = Block(("dual",), dual_step, prox=options.get("dual_prox"))
    multiplier = _multiplier(options.get("multiplier_step_size"))
    policy = (
        Block(
            where,
            policy_step,
            options.get("policy_optimizer", PLAIN),
            options.get("policy_prox"),
            options.get("policy_mirror", Euclidean()),
        )
        for where in policy_blocks
    )
    return BlockAscent((dual, *multiplier, *policy), order, fresh_batch)


def pg(policy_step_size: StepSize = 0.01, **options: Unpack[BlockOptions]) -> BlockAscent:
    """REINFORCE: the policy alone; a dual, if the objective has one, stays where it started."""
    return BlockAscent(bsg(policy_step_size, **options).blocks[1:])


def tamar(
    policy_step_size: StepSize = 0.01,
    dual_step_size: StepSize = 0.1,
    *,
    risk_aversion: float | Float[Array, ""] = 1.0,
    variance_bound: float | Float[Array, ""] | None = None,
) -> TwoTimeScale:
    """Two time scales (Tamar et al. 2012): trackers of mean and variance on the faster (dual) step size."""
    steps = _schedule("dual_step_size", dual_step_size), _schedule("policy_step_size", policy_step_size)
    return TwoTimeScale(*steps, risk_aversion, variance_bound)


def bca(
    policy_step_size: StepSize = 0.01,
    *,
    entropy: AbstractSchedule | None = None,
    phase_in: float | None = None,
    hold: float | None = None,
    **options: Unpack[BlockOptions],
) -> BlockAscent:
    """Block coordinate ascent on mini-batches: the batch's best dual, then an Adam step of the policy.

    Made for the batches, the critic, the leads and the schedules of its recipe, which training takes.
    """
    options.setdefault("policy_optimizer", ADAM)
    dual = Block(("dual",), prox=options.get("dual_prox"), exact=True, hold=hold)
    others = bsg(policy_step_size, **options).blocks[1:]
    return BlockAscent((dual, *others), phase_in=phase_in, entropy=entropy)


class Recipe(NamedTuple):
    """A named algorithm, the objective it is made for, and the settings it brings."""

    build: Callable[..., AbstractSolver]
    objective: str
    settings: dict[str, Any] = PAPER
    """Where a user says nothing."""

    @property
    def summary(self) -> str:
        """First line of its documentation."""
        return (self.build.__doc__ or "").splitlines()[0]


ALGORITHMS: dict[str, Recipe] = {
    "mvp": Recipe(mvp, "fenchel-mean-variance"),
    "sga": Recipe(sga, "fenchel-mean-variance"),
    "rcpg": Recipe(rcpg, "fenchel-mean-variance"),
    "sbmd": Recipe(sbmd, "fenchel-mean-variance"),
    "bsg": Recipe(bsg, "fenchel-mean-variance"),
    "pg": Recipe(pg, "expectation"),
    "tamar": Recipe(tamar, "mean-variance"),
    "bca": Recipe(bca, "mean-variance", MINI_BATCH),
}


def _multiplier(step_size: StepSize | None) -> tuple[Block, ...]:
    """Projected dual ascent: the multiplier rises with the excess, and stays above zero."""
    if step_size is None:
        return ()
    step = _schedule("multiplier_step_size", step_size)
    return (Block(("multiplier",), step, prox=Box(0.0, float("inf"))),)


def _schedule(name: str, step_size: StepSize) -> AbstractSchedule:
    if isinstance(step_size, AbstractSchedule):
        return step_size
    if not eqx.is_array(step_size):
        require_nonnegative(name, step_size)
    return Constant(step_size)
