"""The built-in environments through Gymnasium: its checker, the law of their returns, drawings, refusals."""

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import matplotlib
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import fenchel.gymnasium
from fenchel.envs import ENVIRONMENTS, AbstractEnvironment, AmericanOption, TimeStep, make
from fenchel.errors import InputError
from fenchel.gymnasium import ExportedEnv, ExportedVectorEnv, drawing, rendering
from fenchel.gymnasium.registry import EXPORTED
from fenchel.studies.oracle import oracle_of

pytestmark = pytest.mark.slow

IDS = {name: f"fenchel/{ENVIRONMENTS[name].__name__}-v0" for name in EXPORTED}
PATH = tuple(int(drawing.PATH[i : i + 2], 16) for i in (1, 3, 5))


@pytest.fixture(autouse=True)
def _no_window():
    matplotlib.use("Agg")


def drawn(image):
    """How many pixels have the colour of the path, or of liquid cash."""
    return int(np.sum(np.all(image == PATH, axis=2)))


@pytest.mark.parametrize("name", IDS)
def test_gymnasiums_own_checker_is_content(name):
    check_env(gymnasium.make(IDS[name]).unwrapped)


@pytest.mark.parametrize("observe", ["return", "index"])
def test_other_observations_are_played_to_the_end(observe):
    env = gymnasium.make(IDS["option"], observe=observe, horizon=4)
    observation, _ = env.reset(seed=1)
    for step in range(4):
        assert observation in env.observation_space
        observation, _, terminated, truncated, _ = env.step(0)
        assert (terminated, truncated) == (step == 3, False)


def test_presets_and_fields_are_keyword_arguments():
    env = gymnasium.make(IDS["stopping"], preset="tradeoff", waiting_cost=0.25)
    assert env.unwrapped.env == make("stopping", "tradeoff", waiting_cost=0.25)
    assert gymnasium.make(IDS["option"], preset="tamar2014").unwrapped.discount == 0.98
    again = gymnasium.make(env.spec)
    assert again.unwrapped.env == env.unwrapped.env
    named = gymnasium.make("fenchel.gymnasium:" + IDS["option"], horizon=3)
    assert named.unwrapped.env.horizon == 3


def test_episodes_follow_the_seed_and_are_the_callers_own():
    def play(seed):
        seen = [env.reset(seed=seed)[0]]
        seen += [env.step(0)[0] for _ in range(6)]
        return np.stack(seen)

    env = gymnasium.make(IDS["option"], start_spread=0.2)
    first, other, again = play(3), play(4), play(3)
    assert np.array_equal(first, again)
    assert not np.array_equal(first[:, 0], other[:, 0])
    observation, _ = env.reset()
    observation += 1.0
    assert env.step(0)[0][1] == 1.0


def test_a_step_is_that_of_the_environment():
    """Up or down by the factors of the tree, and paid as it pays."""
    env = gymnasium.make(IDS["option"], start=0.8)
    before, _ = env.reset(seed=0)
    for _ in range(5):
        after, reward, terminated, _, _ = env.step(0)
        assert np.isclose(after[0] / before[0], [9 / 8, 8 / 9]).any()
        assert (reward, terminated) == (0.0, False)
        before = after
    _, reward, terminated, _, _ = env.step(1)
    payoff = max(1 - before[0], 0) + max(before[0] - 1.5, 0)
    assert terminated
    assert reward == pytest.approx(payoff)


@pytest.mark.parametrize("mode", ["vector_entry_point", "sync"])
def test_returns_have_the_exact_law(mode):
    """Under the uniform policy, mean and variance within four standard errors."""
    count = {"vector_entry_point": 8192, "sync": 32}[mode]
    envs = gymnasium.make_vec(IDS["option"], num_envs=count, vectorization_mode=mode, start=0.9, horizon=5)
    rounds = {"vector_entry_point": 1, "sync": 20}[mode]
    returns = np.concatenate([episode(envs, np.random.default_rng(i), i * count) for i in range(rounds)])
    law = oracle_of(make("option", start=0.9, horizon=5)).uniform.law
    error = law.std / returns.size**0.5
    assert abs(returns.mean() - law.mean) < 4 * error
    spread = (returns - law.mean) ** 2
    assert abs(spread.mean() - law.std**2) < 4 * spread.std() / returns.size**0.5


def episode(envs, rng, seed):
    """The returns of the first episode of every row."""
    envs.reset(seed=seed)
    earned, alive = np.zeros(envs.num_envs), np.ones(envs.num_envs, bool)
    while alive.any():
        _, rewards, terminated, truncated, _ = envs.step(rng.integers(0, 2, envs.num_envs))
        earned += np.where(alive, rewards, 0)
        alive &= ~(terminated | truncated)
    return earned


def test_an_episode_that_is_over_begins_anew_at_the_next_call():
    envs = gymnasium.make_vec(IDS["stopping"], num_envs=3, vectorization_mode="vector_entry_point", horizon=4)
    assert envs.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    first, _ = envs.reset(seed=0)
    assert first in envs.observation_space
    _, rewards, terminated, _, _ = envs.step(np.array([1, 0, 1]))
    assert terminated.tolist() == [True, False, True]
    assert rewards.tolist() == pytest.approx([-1.25, -0.1, -1.25])
    begun, rewards, terminated, _, _ = envs.step(np.array([1, 0, 0]))
    assert not terminated.any()
    assert rewards.tolist() == pytest.approx([0, -0.1, 0])
    assert begun[:, 1].tolist() == [0, 2, 0]
    assert np.array_equal(begun[[0, 2]], first[[0, 2]])
    begun[:] = 0.0
    later, _, terminated, _, _ = envs.step(np.array([0, 0, 1]))
    assert later[:, 1].tolist() == [1, 3, 1]
    assert terminated.tolist() == [False, False, True]


def test_rows_have_noise_of_their_own_that_follows_the_seed():
    envs = ExportedVectorEnv("option", num_envs=64, horizon=5)

    def play(seed):
        envs.reset(seed=seed)
        return np.stack([envs.step(np.zeros(64, int))[0][:, 0] for _ in range(12)])

    first, again, other = play(1), play(1), play(2)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert len(np.unique(first[4])) > 3
    assert not np.array_equal(first[0], first[6])


@pytest.mark.parametrize("name", IDS)
def test_drawings_show_the_episode(name):
    env = gymnasium.make(IDS[name], render_mode="rgb_array", observe="return")
    env.reset(seed=0)
    first = env.render()
    for _ in range(3):
        env.step(0)
    later = env.render()
    assert first.shape == later.shape == (400, 640, 3)
    assert first.dtype == np.uint8
    assert drawn(later) > drawn(first) > 0
    assert np.array_equal(later, env.render())


def test_the_option_shows_where_executing_pays():
    def shaded(**strikes):
        env = gymnasium.make(IDS["option"], render_mode="rgb_array", **strikes)
        env.reset(seed=0)
        image = env.render().astype(int)
        return int(np.sum((image[:, :, 1] - image[:, :, 0] > 10) & (image[:, :, 1] > image[:, :, 2])))

    nowhere = shaded(put_strike=0.0, call_strike=1e6)
    assert nowhere < 100 < shaded(put_strike=0.0) < shaded()


def test_a_window_is_drawn_at_every_step_and_closed():
    import matplotlib.pyplot as plt

    env = gymnasium.make(IDS["stopping"], preset="tradeoff", render_mode="human")
    env.reset(seed=0)
    env.step(0)
    assert env.render() is None
    (figure,) = map(plt.figure, plt.get_fignums())
    (line,) = [
        line for line in figure.axes[0].lines if len(line.get_xdata()) == 2 and line.get_marker() == "o"
    ]
    assert line.get_xdata().tolist() == [0, 1]
    env.step(1)
    assert "accepted" in figure.axes[0].get_title()
    env.close()
    assert plt.get_fignums() == []


def test_a_window_that_can_be_seen_is_shown_once_and_stays_for_a_frame(monkeypatch):
    import matplotlib.pyplot as plt
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    calls = []
    monkeypatch.setattr(FigureCanvasAgg, "required_interactive_framework", "some")
    monkeypatch.setattr(FigureCanvasAgg, "start_event_loop", lambda canvas, seconds: calls.append(seconds))
    monkeypatch.setattr(plt, "show", lambda *, block: calls.append(block))
    env = ExportedEnv("option", render_mode="human")
    env.reset(seed=0)
    env.step(0)
    env.close()
    assert calls == [False, 0.25, 0.25]


class Walk(AbstractEnvironment):
    """An environment that draws keys, has a field that is an array, and is unknown to the drawings."""

    drift: jax.Array = eqx.field(default_factory=lambda: jnp.asarray(0.5))
    horizon: int = 3
    discount: float = 1.0

    @property
    def observation_space(self):
        return gymnasium.spaces.Box(-10.0, 10.0, (1,), np.float64)

    @property
    def action_space(self):
        return gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float64)

    def reset(self, noise):
        return (jnp.zeros(1), jnp.asarray(0)), jnp.zeros(1)

    def step(self, noise, state, action):
        place = state[0] + action + self.drift * jax.random.rademacher(noise, (1,))
        last = state[1] + 1 >= self.horizon
        return (place, state[1] + 1), TimeStep(place, place[0], jnp.zeros((), bool), last)


def test_an_environment_of_ones_own_is_exported_too():
    check_env(ExportedEnv(Walk(), render_mode="rgb_array"), skip_render_check=True)
    env = ExportedEnv(Walk(jnp.asarray(0.25)), render_mode="rgb_array")
    env.reset(seed=0)
    ends = [env.step(np.array([1.0]))[2:4] for _ in range(3)]
    assert ends == [(False, False), (False, False), (False, True)]
    assert env.render().std() > 0
    envs = ExportedVectorEnv(Walk(jnp.asarray(0.25)), num_envs=2)
    envs.reset(seed=0)
    observations, rewards, *_ = envs.step(np.zeros((2, 1)))
    assert np.abs(observations[:, 0]).tolist() == [0.25, 0.25]
    assert rewards.tolist() == observations[:, 0].tolist()


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"env": "optoin"}, "did you mean 'option'"),
        ({"env": "option", "preset": "liu"}, "did you mean 'liu2018'"),
        ({"env": "option", "horizont": 3}, "did you mean 'horizon'"),
        ({"env": "option", "render_mode": "ansi"}, "rgb_array"),
        ({"env": 3}, "must be an environment"),
        ({"env": AmericanOption(), "horizon": 3}, "belongs to the name"),
    ],
)
def test_refusals(wrong, told):
    with pytest.raises(InputError, match=told):
        ExportedEnv(**wrong)


def test_refusals_of_the_vector_and_of_playing_too_soon():
    with pytest.raises(InputError, match="draws one episode"):
        ExportedVectorEnv("option", render_mode="rgb_array")
    with pytest.raises(InputError, match="num_envs"):
        ExportedVectorEnv("option", num_envs=0)
    for env in (ExportedEnv("option"), ExportedVectorEnv("option")):
        with pytest.raises(gymnasium.error.ResetNeeded):
            env.step(0)


def test_a_drawing_needs_matplotlib(monkeypatch):
    monkeypatch.setattr(rendering, "find_spec", lambda name: None)
    assert ExportedEnv("option").render_mode is None
    with pytest.raises(InputError, match="needs matplotlib"):
        ExportedEnv("option", render_mode="rgb_array")


def test_registering_twice_changes_nothing():
    before = dict(gymnasium.registry)
    fenchel.gymnasium.register_all()
    assert gymnasium.registry == before
