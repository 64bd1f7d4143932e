"""The paper's theory, measured: bounds as printed and as they follow, rates and bias on exact instances."""

from fenchel.theory.assumptions import Bound, Constants, Draw
from fenchel.theory.bias import Bias, BiasPoint, Sampled, bias
from fenchel.theory.bounds import corollary_bound, cyclic_bound, draw_weights, mvp_bound
from fenchel.theory.check import LemmaCheck, check_lemma
from fenchel.theory.constants import proved_constants, searched_constants
from fenchel.theory.directions import bias_slope, exact_bias, policy_errors, sampled_errors
from fenchel.theory.examples import far_from_zero, straddle, waiting
from fenchel.theory.instance import Instance
from fenchel.theory.lemmas import bias_bound, cyclic_constant, mvp_constant
from fenchel.theory.option_one import (
    OptionOne,
    OptionOnePoint,
    one_two_five,
    option_one,
    summarise_option_one,
)
from fenchel.theory.paths import Paths
from fenchel.theory.rates import RatePoint, Rates, rates, summarise_rates
from fenchel.theory.runs import Steps, drawn_norms, path_norms
from fenchel.theory.slopes import Slope, fit_slope

__all__ = [
    "Bias",
    "BiasPoint",
    "Bound",
    "Constants",
    "Draw",
    "Instance",
    "LemmaCheck",
    "OptionOne",
    "OptionOnePoint",
    "Paths",
    "RatePoint",
    "Rates",
    "Sampled",
    "Slope",
    "Steps",
    "bias",
    "bias_bound",
    "bias_slope",
    "check_lemma",
    "corollary_bound",
    "cyclic_bound",
    "cyclic_constant",
    "draw_weights",
    "drawn_norms",
    "exact_bias",
    "far_from_zero",
    "fit_slope",
    "mvp_bound",
    "mvp_constant",
    "one_two_five",
    "option_one",
    "path_norms",
    "policy_errors",
    "proved_constants",
    "rates",
    "sampled_errors",
    "searched_constants",
    "straddle",
    "summarise_option_one",
    "summarise_rates",
    "waiting",
]
