"""Lemma 2 against the greatest bias that a search finds."""

from dataclasses import dataclass

from fenchel.theory.assumptions import Bound
from fenchel.theory.constants import proved_constants, searched_constants
from fenchel.theory.instance import Instance
from fenchel.theory.lemmas import bias_bound


@dataclass(frozen=True)
class LemmaCheck:
    """The greatest ‖E[Δ^θ]‖/β^y that was found on an instance, and what bounds it.

    Arguments:
        largest: at some θ, exact there.
        lemma: A = 2 L b G, printed with the greatest L and G of f̂ that a search finds.
        printed_by_proof: A as printed with L and G of f̂ that are proved, so that no greater ones exist.
        sharp: the greatest range of R² − J R, proved.
    """

    instance: str
    risk_aversion: float
    largest: float
    lemma: Bound
    printed_by_proof: float
    sharp: float

    @property
    def printed_holds(self) -> bool:
        """Whether what was found leaves the printed lemma possible."""
        return self.largest <= self.printed_by_proof


def check_lemma(instance: Instance) -> LemmaCheck:
    """Search for the greatest bias, and put Lemma 2 beside it.

    >>> from fenchel.theory import far_from_zero, straddle
    >>> check_lemma(straddle()).printed_holds, check_lemma(far_from_zero()).printed_holds
    (True, False)
    """
    proved, searched = proved_constants(instance), searched_constants(instance)
    assert searched.bias is not None
    assert proved.bias is not None
    return LemmaCheck(
        instance=instance.name,
        risk_aversion=instance.risk_aversion,
        largest=searched.bias,
        lemma=bias_bound(searched),
        printed_by_proof=bias_bound(proved).printed,
        sharp=proved.bias,
    )
