"""Every mistake is one line on standard error and exit code 2, with nothing printed and nothing written."""

from pathlib import Path

import pytest

from fenchel.cli.main import main

TRAIN = "train option"

WORDS = [
    (
        "",
        "a command is missing: choose one of train, evaluate, frontier, apply, exact, paper, list, or --help",
    ),
    ("trian option", "command = 'trian': did you mean 'train'?"),
    ("--bogus", "command = '--bogus': choose one of"),
    ("train", "ENVIRONMENT is missing"),
    ("train optoin", "environment = 'optoin': did you mean 'option'?"),
    ("train optoin --help", "environment = 'optoin': did you mean 'option'?"),
    ("train --risk-aversin 3 option", "unknown option --risk-aversin; did you mean '--risk-aversion'?"),
    (f"{TRAIN} --zzz", "unknown option --zzz. See fenchel train --help"),
    (f"{TRAIN} extra", "'extra' is one argument too many"),
    (f"{TRAIN} --seed", "--seed needs a value"),
    (f"{TRAIN} --seed --json", "--seed needs a value"),
    (f"{TRAIN} --json=3", "--json=3: a switch takes no value; --json or --no-json"),
    (f"{TRAIN} --risk-aversion -1", "risk_aversion = -1.0: must be above 0"),
    (f"{TRAIN} --risk-aversion nan", "risk_aversion = 'nan': must be finite"),
    (f"{TRAIN} --episodes 1.5", "episodes = '1.5': must be a whole number"),
    (f"{TRAIN} --episodes 0", "episodes = 0: must be a whole number of at least 1"),
    (f"{TRAIN} --seed -1", "seed = -1: must be a whole number from 0"),
    (f"{TRAIN} --schedule constnt", "schedule = 'constnt': did you mean 'constant'?"),
    (f"{TRAIN} --algorithm mpv", "algorithm = 'mpv': did you mean 'mvp'?"),
    (f"{TRAIN} --objective mean-varance", "objective = 'mean-varance': did you mean 'mean-variance'?"),
    (f"{TRAIN} --preset lui2018", "preset = 'lui2018': did you mean 'liu2018'?"),
    (f"{TRAIN} --observe stat", "observe = 'stat': did you mean 'state'?"),
    (f"{TRAIN} --policy tabulr", "policy = 'tabulr': did you mean 'tabular'?"),
    (f"{TRAIN} --policy linear --features rbff", "features = 'rbff': did you mean 'rbf'?"),
    (f"{TRAIN} --policy linear --hidden 3", "hidden = (3,): belongs to --policy mlp"),
    (f"{TRAIN} --hidden", "--hidden needs a value"),
    (f"{TRAIN} --hidden x", "hidden = 'x': must be a whole number"),
    (f"{TRAIN} --epsilon 2", "epsilon = 2.0: "),
    (f"{TRAIN} --env.put-strik 1", "env.put_strik = '1': is no parameter of the environment; did you mean"),
    (f"{TRAIN} --env.put-strike", "--env.put-strike needs a value"),
    (f"{TRAIN} --env.put-strike abc", "env.put_strike = 'abc': must be a number"),
    (f"{TRAIN} --env.put-strike -2", "env.put_strike = -2.0: must be 0 or more"),
    (f"{TRAIN} --env.forced maybe", "env.forced = 'maybe': must be true or false"),
    (f"{TRAIN} --env.up-probability 1.5", "env.up_probability = 1.5: must be a probability in [0, 1]"),
    (f"{TRAIN} --env.up-probability -0.1", "env.up_probability = -0.1: must be a probability in [0, 1]"),
    (f"{TRAIN} --env.strike-put 1.1", "env.strike_put = '1.1': is no parameter of the environment; did you"),
    (f"{TRAIN} --env.up 0.5", "env.up, env.down = (0.5, 0.8888888888888888): a rise must be above a fall"),
    (f"{TRAIN} --env.horizon 100000", "env.horizon = 100000: leads to prices outside the range of a float32"),
    (f"{TRAIN} --risk-aversion 1e-310", "risk_aversion = 1e-310: is outside the range of float64"),
    (f"{TRAIN} --episodes 3000000000", "episodes = 3000000000: make 3000000000 iterations"),
    (f"{TRAIN} --env.horizon many", "env.horizon = 'many': must be a whole number"),
    (f"{TRAIN} --risk-aversion 0", "risk_aversion = 0.0: must be above 0"),
    (f"{TRAIN} --policy-step-size inf", "policy_step_size = 'inf': must be finite"),
    (f"{TRAIN} --policy-step-size -1", "policy_step_size = -1.0: must be 0 or more"),
    (f"{TRAIN} --dual-step-size -1e-3", "dual_step_size = -0.001: must be 0 or more"),
    (f"{TRAIN} --batch-size 0", "batch_size = 0: must be a whole number of at least 1"),
    (f"{TRAIN} --episodes many", "episodes = 'many': must be a whole number"),
    (f"{TRAIN} --episodes 10 --batch-size 100", "episodes = 10: are fewer than one iteration samples"),
    (f"{TRAIN} --schedule robbins-monro --exponent 0.5", "exponent = 0.5: must be above 1/2 and at most 1"),
    (f"{TRAIN} --schedule robbins-monro --exponent 1.1", "exponent = 1.1: must be above 1/2 and at most 1"),
    (f"{TRAIN} --dual-min 1 --dual-max 0", "dual_min = 1.0: must not exceed dual_max = 0.0"),
    (f"{TRAIN} --policy tabular --observe state", "observe = 'state': a tabular policy sees the index of"),
    (f"{TRAIN} --policy linear --features onehot", "features = 'onehot': needs a Discrete observation"),
    (f"{TRAIN} --policy direct --epsilon 0.1", "epsilon = 0.1: is for softmax policies"),
    (f"{TRAIN} --epsilon -0.5", "epsilon = -0.5: must be 0 or more"),
    (f"{TRAIN} -x", "unknown option -x"),
    (f"{TRAIN} --figure plot.gif", "figure = 'plot.gif': must end in .png, .svg or .pdf"),
    (f"{TRAIN} --figure plot", "figure = 'plot': must end in .png, .svg or .pdf"),
    (f"{TRAIN} --figure nowhere/plot.png", "figure = 'nowhere/plot.png': needs the directory 'nowhere'"),
    (f"{TRAIN} --order shuffled", "order = 'shuffled': is no setting of mvp"),
    (f"{TRAIN} --smoothness 2", "smoothness = 2.0: belongs to output 'weighted'"),
    (f"{TRAIN} --evaluate-episodes 1", "evaluate_episodes = 1: must be a whole number of at least 2"),
    (f"{TRAIN} --checkpoint-seconds 0", "checkpoint_seconds = 0.0: must be above 0"),
    (f"{TRAIN} --resume", "resume = True: needs the directory: give --out"),
    (f"{TRAIN} --resume --out nowhere", "out = 'nowhere': holds no run to resume"),
    (f"{TRAIN} --config nowhere.toml", "config = 'nowhere.toml': cannot be read"),
    ("train gym:CartPol-v1", "env = 'gym:CartPol-v1': did you mean 'gym:CartPole-v1'"),
    (
        "train gym:CartPole-v1 --env.copis 3",
        "env.copis = '3': is no parameter of the environment; did you mean",
    ),
    ("train gym:CartPole-v1 --env.horizon 0", "env.horizon = 0: must be a whole number of at least 1"),
    ("train gym:CartPole-v1 --explore 0.5", "explore = 0.5: needs an environment of fenchel's own"),
    ("train gym:CartPole-v1 --preset liu2018", "preset = 'liu2018': is for environments of fenchel's own"),
    ("evaluate", "RUN_DIR is missing"),
    ("evaluate nowhere", "directory = 'nowhere': holds no run"),
    ("evaluate nowhere --episodes 1", "episodes = 1: must be a whole number of at least 2"),
    ("evaluate nowhere --seed -1", "seed = -1: must be"),
    ("evaluate nowhere --episods 5", "unknown option --episods; did you mean '--episodes'?"),
    ("list extra", "'extra' is one argument too many"),
    ("list --jso", "unknown option --jso; did you mean '--json'?"),
]

FILES = [
    ("risk_aversin = 0.3", "risk_aversin in run.toml = 0.3: is unknown; did you mean 'risk_aversion'?"),
    ("episodes = 'many'", "episodes in run.toml = 'many': must be a whole number"),
    ("episodes = [1, 2]", "episodes in run.toml = ['1', '2']: must be a single value"),
    ("risk_aversion = -1", "risk_aversion = -1.0: must be above 0"),
    ("fresh_batch = 'maybe'", "fresh_batch in run.toml = 'maybe': must be true or false"),
    ("a = ", "config = 'run.toml': is no valid TOML"),
    ("env = 'option'", "env in run.toml = 'option': must be a table"),
    ("config = 'other.toml'", "config in run.toml = 'other.toml': is unknown"),
    ("[policy]\nname = 'mlp'", "policy in run.toml = {'name': 'mlp'}: must be a value"),
    (
        "[env]\nput_strik = 1",
        "env.put_strik = '1': is no parameter of the environment; did you mean 'put_strike'?",
    ),
    ("[env]\nput_strike = true", "env.put_strike = 'true': must be a number"),
]


def refused(capsys, words, message):
    before = set(Path().rglob("*"))
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"fenchel: error: {message}")
    assert err.count("\n") == 1
    assert set(Path().rglob("*")) == before


@pytest.mark.parametrize(("line", "message"), WORDS, ids=[line or "nothing" for line, _ in WORDS])
def test_words(capsys, line, message):
    place = ["--out=new"] if line.startswith(TRAIN) and "--resume" not in line else []
    refused(capsys, [*line.split(), *place], message)


@pytest.mark.parametrize(("text", "message"), FILES, ids=[text for text, _ in FILES])
def test_file(capsys, text, message):
    Path("run.toml").write_text(text)
    refused(capsys, [*TRAIN.split(), "--config", "run.toml", "--json"], message)
