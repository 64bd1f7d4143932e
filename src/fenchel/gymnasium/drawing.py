"""Drawings of an episode: prices with the levels that matter, holdings with the rate, or plain numbers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import PyTree

from fenchel.envs import AbstractEnvironment, AmericanOption, OptimalStopping, Portfolio
from fenchel.envs.observe import AbstractObserver, ReturnState

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

USUAL = 2.0
"""Standard deviations of the logarithm of the last price that a price axis spans at first."""

PATH, PAYS, EVENT = "#1f4e79", "#9bd3ae", "#c8553d"
HOLDINGS = ("#e8c468", "#a63d2f")
"""Colours; holdings go from the first, due next, to the second, due last."""


class Moment(NamedTuple):
    """What there was to be seen at one moment, and the action and reward that led to it."""

    state: PyTree
    observation: np.ndarray[Any, Any]
    action: Any
    reward: float


def draw(figure: "Figure", env: AbstractEnvironment, seen: Sequence[Moment]) -> None:
    """The episode so far, from the first moment on."""
    figure.clear()
    while isinstance(env, AbstractObserver):
        env = env.env
    states = [
        moment.state.inner if isinstance(moment.state, ReturnState) else moment.state for moment in seen
    ]
    if isinstance(env, AmericanOption | OptimalStopping):
        _draw_price(figure.subplots(), env, states, seen)
    elif isinstance(env, Portfolio):
        _draw_portfolio(figure, env, states, seen)
    else:
        _draw_numbers(figure.subplots(), env, seen)


def _draw_price(
    axes: "Axes", env: AmericanOption | OptimalStopping, states: Sequence[Any], seen: Sequence[Moment]
) -> None:
    """The path of the price; the step at which the episode was ended by choice is its last point."""
    accepted = seen[-1].action is not None and int(seen[-1].action) == 1
    prices = [float(state.price) for state in states[: -1 if accepted else None]]
    axes.set(yscale="log", xlim=(-0.5, env.horizon + 0.5), ylim=_span(env, prices), xlabel="step")
    if isinstance(env, AmericanOption):
        _tell_option(axes, env, prices, seen, accepted)
    else:
        _tell_stopping(axes, env, prices, seen, accepted)
    axes.plot(range(len(prices)), prices, "o-", color=PATH, markersize=4, linewidth=1.5)
    if accepted:
        axes.plot(len(prices) - 1, prices[-1], "*", color=EVENT, markersize=16, zorder=3)
    _mark_logarithms(axes)


def _mark_logarithms(axes: "Axes") -> None:
    """Plain numbers on a logarithmic axis: powers of ten, and between them where there are few."""
    from matplotlib.ticker import LogLocator, NullLocator

    low, high = axes.get_ylim()
    between = (1, 2, 5) if high < 100 * low else (1,)
    axes.yaxis.set_major_locator(LogLocator(subs=between))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    _count_on(axes)
    axes.grid(alpha=0.3)


def _count_on(axes: "Axes") -> None:
    """Whole steps."""
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def _span(env: AmericanOption | OptimalStopping, prices: Sequence[float]) -> tuple[float, float]:
    """From the lowest to the highest price that is not unusual, or that has occurred."""
    rise = env.up_probability
    spread = np.log(env.up / env.down) * np.sqrt(rise * (1 - rise) * env.horizon)
    drift = (rise * np.log(env.up) + (1 - rise) * np.log(env.down)) * env.horizon
    reach = np.exp([min(drift, 0) - USUAL * spread, max(drift, 0) + USUAL * spread]) * env.start
    return min(reach[0], *prices) / env.up, max(reach[1], *prices) * env.up


def _tell_option(
    axes: "Axes", env: AmericanOption, prices: Sequence[float], seen: Sequence[Moment], accepted: bool
) -> None:
    low, high = axes.get_ylim()
    regions = ((env.put_strike, low, "below", "put"), (env.call_strike, high, "above", "call"))
    for strike, edge, where, name in regions:
        if low < strike < high:
            axes.axhspan(strike, edge, color=PAYS, alpha=0.4, linewidth=0)
            axes.axhline(strike, color="black", linewidth=0.8, linestyle="--")
            side = "top" if where == "below" else "bottom"
            axes.text(
                env.horizon, strike, f"{name}: pays {where} {strike:g} ", fontsize=8, ha="right", va=side
            )
    axes.set(ylabel="price", title=_told("executed for" if accepted else "price", prices, seen, accepted))


def _tell_stopping(
    axes: "Axes", env: OptimalStopping, prices: Sequence[float], seen: Sequence[Moment], accepted: bool
) -> None:
    low, high = axes.get_ylim()
    if env.cost_cap is not None and low < env.cost_cap < high:
        axes.axhspan(env.cost_cap, high, color=EVENT, alpha=0.15, linewidth=0)
        axes.axhline(env.cost_cap, color="black", linewidth=0.8, linestyle="--")
        told = f"above {env.cost_cap:g} no more is paid "
        axes.text(env.horizon, env.cost_cap, told, fontsize=8, ha="right", va="bottom")
    axes.set(ylabel="cost", title=_told("accepted for" if accepted else "cost", prices, seen, accepted))


def _told(what: str, prices: Sequence[float], seen: Sequence[Moment], accepted: bool) -> str:
    """What the last moment was, and what has been earned."""
    number = abs(seen[-1].reward) if accepted else prices[-1]
    return f"step {len(prices) - 1}: {what} {number:.4g}, rewards so far {_earned(seen):.4g}"


def _draw_portfolio(figure: "Figure", env: Portfolio, states: Sequence[Any], seen: Sequence[Moment]) -> None:
    """Liquid cash and holdings by the time to their maturity, above the rate and the wishes to invest."""
    import matplotlib.colors as mcolors

    held, rates = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    states = states[: env.horizon]
    steps = np.arange(1, len(states) + 1)
    cash = np.array([float(state.cash) for state in states])
    costs = np.array([np.asarray(state.costs) for state in states])
    held.bar(steps, cash, 1.0, color=PATH, label="liquid")
    shades = mcolors.LinearSegmentedColormap.from_list("holdings", HOLDINGS)
    below = cash
    for due in range(costs.shape[1]):
        colour = shades(due / max(1, costs.shape[1] - 1))
        held.bar(steps, costs[:, due], 1.0, bottom=below, color=colour, label=f"due in {due + 1}")
        below = below + costs[:, due]
    held.margins(y=0.3)
    held.legend(loc="upper left", fontsize=8, ncols=costs.shape[1] + 1)
    held.set(ylabel="wealth / start-up cash", title=f"step {len(states)}: wealth {below[-1]:.4g}")
    _draw_rate(rates, env, [bool(state.high) for state in states], [moment.action for moment in seen[1:]])


def _draw_rate(axes: "Axes", env: Portfolio, high: Sequence[bool], actions: Sequence[Any]) -> None:
    rates = np.where(high, env.rate_high, env.rate_low)
    steps = np.arange(1, len(rates) + 1)
    axes.step(steps, rates, where="mid", color=PATH)
    wishes = np.array([int(action) == 1 for action in actions], bool)
    axes.plot(steps[: len(wishes)][wishes], rates[: len(wishes)][wishes], "^", color=EVENT)
    margin = 0.2 * (env.rate_high - env.rate_low) or 0.1
    axes.set(xlim=(0, env.horizon + 1), ylim=(env.rate_low - margin, env.rate_high + margin))
    axes.set(xlabel="step (▲ a wish to invest)", ylabel="rate")
    _count_on(axes)


def _draw_numbers(axes: "Axes", env: AbstractEnvironment, seen: Sequence[Moment]) -> None:
    """What is observed, number by number: for environments that nobody has drawn yet."""
    numbers = np.array([np.ravel(moment.observation) for moment in seen])
    for place, line in enumerate(numbers.T):
        axes.plot(line, "o-", markersize=4, label=f"observation {place}")
    axes.set(xlim=(-0.5, env.horizon + 0.5), xlabel="step")
    axes.set(title=f"step {len(seen) - 1}: rewards so far {_earned(seen):.4g}")
    axes.legend(loc="upper left", fontsize=8)
    _count_on(axes)
    axes.grid(alpha=0.3)


def _earned(seen: Sequence[Moment]) -> float:
    return sum(moment.reward for moment in seen)
