"""An environment from a file: the page, Python and the commands agree, and mistakes are named."""

import json
import re
import sys
from pathlib import Path

import pytest

import fenchel as package
from fenchel import exact
from fenchel.cli.environment import build
from fenchel.cli.main import main
from fenchel.cli.ownfile import class_in
from fenchel.objectives import MeanVariance

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
FILE = ROOT / "examples" / "kiosk.py"
KIOSK = f"{FILE}:Kiosk"
SHORT = ("--env.horizon", "2", "--env.price", "3")
TINY = ("--episodes", "400", "--batch-size", "100", "--policy-step-size", "0.1", "--policy", "tabular")
HEAD = """
import jax, jax.numpy as jnp, gymnasium
from fenchel import AbstractEnvironment
from fenchel.envs import TimeStep
"""
CLASS = """
class Coin(AbstractEnvironment):
    horizon: int = 2
    discount: float = 1.0
    win: 'float' = 0.5
    observation_space = property(lambda self: gymnasium.spaces.Box(0.0, 9.0, (1,)))
    action_space = property(lambda self: gymnasium.spaces.Discrete(2))
    def reset(self, noise):
        return jnp.zeros(1), jnp.zeros(1)
    def step(self, noise, state, action):
        state = state + 1
        won = jnp.where(jax.random.bernoulli(noise, self.win), 1.0, 0.0)
        return state, TimeStep(state, won, state[0] >= self.horizon, jnp.zeros((), bool))
"""


@pytest.fixture(autouse=True)
def _forget():
    """What a file puts among the modules of the process is taken away again."""
    modules, path = set(sys.modules), list(sys.path)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if getattr(sys.modules[name], "__file__", None) and "fenchel" not in name:
            del sys.modules[name]


@pytest.fixture(scope="module")
def kiosk():
    """The class, as Python's import finds it."""
    return class_in(KIOSK)


def record(capsys, *words):
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def complaint(capsys, *words):
    assert main(list(words)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err


def test_the_page_is_the_file():
    (block,) = re.findall(
        r"^```python\n(.*?)^```", (ROOT / "docs" / "your-environment.md").read_text(), re.M | re.S
    )
    assert block == FILE.read_text()
    assert block.count("\n") < 60


def test_the_frontier_of_the_command_is_that_of_python(capsys, kiosk):
    words = ("--grid", "0.1", "--seeds", "1", "--episodes", "5000", "--quiet", "--out", "kept")
    told = record(capsys, "frontier", KIOSK, *SHORT, *words)
    found = package.frontier(kiosk(horizon=2, price=3.0), grid=[0.1], seeds=1, episodes=5000)
    assert told["exact"]
    assert [point["mean"] for point in told["points"]] == [point.mean for point in found.points]
    assert 0.5 < told["points"][0]["score"] <= 1
    kept = package.Frontier.load("kept", own=[kiosk])
    assert (kept.env.env.horizon, kept.env.env.price) == (2, 3.0)
    with pytest.raises(package.InputError, match="name its class"):
        package.Frontier.load("kept")


def test_exact_answers(capsys, kiosk):
    told = record(capsys, "exact", KIOSK, *SHORT, "--risk-aversion", "0.5")
    problem = exact.enumerate_environment(kiosk(horizon=2, price=3.0))
    assert told["value"] == pytest.approx(exact.best(problem, MeanVariance(0.5)).value)


def test_runs_are_kept_gone_on_with_and_evaluated(capsys, kiosk):
    begun = record(capsys, "train", KIOSK, *SHORT, *TINY, "--quiet", "--out", "run")
    again = record(capsys, "train", KIOSK, *SHORT, *TINY, "--quiet", "--out", "run", "--resume")
    assert (again["dual"], again["fingerprint"]) == (begun["dual"], begun["fingerprint"])
    assert "price" in complaint(capsys, "train", KIOSK, *TINY, "--out", "run", "--resume")
    result = package.load("run", own=[kiosk])
    assert result.env.env == kiosk(horizon=2, price=3.0)
    assert result.dual == begun["dual"]
    told = record(capsys, "evaluate", "run", "--environment", KIOSK, "--episodes", "500")
    assert told["mean"] == result.evaluate(500).mean
    assert (told["environment"], told["training_episodes"]) == ("Kiosk", 400)
    assert "name its class (own, --environment)" in complaint(capsys, "evaluate", "run")
    assert "leave it out" in complaint(capsys, "evaluate", "run", "--environment", "option")


def test_a_run_of_a_script_is_opened_with_its_class(kiosk):
    """What ran as a script is called `__main__`, and is the same class when it is imported."""
    cls = type("Kiosk", (kiosk,), {"__module__": "__main__", "__qualname__": "Kiosk"})
    done = package.train(cls(horizon=2), policy="linear", episodes=10, policy_step_size=0.1, out="run")
    config = json.loads(Path("run/config.json").read_text())
    assert config["estimator"]["env"]["type"] == "__main__.Kiosk"
    assert package.load("run", own=[kiosk]).dual == done.dual
    config["estimator"]["env"]["price"] = {"array": [], "dtype": "float64", "sha256": ""}
    Path("run/config.json").write_text(json.dumps(config))
    with pytest.raises(package.InputError, match="array"):
        package.load("run", own=[kiosk])


def test_the_help_page_shows_the_fields(capsys):
    assert main(["train", KIOSK, "--help"]) == 0
    assert "--env.price" in capsys.readouterr().out


def test_fields_with_annotations_as_text():
    Path("coin.py").write_text(f"from __future__ import annotations\n{HEAD}{CLASS}")
    env = build("coin.py:Coin", None, "state", {"win": "1", "horizon": "3"})
    assert (env.win, env.horizon, env.discount) == (1.0, 3, 1.0)
    assert isinstance(env.win, float)


MISTAKES = [
    ("", "x.py:Coin", "there is no file"),
    (CLASS, "{file}", "needs the name of a class: {file}:Coin"),
    (CLASS, "{file}:Cion", "is not in the file; there is {file}:Coin"),
    (CLASS, "{file}:TimeStep", "is no environment"),
    (CLASS, "{file}:jnp", "is no environment"),
    ("def f(:", "{file}:Coin", "cannot be imported: line 5, SyntaxError"),
    ("\n\nx = 1 / 0", "{file}:Coin", "cannot be imported: line 7, ZeroDivisionError"),
    ("raise SystemExit(3)", "{file}:Coin", "cannot be imported: line 5, SystemExit: 3"),
    (CLASS.replace("won, state[0]", "won / 0, state[0]"), "{file}:Coin", "breaks the contract"),
    (CLASS.replace("won, state[0]", "wno, state[0]"), "{file}:Coin", "line 17, NameError"),
    (CLASS.replace("    def reset", "    def rset"), "{file}:Coin", "cannot be made: "),
    (CLASS.replace("    horizon", "    stake: int\n    horizon"), "{file}:Coin", "cannot be made: TypeError"),
    (CLASS, "{file}:Coin --env.wni 1", "did you mean 'win'"),
    (CLASS, "{file}:Coin --env.win x", "env.win = 'x': must be a number"),
    (CLASS, "{file}:Coin --preset liu2018", "Coin has none"),
    (CLASS, "{file}:Coin --observe index", "has no numbered states"),
]


@pytest.mark.parametrize(("code", "words", "told"), MISTAKES, ids=range(len(MISTAKES)))
def test_mistakes_are_one_line(capsys, code, words, told, request):
    file = f"mistake_{request.node.callspec.indices['code']}.py"
    Path(file).write_text(HEAD + code)
    err = complaint(capsys, "train", *words.format(file=file).split())
    assert told.format(file=file) in err


def test_the_name_of_a_module_in_use_is_refused(capsys):
    Path("json.py").write_text(HEAD + CLASS)
    assert "rename the file" in complaint(capsys, "exact", "json.py:Coin")
    assert "dumps" in vars(sys.modules["json"])
