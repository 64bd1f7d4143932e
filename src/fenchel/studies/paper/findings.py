"""What came out, in numbers: from the results of the stages to what a table, a figure or a sentence needs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from fenchel.intervals import Interval, around, bootstrap_cells, bootstrap_mean
from fenchel.studies.paper.plan import Plan
from fenchel.studies.paper.published import AVERAGED, TABLE, Entry
from fenchel.studies.paper.theory import Theory, theory_of
from fenchel.studies.stages import Results

NEAR_BEST = 0.95
"""A setting counts as good from this share of the best setting of any algorithm on."""

COORDINATE = ("mvp", "sga", "rcpg")
"""The methods of one time scale that rest on the dual form."""

Array = np.ndarray[Any, Any]


class Median(NamedTuple):
    """The middle one of the policies learned, in each respect by itself: few failures do not move it."""

    mean: float
    std: float
    share: float


class Row(NamedTuple):
    """An algorithm on a domain: intervals over seeds, beside what the paper reports."""

    algorithm: str
    mean: Interval
    std: Interval
    error: Interval
    """Standard error of the average of `AVERAGED` episodes: how the paper's Std can be read."""
    value: Interval
    share: Interval
    median: Median
    paper: Entry
    averaged: float
    """Episodes in an average that would have the paper's Std."""


class Claim(NamedTuple):
    """Something the paper says, the number it comes down to (positive if it holds), and what follows."""

    text: str
    number: Interval

    @property
    def verdict(self) -> str:
        """By the interval."""
        if self.number.low > 0:
            return "holds"
        return "does not hold" if self.number.high < 0 else "undecided"


@dataclass(frozen=True)
class Findings:
    """The study, read.

    Arguments:
        plan: what was run.
        results: of all stages, by name.
    """

    plan: Plan
    results: Mapping[str, Results] = field(repr=False)

    def truth(self, domain: str) -> Results:
        """What is known without learning."""
        return self.results[f"{domain}/truth"]

    def trials(self, domain: str, algorithm: str) -> Results:
        """Fresh seeds of the chosen setting."""
        return self.results[f"{domain}/{algorithm}/trials"]

    def tuning(self, domain: str, algorithm: str) -> Results:
        """The grid search."""
        return self.results[f"{domain}/{algorithm}/tuning"]

    @cached_property
    def theory(self) -> Theory:
        """What was measured of the theory."""
        return theory_of(self.results)

    def table(self, domain: str) -> list[Row]:
        """A row per algorithm."""
        return [self._row(domain, algorithm) for algorithm in self.plan.algorithms]

    def _row(self, domain: str, algorithm: str) -> Row:
        trials, paper = self.trials(domain, algorithm), TABLE[domain][algorithm]
        std = bootstrap_mean(trials["std"])
        return Row(
            algorithm=algorithm,
            mean=bootstrap_mean(trials["mean"]),
            std=std,
            error=Interval(*(x / AVERAGED**0.5 for x in std)),
            value=bootstrap_mean(trials["value"]),
            share=bootstrap_mean(trials["share"]),
            median=Median(*(float(np.median(trials[key])) for key in Median._fields)),
            paper=paper,
            averaged=(float(np.median(trials["std"])) / paper.std) ** 2,
        )

    def cells(self, domain: str, algorithm: str) -> Float[Array, "factors duals seeds"]:
        """Shares over the grid of step sizes at the λ of the report, those below 0 as 0.

        An axis that an algorithm lacks is repeated.
        """
        tuning, plan = self.tuning(domain, algorithm), self.plan
        shares = np.asarray(tuning["share"])
        names = [name for name, _ in tuning["axes"]]
        if "risk_aversion" in names:
            shares = shares.take(plan.weights.index(1.0), axis=names.index("risk_aversion"))
        if "dual_step_size" not in names:
            shares = np.repeat(shares[:, None], len(plan.dual_steps), axis=1)
        return np.asarray(np.maximum(shares, 0))

    @cached_property
    def areas(self) -> dict[str, dict[str, tuple[float, Array]]]:
        """Per domain and algorithm, the part of the grid near the best, and its bootstrap replicates."""
        return {domain: self._areas(domain) for domain in self.plan.domains}

    def _areas(self, domain: str) -> dict[str, tuple[float, Array]]:
        cells = {algorithm: self.cells(domain, algorithm) for algorithm in self.plan.algorithms}
        own = {name: shares.mean(axis=-1) for name, shares in cells.items()}
        drawn = {name: bootstrap_cells(shares) for name, shares in cells.items()}
        best = max(shares.max() for shares in own.values())
        return {
            name: (
                float(np.mean(own[name] >= NEAR_BEST * best)),
                np.mean(drawn[name] >= NEAR_BEST * best, axis=(1, 2)),
            )
            for name in cells
        }

    def area(self, domain: str, algorithm: str) -> Interval:
        """The part of the grid of step sizes that is near the best, with its interval."""
        return around(*self.areas[domain][algorithm])

    def overall_area(self, algorithm: str) -> Interval:
        """The same, averaged over domains."""
        return around(*self._overall(algorithm))

    def ranking(self) -> list[str]:
        """The algorithms, the easiest to tune first."""
        return sorted(self.plan.algorithms, key=lambda name: -self._overall(name)[0])

    def _overall(self, algorithm: str) -> tuple[float, Array]:
        pairs = [self.areas[domain][algorithm] for domain in self.plan.domains]
        return float(np.mean([area for area, _ in pairs])), np.mean([drawn for _, drawn in pairs], axis=0)

    def span(self, domain: str, algorithm: str) -> tuple[float, float]:
        """The worst and the best share over the whole grid: what leaving settings unstated leaves open."""
        shares = np.maximum(np.asarray(self.tuning(domain, algorithm)["share"]), 0).mean(axis=-1)
        return float(shares.min()), float(shares.max())

    def comparisons(self) -> list[Claim]:
        """What the paper says of its table, on each domain: the others are compared one by one."""
        if "mvp" not in self.plan.algorithms:
            return []
        others = [name for name in self.plan.algorithms if name != "mvp"]
        claims = []
        for domain, other in product(self.plan.domains, others):
            ours, theirs = self.trials(domain, "mvp"), self.trials(domain, other)
            for key, word, sign in (("mean", "a higher mean", 1), ("std", "a lower std", -1)):
                gap = sign * (np.asarray(ours[key]) - np.asarray(theirs[key]))
                claims.append(Claim(f"{domain}: MVP has {word} than {other.upper()}", bootstrap_mean(gap)))
        return claims

    def tuning_claims(self) -> list[Claim]:
        """Whether methods of one time scale are easier to tune than Tamar's, on each domain and overall."""
        names = [name for name in COORDINATE if name in self.plan.algorithms]
        if not names or "tamar" not in self.plan.algorithms:
            return []
        gaps = {domain: self._ease(domain, names) for domain in self.plan.domains}
        estimate = float(np.mean([gap for gap, _ in gaps.values()]))
        overall = around(estimate, np.mean([drawn for _, drawn in gaps.values()], axis=0))
        listed = ", ".join(name.upper() for name in names)
        text = f"{listed} are easier to tune than Tamar's method"
        each = [Claim(f"{domain}: {text}", around(*gap)) for domain, gap in gaps.items()]
        return [*each, Claim(f"all domains: {text}", overall)]

    def _ease(self, domain: str, names: list[str]) -> tuple[float, Array]:
        areas = self.areas[domain]
        ours = np.mean([areas[name][0] for name in names])
        drawn = np.mean([areas[name][1] for name in names], axis=0)
        return float(ours - areas["tamar"][0]), drawn - areas["tamar"][1]

    def summary(self) -> dict[str, Any]:
        """The table and the verdicts, for JSON."""
        claims = [*self.comparisons(), *self.tuning_claims()]
        slope, lemma = self.theory.rates.slope, self.theory.lemma
        return {
            "theory": {
                "slope": [slope.value, slope.low, slope.high],
                "bound_over_measured": self.theory.rates.least_ratio,
                "option_one": self.theory.option_one.points[-1].mean,
                "bias": self.theory.bias.slope,
                "lemma_printed_holds": lemma.printed_holds,
            },
            "domains": {domain: [_flat(row) for row in self.table(domain)] for domain in self.plan.domains},
            "areas": {name: self.overall_area(name)._asdict() for name in self.ranking()},
            "claims": [
                {
                    "text": claim.text,
                    "difference": claim.number.estimate,
                    "low": claim.number.low,
                    "high": claim.number.high,
                    "verdict": claim.verdict,
                }
                for claim in claims
            ],
        }


def _flat(row: Row) -> dict[str, Any]:
    """Estimates under their names, their intervals beside them."""
    intervals = {name: value for name, value in row._asdict().items() if isinstance(value, Interval)}
    return {
        "algorithm": row.algorithm,
        "median": row.median._asdict(),
        **{name: interval.estimate for name, interval in intervals.items()},
        "intervals": {name: [interval.low, interval.high] for name, interval in intervals.items()},
        **{"paper_mean": row.paper.mean, "paper_std": row.paper.std},
    }
