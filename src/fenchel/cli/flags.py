"""From the words of a command line, or the lines of a TOML file, to values by name."""

import difflib
import re
import sys
import tomllib
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, make_dataclass
from itertools import takewhile, zip_longest
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from fenchel.cli.options import Option, Text, as_default, as_text, convert, flag
from fenchel.cli.output import output_errors
from fenchel.errors import FenchelError, InputError, require

ENV = "env."
"""Prefix of the parameters of an environment, whose names depend on which one it is."""

_NUMBER = re.compile(r"-?[.\d]")

_NO_VALUE = re.compile("--|-[a-z]", re.IGNORECASE)
"""What cannot be the value of the flag before it; a negative number can."""


class UsageError(FenchelError):
    """A command line that cannot be read."""


class Command(NamedTuple):
    """A subcommand: its name, what it does, what it takes, and whether an environment's parameters too."""

    name: str
    summary: str
    options: Sequence[Option]
    has_parameters: bool = False

    @property
    def prog(self) -> str:
        """What a user types."""
        return f"fenchel {self.name}"


class Given(NamedTuple):
    """What a user gave: values by the name of the option, and text by the name of the parameter."""

    values: dict[str, Any]
    parameters: dict[str, Text]


def wants_help(words: Iterable[str]) -> bool:
    """Whether a help page was asked for."""
    return not {"-h", "--help"}.isdisjoint(words)


def show_help(command: Command, parameters: Sequence[Option] = ()) -> None:
    """Print the help page, with the parameters of an environment if they are known."""
    import tyro

    if sys.stdout is None:
        return
    form = _form(command, parameters)
    with output_errors(), suppress(SystemExit):
        tyro.cli(form, prog=command.prog, description=command.summary, args=["--help"])


def read_words(command: Command, words: Sequence[str]) -> Given:
    """The values on a command line. What is wrong with it is said in one line."""
    known, parameters = _without_parameters(words) if command.has_parameters else (list(words), {})
    known = _joined(command, known)
    seen = _seen(command, known)
    try:
        form, extra = _parse(_form(command), prog=command.prog, args=known)
    except SystemExit:
        raise _complaint(command, known) from None
    if extra:
        raise UsageError(f"{extra[0]!r} is one argument too many; see {command.prog} --help")
    seen |= {option.name for option in command.options if option.is_positional and getattr(form, option.name)}
    given = (option for option in command.options if option.name in seen)
    return Given({option.name: _value(option, getattr(form, option.name)) for option in given}, parameters)


def _parse(form: type, **how: Any) -> tuple[Any, list[str]]:
    import tyro

    return tyro.cli(form, return_unknown_args=True, console_outputs=False, **how)


def read_file(command: Command, path: Path) -> Given:
    """The values in a TOML file: the names of the flags, and a table `env` for the environment."""
    given = _load(path)
    table = given.pop("env", {}) if command.has_parameters else {}
    require(
        isinstance(table, dict), f"env in {path}", table, "must be a table of the environment's parameters"
    )
    options = {option.name: option for option in command.options if option.name != "config"}
    values = {}
    for key, value in given.items():
        name, field = key.replace("-", "_"), f"{key} in {path}"
        require(name in options, field, value, f"is unknown{_nearest(name, options)}")
        values[name] = convert(field, options[name].type, _text(field, value))
    parameters = {key.replace("-", "_"): _text(f"env.{key} in {path}", value) for key, value in table.items()}
    return Given(values, parameters)


def convert_parameters(options: Sequence[Option], given: Mapping[str, Text]) -> dict[str, Any]:
    """Parameters of an environment as their declared types."""
    known = {option.name: option for option in options}
    for name, text in given.items():
        nearest = _nearest(name, known) or f"; choose one of {', '.join(known)}"
        require(name in known, ENV + name, as_text(text), f"is no parameter of the environment{nearest}")
    return {name: convert(ENV + name, known[name].type, text) for name, text in given.items()}


def _form(command: Command, parameters: Sequence[Option] = ()) -> type:
    """The options as tyro wants them; values stay text, for a file and a command line to be read alike."""
    groups: list[Any] = [_entry(option) for option in command.options]
    if parameters:
        inner = make_dataclass("Parameters", [_entry(option, switches=False) for option in parameters])
        groups.append(("env", inner, field(default_factory=inner)))
    return make_dataclass("Form", groups)


def _entry(option: Option, switches: bool = True) -> tuple[Any, ...]:
    from tyro.conf import Positional, arg

    if option.is_positional:
        place = Annotated[
            Positional[str], arg(metavar=option.metavar, help=option.help, help_behavior_hint="")
        ]
        return (option.name, place) if option.is_required else (option.name, place, "")
    if option.is_switch and switches:
        return (option.name, Annotated[bool, arg(help=option.help)], option.default)
    said = option.default is None and "default" in option.help
    shown = "" if said else f"(default: {as_default(option.default)})"
    how = arg(metavar=option.metavar, help=option.help, help_behavior_hint=shown)
    return (option.name, Annotated[str, how], "")


def _without_parameters(words: Sequence[str]) -> tuple[list[str], dict[str, Text]]:
    """Split off `--env.name value` and `--env.name=value`."""
    rest: list[str] = []
    parameters: dict[str, Text] = {}
    stream = iter(words)
    for word in stream:
        if not word.startswith(f"--{ENV}"):
            rest.append(word)
            continue
        name, equals, value = word.removeprefix(f"--{ENV}").partition("=")
        value = value if equals else next(stream, "--")
        if not equals and value.startswith("--"):
            raise UsageError(f"{word} needs a value")
        parameters[name.replace("-", "_")] = value
    return rest, parameters


def _joined(command: Command, words: Sequence[str]) -> list[str]:
    """The numbers after a flag that takes several as one word, so that an argument may follow them."""
    flags = {option.flag for option in command.options if option.is_sequence}
    joined, stream = [], deque(words)
    while stream:
        joined.append(stream.popleft())
        if joined[-1].replace("_", "-") in flags:
            numbers = list(takewhile(_NUMBER.match, stream))
            joined += [",".join(numbers)] if numbers else []
            stream = deque(list(stream)[len(numbers) :])
    return joined


def _seen(command: Command, words: Sequence[str]) -> set[str]:
    """Names of the options that were written; the first unknown one is an error."""
    names = {option.flag: option for option in command.options if not option.is_positional}
    names |= {flag(f"no_{option.name}"): option for option in command.options if option.is_switch}
    seen: set[str] = set()
    for word in takewhile(lambda word: word != "--", words):
        if not _NO_VALUE.match(word):
            continue
        written, equals, _ = word.partition("=")
        option = names.get(written.replace("_", "-"))
        if option is None:
            flags = (option.flag for option in command.options if not option.is_positional)
            nearest = _nearest(written, flags) or "."
            raise UsageError(f"unknown option {written}{nearest} See {command.prog} --help")
        if option.is_switch and equals:
            raise UsageError(f"{word}: a switch takes no value; {option.flag} or {flag('no_' + option.name)}")
        seen.add(option.name)
    return seen


def _complaint(command: Command, words: Sequence[str]) -> UsageError:
    """Why the words could not be read: a flag without its value, or nothing to work on."""
    flags = {option.flag for option in command.options if not option.is_switch}
    for word, following in zip_longest(words, words[1:]):
        if word.replace("_", "-") in flags and (following is None or _NO_VALUE.match(following)):
            return UsageError(f"{word} needs a value")
    return missing(next(option for option in command.options if option.is_positional))


def missing(option: Option) -> UsageError:
    """What is raised when a positional option was not given."""
    return UsageError(f"{option.metavar} is missing: {option.help}")


def _value(option: Option, parsed: Any) -> Any:
    return parsed if option.is_switch else convert(option.name, option.type, parsed)


def _nearest(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else ""


def _load(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError("config", str(path), f"cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise InputError("config", str(path), f"is no valid TOML ({error})") from None


def _text(field: str, value: Any) -> Text:
    require(not isinstance(value, dict), field, value, "must be a value; the only table is [env]")
    return [as_text(item) for item in value] if isinstance(value, list) else as_text(value)
