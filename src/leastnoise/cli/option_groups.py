"""Options that go together reach a command as one value.

A command says which groups it takes by the types of its parameters, and `grouped` gives it their options:

    @grouped
    def count(table: TableOptions, privacy: PrivacyOptions, output: OutputOptions) -> None: ...
"""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from typer.models import OptionInfo

from leastnoise.cli.needed_options import check_needed


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """The command with one parameter for each field of the groups among its parameters, as typer reads them."""
    annotations = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in annotations.items() if is_dataclass(kind)}
    parameters = [
        single
        for parameter in inspect.signature(command).parameters.values()
        for single in (
            _parameters(groups[parameter.name])
            if parameter.name in groups
            else [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=annotations[parameter.name])]
        )
    ]

    @functools.wraps(command)
    def called(**given: Any) -> None:
        for name, group in groups.items():
            check_needed(group, given)
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        command(**given)

    del called.__wrapped__  # its signature is not this one's
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return called


def _parameters(group: Any) -> Iterator[inspect.Parameter]:
    """Each option; of those that are needed `check_needed` says so, and an argument typer itself."""
    annotations = get_type_hints(group, include_extras=True)
    for field in sorted(fields(group), key=lambda field: field.default is not MISSING):  # what is needed comes first
        needed = field.default is MISSING
        annotation = _in_panel(annotations[field.name], group.panel, needed=needed)
        argument = needed and annotation is annotations[field.name]
        yield inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if argument else None if needed else field.default,
            annotation=annotation,
        )


def _in_panel(annotation: Any, panel: str, *, needed: bool) -> Any:
    """The same option, shown by --help among those of its group; an argument stays among the arguments."""
    if get_origin(annotation) is not Annotated:
        raise TypeError(f"{annotation} declares no option")
    kind, declared = get_args(annotation)
    if not isinstance(declared, OptionInfo):
        return annotation
    option = copy.copy(declared)
    option.rich_help_panel = panel
    if needed:
        option.help = f"{option.help} Needed."
        kind = kind | None
    return Annotated[kind, option]
