"""The environment that the words of a command line describe."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fenchel.cli.flags import ENV, Command, convert_parameters, read_words
from fenchel.cli.options import Option, Text
from fenchel.cli.ownfile import checked, class_in, fields_of, is_file
from fenchel.errors import FenchelError, InputError, require_choice

if TYPE_CHECKING:
    from fenchel.envs import AbstractEnvironment


def parameters_of(name: str) -> list[Option]:
    """The parameters of an environment, as options."""
    from fenchel.envs import ENVIRONMENTS, GymnasiumEnvironment, parameters
    from fenchel.envs.registry import is_gymnasium

    if is_file(name):
        return fields_of(class_in(name))
    if is_gymnasium(name):
        return [Option(field, *about) for field, about in parameters(GymnasiumEnvironment).items()]
    require_choice("environment", name, ENVIRONMENTS)
    return [Option(field, *about) for field, about in parameters(ENVIRONMENTS[name]).items()]


def parameters_in(command: Command, words: Sequence[str]) -> list[Option]:
    """Parameters of the environment that the words of a command name, for its help page."""
    try:
        return parameters_of(read_words(command, words).values.get("environment", ""))
    except FenchelError:
        return []


def build(name: str, preset: str | None, observe: str, given: Mapping[str, Text]) -> "AbstractEnvironment":
    """The environment."""
    from fenchel.envs import make, observed

    fields = convert_parameters(parameters_of(name), given)
    with naming_parameters(fields):
        if is_file(name):
            return observed(checked(name, class_in(name), preset, fields), observe)
        return make(name, preset, observe, **fields)


@contextmanager
def naming_parameters(fields: Mapping[str, Any]) -> Iterator[None]:
    """An error about a parameter in this block names it as it was written."""
    try:
        yield
    except InputError as error:
        names = error.field.split(", ")
        if fields.keys().isdisjoint(names):
            raise
        written = ", ".join(ENV + name for name in names)
        raise InputError(written, error.value, error.remedy) from None
