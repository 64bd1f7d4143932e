"""What several objectives check alike."""

from jaxtyping import Array, Float

from fenchel.errors import require_positive


def require_aversion(risk_aversion: float | Float[Array, ""]) -> None:
    """Raise unless a plain number is above 0; in training it is a traced array."""
    if isinstance(risk_aversion, int | float):
        require_positive("risk_aversion", risk_aversion)
