"""Stages are computed once, kept, checked, and told apart from damaged ones."""

import pytest

from fenchel.studies.stages import Stage, read_stage, run_stages, stage_file


class Watching:
    """A bar that remembers what it was shown."""

    def __init__(self):
        self.shown = []

    def show(self, share, text):
        self.shown.append((share, text))


def stages(calls):
    def first(results, watch):
        calls.append("first")
        watch(0.5)
        return {"value": (1, 2)}

    def second(results, watch):
        calls.append("second")
        return {"sum": sum(results["a/first"]["value"])}

    return [Stage("a/first", 3.0, first), Stage("second", 1.0, second)]


def test_each_stage_is_computed_once_and_read_by_the_next(tmp_path):
    calls, bar = [], Watching()
    found = run_stages(stages(calls), tmp_path, bar)
    assert found == {"a/first": {"value": [1, 2]}, "second": {"sum": 3}}
    assert [share for share, _ in bar.shown] == [0.0, 0.375, 0.75, 1.0]
    assert "left" in bar.shown[1][1]
    assert run_stages(stages(calls), tmp_path) == found
    assert calls == ["first", "second"]


def test_a_study_that_broke_off_goes_on_where_it_was(tmp_path):
    calls = []

    def broken(results, watch):
        raise KeyboardInterrupt

    first, second = stages(calls)
    with pytest.raises(KeyboardInterrupt):
        run_stages([first, Stage("second", 1.0, broken)], tmp_path)
    assert run_stages([first, second], tmp_path)["second"] == {"sum": 3}
    assert calls == ["first", "second"]


@pytest.mark.parametrize(
    "damage", [lambda text: text[:-9], lambda text: text.replace("1", "7", 1), lambda text: "[]"]
)
def test_a_damaged_stage_is_computed_again_with_a_warning(tmp_path, damage):
    calls = []
    found = run_stages(stages(calls), tmp_path)
    path = stage_file(tmp_path, "a/first")
    results = path.read_text()
    start = results.index('"results"')
    path.write_text(results[:start] + damage(results[start:]) if damage("x") != "[]" else "[]")
    with pytest.warns(UserWarning, match="a/first.json is damaged"):
        assert run_stages(stages(calls), tmp_path) == found
    assert calls == ["first", "second", "first"]
    assert read_stage(path) == found["a/first"]
