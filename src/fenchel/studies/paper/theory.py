"""The paper's theory, measured: stages that fenchel.theory computes."""

from fenchel.studies.paper.plan import Plan
from fenchel.studies.stages import Stage


def theory_stages(plan: Plan) -> list[Stage]:
    return []
