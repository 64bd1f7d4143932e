"""The paper's theory, measured: bounds as printed and as they follow, rates and bias on exact instances."""

from fenchel.theory.bias import Bias, BiasPoint, Sampled, bias, exact_bias, sampled_errors
from fenchel.theory.bounds import (
    Bound,
    Constants,
    Draw,
    bias_bound,
    corollary_bound,
    cyclic_bound,
    cyclic_constant,
    draw_weights,
    mvp_bound,
    mvp_constant,
)
from fenchel.theory.constants import proved_constants, searched_constants
from fenchel.theory.instance import Instance, far_from_zero, straddle, waiting
from fenchel.theory.option_one import (
    OptionOne,
    OptionOnePoint,
    Steps,
    one_two_five,
    option_one,
    path_norms,
    summarise_option_one,
)
from fenchel.theory.paths import Paths
from fenchel.theory.rates import RatePoint, Rates, drawn_norms, rates, summarise_rates
from fenchel.theory.slopes import Slope, fit_slope

__all__ = [
    "Bias",
    "BiasPoint",
    "Bound",
    "Constants",
    "Draw",
    "Instance",
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
    "proved_constants",
    "rates",
    "sampled_errors",
    "searched_constants",
    "straddle",
    "summarise_option_one",
    "summarise_rates",
    "waiting",
]
