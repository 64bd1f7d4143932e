"""The part of the findings page on the paper's theory."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fenchel.report.bias import plot_bias
from fenchel.report.paper.markdown import lines
from fenchel.report.theory import plot_option_one, plot_rates
from fenchel.studies.paper.findings import Findings
from fenchel.theory import LemmaCheck, OptionOne, Rates

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EXPONENT = -0.5
"""The rate in N that the corollary promises for E‖∇f̂‖²."""


def theory_figures(findings: Findings) -> Iterator[tuple[str, "Figure"]]:
    """The figures of the section."""
    measured = findings.theory
    yield "rates", plot_rates(measured.rates)
    yield "option-one", plot_option_one(measured.option_one)
    yield "bias", plot_bias(measured.bias)


def theory_section(findings: Findings, folder: str) -> str:
    """What the theorems say, and what MVP does on an instance where everything is known exactly."""
    measured = findings.theory
    return f"""
## Theory

On an instance whose gradients are exact (`fenchel.theory.{measured.rates.instance}`); the bounds, printed and
corrected, are derived in `docs/theory.md`.

{_rate(measured.rates)}

![E‖∇f̂‖² against the number of episodes, and the bounds]({folder}/rates.png)

{_decay(measured.option_one)}

![‖∇f̂‖ along decaying steps]({folder}/option-one.png)

{_bias(findings)} {_lemma(measured.lemma)}

![Bias of the policy's direction]({folder}/bias.png)
"""


def _rate(rates: Rates) -> str:
    slope = rates.slope
    agrees = "contains" if slope.low <= EXPONENT <= slope.high else "does not contain"
    head = ["N", "E‖∇f̂‖²", "bound as printed", "bound corrected", "corrected, searched constants"]
    rows = [
        [
            f"{point.iterations:,}",
            f"{point.mean:.3g} [{point.low:.3g}, {point.high:.3g}]",
            *(f"{x:.3g}" for x in (point.proved.printed, point.proved.corrected, point.searched.corrected)),
        ]
        for point in rates.points
    ]
    return f"""
**Option II.** With constant steps {rates.scale:g}/√N and the drawn iterate, E‖∇f̂(x̄_N)‖² falls like N to the power
{slope.value:.3f}, with interval [{slope.low:.3f}, {slope.high:.3f}], which {agrees} the {EXPONENT:g} of the corollary. The
corrected bound holds throughout: it is at least {rates.least_ratio:.3g} times what was measured.

{lines([head, ["---"] * len(head), *rows])}
""".strip()


def _decay(found: OptionOne) -> str:
    first, last = found.points[0], found.points[-1]
    slope = found.slope
    return (
        f"**Option I.** Along decaying steps ‖∇f̂(x_t)‖ goes from {first.mean:.3g} after {first.iterations:,} episodes "
        f"to\n{last.mean:.3g} after {last.iterations:,} (mean of {found.seeds} seeds; the worst of them "
        f"{last.high:.3g}), a power of {slope.value:.3f}\nin t, with interval [{slope.low:.3f}, {slope.high:.3f}]."
    )


def _bias(findings: Findings) -> str:
    found = findings.theory.bias
    last = found.points[-1]
    return f"""
**The bias of the policy's direction.** In MVP one episode moves the dual and then the policy, so ‖E[Δ^θ]‖ is not zero but
{found.slope:.4g} β exactly, linear in the dual's step size β. At β = {last.step_size:g} that is {last.shared:.4g}; sampled from
{found.episodes:,} steps, {last.sampled_shared.along:.4g} ± {last.sampled_shared.error:.2g}. With a fresh batch for each
block it is {last.fresh:.2g}; sampled, {last.sampled_fresh.along:.2g} ± {last.sampled_fresh.error:.2g}.
""".strip()


def _lemma(found: LemmaCheck) -> str:
    verdict = (
        "so the lemma as printed is not violated" if found.printed_holds else "so it is false as printed"
    )
    return (
        f"Lemma 2 bounds the bias by A β\nwith A = 2 L b G. On `{found.instance}` the bias is {found.largest:.3g} β and "
        f"A at most {found.printed_by_proof:.3g},\n{verdict}; corrected, A = {found.lemma.corrected:.3g}."
    )
