"""The findings page: every number on it comes from a run file."""

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fenchel.intervals import LEVEL
from fenchel.report.paper.figures import plot_distributions, plot_frontiers, plot_tuning
from fenchel.report.paper.markdown import lines, percent, signed, with_interval
from fenchel.report.paper.theory import theory_figures, theory_section
from fenchel.studies.paper.findings import NEAR_BEST, Claim, Findings, Row
from fenchel.studies.paper.plan import RISK_AVERSIONS
from fenchel.studies.paper.published import AVERAGED
from fenchel.training.atomic import make_directory, write_atomic

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOTS_PER_INCH = 110

COLUMNS = (
    *("", "mean", "std", f"standard error of {AVERAGED}", "J_λ", "share", "median share"),
    *("paper: mean", "paper: Std", "episodes whose average has that Std"),
)


def write_page(findings: Findings, path: Path, command: str) -> list[Path]:
    """Write the page, and its figures into a folder beside it with its name; the files that came of it.

    Arguments:
        findings: the study.
        path: of the page, which ends in .md.
        command: what the page says it was made by.
    """
    folder = path.with_suffix("")
    make_directory(folder)
    written = []
    for name, figure in _figures(findings):
        written.append(folder / f"{name}.png")
        _save(figure, written[-1])
    write_atomic(path, page(findings, folder.name, command).encode())
    return [path, *written]


def page(findings: Findings, folder: str, command: str) -> str:
    """The text of the page."""
    sections = [
        _head(findings, command),
        *(_table(findings, domain) for domain in findings.plan.domains),
        _pictures(folder),
        _comparison(findings),
        _tuning(findings, folder),
        theory_section(findings, folder),
        _not_reproduced(findings),
    ]
    return "\n\n".join(section.strip() for section in sections if section.strip()) + "\n"


def _figures(findings: Findings) -> Iterator[tuple[str, "Figure"]]:
    yield "distributions", plot_distributions(findings)
    yield "frontiers", plot_frontiers(findings)
    yield "tuning", plot_tuning(findings)
    yield from theory_figures(findings)


def _save(figure: "Figure", path: Path) -> None:
    import matplotlib.pyplot as plt

    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DOTS_PER_INCH, metadata={"Software": None})
    plt.close(figure)
    write_atomic(path, buffer.getvalue())


def _head(findings: Findings, command: str) -> str:
    plan = findings.plan
    weights = ", ".join(f"{domain} {RISK_AVERSIONS[domain]:g}" for domain in plan.domains)
    cells = len(plan.policy_factors) * len(plan.dual_steps) * len(plan.weights)
    return f"""
# The paper, rerun

Written by `{command}` from its run files; no number on this page is typed.

The algorithms of Liu et al. (NeurIPS 2018) on their domains, with the parameters of the paper's
appendix, one episode per update, decaying (Robbins-Monro) step sizes and the last iterate (Option I),
and the default policy of each environment. For every algorithm and domain: a grid search over {cells}
cells of λ and step sizes, with {plan.tuning_episodes:,} episodes per learner and {plan.tuning_seeds} seeds
per cell; the {plan.finalists} best cells again with {plan.final_seeds} fresh seeds at full length; then
{plan.trials} fresh seeds of the best, with {plan.trial_episodes:,} episodes each. Plain policy gradient has
neither λ nor a second step size, so it gets more seeds per cell: all budgets are equal. Cells are judged by
J_λ = J − λ Var(R) at the λ of the report ({weights}), whatever λ the algorithm itself was given.

Means and standard deviations are exact on the option and on stopping; on the portfolio they are
estimated from {plan.evaluation_episodes:,} episodes per policy. The *share* of a policy is (J_λ −
J_uniform)/(J* − J_uniform): 0 for acting at random, 1 for the certified optimum (on the portfolio, for
a bound that no policy exceeds; the best known there is below it). Tables average over seeds; brackets
hold {LEVEL:.0%} bootstrap intervals over them.
"""


def _table(findings: Findings, domain: str) -> str:
    truth = findings.truth(domain)
    scale, weight = truth["scale"], truth["risk_aversion"]
    names = findings.plan.algorithms
    chosen = "; ".join(f"{name.upper()}: {_settings(findings, domain, name)}" for name in names)
    rows = [COLUMNS, ["---"] * len(COLUMNS), *(_row(row) for row in findings.table(domain))]
    return f"""
## {domain.capitalize()}

λ = {weight:g}: acting at random is worth {scale["uniform"]:.5g}, the best policy known
{scale["attained"]:.5g}, and no policy more than {scale["upper"]:.5g}.

{lines(rows)}

Chosen settings (step sizes of the policy in multiples of the measured one): {chosen}.
"""


def _row(row: Row) -> list[str]:
    numbers = map(with_interval, (row.mean, row.std, row.error, row.value, row.share))
    paper = f"{row.paper.mean:g}", f"{row.paper.std:g}", f"{row.averaged:,.0f}"
    return [row.algorithm.upper(), *numbers, f"{row.median.share:.4g}", *paper]


def _settings(findings: Findings, domain: str, algorithm: str) -> str:
    names = {"risk_aversion": "λ", "policy_step_factor": "policy", "dual_step_size": "dual"}
    chosen = findings.tuning(domain, algorithm)["chosen"]
    text = ", ".join(f"{names[name]} {chosen[name]:.3g}" for name in names if name in chosen)
    diverged = findings.trials(domain, algorithm)["diverged"]
    return text + (f" ({diverged} of the trials diverged)" if diverged else "")


def _pictures(folder: str) -> str:
    return f"""
![Returns as Gaussians, as the paper draws them, and as they are distributed]({folder}/distributions.png)

Above, figures 1a to 1c of the paper: for each algorithm the Gaussian with the median mean and standard
deviation of its policies. Below, on a logarithmic scale, the returns of all its policies as they are:
far from Gaussian.

![Exact frontier, learned policies and the paper's table]({folder}/frontiers.png)

Small dots are the learned policies, filled markers their medians, hollow ones the paper's table with
its Std read as a standard error.
"""


def _comparison(findings: Findings) -> str:
    claims = findings.comparisons()
    if not claims:
        return ""
    return f"""
## What the paper says of its table

The paper finds a higher mean and less variance for MVP. Differences over paired seeds, positive where
that is so:

{_claims(claims)}
"""


def _tuning(findings: Findings, folder: str) -> str:
    domains = findings.plan.domains
    rows = [["", *domains, "average"], ["---"] * (len(domains) + 2)]
    for name in findings.ranking():
        areas = [*(findings.area(domain, name) for domain in domains), findings.overall_area(name)]
        rows.append([name.upper(), *map(percent, areas)])
    return f"""
## Is one time scale easier to tune?

That is what the paper claims for the dual form. For equal budgets: the part of the grid of step sizes
whose policies reach {NEAR_BEST:.0%} of the share of the best cell of any algorithm, at the λ of the
report (below 0 a share counts as 0). The easiest first:

{lines(rows)}

{_claims(findings.tuning_claims())}

![How good every pair of step sizes is]({folder}/tuning.png)
"""


def _claims(claims: Sequence[Claim]) -> str:
    rows = [[claim.text, signed(claim.number), claim.verdict] for claim in claims]
    return lines([["claim", "difference", "verdict"], ["---"] * 3, *rows]) if rows else ""


def _not_reproduced(findings: Findings) -> str:
    parts = _stopping(findings), _portfolio(findings), _reading(findings), _unstated(findings)
    listed = "\n".join(f"- {line}" for part in parts for line in part)
    return f"## What could not be reproduced, and why\n\n{listed}"


def _stopping(findings: Findings) -> Iterator[str]:
    if "stopping" not in findings.plan.domains:
        return
    best = findings.truth("stopping")["highest_mean"]
    paper = max(row.paper.mean for row in findings.table("stopping"))
    yield (
        f"**Stopping at once dominates.** No policy has a mean above {best['upper']:.6g}, and the one that "
        f"attains it has standard deviation {best['std']:.3g}. The best mean in the paper's table, {paper:g}, "
        f"is {best['mean'] - paper:.4g} below it."
    )


def _portfolio(findings: Findings) -> Iterator[str]:
    if "portfolio" not in findings.plan.domains:
        return
    least = findings.truth("portfolio")["least_std"]
    for row in findings.table("portfolio"):
        needed, reading = least[row.algorithm], row.paper.std * AVERAGED**0.5
        verdict = "and more" if needed > reading else "but not more"
        yield (
            f"**Portfolio, {row.algorithm.upper()}: a Std of {row.paper.std:g} at a mean of "
            f"{row.paper.mean:g}.** No policy with that mean has a standard deviation below {needed:.3g}. That "
            f"is {needed / row.paper.std:.3g} times the Std, {verdict} than the {reading:.3g} that it stands "
            f"for if it is a standard error of {AVERAGED} episodes. Ours: mean {row.mean.estimate:.4g}, std "
            f"{row.std.estimate:.4g}."
        )


def _reading(findings: Findings) -> Iterator[str]:
    rows = {domain: findings.table(domain) for domain in findings.plan.domains}
    listed = "; ".join(
        f"{domain} {min(row.averaged for row in table):,.0f} to {max(row.averaged for row in table):,.0f}"
        for domain, table in rows.items()
    )
    yield (
        "**The Std of the table is not that of episodes.** It is that of averages of this many episodes of "
        f"our policies: {listed}."
    )


def _unstated(findings: Findings) -> Iterator[str]:
    for domain in findings.plan.domains:
        spans = {name: findings.span(domain, name) for name in findings.plan.algorithms}
        listed = ", ".join(f"{name.upper()} {low:.3g} to {high:.3g}" for name, (low, high) in spans.items())
        yield (
            f"**λ and step sizes are not stated.** Over the grid of {domain} the share goes from and to: "
            f"{listed}."
        )
