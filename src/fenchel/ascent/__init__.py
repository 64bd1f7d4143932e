"""Ascent: the order in which the blocks move, and the algorithms that are made of it."""

from fenchel.ascent.algorithms import ALGORITHMS, Recipe, StepSize, bca, bsg, mvp, pg, rcpg, sbmd, sga, tamar
from fenchel.ascent.base import AbstractSolver, SolverState, StepInfo
from fenchel.ascent.blocks import ORDERS, Block, BlockAscent, Iterate
from fenchel.ascent.mirror import AbstractMirror, Entropic, Euclidean
from fenchel.ascent.prox import L1, AbstractProx, Ball, Box, GroupL1, Simplex, SquaredL2
from fenchel.ascent.schedules import AbstractSchedule, Constant, Cosine, Fading, RobbinsMonro
from fenchel.ascent.selection import (
    AbstractSelection,
    BestIterate,
    LastIterate,
    UniformIterate,
    WeightedIterate,
)
from fenchel.ascent.tamar import TwoTimeScale

__all__ = [
    "ALGORITHMS",
    "L1",
    "ORDERS",
    "AbstractMirror",
    "AbstractProx",
    "AbstractSchedule",
    "AbstractSelection",
    "AbstractSolver",
    "Ball",
    "BestIterate",
    "Block",
    "BlockAscent",
    "Box",
    "Constant",
    "Cosine",
    "Entropic",
    "Euclidean",
    "Fading",
    "GroupL1",
    "Iterate",
    "LastIterate",
    "Recipe",
    "RobbinsMonro",
    "Simplex",
    "SolverState",
    "SquaredL2",
    "StepInfo",
    "StepSize",
    "TwoTimeScale",
    "UniformIterate",
    "WeightedIterate",
    "bca",
    "bsg",
    "mvp",
    "pg",
    "rcpg",
    "sbmd",
    "sga",
    "tamar",
]
