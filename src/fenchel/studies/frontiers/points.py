"""A frontier: policies by risk aversion, and how to pick one."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from importlib import import_module
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from fenchel.envs import AbstractEnvironment
from fenchel.errors import InputError, require, require_number
from fenchel.policies import AbstractPolicy
from fenchel.training.arrays import load_arrays, save_arrays
from fenchel.training.atomic import make_directory
from fenchel.training.config import build, describe

FILE = "frontier.safetensors"


@dataclass(frozen=True)
class Point:
    """A policy of the frontier, and what it is worth.

    Arguments:
        risk_aversion: the λ it was learned for; of CVaR, the level.
        seed: that it was learned with.
        mean: of the return.
        std: of the return.
        value: the objective, in the units of the return.
        optimum: what no policy exceeds, where that is known.
        score: where the value lies between that of acting at random, 0, and the optimum, 1.
        policy: the policy, which takes what `Frontier.env` shows.
    """

    risk_aversion: float
    seed: int
    mean: float
    std: float
    value: float
    optimum: float | None
    score: float | None
    policy: AbstractPolicy = field(repr=False)

    def asdict(self) -> dict[str, Any]:
        """Everything but the policy, for JSON."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name != "policy"}


@dataclass(frozen=True)
class Failure:
    """A learner that diverged; others took its place."""

    risk_aversion: float
    seed: int
    fault: str


@dataclass(frozen=True)
class Frontier:
    """Policies by rising risk aversion, none of which another one beats in both mean and spread.

    Arguments:
        points: the best policy of all seeds for each risk aversion.
        env: the environment as the policies see it.
        objective: its name.
        exact: whether mean, std and value are exact, or estimated from fresh episodes.
        every: the best policy of every seed for each risk aversion.
        failed: learners that diverged.
        curve: standard deviations and means along the certified mean-variance frontier, where it is known.
        seconds: from the call to the answer.
    """

    points: tuple[Point, ...]
    env: AbstractEnvironment = field(repr=False)
    objective: str
    exact: bool
    every: tuple[Point, ...] = field(repr=False)
    failed: tuple[Failure, ...] = ()
    curve: tuple[tuple[float, ...], tuple[float, ...]] | None = field(default=None, repr=False)
    seconds: float = 0.0

    def __len__(self) -> int:
        return len(self.points)

    def pick(
        self,
        *,
        variance_at_most: float | None = None,
        mean_at_least: float | None = None,
        risk_aversion: float | None = None,
    ) -> Point:
        """The best policy for a budget: exactly one of three.

        Arguments:
            variance_at_most: the greatest mean with at most this variance.
            mean_at_least: the least variance with at least this mean.
            risk_aversion: the policy learned for the nearest one, in proportion.
        """
        given = {"variance_at_most": variance_at_most, "mean_at_least": mean_at_least}
        given["risk_aversion"] = risk_aversion
        said = {name: value for name, value in given.items() if value is not None}
        require(len(said) == 1, "pick", said, "takes exactly one of " + ", ".join(given))
        if risk_aversion is not None:
            require_number("risk_aversion", risk_aversion)
            positive = risk_aversion > 0 and all(point.risk_aversion > 0 for point in self.points)
            apart = _ratio if positive else _distance
            return min(self.points, key=lambda point: apart(point.risk_aversion, risk_aversion))
        if variance_at_most is not None:
            fits = [point for point in self.every if point.std**2 <= variance_at_most]
            least = min(point.std for point in self.every) ** 2
            _require_some(fits, "variance_at_most", variance_at_most, f"at least {least:.6g}, the least here")
            return max(fits, key=lambda point: point.mean)
        fits = [point for point in self.every if point.mean >= given["mean_at_least"]]  # type: ignore[operator]
        most = max(point.mean for point in self.every)
        _require_some(fits, "mean_at_least", mean_at_least, f"at most {most:.6g}, the greatest here")
        return min(fits, key=lambda point: point.std)

    def table(self, *, all_seeds: bool = False) -> list[dict[str, Any]]:
        """A row per point."""
        return [point.asdict() for point in (self.every if all_seeds else self.points)]

    def plot(self, *, title: str | None = None) -> Any:
        """The points by standard deviation and mean, with the exact frontier where it is known.

        Figures are drawn by the room above this one, which is asked for by name.
        """
        return import_module("fenchel.report").plot_points(self, title=title)

    def save(self, directory: str | Path) -> Path:
        """Keep the frontier, policies included, in a directory; `load` reads it again."""
        place = Path(directory)
        make_directory(place)
        arrays = {
            f"{row}{jax.tree_util.keystr(path)}": leaf
            for row, point in enumerate(self.every)
            for path, leaf in _arrays(point.policy)
        }
        arrays |= {f"env{jax.tree_util.keystr(path)}": leaf for path, leaf in _arrays(self.env)}
        chosen = [self.every.index(point) for point in self.points]
        about = {
            "points": [{**point.asdict(), "policy": describe(point.policy)} for point in self.every],
            "chosen": chosen,
            "env": describe(self.env),
            "objective": self.objective,
            "exact": self.exact,
            "failed": [vars(failure) for failure in self.failed],
            "curve": self.curve,
            "seconds": self.seconds,
        }
        save_arrays(place / FILE, arrays, about)
        return place

    @classmethod
    def load(cls, directory: str | Path, *, own: Sequence[type] = ()) -> "Frontier":
        """A frontier that `save` kept.

        Arguments:
            directory: where it was kept.
            own: classes of yours that it may name; all others must be fenchel's own.
        """
        path = Path(directory) / FILE
        require(path.exists(), "directory", str(directory), f"holds no frontier: there is no {FILE}")
        arrays, about = load_arrays(path)
        every = tuple(_point(row, fields, arrays, own) for row, fields in enumerate(about["points"]))
        return cls(
            points=tuple(every[index] for index in about["chosen"]),
            env=_filled("env", build(about["env"], own), arrays),
            objective=about["objective"],
            exact=about["exact"],
            every=every,
            failed=tuple(Failure(**failure) for failure in about["failed"]),
            curve=None if about["curve"] is None else tuple(map(tuple, about["curve"])),  # type: ignore[arg-type]
            seconds=about["seconds"],
        )


def efficient(points: Iterable[Point]) -> tuple[Point, ...]:
    """Those that no other one beats in mean and spread, by rising risk aversion."""
    listed = sorted(points, key=lambda point: point.risk_aversion)

    def beaten(point: Point) -> bool:
        return any(
            other.mean >= point.mean
            and other.std <= point.std
            and (other.mean > point.mean or other.std < point.std)
            for other in listed
        )

    return tuple(point for point in listed if not beaten(point))


def _distance(value: float, wanted: float) -> float:
    return abs(value - wanted)


def _ratio(one: float, other: float) -> float:
    return max(one / other, other / one)


def _require_some(found: list[Point], name: str, value: float | None, remedy: str) -> None:
    if not found:
        raise InputError(name, value, f"is met by no policy of the frontier: must be {remedy}")


def _arrays(module: eqx.Module) -> list[tuple[Any, Any]]:
    return jax.tree_util.tree_flatten_with_path(eqx.filter(module, eqx.is_array))[0]


def _point(row: int, about: dict[str, Any], arrays: dict[str, Any], own: Sequence[type]) -> Point:
    return Point(**{**about, "policy": _filled(str(row), build(about["policy"], own), arrays)})


def _filled(prefix: str, shape: Any, arrays: dict[str, Any]) -> Any:
    """What was built of zeros, with the arrays that were kept."""

    def put(path: Any, leaf: Any) -> Any:
        name = f"{prefix}{jax.tree_util.keystr(path)}"
        return jnp.asarray(arrays[name]) if name in arrays else leaf

    return jax.tree_util.tree_map_with_path(put, shape)
