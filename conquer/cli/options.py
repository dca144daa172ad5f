"""Options from the dataclass they fill: name, type, default and help are written once, where the values are used.

A field's help is in its metadata, `field(default=2, metadata={"help": "Worker processes."})`.
"""

import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, get_type_hints

import typer

Command = Callable[..., Any]


def options_of(
    kind: type[Any],
    *,
    only: Sequence[str] | None = None,
    help: Mapping[str, str] | None = None,  # noqa: A002 - typer's own word
    given: bool = False,
) -> Callable[[Command], Command]:
    """Give a command one option per field of the dataclass `kind`, in place of its first parameter.

    The command receives an instance of `kind`. `only` names the fields that are options; the others keep their
    defaults. `help` replaces the help of single fields. With `given` the command receives a dict instead, of the
    options that stood on the command line: for defaults that depend on more than the class, which the help still shows.

    >>> @dataclasses.dataclass(frozen=True)
    ... class Tea:
    ...     minutes: int = dataclasses.field(default=3, metadata={"help": "How long."})
    >>> @options_of(Tea)
    ... def brew(tea: Tea, loud: bool = False) -> None:
    ...     print(tea, loud)
    >>> inspect.signature(brew).parameters["minutes"].default
    3
    >>> brew(minutes=5, loud=True)
    Tea(minutes=5) True
    """
    names = [one.name for one in dataclasses.fields(kind)] if only is None else list(only)
    texts = help or {}
    options = [_option(kind, name, texts.get(name), given) for name in names]

    def decorate(command: Command) -> Command:
        rest = list(inspect.signature(command, eval_str=True).parameters.values())[1:]

        @functools.wraps(command)
        def called(**values: Any) -> Any:
            taken = {name: values.pop(name) for name in names if name in values}
            if given:
                return command({name: value for name, value in taken.items() if value is not None}, **values)
            return command(kind(**taken), **values)

        parameters = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in (*options, *rest)]
        # Typer reads both: the signature for the defaults, the annotations for the types.
        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {one.name: one.annotation for one in parameters}
        return called

    return decorate


def help_of(kind: type[Any], name: str) -> str:
    """The help of one field."""
    return str(_field(kind, name).metadata.get("help", ""))


def _field(kind: type[Any], name: str) -> "dataclasses.Field[Any]":
    found = next((one for one in dataclasses.fields(kind) if one.name == name), None)
    if found is None:
        raise TypeError(f"{kind.__name__} has no field {name!r}")
    return found


def _option(kind: type[Any], name: str, text: str | None, given: bool) -> inspect.Parameter:
    one, annotation = _field(kind, name), get_type_hints(kind)[name]
    text = help_of(kind, name) if text is None else text
    default = one.default if one.default_factory is dataclasses.MISSING else one.default_factory()
    if default is dataclasses.MISSING:
        default = inspect.Parameter.empty
    elif given:
        if default is not None:
            text = f"{text}  [{default}]".lstrip()
        annotation, default = annotation | None, None
    marked: Any = Annotated[annotation, typer.Option(help=text or None)]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=marked)
