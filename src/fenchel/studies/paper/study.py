"""The paper's experiments and theory, as stages."""

from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path

from fenchel.envs import make
from fenchel.studies.oracle import Oracle, oracle_of
from fenchel.studies.paper.plan import Plan
from fenchel.studies.paper.runs import try_out, tune, updates
from fenchel.studies.paper.theory import theory_stages
from fenchel.studies.paper.truth import scale_of, truth
from fenchel.studies.stages import Results, Stage, run_stages
from fenchel.training import RunDirectory
from fenchel.training.progress import Bar

TRUTH_COST = {"portfolio": 2e8}
"""What the bound on the portfolio takes, in steps of episodes that could be played meanwhile, for each λ."""


def run_study(
    plan: Plan, directory: Path, *, resume: bool = False, bar: Bar | None = None
) -> dict[str, Results]:
    """Run what of the study is not on disk yet, and give all of it.

    Arguments:
        plan: how much of it.
        directory: where its stages are kept; a study that was stopped goes on from there.
        resume: whether there may be one already.
        bar: shows how far it is.
    """
    with RunDirectory.open(directory, {"study": "paper", **plan.config()}, resume):
        return run_stages(stages(plan, directory), directory, bar)


def stages(plan: Plan, directory: Path) -> list[Stage]:
    """All stages, in an order in which each finds what it needs."""
    domains = [stage for domain in plan.domains for stage in _domain(domain, plan, directory)]
    return [*domains, *theory_stages(plan)]


def _domain(domain: str, plan: Plan, directory: Path) -> list[Stage]:
    oracle = cache(lambda: oracle_of(make(domain)))
    horizon = make(domain).horizon
    first = Stage(
        f"{domain}/truth",
        TRUTH_COST.get(domain, 1e6) * len(plan.bound_points),
        lambda results, watch: truth(domain, oracle(), plan),
    )
    found = [first]
    for algorithm in plan.algorithms:
        tuning, trials = updates(algorithm, plan)
        learn = partial(_learn, domain, algorithm, plan, oracle, directory)
        found.append(Stage(f"{domain}/{algorithm}/tuning", tuning * horizon, partial(learn, "tuning")))
        found.append(Stage(f"{domain}/{algorithm}/trials", trials * horizon, partial(learn, "trials")))
    return found


def _learn(
    domain: str,
    algorithm: str,
    plan: Plan,
    oracle: Callable[[], Oracle],
    directory: Path,
    which: str,
    results: Mapping[str, Results],
    watch: Callable[[float], None],
) -> Results:
    place = directory / domain / algorithm / f"{which}-run"
    rest = plan, oracle(), scale_of(results[f"{domain}/truth"]), place, watch
    if which == "tuning":
        return tune(domain, algorithm, *rest)
    return try_out(domain, algorithm, results[f"{domain}/{algorithm}/tuning"]["chosen"], *rest)
