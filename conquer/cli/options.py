"""Command-line options generated from a frozen dataclass: names, types, defaults and help texts are written once.

A field is an option where its metadata has a help text. A tuple is a comma-separated list.
"""

import inspect
from collections.abc import Callable, Collection
from dataclasses import MISSING, Field, fields
from types import UnionType
from typing import Annotated, Any, get_args, get_origin

import typer


def filled(
    record: type, *, only: Collection[str] | None = None, unset: bool = False, defaults: bool = False
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorate a command with the options of `record`; its first argument receives their values by field.

    `only` names the fields that are options. `unset` leaves options that are not given out of the values; `defaults`
    then still shows the record's defaults in the help.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = [each.replace(kind=each.KEYWORD_ONLY) for each in inspect.signature(command).parameters.values()][1:]
        parameters = [*options_of(record, only=only, unset=unset, defaults=defaults), *own]

        def run(**given: Any) -> None:
            rest = {parameter.name: given.pop(parameter.name) for parameter in own}
            command(read(record, given), **rest)

        run.__name__, run.__doc__ = command.__name__, command.__doc__
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # typer reads it there
        return run

    return decorate


def options_of(
    record: type, *, only: Collection[str] | None = None, unset: bool = False, defaults: bool = False
) -> list[inspect.Parameter]:
    """A keyword parameter, as typer reads it, for each field of a dataclass that has a help text."""
    known = {field.name: field for field in _options(record)}
    if unknown := sorted(set(only or ()) - set(known)):
        raise TypeError(f"{record.__name__} has no option {', '.join(unknown)}; there are {', '.join(known)}")
    return [_parameter(known[name], unset, defaults) for name in (known if only is None else only)]


def help_of(record: type, name: str) -> str:
    """The help text of one field."""
    return str(next(field.metadata["help"] for field in _options(record) if field.name == name))


def read(record: type, given: dict[str, Any]) -> dict[str, Any]:
    """The values of the options by field: comma-separated texts become tuples, and missing options are left out."""
    found = {}
    for field in _options(record):
        value = given.get(field.name)
        if value is not None:
            found[field.name] = _listed(field, value) if get_origin(_kind(field)) is tuple else value
    return found


def _options(record: type) -> list[Field[Any]]:
    return [field for field in fields(record) if "help" in field.metadata]


def _kind(field: Field[Any]) -> Any:
    """The field's type without None; a type given as a string is a text."""
    if isinstance(field.type, UnionType):
        return next(kind for kind in get_args(field.type) if kind is not type(None))
    return str if isinstance(field.type, str) else field.type


def _parameter(field: Field[Any], unset: bool, defaults: bool) -> inspect.Parameter:
    kind = str if get_origin(_kind(field)) is tuple else _kind(field)
    default = None if unset else field.default
    if isinstance(default, tuple):
        default = ",".join(f"{value:g}" if isinstance(value, float) else str(value) for value in default)
    text = f"{field.metadata['help']}  [{field.default}]".lstrip() if defaults else field.metadata["help"]
    return inspect.Parameter(
        field.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if default is MISSING else default,
        annotation=Annotated[kind | None if default is None else kind, typer.Option(help=text)],
    )


def _listed(field: Field[Any], text: str) -> tuple[Any, ...]:
    kind = get_args(_kind(field))[0]
    try:
        return tuple(kind(part.strip()) for part in text.split(",") if part.strip() or kind is not str)
    except ValueError:
        raise ValueError(f"{field.name} must be numbers separated by commas, got {text!r}") from None
