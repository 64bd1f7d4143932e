"""Policies: distributions over actions whose parameters are their array leaves."""

from fenchel.policies.base import AbstractPolicy
from fenchel.policies.categorical import AbstractCategorical, AbstractDiscrete
from fenchel.policies.checks import HasSpaces, check_policy
from fenchel.policies.combined import Beside, Bias
from fenchel.policies.dated import DatedGaussian
from fenchel.policies.features import AbstractFeatures, OneHot, Raw, Scaled
from fenchel.policies.gaussian import AbstractGaussian, LinearGaussian, MLPGaussian
from fenchel.policies.greedy import Central, Greedy, without_chance
from fenchel.policies.grids import FEATURES, make_features
from fenchel.policies.hosted import Acting, acting
from fenchel.policies.linear import LinearSoftmax
from fenchel.policies.mlp import MLPSoftmax, Network
from fenchel.policies.product import ProductSoftmax
from fenchel.policies.rbf import RBF, tamar2014
from fenchel.policies.registry import POLICIES, make_policy
from fenchel.policies.squashed import SquashedGaussian
from fenchel.policies.tabular import DirectTabular, Tabular

__all__ = [
    "FEATURES",
    "POLICIES",
    "RBF",
    "AbstractCategorical",
    "AbstractDiscrete",
    "AbstractFeatures",
    "AbstractGaussian",
    "AbstractPolicy",
    "Acting",
    "Beside",
    "Bias",
    "Central",
    "DatedGaussian",
    "DirectTabular",
    "Greedy",
    "HasSpaces",
    "LinearGaussian",
    "LinearSoftmax",
    "MLPGaussian",
    "MLPSoftmax",
    "Network",
    "OneHot",
    "ProductSoftmax",
    "Raw",
    "Scaled",
    "SquashedGaussian",
    "Tabular",
    "acting",
    "check_policy",
    "make_features",
    "make_policy",
    "tamar2014",
    "without_chance",
]
